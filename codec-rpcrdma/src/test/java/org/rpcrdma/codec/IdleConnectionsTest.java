// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.Channel;
import java.lang.management.ManagementFactory;
import java.net.InetAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.rpcrdma.NeedsDevice;
import org.rpcrdma.channel.RdmaChannel;
import org.rpcrdma.channel.RdmaEventLoopGroup;
import org.rpcrdma.channel.RdmaServerChannel;

/** What connections cost that have had a call and are idle. Both ends of all of them are in this JVM. */
@NeedsDevice("receivesWithoutMemory")
class IdleConnectionsTest {

    private static final int CONNECTIONS = 250;
    private static final int ENDS = 2 * CONNECTIONS;

    /** A server of 900 idle connections has to do with 64 MiB of heap. */
    private static final long HEAP_OF_AN_END = (64L << 20) / 900;

    /** Twice what an end has for what it sends. */
    private static final long DIRECT_OF_AN_END = 32 << 10;

    private final RpcRdmaConfig config = RpcRdmaConfig.defaults();
    private RdmaEventLoopGroup servers;
    private RdmaEventLoopGroup clients;

    @BeforeEach
    void begin() {
        servers = new RdmaEventLoopGroup(1);
        clients = new RdmaEventLoopGroup(1);
    }

    @AfterEach
    void end() {
        clients.shutdownGracefully(0, RpcPair.PATIENCE_SECONDS, TimeUnit.SECONDS)
                .syncUninterruptibly();
        servers.shutdownGracefully(0, RpcPair.PATIENCE_SECONDS, TimeUnit.SECONDS)
                .syncUninterruptibly();
    }

    @Test
    void costLittleAndGiveAllOfItBack() throws Exception {
        connect(1); // loads the classes, and fills the pools
        long heapBefore = heap();
        long directBefore = RdmaChannel.registeredBytes();
        List<Channel> channels = connect(CONNECTIONS);
        assertThat(RdmaChannel.registeredBytes() - directBefore)
                .isLessThanOrEqualTo(ENDS * DIRECT_OF_AN_END);
        await().untilAsserted(
                        () ->
                                assertThat(heap() - heapBefore)
                                        .isLessThanOrEqualTo(ENDS * HEAP_OF_AN_END));
        channels.forEach(Channel::close);
        end();
        await().untilAsserted(
                        () ->
                                assertThat(RdmaChannel.registeredBytes())
                                        .isLessThanOrEqualTo(directBefore));
    }

    private static long heap() {
        System.gc();
        return ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed();
    }

    /** Each has had a call when this returns. */
    private List<Channel> connect(int count) throws Exception {
        Channel listener =
                config.applyTo(new ServerBootstrap())
                        .group(servers)
                        .channel(RdmaServerChannel.class)
                        .childHandler(
                                RpcPair.pipeline(
                                        config,
                                        (ctx, call) -> ctx.writeAndFlush(Rpc.reply(Rpc.xid(call)))))
                        .bind(InetAddress.getLoopbackAddress(), 0)
                        .sync()
                        .channel();
        CountDownLatch replies = new CountDownLatch(count);
        Bootstrap bootstrap =
                config.applyTo(new Bootstrap())
                        .group(clients)
                        .channel(RdmaChannel.class)
                        .handler(RpcPair.pipeline(config, (ctx, reply) -> replies.countDown()));
        List<Channel> channels = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            Channel channel = bootstrap.connect(listener.localAddress()).sync().channel();
            channels.add(channel);
            channel.writeAndFlush(Rpc.echo(i, 8));
        }
        assertThat(replies.await(RpcPair.PATIENCE_SECONDS, TimeUnit.SECONDS)).isTrue();
        return channels;
    }
}
