// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.gallery;

import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.channel.*;
import java.net.*;
import org.rpcrdma.channel.*;
import org.rpcrdma.codec.*;
import org.rpcrdma.codec.binding.*;
import org.rpcrdma.codec.rpc.CallHeader;
import org.rpcrdma.codec.rpc.ReplyHeader;

/** A program whose procedure 1 takes the length of a blob and returns the blob; and its binding (RFC 8166, 6). */
final class BlobProgram extends SimpleChannelInboundHandler<ByteBuf> implements UpperLayerBinding {

    static final int PROGRAM = 0x20000002;
    private static final int MOST = 1 << 20;

    static SocketAddress serve(EventLoopGroup group, RpcRdmaConfig config) throws InterruptedException {
        return config.applyTo(new ServerBootstrap().group(group).channel(RdmaServerChannel.class))
                .childHandler(new ChannelInitializer<>() {
                    @Override
                    protected void initChannel(Channel channel) {
                        channel.pipeline().addLast(new RpcRdmaCodec(config), new BlobProgram());
                    }
                }).bind(InetAddress.getLoopbackAddress(), 0).sync().channel().localAddress();
    }

    @Override
    protected void channelRead0(ChannelHandlerContext ctx, ByteBuf call) throws Exception {
        CallHeader header = CallHeader.read(call);
        int length = Math.max(0, Math.min(MOST, call.readInt()));
        ByteBuf reply = ctx.alloc().directBuffer();
        ReplyHeader.of(header.xid(), ReplyHeader.Status.SUCCESS).writeTo(reply);
        ctx.writeAndFlush(reply.writeInt(length).writeZero((length + 3) & ~3));
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
