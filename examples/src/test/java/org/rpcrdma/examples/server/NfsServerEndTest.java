// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.server;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.bootstrap.Bootstrap;
import io.netty.channel.ChannelInitializer;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.rpcrdma.channel.RdmaChannel;
import org.rpcrdma.channel.RdmaEventLoopGroup;
import org.rpcrdma.codec.RpcRdmaConfig;
import org.rpcrdma.examples.export.Export;

/** A server ends when it is told to, whatever its threads do. */
class NfsServerEndTest {

    private static final long PATIENCE_SECONDS = 60;

    @TempDir private Path directory;
    @TempDir private Path state;

    @Test
    void aLoopThatIsStuckDoesNotKeepAServerFromEnding() throws Exception {
        CountDownLatch stuck = new CountDownLatch(1);
        CountDownLatch release = new CountDownLatch(1);
        RdmaEventLoopGroup loops = new RdmaEventLoopGroup(1);
        try (Export export = new Export(directory, false, state.resolve("key"))) {
            NfsServer server = new NfsServer(export);
            InetSocketAddress address =
                    server.serveNfsOverRdma(
                            new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
                            RpcRdmaConfig.defaults(),
                            channel -> {
                                stuck.countDown();
                                awaitUninterruptibly(release);
                            });
            RpcRdmaConfig.defaults()
                    .applyTo(new Bootstrap())
                    .group(loops)
                    .channel(RdmaChannel.class)
                    .handler(
                            new ChannelInitializer<RdmaChannel>() {
                                @Override
                                protected void initChannel(RdmaChannel channel) {
                                    // Connecting is all that it does.
                                }
                            })
                    .connect(address);
            assertThat(stuck.await(PATIENCE_SECONDS, TimeUnit.SECONDS)).isTrue();
            Thread closing = new Thread(server::close, "closing");
            closing.setDaemon(true);
            closing.start();
            closing.join(TimeUnit.SECONDS.toMillis(PATIENCE_SECONDS));
            assertThat(closing.isAlive()).isFalse();
        } finally {
            release.countDown();
            loops.shutdownGracefully(0, PATIENCE_SECONDS, TimeUnit.SECONDS).syncUninterruptibly();
        }
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
