// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import static org.assertj.core.api.Assertions.assertThat;
import static org.rpcrdma.channel.ConnectedPair.PATIENCE_SECONDS;

import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import java.net.InetAddress;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.rpcrdma.verbs.QueuePair;
import org.rpcrdma.verbs.QueuePairHandler;
import org.rpcrdma.verbs.VerbsProvider;
import org.rpcrdma.verbs.iwarp.IwarpProvider;

/**
 * The heap is exhausted by the first work of a new connection. The device does not end the connection by itself: a
 * hardware device logs what a handler throws, and goes on.
 */
class ConnectWithoutHeapTest {

    private final BlockingQueue<Channel> accepted = new LinkedBlockingQueue<>();
    private final BlockingQueue<Channel> active = new LinkedBlockingQueue<>();
    private RdmaEventLoopGroup servers;
    private RdmaEventLoopGroup clients;

    @AfterEach
    void shutDown() {
        clients.shutdownGracefully(0, PATIENCE_SECONDS, TimeUnit.SECONDS).syncUninterruptibly();
        servers.shutdownGracefully(0, PATIENCE_SECONDS, TimeUnit.SECONDS).syncUninterruptibly();
    }

    /** A device whose queue pairs have no heap for a Write. */
    private static VerbsProvider withoutHeap() {
        return InterceptedDevice.of(
                new IwarpProvider(),
                call -> {
                    if (!call.name().equals("createQueuePair")) {
                        return call.proceed();
                    }
                    return poor((QueuePair) call.proceedWith(deaf((QueuePairHandler) call.last())));
                });
    }

    private static QueuePair poor(QueuePair queuePair) {
        return InterceptedDevice.intercepted(
                QueuePair.class,
                queuePair,
                call -> {
                    if (call.name().equals("write")) {
                        throw new OutOfMemoryError("of the test");
                    }
                    return call.proceed();
                });
    }

    /** Hides from the device that a handler fails. */
    private static QueuePairHandler deaf(QueuePairHandler handler) {
        return InterceptedDevice.intercepted(
                QueuePairHandler.class,
                handler,
                call -> {
                    try {
                        return call.proceed();
                    } catch (OutOfMemoryError e) {
                        assertThat(call.name()).isEqualTo("connected");
                        return null;
                    }
                });
    }

    private ChannelFuture connect(VerbsProvider server, VerbsProvider client) throws Exception {
        servers = new RdmaEventLoopGroup(1, server, PollMode.BLOCKING);
        clients = new RdmaEventLoopGroup(1, client, PollMode.BLOCKING);
        Channel listener =
                new ServerBootstrap()
                        .group(servers)
                        .channel(RdmaServerStreamChannel.class)
                        .childHandler(noting(accepted))
                        .bind(InetAddress.getLoopbackAddress(), 0)
                        .sync()
                        .channel();
        return new Bootstrap()
                .group(clients)
                .channel(RdmaStreamChannel.class)
                .handler(noting(new LinkedBlockingQueue<>()))
                .connect(listener.localAddress());
    }

    private ChannelHandler noting(BlockingQueue<Channel> registered) {
        return new ChannelInitializer<>() {
            @Override
            protected void initChannel(Channel channel) {
                registered.add(channel);
                channel.pipeline()
                        .addLast(
                                new ChannelInboundHandlerAdapter() {
                                    @Override
                                    public void channelActive(ChannelHandlerContext ctx) {
                                        active.add(ctx.channel());
                                    }
                                });
            }
        };
    }

    private static void checkCloses(Channel channel) throws InterruptedException {
        assertThat(channel.closeFuture().await(PATIENCE_SECONDS, TimeUnit.SECONDS)).isTrue();
    }

    @Test
    void theConnectFailsByIt() throws Exception {
        ChannelFuture connect = connect(new IwarpProvider(), withoutHeap());
        assertThat(connect.await(PATIENCE_SECONDS, TimeUnit.SECONDS)).isTrue();
        assertThat(connect.cause())
                .isInstanceOf(OutOfMemoryError.class)
                .hasMessageContaining("of the test");
        checkCloses(connect.channel());
        assertThat(active).doesNotContain(connect.channel());
    }

    /** No timer is there for it: it has answered. */
    @Test
    void theAcceptedEndCloses() throws Exception {
        ChannelFuture connect = connect(withoutHeap(), new IwarpProvider());
        Channel server = accepted.poll(PATIENCE_SECONDS, TimeUnit.SECONDS);
        checkCloses(server);
        checkCloses(connect.channel());
        assertThat(active).doesNotContain(server);
    }
}
