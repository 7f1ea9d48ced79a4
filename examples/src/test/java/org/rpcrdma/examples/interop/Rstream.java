// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.interop;

import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.channel.socket.ChannelInputShutdownReadComplete;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.concurrent.TimeUnit;
import org.rpcrdma.channel.PollMode;
import org.rpcrdma.channel.Rdma;
import org.rpcrdma.channel.RdmaEventLoopGroup;
import org.rpcrdma.channel.RdmaServerStreamChannel;
import org.rpcrdma.channel.RdmaStreamChannel;

/**
 * Byte streams against programs on librdmacm's rsockets.
 *
 * <pre>
 * Rstream server [HOST:]PORT       echoes, until the process is ended; one line for each stream that is over
 * Rstream client [HOST:]PORT ...   talks with three servers of rdma-core's rstream, with what they verify
 * </pre>
 *
 * If a fourth port and the word {@code netcat} follow, it sends 100000 bytes there, and takes as many.
 *
 * <p>On the provider that {@code -Dorg.rpcrdma.provider} names, or else the software RNIC.
 */
public final class Rstream {

    private static final int PATIENCE_SECONDS = 60;

    private Rstream() {}

    public static void main(String[] arguments) throws Exception {
        int failed = run(arguments);
        if (!arguments[0].equals("server")) {
            System.exit(failed == 0 ? 0 : 1);
        }
    }

    /** The checks that have failed; a server goes on. */
    static int run(String[] arguments) throws Exception {
        RdmaEventLoopGroup group =
                new RdmaEventLoopGroup(
                        1,
                        Rdma.provider(System.getProperty("org.rpcrdma.provider", "iwarp")),
                        PollMode.ADAPTIVE);
        if (arguments[0].equals("server")) {
            serve(group, Devices.address(arguments[1]));
            System.out.println("READY");
            return 0;
        }
        Report report = new Report(System.out);
        report.check(
                "rstream's server, 64 bytes",
                () -> exchange(group, Devices.address(arguments[1]), 64, 50));
        report.check(
                "rstream's server, 300000 bytes",
                () -> exchange(group, Devices.address(arguments[2]), 300_000, 5));
        report.check(
                "rstream's server, 4097 bytes, keep-alive",
                () -> exchange(group, Devices.address(arguments[3]), 4097, 20));
        if (arguments.length > 5) {
            report.check(
                    "netcat, 100000 bytes both ways",
                    () -> swap(group, Devices.address(arguments[4]), 100_000));
        }
        group.shutdownGracefully(0, PATIENCE_SECONDS, TimeUnit.SECONDS).sync();
        return report.failed();
    }

    // ------------------------------------------------------------------ server

    private static void serve(RdmaEventLoopGroup group, InetSocketAddress address)
            throws InterruptedException {
        new ServerBootstrap()
                .group(group)
                .channel(RdmaServerStreamChannel.class)
                .childOption(ChannelOption.ALLOW_HALF_CLOSURE, true)
                .childHandler(
                        new ChannelInitializer<RdmaStreamChannel>() {
                            @Override
                            protected void initChannel(RdmaStreamChannel channel) {
                                channel.pipeline().addLast(new Echo());
                            }
                        })
                .bind(address)
                .sync();
    }

    /** Reads no more than it can send. */
    private static final class Echo extends ChannelInboundHandlerAdapter {
        private long bytes;
        private boolean isReset;

        @Override
        public void channelRead(ChannelHandlerContext ctx, Object message) {
            bytes += ((ByteBuf) message).readableBytes();
            ctx.write(message);
        }

        @Override
        public void channelReadComplete(ChannelHandlerContext ctx) {
            ctx.flush();
        }

        @Override
        public void channelWritabilityChanged(ChannelHandlerContext ctx) {
            ctx.channel().config().setAutoRead(ctx.channel().isWritable());
        }

        @Override
        public void userEventTriggered(ChannelHandlerContext ctx, Object event) {
            if (event == ChannelInputShutdownReadComplete.INSTANCE) {
                ctx.writeAndFlush(ctx.alloc().buffer(0)).addListener(ChannelFutureListener.CLOSE);
            }
        }

