// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.benchmarks.soak;

import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandler.Sharable;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.SimpleChannelInboundHandler;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.rpcrdma.channel.RdmaEventLoopGroup;
import org.rpcrdma.channel.RdmaServerStreamChannel;
import org.rpcrdma.channel.RdmaStreamChannel;

/** A byte stream that a server sends back, and whose bytes are checked; connected again whenever it ends. */
final class SoakStream {

    private static final int PORTION = 1 << 16;
    private static final int RECONNECT_MILLIS = 500;

    private final RdmaEventLoopGroup group;
    private final InetSocketAddress server;
    private final long pauseMillis;
    private final SoakTally tally;
    private volatile boolean isStopped;
    private volatile Channel channel;
    private final AtomicLong portions = new AtomicLong();

    SoakStream(
            RdmaEventLoopGroup group, InetSocketAddress server, long pauseMillis, SoakTally tally) {
        this.group = group;
        this.server = server;
        this.pauseMillis = pauseMillis;
        this.tally = tally;
    }

    /** Sends back what comes. */
    @Sharable
    private static final class Echo extends ChannelInboundHandlerAdapter {
        @Override
        public void channelRead(ChannelHandlerContext ctx, Object data) {
            ctx.write(data, ctx.voidPromise());
        }

        @Override
        public void channelReadComplete(ChannelHandlerContext ctx) {
            ctx.flush();
        }

        @Override
        public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
            ctx.close();
        }
    }

    static InetSocketAddress listen(RdmaEventLoopGroup group) throws InterruptedException {
        return (InetSocketAddress)
                new ServerBootstrap()
                        .group(group)
                        .channel(RdmaServerStreamChannel.class)
                        .childHandler(new Echo())
                        .bind(InetAddress.getLoopbackAddress(), 0)
                        .sync()
                        .channel()
                        .localAddress();
    }

    void start() {
        if (isStopped) {
            return;
        }
        new Bootstrap()
                .group(group)
                .channel(RdmaStreamChannel.class)
                .handler(new Portions())
                .connect(server)
                .addListener(
                        connected -> {
                            if (!connected.isSuccess()) {
                                again();
                            }
                        });
    }

    private void again() {
        group.schedule(this::start, RECONNECT_MILLIS, TimeUnit.MILLISECONDS);
    }

    /** How many portions came back. */
    long portions() {
        return portions.get();
    }

    void stop() {
        isStopped = true;
        Channel open = channel;
        if (open != null) {
            open.close();
        }
    }

    /** One portion after the other. */
    private final class Portions extends SimpleChannelInboundHandler<ByteBuf> {
        private ByteBuf back;
        private long number;

        @Override
        public void channelActive(ChannelHandlerContext ctx) {
            channel = ctx.channel();
            back = ctx.alloc().buffer(PORTION);
            send(ctx);
        }

        private void send(ChannelHandlerContext ctx) {
            ByteBuf portion = ctx.alloc().buffer(PORTION);
            Pattern.write(portion, ++number, PORTION);
            ctx.writeAndFlush(portion, ctx.voidPromise());
        }

        @Override
        protected void channelRead0(ChannelHandlerContext ctx, ByteBuf data) {
            if (data.readableBytes() > back.writableBytes()) {
                tally.violation("more came back through a stream than was sent");
                ctx.close();
                return;
            }
            back.writeBytes(data);
            if (back.readableBytes() == PORTION) {
                if (!Pattern.is(back, 0, number, PORTION)) {
                    tally.violation("the bytes of a stream");
                }
                back.clear();
                portions.incrementAndGet();
                tally.streamBytes.add(PORTION);
                ctx.executor().schedule(() -> send(ctx), pauseMillis, TimeUnit.MILLISECONDS);
            }
        }

        @Override
        public void channelInactive(ChannelHandlerContext ctx) {
            back.release();
            tally.streamsEnded.increment();
            again();
        }

        @Override
        public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
            ctx.close();
        }
    }
}
