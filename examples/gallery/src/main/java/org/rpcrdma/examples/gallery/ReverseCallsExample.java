// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.gallery;

import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.*;
import io.netty.channel.*;
import java.net.InetAddress;
import java.util.concurrent.*;
import org.rpcrdma.channel.*;
import org.rpcrdma.codec.*;
import org.rpcrdma.codec.client.*;
import org.rpcrdma.codec.rpc.*;

/** A server that calls its client back over the client's own connection (RFC 8167). */
public final class ReverseCallsExample extends SimpleChannelInboundHandler<ByteBuf> {

    private static final RpcRdmaConfig CONFIG = RpcRdmaConfig.builder().reverseCredits(2).build();

    private final String end;
    private final CompletableFuture<Channel> called;

    private ReverseCallsExample(String end, CompletableFuture<Channel> called) {
        this.end = end;
        this.called = called;
    }

    private static ByteBuf call() {
        ByteBuf call = Unpooled.buffer();
        CallHeader.of(0x20000003, 1, 1, OpaqueAuth.NONE).writeTo(call);
        return call;
    }

    @Override
    protected void channelRead0(ChannelHandlerContext ctx, ByteBuf call) throws Exception {
        ByteBuf reply = ctx.alloc().buffer();
        ReplyHeader.of(CallHeader.read(call).xid(), ReplyHeader.Status.SUCCESS).writeTo(reply);
        ctx.writeAndFlush(reply);
        System.out.println(end + " is called");
        called.complete(ctx.channel());
    }

    public static void main(String... args) throws Exception {
        RdmaEventLoopGroup group = new RdmaEventLoopGroup(1);
        CompletableFuture<Channel> accepted = new CompletableFuture<>();
        try {
            Channel server = CONFIG.applyTo(new ServerBootstrap().group(group).channel(RdmaServerChannel.class))
                    .childHandler(new ChannelInitializer<>() {
                        @Override
                        protected void initChannel(Channel channel) {
                            channel.pipeline()
                                    .addLast(new RpcRdmaCodec(CONFIG), new ReverseCallsExample("server", accepted));
                        }
                    }).bind(InetAddress.getLoopbackAddress(), 0).sync().channel();
            RpcRdmaClient client = RpcRdmaClient.builder(group, server.localAddress()).config(CONFIG)
                    .reverseProgram(() -> new ReverseCallsExample("client", new CompletableFuture<>())).build();
            client.call(call()).get().release();
            Channel channel = accepted.get();
            RpcRdmaReverseRequester reverse = channel.eventLoop()
                    .submit(() -> RpcRdmaReverseRequester.builder(CONFIG).attachTo(channel)).get();
            reverse.call(call()).get().release();
            System.out.println("the client has answered");
        } finally {
            group.shutdownGracefully(0, 10, TimeUnit.SECONDS).sync();
        }
    }
}
