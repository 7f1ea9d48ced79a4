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
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.rpcrdma.verbs.iwarp.IwarpConfig;
import org.rpcrdma.verbs.iwarp.SimulatedConnection;
import org.rpcrdma.verbs.iwarp.SimulatedNetwork;

/** An idle connection whose peer falls silent without a word ends in time, on a virtual clock. */
class SimulatedKeepAliveTest {

    private static final InetSocketAddress ADDRESS =
            new InetSocketAddress(InetAddress.getLoopbackAddress(), 20112);

    private static final long SECOND = TimeUnit.SECONDS.toNanos(1);

    private final SimulatedNetwork network = new SimulatedNetwork(1, false);
    private final RdmaEventLoopGroup group =
            new RdmaEventLoopGroup(
                    1,
                    network.executor(),
                    network.provider(IwarpConfig.defaults()),
                    PollMode.BLOCKING);
    private final List<Channel> ends = new ArrayList<>();
    private Channel listener;

    /** The two kinds of channels. */
    enum Kind {
        MESSAGES,
        STREAM
    }

    @AfterEach
    void end() {
        if (listener != null) {
            listener.close();
        }
        ends.forEach(Channel::close);
        group.shutdownGracefully(0, 1, TimeUnit.SECONDS);
        // A close towards a silent peer waits as long as it may.
        expect("all event loops end", () -> network.threadCount() == 0);
    }

    private void expect(String what, BooleanSupplier condition) {
        assertThat(network.runUntil(condition, 60 * SECOND)).as(what).isTrue();
    }

    private final class End extends ChannelInboundHandlerAdapter {
        @Override
        public void channelRead(ChannelHandlerContext ctx, Object message) {
            ReferenceCountUtil.release(message);
        }

        @Override
        public void channelActive(ChannelHandlerContext ctx) {
            ends.add(ctx.channel());
        }

        @Override
        public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
            network.note("told of " + cause);
        }
    }

    private ChannelInitializer<Channel> initializer() {
        return new ChannelInitializer<>() {
            @Override
            protected void initChannel(Channel channel) {
                channel.pipeline().addLast(new End());
            }
        };
    }

    private void connect(Kind kind, boolean isKept) {
        boolean isStream = kind == Kind.STREAM;
        ServerBootstrap server =
                new ServerBootstrap()
                        .group(group)
                        .channel(isStream ? RdmaServerStreamChannel.class : RdmaServerChannel.class)
                        .childHandler(initializer());
        Bootstrap client =
                new Bootstrap()
                        .group(group)
                        .channel(isStream ? RdmaStreamChannel.class : RdmaChannel.class)
                        .handler(initializer());
        if (!isKept) {
            server.childOption(ChannelOption.SO_KEEPALIVE, false);
            client.option(ChannelOption.SO_KEEPALIVE, false);
        }
        ChannelFuture bound = server.bind(ADDRESS);
        expect("the server listens", bound::isDone);
        listener = bound.channel();
        client.connect(ADDRESS);
        expect("both ends are there", () -> ends.size() == 2);
        // Until the responder has sent something, the initiator probes for it by itself.
        ends.forEach(end -> end.writeAndFlush(Unpooled.copyInt(1)));
        network.runUntil(() -> false, SECOND); // all of it arrives
    }

    private void silence() {
        SimulatedConnection one = network.connections().get(0);
        one.silence(true);
        one.silence(false);
    }

    private boolean hasAnyEnded() {
        return ends.stream().anyMatch(end -> !end.isActive());
    }

    @ParameterizedTest
    @EnumSource
    void aSilentPeerIsNoticedByDefault(Kind kind) {
        connect(kind, true);
        silence();
        assertThat(network.runUntil(this::hasAnyEnded, 58 * SECOND)).isFalse();
        assertThat(network.runUntil(() -> ends.stream().noneMatch(Channel::isActive), 64 * SECOND))
                .isTrue();
    }

    /** Who is idle and there stays connected. */
    @ParameterizedTest
    @EnumSource
    void aPeerThatAnswersStays(Kind kind) {
        connect(kind, true);
        assertThat(network.runUntil(this::hasAnyEnded, 10_000 * SECOND)).isFalse();
    }

    @ParameterizedTest
    @EnumSource
    void withoutItNobodyNotices(Kind kind) {
        connect(kind, false);
        silence();
        assertThat(network.runUntil(this::hasAnyEnded, 10_000 * SECOND)).isFalse();
    }

    @Test
    void theIdleTimeIsThatOfTheOption() {
        assertThat(new RdmaStreamChannel().config().getKeepAliveSeconds()).isEqualTo(60);
        assertThat(new RdmaStreamChannel().config().isKeepAlive()).isTrue();
    }
}
