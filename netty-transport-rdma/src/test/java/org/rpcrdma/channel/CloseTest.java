// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import static org.assertj.core.api.Assertions.assertThat;
import static org.rpcrdma.channel.ConnectedPair.PATIENCE_SECONDS;

import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelHandler.Sharable;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import java.io.IOException;
import java.lang.reflect.Proxy;
import java.net.InetAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.rpcrdma.verbs.EventLoopVerbsContext;
import org.rpcrdma.verbs.VerbsProvider;
import org.rpcrdma.verbs.iwarp.IwarpConfig;
import org.rpcrdma.verbs.iwarp.IwarpProvider;

/** What a promise says was sent arrives, however the sender closes, and whatever it has not read. */
class CloseTest {

    private static final int MESSAGES = 24;
    private static final int LENGTH = 4000;

    private final ConnectedPair.Inbox inbox = new ConnectedPair.Inbox();

    /** TCP keeps at the server what the client has not read. */
    private final RdmaEventLoopGroup servers = group(1 << 20);

    private final RdmaEventLoopGroup clients = group(8192);
    private final LinkedBlockingQueue<List<ChannelFuture>> answers = new LinkedBlockingQueue<>();

    private static RdmaEventLoopGroup group(int socketBuffer) {
        IwarpConfig config = IwarpConfig.builder().socketBuffer(socketBuffer).build();
        return new RdmaEventLoopGroup(1, new IwarpProvider(config), PollMode.ADAPTIVE);
    }

    @AfterEach
    void end() {
        clients.shutdownGracefully(0, PATIENCE_SECONDS, TimeUnit.SECONDS).syncUninterruptibly();
        servers.shutdownGracefully(0, PATIENCE_SECONDS, TimeUnit.SECONDS).syncUninterruptibly();
        inbox.releaseAll();
    }

    /** The client's first message is read, and the second one is in the server's socket. */
    private final CountDownLatch first = new CountDownLatch(1);

    private final CountDownLatch second = new CountDownLatch(1);

    /** Answers at length, and ends before the next message is read. */
    @Sharable
    private final class Answering extends ChannelInboundHandlerAdapter {
        private final ChannelFutureListener end;

        Answering(ChannelFutureListener end) {
            this.end = end;
        }

        @Override
        public void channelRead(ChannelHandlerContext ctx, Object message) {
            ((ByteBuf) message).release();
            first.countDown();
            awaitQuietly(second);
            List<ChannelFuture> written = new ArrayList<>();
            for (int i = 0; i < MESSAGES; i++) {
                written.add(ctx.write(Unpooled.directBuffer(LENGTH).writeZero(LENGTH)));
            }
            written.get(MESSAGES - 1).addListener(end);
            ctx.flush();
            answers.add(written);
        }
    }

    private void checkNothingIsLost(ChannelFutureListener end) throws Exception {
        Channel listener =
                new ServerBootstrap()
                        .group(servers)
                        .channel(RdmaServerChannel.class)
                        .childHandler(new Answering(end))
                        .bind(InetAddress.getLoopbackAddress(), 0)
                        .sync()
                        .channel();
        Channel client =
                new Bootstrap()
                        .group(clients)
                        .channel(RdmaChannel.class)
                        .handler(ConnectedPair.initializer(inbox))
                        .connect(listener.localAddress())
                        .sync()
                        .channel();
        // The client hears of nothing until the server has closed.
        CountDownLatch closed = new CountDownLatch(1);
        client.eventLoop()
                .execute(
                        () -> {
                            client.writeAndFlush(Unpooled.copyInt(1));
                            awaitQuietly(first);
                            client.writeAndFlush(Unpooled.copyInt(2));
                            second.countDown();
                            awaitQuietly(closed);
                        });
        try {
            List<ChannelFuture> written = answers.take();
            for (ChannelFuture each : written) {
                assertThat(each.await(PATIENCE_SECONDS, TimeUnit.SECONDS)).isTrue();
                assertThat(each.isSuccess()).isTrue();
            }
            ChannelFuture server = written.get(0).channel().closeFuture();
            assertThat(server.await(PATIENCE_SECONDS, TimeUnit.SECONDS)).isTrue();
        } finally {
            closed.countDown();
        }
        for (int i = 0; i < MESSAGES; i++) {
            assertThat(inbox.takeBytes()).hasSize(LENGTH);
        }
        assertThat(client.closeFuture().await(PATIENCE_SECONDS, TimeUnit.SECONDS)).isTrue();
        assertThat(inbox.errors).isEmpty();
    }

    private static void awaitQuietly(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    @Test
    void byTheListenerOfAWrite() throws Exception {
        checkNothingIsLost(ChannelFutureListener.CLOSE);
    }

    /** A device that is not done with the connections that were closed, a few times when it is asked. */
    private static final class Lingering implements VerbsProvider {
        final AtomicInteger left = new AtomicInteger(5);
        final AtomicInteger leftAtClose = new AtomicInteger(-1);

        @Override
        public String name() {
            return "lingering";
        }

        @Override
        public int priority() {
            return 0;
        }

        @Override
        public Throwable unavailabilityCause() {
            return null;
        }

        @Override
        public EventLoopVerbsContext open() throws IOException {
            EventLoopVerbsContext context = new IwarpProvider().open();
            return (EventLoopVerbsContext)
                    Proxy.newProxyInstance(
                            EventLoopVerbsContext.class.getClassLoader(),
                            new Class<?>[] {EventLoopVerbsContext.class},
                            (proxy, method, arguments) -> {
                                if (method.getName().equals("isLingering")) {
                                    return left.updateAndGet(n -> Math.max(n - 1, 0)) > 0;
                                }
                                if (method.getName().equals("close")) {
                                    leftAtClose.set(left.get());
                                }
                                return method.invoke(context, arguments);
                            });
        }
    }

    private static int leftAtTheEnd(long timeOutSeconds) {
        Lingering device = new Lingering();
        RdmaEventLoopGroup group = new RdmaEventLoopGroup(1, device, PollMode.BLOCKING);
        group.submit(() -> {}).syncUninterruptibly();
        group.shutdownGracefully(0, timeOutSeconds, TimeUnit.SECONDS).syncUninterruptibly();
        return device.leftAtClose.get();
    }

    @Test
    void theEventLoopEndsBehindItsConnections() {
        assertThat(leftAtTheEnd(PATIENCE_SECONDS)).isZero();
    }

    @Test
    void theEventLoopDoesNotWaitBeyondItsTimeOut() {
        assertThat(leftAtTheEnd(0)).isPositive();
    }

    /** The loop that ends does not cut what TCP has still to send. */
    @Test
    void byTheEndOfTheEventLoop() throws Exception {
        checkNothingIsLost(
                written -> servers.shutdownGracefully(0, PATIENCE_SECONDS, TimeUnit.SECONDS));
    }
}
