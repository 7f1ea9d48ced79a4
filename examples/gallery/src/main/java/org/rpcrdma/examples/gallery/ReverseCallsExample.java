// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.gallery;

import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.*;
import java.net.InetAddress;
import java.util.concurrent.*;
import org.rpcrdma.channel.*;
import org.rpcrdma.codec.*;
import org.rpcrdma.codec.client.*;
import org.rpcrdma.codec.rpc.*;

/** A server that calls its client back over the client's own connection (RFC 8167). */
public final class ReverseCallsExample {

    private static final RpcRdmaConfig CONFIG = RpcRdmaConfig.builder().reverseCredits(2).build();

    private static final int PROGRAM = 0x20000003;

    private ReverseCallsExample() {}

    private static ChannelHandler program(String end, CompletableFuture<Channel> called) {
        return new RpcServerHandler(RpcProgram.builder(PROGRAM).procedure(1, 1, call -> {
            call.reply();
            System.out.println(end + " is called");
            called.complete(call.channel());
        }).build());
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
                                    .addLast(new RpcRdmaCodec(CONFIG), program("server", accepted));
                        }
                    }).bind(InetAddress.getLoopbackAddress(), 0).sync().channel();
            RpcRdmaClient client = RpcRdmaClient.builder(group, server.localAddress()).config(CONFIG)
                    .reverseProgram(() -> program("client", new CompletableFuture<>())).build();
            new RpcClient(client, PROGRAM, 1).call(1).get().release();
            Channel channel = accepted.get();
            RpcRdmaReverseRequester reverse = channel.eventLoop()
                    .submit(() -> RpcRdmaReverseRequester.builder(CONFIG).attachTo(channel)).get();
            new RpcClient(reverse, PROGRAM, 1).call(1).get().release();
            System.out.println("the client has answered");
        } finally {
            group.shutdownGracefully(0, 10, TimeUnit.SECONDS).sync();
        }
    }
}
