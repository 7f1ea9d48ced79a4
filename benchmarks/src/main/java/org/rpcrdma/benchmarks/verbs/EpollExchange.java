// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.benchmarks.verbs;

import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.PooledByteBufAllocator;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.FixedRecvByteBufAllocator;
import io.netty.channel.SelectStrategy;
import io.netty.channel.SelectStrategyFactory;
import io.netty.channel.WriteBufferWaterMark;
import io.netty.channel.epoll.EpollEventLoopGroup;
import io.netty.channel.epoll.EpollServerSocketChannel;
import io.netty.channel.epoll.EpollSocketChannel;
import io.netty.util.concurrent.Promise;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.concurrent.TimeUnit;

/**
 * Netty's native epoll transport whose event loops never block ({@link SelectStrategy#BUSY_WAIT}). Both handlers count
 * bytes; nothing is decoded or copied, and answers come from one buffer: less than any protocol could do.
 */
final class EpollExchange implements Exchange {

    private static final SelectStrategyFactory BUSY =
            () -> (supplier, hasTasks) -> hasTasks ? supplier.get() : SelectStrategy.BUSY_WAIT;
    private static final int READ_MAX = 256 << 10;
    private static final long SECONDS = 120;

    private final EventLoopGroup loops =
            new EpollEventLoopGroup(2, (java.util.concurrent.Executor) null, BUSY);
    private final ByteBuf message;
    private final ByteBuf request;
    private final Channel channel;
    private final Caller caller = new Caller();
    private final int bytes;
    private volatile int expected;

    EpollExchange(int bytes) {
        this.bytes = bytes;
        message = PooledByteBufAllocator.DEFAULT.directBuffer(bytes).writeZero(bytes);
        request =
                PooledByteBufAllocator.DEFAULT
                        .directBuffer(SocketExchange.REQUEST)
                        .writeZero(SocketExchange.REQUEST);
        Channel server =
                new ServerBootstrap()
                        .group(loops)
                        .channel(EpollServerSocketChannel.class)
                        .childOption(ChannelOption.TCP_NODELAY, true)
                        .childOption(
                                ChannelOption.RCVBUF_ALLOCATOR,
                                new FixedRecvByteBufAllocator(READ_MAX))
                        .childOption(
                                ChannelOption.WRITE_BUFFER_WATER_MARK, WriteBufferWaterMark.DEFAULT)
                        .childHandler(new Echo())
                        .bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0))
                        .syncUninterruptibly()
                        .channel();
        channel =
                new Bootstrap()
                        .group(loops)
                        .channel(EpollSocketChannel.class)
                        .option(ChannelOption.TCP_NODELAY, true)
                        .option(
                                ChannelOption.RCVBUF_ALLOCATOR,
                                new FixedRecvByteBufAllocator(READ_MAX))
                        .handler(caller)
                        .connect(server.localAddress())
                        .syncUninterruptibly()
                        .channel();
    }

    @Override
    public void sends(int count, int window) {
        run(count, window, message);
    }

    @Override
    public void writes(int count, int window) {
        run(count, window, message);
    }

    @Override
    public void reads(int count, int window) {
        run(count, window, request);
    }

    private void run(int count, int window, ByteBuf out) {
        expected = out.readableBytes();
        Promise<Void> done = channel.eventLoop().newPromise();
        channel.eventLoop().execute(() -> caller.start(count, window, out, done));
        if (!done.awaitUninterruptibly(SECONDS, TimeUnit.SECONDS)) {
            throw new IllegalStateException("no answer within " + SECONDS + " s");
        }
        done.getNow();
    }

    @Override
    public void close() {
        loops.shutdownGracefully(0, 1, TimeUnit.SECONDS).syncUninterruptibly();
        message.release();
        request.release();
    }

    private final class Caller extends ChannelInboundHandlerAdapter {

        private int count;
        private int arrived;
        private int sent;
        private int window;
        private int received;
        private ByteBuf out;
        private Promise<Void> done;

        void start(int count, int window, ByteBuf out, Promise<Void> done) {
            this.count = count;
            this.window = window;
            this.out = out;
            this.done = done;
            arrived = 0;
            sent = 0;
            received = 0;
            send();
        }

        private void send() {
            boolean any = false;
            for (; sent < count && sent - arrived < window; sent++) {
                channel.write(out.retainedDuplicate(), channel.voidPromise());
                any = true;
            }
            if (any) {
                channel.flush();
            }
        }

        @Override
        public void channelRead(ChannelHandlerContext context, Object read) {
            ByteBuf in = (ByteBuf) read;
            received += in.readableBytes();
            in.release();
            if (received >= bytes) {
                arrived += received / bytes;
                received %= bytes;
                if (arrived == count) {
                    done.setSuccess(null);
                } else {
                    send();
                }
            }
        }

        @Override
        public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
            done.tryFailure(cause);
        }
    }

    private final class Echo extends ChannelInboundHandlerAdapter {

        private int received;

        @Override
        public void channelRead(ChannelHandlerContext context, Object read) {
            ByteBuf in = (ByteBuf) read;
            received += in.readableBytes();
            in.release();
            for (; received >= expected; received -= expected) {
                context.write(message.retainedDuplicate(), context.voidPromise());
            }
        }

        @Override
        public void channelReadComplete(ChannelHandlerContext context) {
            context.flush();
        }
    }
}
