// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.interop;

import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelOption;
import io.netty.channel.SimpleChannelInboundHandler;
import java.net.InetSocketAddress;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.rpcrdma.channel.RdmaChannelOption;
import org.rpcrdma.channel.RdmaEventLoopGroup;
import org.rpcrdma.channel.RdmaStreamChannel;

/** A byte stream with one portion of data under way at a time, or an idle one; connected again when it ends. */
final class ImpairedStream extends SimpleChannelInboundHandler<ByteBuf> {

    private static final int PORTION = 1 << 15;
    private static final int AGAIN_MILLIS = 500;

    private final RdmaEventLoopGroup loops;
    private final InetSocketAddress server;
    private final boolean isIdle;
    private final byte[] back = new byte[PORTION];
    private int length;
    private long number;

    private final AtomicLong portions = new AtomicLong();
    private final AtomicInteger ended = new AtomicInteger();
    private volatile boolean isWrong;
    private volatile boolean isClosed;
    private volatile Channel channel;

    ImpairedStream(RdmaEventLoopGroup loops, InetSocketAddress server, boolean isIdle) {
        this.loops = loops;
        this.server = server;
        this.isIdle = isIdle;
    }

    void connect() {
        if (!isClosed) {
            new Bootstrap()
                    .group(loops)
                    .channel(RdmaStreamChannel.class)
                    .option(RdmaChannelOption.KEEP_ALIVE_SECONDS, ImpairedClient.KEEP_ALIVE_SECONDS)
                    .option(ChannelOption.CONNECT_TIMEOUT_MILLIS, 5000)
                    .handler(this)
                    .connect(server)
                    .addListener(
                            connected -> {
                                if (!connected.isSuccess()) {
                                    connectLater();
                                }
                            });
        }
    }

    private void connectLater() {
        loops.schedule(this::connect, AGAIN_MILLIS, TimeUnit.MILLISECONDS);
    }

    @Override
    public boolean isSharable() {
        return true; // one connection after the other
    }

    @Override
    public void channelActive(ChannelHandlerContext ctx) {
        channel = ctx.channel();
        length = 0;
        send(ctx);
    }

    private void send(ChannelHandlerContext ctx) {
        number++;
        ctx.writeAndFlush(
                Unpooled.wrappedBuffer(ImpairedData.data(number, PORTION)), ctx.voidPromise());
    }

    @Override
    protected void channelRead0(ChannelHandlerContext ctx, ByteBuf data) {
        int more = Math.min(data.readableBytes(), PORTION - length);
        if (more < data.readableBytes()) {
            isWrong = true;
        }
        data.readBytes(back, length, more);
        length += more;
        if (length == PORTION) {
            if (!ImpairedData.isRight(back, number, PORTION)) {
                isWrong = true;
            }
            portions.incrementAndGet();
            length = 0;
            if (!isIdle) {
                send(ctx);
            }
        }
    }

    @Override
    public void channelInactive(ChannelHandlerContext ctx) {
        ended.incrementAndGet();
        connectLater();
    }

    @Override
    public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
        ctx.close();
    }

    /** How many portions have come back. */
    long portions() {
        return portions.get();
    }

    /** How many connections have ended. */
    int ended() {
        return ended.get();
    }

    boolean isWrong() {
        return isWrong;
    }

    void close() {
        isClosed = true;
        if (channel != null) {
            channel.close();
        }
    }
}
