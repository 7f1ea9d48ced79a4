// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.gallery;

import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.*;
import io.netty.channel.*;
import java.net.InetAddress;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.oncrpc.*;
import org.apache.hadoop.oncrpc.RpcAcceptedReply.AcceptState;
import org.apache.hadoop.oncrpc.security.*;
import org.rpcrdma.channel.*;
import org.rpcrdma.codec.*;
import org.rpcrdma.codec.client.RpcRdmaClient;

/** A program of Hadoop's RPC in Hadoop's own pipeline: the codec takes the place of its frame decoder. */
public final class HadoopExample {

    private static final int PROGRAM = 0x20001234;

    private HadoopExample() {}

    @ChannelHandler.Sharable
    private static final class Echo extends RpcProgram {
        Echo() { super("echo", "localhost", 0, PROGRAM, 1, 1, null, true); }
        @Override
        protected void handleInternal(ChannelHandlerContext ctx, RpcInfo info) {
            XDR header = RpcAcceptedReply
                    .getInstance(info.header().getXid(), AcceptState.SUCCESS, VerifierNone.INSTANCE).write(new XDR());
            ByteBuf reply = Unpooled.wrappedBuffer(
                    Unpooled.wrappedBuffer(header.asReadOnlyWrap().buffer()), info.data().copy());
            RpcUtil.sendRpcResponse(ctx, new RpcResponse(reply, info.remoteAddress()));
        }
        @Override
        protected boolean isIdempotent(RpcCall call) { return true; }
    }

    public static void main(String... args) throws Exception {
        RpcRdmaConfig config = RpcRdmaConfig.defaults();
        RdmaEventLoopGroup group = new RdmaEventLoopGroup(1);
        try {
            Channel server = config.applyTo(new ServerBootstrap().group(group).channel(RdmaServerChannel.class))
                    .childHandler(new ChannelInitializer<>() {
                        @Override
                        protected void initChannel(Channel channel) {
                            channel.pipeline().addLast(new RpcRdmaCodec(config), RpcUtil.STAGE_RPC_MESSAGE_PARSER,
                                    new Echo(), RpcUtil.STAGE_RPC_TCP_RESPONSE);
                        }
                    }).bind(InetAddress.getLoopbackAddress(), 0).sync().channel();
            XDR call = new XDR();
            RpcCall.getInstance(0, PROGRAM, 1, 1, new CredentialsNone(), VerifierNone.INSTANCE).write(call);
            call.writeInt(42);
            ByteBuf reply = RpcRdmaClient.builder(group, server.localAddress()).build()
                    .call(Unpooled.wrappedBuffer(call.getBytes())).get();
            System.out.println("echoed: " + reply.getInt(reply.writerIndex() - 4));
            reply.release();
        } finally {
            group.shutdownGracefully(0, 10, TimeUnit.SECONDS).sync();
        }
    }
}
