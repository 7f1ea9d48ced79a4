// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.management.ThreadMXBean;
import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.util.ResourceLeakDetector;
import java.lang.management.ManagementFactory;
import java.net.InetAddress;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.rpcrdma.NeedsDevice;
import org.rpcrdma.channel.RdmaChannel;
import org.rpcrdma.channel.RdmaEventLoopGroup;
import org.rpcrdma.channel.RdmaServerChannel;

/**
 * What both ends of a connection allocate for a call in steady state. It is counted on the one event loop of both, so
 * that no other thread and no load of the machine has a part in it; what happens now and then, such as a compilation,
 * is not in the least of several windows.
 */
@NeedsDevice("receivesWithoutMemory")
class AllocationTest {

    private static final int OUTSTANDING = 16;
    private static final int CALLS = 2000;
    private static final int WINDOWS = 10;

    /** Less than one object for a call. */
    private static final long MOST_BYTES = 8L * CALLS;

    private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();

    private ResourceLeakDetector.Level level;
    private RdmaEventLoopGroup group;

    /** The leak detector makes objects for each buffer. */
    @BeforeEach
    void start() {
        level = ResourceLeakDetector.getLevel();
        ResourceLeakDetector.setLevel(ResourceLeakDetector.Level.DISABLED);
        group = new RdmaEventLoopGroup(1);
    }

    @AfterEach
    void stop() {
        group.shutdownGracefully(0, RpcPair.PATIENCE_SECONDS, TimeUnit.SECONDS)
                .syncUninterruptibly();
        ResourceLeakDetector.setLevel(level);
    }

    private static ByteBuf registered(ChannelHandlerContext ctx, int capacity) {
        return ((RdmaChannel) ctx.channel()).registeredBuffer(capacity);
    }

    /** Answers each call with as many bytes as its last word says. */
    private static final class Service extends ChannelInboundHandlerAdapter {
        @Override
        public void channelRead(ChannelHandlerContext ctx, Object message) {
            ByteBuf call = (ByteBuf) message;
            int xid = Rpc.xid(call);
            int length = call.getInt(call.writerIndex() - 4);
            call.release();
            ByteBuf reply = registered(ctx, 24 + length).writeInt(xid).writeInt(1);
            ctx.write(reply.writeZero(16 + length), ctx.voidPromise());
        }

        @Override
        public void channelReadComplete(ChannelHandlerContext ctx) {
            ctx.flush();
        }
    }

    /** Keeps some calls out until enough are answered. */
    private static final class Caller extends ChannelInboundHandlerAdapter {
        private final int length;
        private ChannelHandlerContext ctx;
        private int xid;
        private int left;
        private int out;
        private long allocated;
        private CompletableFuture<Long> ended;

        Caller(int length) {
            this.length = length;
        }

        @Override
        public void handlerAdded(ChannelHandlerContext added) {
            ctx = added;
        }

        void start(CompletableFuture<Long> told) {
            ended = told;
            left = CALLS;
            allocated = THREADS.getThreadAllocatedBytes(Thread.currentThread().getId());
            for (int i = 0; i < OUTSTANDING; i++) {
                call();
            }
            ctx.flush();
        }

        private void call() {
            left--;
            out++;
            ByteBuf call = registered(ctx, 44 + length).writeInt(++xid).writeInt(0).writeInt(2);
            call.writeInt(0x20000000).writeInt(1).writeInt(1).writeZero(16 + length);
            ctx.write(call.writeInt(length), ctx.voidPromise());
        }

        @Override
        public void channelRead(ChannelHandlerContext context, Object message) {
            ((ByteBuf) message).release();
            out--;
            if (left > 0) {
                call();
            } else if (out == 0) {
                long now = THREADS.getThreadAllocatedBytes(Thread.currentThread().getId());
                ended.complete(now - allocated);
            }
        }

        @Override
        public void channelReadComplete(ChannelHandlerContext context) {
            context.flush();
        }
    }

    private Channel connect(ChannelHandler caller) throws Exception {
        RpcRdmaConfig config = RpcRdmaConfig.builder().defaultMaximumReply(1024).build();
        Channel listener =
                config.applyTo(new ServerBootstrap())
                        .group(group)
                        .channel(RdmaServerChannel.class)
                        .childHandler(with(config, new Service()))
                        .bind(InetAddress.getLoopbackAddress(), 0)
                        .sync()
                        .channel();
        return config.applyTo(new Bootstrap())
                .group(group)
                .channel(RdmaChannel.class)
                .handler(with(config, caller))
                .connect(listener.localAddress())
                .sync()
                .channel();
    }

    private static ChannelInitializer<Channel> with(RpcRdmaConfig config, ChannelHandler handler) {
        return new ChannelInitializer<>() {
            @Override
            protected void initChannel(Channel channel) {
                channel.pipeline().addLast(new RpcRdmaCodec(config), handler);
            }
        };
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 512, 4096, 30_000, 64_000})
    void aCallInOneSendAllocatesNothing(int length) throws Exception {
        Caller caller = new Caller(length);
        Channel channel = connect(caller);
        long least = Long.MAX_VALUE;
        for (int i = 0; i < WINDOWS && least >= MOST_BYTES; i++) {
            CompletableFuture<Long> window = new CompletableFuture<>();
            channel.eventLoop().execute(() -> caller.start(window));
            least = Math.min(least, window.get(RpcPair.PATIENCE_SECONDS, TimeUnit.SECONDS));
        }
        assertThat(least).isLessThan(MOST_BYTES);
    }
}
