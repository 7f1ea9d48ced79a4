// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import static org.assertj.core.api.Assertions.assertThat;
import static org.rpcrdma.channel.ConnectedPair.PATIENCE_SECONDS;

import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelOption;
import io.netty.channel.pool.AbstractChannelPoolHandler;
import io.netty.channel.pool.FixedChannelPool;
import io.netty.util.concurrent.Future;
import java.net.InetAddress;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.rpcrdma.NeedsDevice;

/** Netty's pool of channels, which connects as many at once as it is asked for. */
@NeedsDevice("receivesWithoutMemory") // others reject who finds no place in the backlog
class ChannelPoolTest {

    private static final int CHANNELS = 500;

    private final ConnectedPair.Inbox server = new ConnectedPair.Inbox();
    private RdmaEventLoopGroup servers;
    private RdmaEventLoopGroup clients;

    @BeforeEach
    void begin() {
        servers = new RdmaEventLoopGroup(1);
        clients = new RdmaEventLoopGroup(1);
    }

    @AfterEach
    void end() {
        clients.shutdownGracefully(0, PATIENCE_SECONDS, TimeUnit.SECONDS).syncUninterruptibly();
        servers.shutdownGracefully(0, PATIENCE_SECONDS, TimeUnit.SECONDS).syncUninterruptibly();
        server.releaseAll();
    }

    @Test
    void aPoolHasAsManyChannelsAsItWasAskedFor() throws Exception {
        Channel listener =
                new ServerBootstrap()
                        .group(servers)
                        .channel(RdmaServerChannel.class)
                        .childHandler(ConnectedPair.initializer(server))
                        .bind(InetAddress.getLoopbackAddress(), 0)
                        .sync()
                        .channel();
        Bootstrap bootstrap =
                new Bootstrap()
                        .group(clients)
                        .channel(RdmaChannel.class)
                        .option(ChannelOption.CONNECT_TIMEOUT_MILLIS, 0)
                        .remoteAddress(listener.localAddress());
        FixedChannelPool pool =
                new FixedChannelPool(
                        bootstrap,
                        new AbstractChannelPoolHandler() {
                            @Override
                            public void channelCreated(Channel channel) {
                                channel.pipeline().addLast(new ConnectedPair.Inbox());
                            }
                        },
                        CHANNELS);
        List<Future<Channel>> acquired = new ArrayList<>();
        for (int i = 0; i < CHANNELS; i++) {
            acquired.add(pool.acquire());
        }
        Set<Channel> channels = new HashSet<>();
        for (Future<Channel> channel : acquired) {
            assertThat(channel.await(PATIENCE_SECONDS, TimeUnit.SECONDS)).isTrue();
            assertThat(channel.cause()).isNull();
            channels.add(channel.getNow());
            channel.getNow().writeAndFlush(Unpooled.copyInt(7));
        }
        assertThat(channels).hasSize(CHANNELS);
        for (int i = 0; i < CHANNELS; i++) {
            assertThat(server.takeBytes()).containsExactly(0, 0, 0, 7);
        }
        for (Channel channel : channels) {
            assertThat(pool.release(channel).await(PATIENCE_SECONDS, TimeUnit.SECONDS)).isTrue();
        }
        pool.close();
        for (Channel channel : channels) {
            assertThat(channel.closeFuture().await(PATIENCE_SECONDS, TimeUnit.SECONDS)).isTrue();
        }
    }
}
