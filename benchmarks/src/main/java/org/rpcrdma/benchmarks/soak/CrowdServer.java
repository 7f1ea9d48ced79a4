// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.benchmarks.soak;

import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;
import org.rpcrdma.benchmarks.ResponderHandler;
import org.rpcrdma.channel.RdmaChannel;
import org.rpcrdma.channel.RdmaEventLoopGroup;
import org.rpcrdma.channel.RdmaServerChannel;
import org.rpcrdma.channel.RdmaServerStreamChannel;
import org.rpcrdma.channel.RdmaStreamChannel;
import org.rpcrdma.codec.RpcRdmaCodec;
import org.rpcrdma.codec.RpcRdmaConfig;
import org.rpcrdma.verbs.DirectMemoryBudget;

/**
 * A server of calls and of streams, as a process of its own. It says its two ports, and for each line of standard input
 * what it holds; the end of input is its end.
 */
final class CrowdServer {

    private static final int FILE_BYTES = 1 << 20;
    private static final int BACKLOG = 4096;

    private static final RdmaEventLoopGroup GROUP = new RdmaEventLoopGroup(2);
    private static final AtomicInteger CONNECTIONS = new AtomicInteger();
    private static final LongAdder FAILURES = new LongAdder();

    private CrowdServer() {}

    public static void main(String[] arguments) throws Exception {
        ByteBuf file = Unpooled.unreleasableBuffer(Unpooled.directBuffer(FILE_BYTES));
        file.writeZero(FILE_BYTES);
        RpcRdmaConfig config = RpcRdmaConfig.defaults();
        int port =
                bind(
                        config.applyTo(bootstrap().channel(RdmaServerChannel.class))
                                .childHandler(
                                        new ChannelInitializer<RdmaChannel>() {
                                            @Override
                                            protected void initChannel(RdmaChannel channel) {
                                                channel.pipeline()
                                                        .addLast(
                                                                new Connection(),
                                                                new RpcRdmaCodec(config),
                                                                new ResponderHandler(file),
                                                                new Failure());
                                            }
                                        }));
        int streamPort =
                bind(
                        bootstrap()
                                .channel(RdmaServerStreamChannel.class)
                                .childHandler(
                                        new ChannelInitializer<RdmaStreamChannel>() {
                                            @Override
                                            protected void initChannel(RdmaStreamChannel channel) {
                                                channel.pipeline()
                                                        .addLast(new Connection(), new Failure());
                                            }
                                        }));
        say("LISTENS " + port + " " + streamPort);
        BufferedReader in =
                new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        while (in.readLine() != null) {
            say(holdings());
        }
        System.exit(0);
    }

    private static ServerBootstrap bootstrap() {
        return new ServerBootstrap().group(GROUP).option(ChannelOption.SO_BACKLOG, BACKLOG);
    }

    private static int bind(ServerBootstrap bootstrap) throws InterruptedException {
        InetSocketAddress any = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
        return ((InetSocketAddress) bootstrap.bind(any).sync().channel().localAddress()).getPort();
    }

    private static String holdings() {
        return String.format(
                "HOLDS %d %d %d %d",
                CONNECTIONS.get(),
                GROUP.registeredBytes() >> 20,
                DirectMemoryBudget.jvm().used() >> 20,
                FAILURES.sum());
    }

    private static void say(String line) {
        System.out.println(line);
        System.out.flush();
    }

    /** Counts those that are there. */
    private static final class Connection extends ChannelInboundHandlerAdapter {
        @Override
        public void channelActive(ChannelHandlerContext ctx) {
            CONNECTIONS.incrementAndGet();
            ctx.channel().closeFuture().addListener(closed -> CONNECTIONS.decrementAndGet());
            ctx.fireChannelActive();
        }
    }

    /** Ends a connection that failed. */
    private static final class Failure extends ChannelInboundHandlerAdapter {
        @Override
        public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
            FAILURES.increment();
            ctx.close();
        }
    }
}
