// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.simulation;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.function.ObjIntConsumer;
import org.junit.jupiter.api.Test;
import org.rpcrdma.channel.RdmaServerStreamChannel;
import org.rpcrdma.channel.RdmaStreamChannel;
import org.rpcrdma.channel.StreamEnd;
import org.rpcrdma.codec.fault.FaultContext;
import org.rpcrdma.verbs.iwarp.SimulatedNetwork;

/** A device refuses a call of a stream, each one in turn: the stream ends, and leaves nothing behind. */
class StreamRefusalTest {

    /** More calls than a stream of this test makes once it is connected. */
    private static final int CALLS = 60;

    private static final long PATIENCE = TimeUnit.MINUTES.toNanos(2);
    private static final InetSocketAddress ADDRESS =
            new InetSocketAddress(InetAddress.getLoopbackAddress(), 30_000);

    @Test
    void eachCallMayBeRefused() {
        for (int at = 0; at < CALLS; at++) {
            try {
                refuse(
                        at,
                        (host, number) -> host.refuse(number, null),
                        FaultContext.Delivery.AT_ONCE);
            } catch (AssertionError e) {
                throw new AssertionError("call " + at + " is refused: " + e.getMessage(), e);
            }
        }
    }

    /** Found by seed 378 of the world: a stream without heap kept the key of a buffer that was full. */
    @Test
    void eachCallMayFindNoHeap() {
        for (int at = 0; at < CALLS; at++) {
            try {
                // Events that come late come from no device that ends the connection for an error.
                refuse(
                        at,
                        (host, number) -> host.exhaustHeap(number, null),
                        FaultContext.Delivery.BATCHED);
            } catch (AssertionError e) {
                throw new AssertionError("call " + at + " has no heap: " + e.getMessage(), e);
            }
        }
    }

    private static void refuse(
            int at, ObjIntConsumer<SimulatedHost> how, FaultContext.Delivery delivery) {
        SimulatedNetwork network = new SimulatedNetwork(at, false);
        SimulatedHost server = new SimulatedHost(network, "server", new Random(1));
        SimulatedHost client = new SimulatedHost(network, "client", new Random(1));
        List<StreamEnd> ends = new ArrayList<>();
        ChannelInitializer<Channel> initializer =
                new ChannelInitializer<>() {
                    @Override
                    protected void initChannel(Channel channel) {
                        StreamEnd end = new StreamEnd(channel, "end " + ends.size(), network);
                        ends.add(end);
                        channel.pipeline().addLast(end);
                    }
                };
        ChannelFuture listener =
                new ServerBootstrap()
                        .group(server.group)
                        .channel(RdmaServerStreamChannel.class)
                        .childOption(ChannelOption.SO_RCVBUF, 4096)
                        .childHandler(initializer)
                        .bind(ADDRESS);
        expect(network, "the server listens", listener::isDone);
        ChannelFuture connected =
                new Bootstrap()
                        .group(client.group)
                        .channel(RdmaStreamChannel.class)
                        .option(ChannelOption.SO_RCVBUF, 4096)
                        .handler(initializer)
                        .connect(ADDRESS);
        expect(network, "it connects", () -> connected.isSuccess() && ends.size() == 2);
        client.context().delivery(delivery);
        how.accept(client, at);
        for (int i = 0; i < 3; i++) {
            for (StreamEnd end : ends) {
                end.write(2000);
                end.flush();
            }
            network.run(50);
            assertThat(client.context().queuePairs())
                    .as("its table and two buffers are within the reach of its peer")
                    .allMatch(queuePair -> queuePair.keys() <= 3);
        }
        ends.forEach(StreamEnd::close);
        expect(network, "it is closed", () -> ends.stream().noneMatch(StreamEnd::isOpen));
        assertThat(ends).allMatch(StreamEnd::isSettled);
        assertThat(client.isEmpty()).as("no message has memory").isTrue();
        listener.channel().close();
        server.shutdown();
        client.shutdown();
        expect(network, "all event loops end", () -> network.threadCount() == 0);
        assertThat(client.problem()).isNull();
        assertThat(server.problem()).isNull();
    }

    private static void expect(SimulatedNetwork network, String what, BooleanSupplier condition) {
        assertThat(network.runUntil(condition, PATIENCE)).as(what).isTrue();
    }
}
