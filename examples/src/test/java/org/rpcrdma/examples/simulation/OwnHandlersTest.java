// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.simulation;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.SimpleChannelInboundHandler;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.rpcrdma.channel.PollMode;
import org.rpcrdma.channel.RdmaEventLoopGroup;
import org.rpcrdma.channel.RdmaServerStreamChannel;
import org.rpcrdma.channel.RdmaStreamChannel;
import org.rpcrdma.verbs.iwarp.IwarpConfig;
import org.rpcrdma.verbs.iwarp.SimulatedNetwork;

/** Handlers of a program in the simulation, as docs/simulation.md shows it. */
class OwnHandlersTest {

    private static final InetSocketAddress ADDRESS =
            new InetSocketAddress(InetAddress.getLoopbackAddress(), 7);
    private static final int BYTES = 100_000;
    private static final int SEEDS = 20;

    /** The handler under test. */
    private static final class EchoHandler extends ChannelInboundHandlerAdapter {
        @Override
        public void channelRead(ChannelHandlerContext ctx, Object message) {
            ctx.writeAndFlush(message);
        }
    }

    private static final class Counter extends SimpleChannelInboundHandler<ByteBuf> {
        int bytes;

        @Override
        protected void channelRead0(ChannelHandlerContext ctx, ByteBuf message) {
            bytes += message.readableBytes();
        }
    }

    /** One history on a network of its own. */
    private static final class History {
        final SimulatedNetwork network;
        final Counter counter = new Counter();

        History(long seed) {
            network = new SimulatedNetwork(seed, true);
        }

        private RdmaEventLoopGroup newGroup() {
            return new RdmaEventLoopGroup(
                    1,
                    network.executor(),
                    network.provider(IwarpConfig.defaults()),
                    PollMode.BLOCKING);
        }

        private void await(String what, BooleanSupplier condition) {
            assertThat(network.runUntil(condition, TimeUnit.MINUTES.toNanos(5)))
                    .describedAs("seed %d: %s%n%s", network.seed(), what, network.events())
                    .isTrue();
        }

        /**
         * Sends bytes to the echo.
         *
         * @param isReset whether the connection is lost meanwhile
         */
        void run(boolean isReset) {
            RdmaEventLoopGroup servers = newGroup();
            RdmaEventLoopGroup clients = newGroup();
            ChannelFuture bound =
                    new ServerBootstrap()
                            .group(servers)
                            .channel(RdmaServerStreamChannel.class)
                            .childHandler(initializer(new EchoHandler()))
                            .bind(ADDRESS);
            await("the server listens", bound::isSuccess);
            ChannelFuture connected =
                    new Bootstrap()
                            .group(clients)
                            .channel(RdmaStreamChannel.class)
                            .handler(counter)
                            .connect(ADDRESS);
            await("the client is connected", connected::isSuccess);
            Channel channel = connected.channel();
            channel.writeAndFlush(Unpooled.wrappedBuffer(new byte[BYTES]));
            if (isReset) {
                await("some bytes are back", () -> counter.bytes > 0);
                network.connections().get(0).reset();
                await("the client hears of the loss", () -> !channel.isActive());
            } else {
                await("all bytes are back", () -> counter.bytes == BYTES);
            }
            servers.shutdownGracefully(0, 1, TimeUnit.SECONDS);
            clients.shutdownGracefully(0, 1, TimeUnit.SECONDS);
            await("all event loops end", () -> network.threadCount() == 0);
        }

        private static ChannelHandler initializer(ChannelHandler handler) {
            return new ChannelInitializer<>() {
                @Override
                protected void initChannel(Channel channel) {
                    channel.pipeline().addLast(handler);
                }
            };
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void eachSeedHasItsOwnHistory(boolean isReset) {
        Set<Long> hashes = new HashSet<>();
        for (long seed = 0; seed < SEEDS; seed++) {
            History history = new History(seed);
            history.run(isReset);
            hashes.add(history.network.hash());
        }
        assertThat(hashes).hasSize(SEEDS);
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void aSeedDeterminesTheHistory(boolean isReset) {
        History first = new History(4711);
        first.run(isReset);
        History second = new History(4711);
        second.run(isReset);
        assertThat(second.network.events()).isEqualTo(first.network.events());
        assertThat(second.network.hash()).isEqualTo(first.network.hash());
    }
}
