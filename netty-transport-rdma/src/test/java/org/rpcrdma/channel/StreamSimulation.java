// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

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
import org.rpcrdma.verbs.DirectMemoryBudget;
import org.rpcrdma.verbs.iwarp.IwarpConfig;
import org.rpcrdma.verbs.iwarp.SimulatedConnection;
import org.rpcrdma.verbs.iwarp.SimulatedNetwork;

/**
 * A history of byte streams on a {@link SimulatedNetwork}: both ends write, flush, stop and resume reading, and shut
 * their output down at random times, with faults between. Without losses each byte arrives once and in order, each
 * promise succeeds, and each end sees the end of its input. With losses the received bytes are a prefix of the written
 * ones, and each promise is completed.
 */
public final class StreamSimulation {

    private static final InetSocketAddress ADDRESS =
            new InetSocketAddress(InetAddress.getLoopbackAddress(), 20111);
    private static final long MILLI = TimeUnit.MILLISECONDS.toNanos(1);
    private static final long PATIENCE_MILLIS = 60_000;

    private final SimulatedNetwork network;
    private final Random random;

    /** Whether connections may be reset; otherwise faults are delays. */
    private final boolean hasLosses;

    private final List<StreamEnd> ends = new ArrayList<>();

    /** A history that has not begun. */
    public StreamSimulation(SimulatedNetwork network) {
        this.network = network;
        random = new Random(~network.seed());
        hasLosses = random.nextInt(3) == 0;
    }

    /**
     * Runs the history.
     *
     * @throws AssertionError when a check fails
     */
    public void run() {
        RdmaEventLoopGroup servers = group();
        List<RdmaEventLoopGroup> groups = new ArrayList<>(List.of(servers));
        ServerBootstrap server =
                new ServerBootstrap()
                        .group(servers)
                        .channel(RdmaServerStreamChannel.class)
                        .childOption(ChannelOption.ALLOW_HALF_CLOSURE, true)
                        .childHandler(
                                new ChannelInitializer<Channel>() {
                                    @Override
                                    protected void initChannel(Channel channel) {
                                        add(channel, "server ");
                                    }
                                });
        sizes(server::childOption);
        ChannelFuture bound = server.bind(ADDRESS);
        expect("the server listens", bound::isDone);
        int pairs = 1 + random.nextInt(2);
        for (int i = 0; i < pairs; i++) {
            RdmaEventLoopGroup group = group();
            groups.add(group);
            connect(group);
        }
        for (int i = 10 + random.nextInt(60); i > 0; i--) {
            act();
            network.run(random.nextInt(80));
            if (random.nextInt(10) == 0) {
                fault();
            }
        }
        for (StreamEnd end : ends) {
            end.finish();
        }
        expect("all promises end", () -> ends.stream().allMatch(StreamEnd::isSettled));
        if (!hasLosses) {
            expect("all bytes arrive", () -> ends.stream().allMatch(StreamEnd::hasAll));
        }
        ends.forEach(this::check);
        ends.forEach(StreamEnd::close);
        expect("all streams are closed", () -> ends.stream().noneMatch(StreamEnd::isOpen));
        for (RdmaEventLoopGroup group : groups) {
            expect("no stream has memory", () -> group.registeredBytesInUse() == 0);
        }
        bound.channel().close();
        groups.forEach(group -> group.shutdownGracefully(0, 1, TimeUnit.SECONDS));
        expect("all event loops end", () -> network.threadCount() == 0);
    }

    private RdmaEventLoopGroup group() {
        return SimulatedGroups.single(
                network.executor(),
                network.provider(IwarpConfig.defaults()),
                random.nextBoolean() ? PollMode.BLOCKING : PollMode.ADAPTIVE,
                DirectMemoryBudget.jvm());
    }

    private void add(Channel channel, String side) {
        StreamEnd end = new StreamEnd(channel, side + ends.size(), network);
        ends.add(end);
        channel.pipeline().addLast(end);
    }

    private interface Options {
        <T> void set(ChannelOption<T> option, T value);
    }

    private void sizes(Options options) {
        // With few credits they run out; with many, only buffers do.
        options.set(RdmaChannelOption.RECEIVE_DEPTH, 16 << random.nextInt(5));
        options.set(ChannelOption.SO_RCVBUF, 1024 << random.nextInt(9));
        options.set(ChannelOption.SO_SNDBUF, 1024 << random.nextInt(9));
    }

    private void connect(RdmaEventLoopGroup group) {
        Bootstrap bootstrap =
                new Bootstrap()
                        .group(group)
                        .channel(RdmaStreamChannel.class)
                        .option(ChannelOption.ALLOW_HALF_CLOSURE, true)
                        .handler(
                                new ChannelInitializer<Channel>() {
                                    @Override
                                    protected void initChannel(Channel channel) {
                                        add(channel, "client ");
                                    }
                                });
        sizes(bootstrap::option);
        int before = ends.size();
        ChannelFuture connected = bootstrap.connect(ADDRESS);
        expect("the stream is connected", () -> connected.isDone() && ends.size() == before + 2);
        ends.get(before).pair(ends.get(before + 1));
    }

    private void act() {
        StreamEnd end = ends.get(random.nextInt(ends.size()));
        switch (random.nextInt(12)) {
            case 0 -> end.setReading(random.nextInt(3) != 0);
            case 1 -> end.write(0);
            case 2 -> end.flush();
            case 3 -> {
                if (random.nextInt(5) == 0) {
                    end.finish();
                }
            }
            case 4, 5 -> end.write(1 + random.nextInt(200_000));
            default -> end.write(1 + random.nextInt(3000));
        }
        if (random.nextInt(3) != 0) {
            end.flush();
        }
    }

    private void fault() {
        List<SimulatedConnection> open = network.connections();
        if (open.isEmpty()) {
            return;
        }
        SimulatedConnection one = open.get(random.nextInt(open.size()));
        long until = network.nanoTime() + random.nextInt(3_000) * MILLI;
        switch (hasLosses ? random.nextInt(3) : 1 + random.nextInt(2)) {
            case 0 -> {
                network.note(one + " is reset");
                one.reset();
            }
            case 1 -> one.stall(random.nextBoolean(), until);
            default -> network.pause(random.nextInt(3), until);
        }
    }

    private void check(StreamEnd end) {
        end.check();
        if (!hasLosses) {
            end.checkPromises();
        }
    }

    private void expect(String what, BooleanSupplier condition) {
        if (!network.runUntil(condition, PATIENCE_MILLIS * MILLI)) {
            StringBuilder state = new StringBuilder();
            for (StreamEnd end : ends) {
                state.append('\n').append(end.state());
            }
            throw new AssertionError("not so: " + what + state);
        }
        ends.forEach(StreamEnd::check);
    }
}