        @Override
        public void channelInactive(ChannelHandlerContext ctx) {
            System.out.println((isReset ? "RESET " : "SERVED ") + bytes);
        }

        @Override
        public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
            isReset = true;
            if (!(cause instanceof IOException)) {
                System.out.println("FAIL " + cause);
            }
            ctx.close();
        }
    }

    // ------------------------------------------------------------------ client

    /** Receive buffer: no news of room follows the server's last bytes, upon which its TCP would give them up. */
    private static final int MORE_THAN_TWICE_ALL_BYTES = 1 << 22;

    /** Both ends say 16 bytes; then so many times the client sends its bytes and the server as many. */
    private static void exchange(
            RdmaEventLoopGroup group, InetSocketAddress server, int size, int times)
            throws Exception {
        Ramp received = new Ramp();
        Channel channel = connect(group, server, received);
        long sent = send(channel, 0, 16);
        received.await(sent);
        for (int i = 0; i < times; i++) {
            sent = send(channel, sent, size);
            received.await(sent);
        }
        Report.holds(
                channel.close().await(PATIENCE_SECONDS, TimeUnit.SECONDS), "the close has no end");
    }

    /** Both ends send what they have, and nobody waits for the other one. */
    private static void swap(RdmaEventLoopGroup group, InetSocketAddress server, int size)
            throws Exception {
        Ramp received = new Ramp();
        Channel channel = connect(group, server, received);
        send(channel, 0, size);
        received.await(size);
        Report.holds(
                channel.close().await(PATIENCE_SECONDS, TimeUnit.SECONDS), "the close has no end");
    }

    /** QEMU takes connections before anybody listens in the guest. */
    private static Channel connect(
            RdmaEventLoopGroup group, InetSocketAddress server, Ramp received) throws Exception {
        Bootstrap bootstrap =
                new Bootstrap()
                        .group(group)
                        .channel(RdmaStreamChannel.class)
                        .option(ChannelOption.CONNECT_TIMEOUT_MILLIS, 10_000)
                        .option(ChannelOption.SO_RCVBUF, MORE_THAN_TWICE_ALL_BYTES)
                        .handler(received);
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(PATIENCE_SECONDS);
        while (true) {
            var attempt = bootstrap.connect(server).await();
            if (attempt.isSuccess()) {
                return attempt.channel();
            }
            if (System.nanoTime() - end > 0) {
                throw new IOException(attempt.cause());
            }
            Thread.sleep(500);
        }
    }

    private static long send(Channel channel, long sent, int length) {
        byte[] bytes = new byte[length];
        for (int i = 0; i < length; i++) {
            bytes[i] = (byte) (sent + i);
        }
        channel.writeAndFlush(channel.alloc().buffer(length).writeBytes(bytes));
        return sent + length;
    }

    /** What rstream sends: 0, 1, 2 and so on, through all messages. */
    private static final class Ramp extends SimpleChannelInboundHandler<ByteBuf> {
        private long count;
        private String wrong;
        private String end;

        @Override
        public boolean isSharable() {
            return true;
        }

        @Override
        protected synchronized void channelRead0(ChannelHandlerContext ctx, ByteBuf bytes) {
            // The leak detector records each access to the buffer, which takes long in an emulated
            // machine.
            for (byte next : ByteBufUtil.getBytes(bytes)) {
                if (next != (byte) count && wrong == null) {
                    wrong = "byte " + count + " is " + next;
                }
                count++;
            }
            notifyAll();
        }

        @Override
        public synchronized void channelInactive(ChannelHandlerContext ctx) {
            end = end == null ? "the connection has ended after " + count + " bytes" : end;
            notifyAll();
        }

        @Override
        public synchronized void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
            end = cause.toString();
            ctx.close();
        }

        /** The peer may end the connection behind its last byte. */
        synchronized void await(long bytes) throws InterruptedException {
            long limit = System.nanoTime() + TimeUnit.SECONDS.toNanos(PATIENCE_SECONDS);
            while (count < bytes && end == null && System.nanoTime() - limit < 0) {
                wait(1000);
            }
            Report.holds(wrong == null, wrong);
            Report.holds(end == null || count >= bytes, end);
            Report.same("bytes received", bytes, count);
        }
    }
}
