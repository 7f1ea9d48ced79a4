// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.common;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.DefaultEventLoop;
import io.netty.channel.EventLoop;
import io.netty.channel.local.LocalServerChannel;
import io.netty.util.concurrent.DefaultPromise;
import io.netty.util.concurrent.GlobalEventExecutor;
import io.netty.util.concurrent.Promise;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** An event loop that is stuck or dead completes nothing, and nobody waits for it for ever. */
class WaitsTest {

    private final Promise<Void> never = new DefaultPromise<>(GlobalEventExecutor.INSTANCE);

    @Test
    void aServerIsNotBoundForEver() {
        EventLoop stuck = new DefaultEventLoop();
        CountDownLatch release = new CountDownLatch(1);
        stuck.execute(() -> awaitUninterruptibly(release));
        ServerBootstrap server =
                new ServerBootstrap()
                        .group(stuck)
                        .channel(LocalServerChannel.class)
                        .childHandler(new ChannelInboundHandlerAdapter());
        InetSocketAddress address = new InetSocketAddress(InetAddress.getLoopbackAddress(), 2049);
        try {
            assertThatThrownBy(() -> Waits.listen(server, address, 1))
                    .isInstanceOf(IOException.class)
                    .hasMessage(
                            "cannot listen on "
                                    + address.getHostString()
                                    + ":2049: the event loop does not answer");
        } finally {
            release.countDown();
            stuck.shutdownGracefully(0, 30, TimeUnit.SECONDS).syncUninterruptibly();
        }
    }

    @Test
    void aConnectDoesNotLastForEver() {
        assertThat(Waits.failure(never, 1)).hasMessage("the event loop does not answer");
        assertThat(never.isCancelled()).isTrue();
    }

    private static void awaitUninterruptibly(CountDownLatch latch) {
        boolean isOver = false;
        while (!isOver) {
            try {
                latch.await();
                isOver = true;
            } catch (InterruptedException e) {
                // A loop that is stuck does not care.
            }
        }
    }
}
