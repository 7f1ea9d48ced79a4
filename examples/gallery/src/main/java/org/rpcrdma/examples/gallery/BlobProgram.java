// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.gallery;

import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.*;
import java.io.IOException;
import java.net.*;
import org.rpcrdma.channel.*;
import org.rpcrdma.codec.*;
import org.rpcrdma.codec.binding.*;
import org.rpcrdma.codec.rpc.*;

/** A program whose procedure 1 takes the length of a blob and returns the blob; and its binding (RFC 8166, 6). */
final class BlobProgram implements UpperLayerBinding {

    static final int PROGRAM = 0x20000002;
    static final int MOST = 1 << 20;

    private static final RpcProgram RPC =
            RpcProgram.builder(PROGRAM).procedure(1, 1, BlobProgram::answer).build();

    static SocketAddress serve(EventLoopGroup group, RpcRdmaConfig config) throws InterruptedException {
        return serve(group, config, new RpcRdmaMetrics());
    }

    static SocketAddress serve(EventLoopGroup group, RpcRdmaConfig config, RpcRdmaMetrics metrics)
            throws InterruptedException {
        return config.applyTo(new ServerBootstrap().group(group).channel(RdmaServerChannel.class))
                .childHandler(new ChannelInitializer<>() {
                    @Override
                    protected void initChannel(Channel channel) {
                        channel.pipeline().addLast(new RpcRdmaCodec(config, metrics), new RpcServerHandler(RPC));
                    }
                }).bind(InetAddress.getLoopbackAddress(), 0).sync().channel().localAddress();
    }

    private static void answer(RpcServerCall call) throws IOException {
        int length = call.read(XdrReader::readInt);
        call.reply(out -> out.writeOpaque(new byte[Math.max(0, Math.min(MOST, length))]));
    }

    @Override
    public int program() { return PROGRAM; }
    @Override
    public boolean covers(int version) { return version == 1; }
    @Override
    public boolean isIdempotent(int version, int procedure, XdrCursor arguments) { return true; }
    @Override
    public void walkArguments(int version, int procedure, XdrCursor in) {}
    @Override
    public void walkResults(int version, int procedure, XdrCursor in) throws MalformedMessageException {
        in.eligibleOpaque(MOST);
    }
    @Override
    public void limitResults(int version, int procedure, XdrCursor in, ReplyLimits limits)
            throws MalformedMessageException {
        limits.results(4);
        limits.sink(Math.min(MOST, in.uint32()));
    }
}
