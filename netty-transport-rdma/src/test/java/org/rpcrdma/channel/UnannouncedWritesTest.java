// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.util.ReferenceCountUtil;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.rpcrdma.verbs.iwarp.IwarpConfig;
import org.rpcrdma.verbs.iwarp.SimulatedConnection;
import org.rpcrdma.verbs.iwarp.SimulatedNetwork;

/** A peer that writes into a stream and never announces it keeps memory for a limited time, on a virtual clock. */
class UnannouncedWritesTest {

    private static final InetSocketAddress ADDRESS =
            new InetSocketAddress(InetAddress.getLoopbackAddress(), 20113);

    private static final long SECOND = TimeUnit.SECONDS.toNanos(1);

    private final SimulatedNetwork network = new SimulatedNetwork(1, false);
    private final RdmaEventLoopGroup clients = group(IwarpConfig.defaults());

    /** What is there of an FPDU has a limit of its own. */
    private final RdmaEventLoopGroup servers =
            group(IwarpConfig.builder().frameTimeout(Duration.ZERO).build());

    private final List<Throwable> failures = new ArrayList<>();
    private Channel listener;
    private Channel client;
    private Channel accepted;

    private RdmaEventLoopGroup group(IwarpConfig config) {
        return new RdmaEventLoopGroup(
                1, network.executor(), network.provider(config), PollMode.BLOCKING);
    }

    @AfterEach
    void end() {
        listener.close();
        client.close();
        accepted.close();
        clients.shutdownGracefully(0, 1, TimeUnit.SECONDS);
        servers.shutdownGracefully(0, 1, TimeUnit.SECONDS);
        // A close towards a silent peer waits as long as it may.
        expect("all event loops end", () -> network.threadCount() == 0);
    }

    private void expect(String what, BooleanSupplier condition) {
        assertThat(network.runUntil(condition, 60 * SECOND)).as(what).isTrue();
    }

    private final class Accepted extends ChannelInitializer<Channel> {
        @Override
        protected void initChannel(Channel channel) {
            channel.pipeline()
                    .addLast(
                            new ChannelInboundHandlerAdapter() {
                                @Override
                                public void channelActive(ChannelHandlerContext ctx) {
                                    accepted = ctx.channel();
                                }

                                @Override
                                public void channelRead(ChannelHandlerContext ctx, Object data) {
                                    ReferenceCountUtil.release(data);
                                }

                                @Override
                                public void exceptionCaught(
                                        ChannelHandlerContext ctx, Throwable cause) {
                                    failures.add(cause);
                                }
                            });
        }
    }

    /** Without keep-alive: a hostile peer would answer it. */
    private void connect(boolean reads) {
        ChannelFuture bound =
                new ServerBootstrap()
                        .group(servers)
                        .channel(RdmaServerStreamChannel.class)
                        .childOption(ChannelOption.SO_KEEPALIVE, false)
                        .childOption(ChannelOption.AUTO_READ, reads)
                        .childHandler(new Accepted())
                        .bind(ADDRESS);
        expect("the server listens", bound::isDone);
        listener = bound.channel();
        client =
                new Bootstrap()
                        .group(clients)
                        .channel(RdmaStreamChannel.class)
                        .option(ChannelOption.SO_KEEPALIVE, false)
                        .handler(new ChannelInboundHandlerAdapter())
                        .connect(ADDRESS)
                        .channel();
        expect("both ends are there", () -> client.isActive() && accepted != null);
        accepted.writeAndFlush(Unpooled.copyInt(1));
        network.runUntil(() -> false, SECOND); // all of it arrives
    }

    @Test
    void aPeerThatNeverAnnouncesItsWritesLosesItsConnection() {
        connect(true);
        long before = servers.registeredBytesInUse();
        client.writeAndFlush(Unpooled.wrappedBuffer(new byte[64 << 10]));
        expect("a part has arrived", () -> servers.registeredBytesInUse() > before);
        SimulatedConnection one = network.connections().get(0);
        one.silence(true);
        one.silence(false);
        assertThat(network.runUntil(() -> !accepted.isActive(), 29 * SECOND)).isFalse();
        assertThat(servers.registeredBytesInUse()).isGreaterThan(before);
        assertThat(network.runUntil(() -> !accepted.isActive(), 9 * SECOND)).isTrue();
        assertThat(servers.registeredBytesInUse()).isLessThan(before);
        assertThat(servers.value(RdmaCounter.CONNECTIONS_STALLED)).isEqualTo(1);
        assertThat(failures)
                .singleElement()
                .extracting(failure -> failure.getCause().getMessage())
                .asString()
                .contains("begun RDMA Writes that no message announces")
                .contains("for 30000 ms");
    }

    /** What is announced waits for the reader, who may take any time. */
    @Test
    void whatIsAnnouncedHasNoLimit() {
        connect(false);
        long before = servers.registeredBytesInUse();
        client.writeAndFlush(Unpooled.wrappedBuffer(new byte[64 << 10]));
        assertThat(network.runUntil(() -> !accepted.isActive(), 1000 * SECOND)).isFalse();
        assertThat(servers.registeredBytesInUse()).isGreaterThan(before);
    }
}
