// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.ServerChannel;
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
 * A history of one or two connections of a kind on a {@link SimulatedNetwork}: both ends act at random times, with
 * faults between. Without losses each promise succeeds and all that was written arrives. With losses each promise is
 * completed. In the end there is no memory in use, and all event loops end.
 *
 * @param <E> the ends
 */
abstract class PairSimulation<E extends SimulatedEnd<E>> {

    private static final InetSocketAddress ADDRESS =
            new InetSocketAddress(InetAddress.getLoopbackAddress(), 20111);
    private static final long MILLI = TimeUnit.MILLISECONDS.toNanos(1);
    private static final long PATIENCE_MILLIS = 60_000;

    /** Sets options of channels. */
    interface Options {
        <T> void set(ChannelOption<T> option, T value);
    }

    /** Hosts of a user, which fail. */
    public interface Hosts {

        /** {@return an event loop of a host} */
        RdmaEventLoopGroup group(Random random);

        /** All are connected: some host may fail from now on. */
        void beginFaults(Random random);

        /** {@return whether what fails is only to be waited for} */
        default boolean isMendable() {
            return false;
        }

        /** {@return how many connections may be lost by what has failed} */
        default int mostLost() {
            return Integer.MAX_VALUE;
        }

        /** Nothing fails any more. */
        default void recover() {}

        /**
         * Checks what holds between steps.
         *
         * @throws AssertionError when it does not
         */
        default void checkNow() {}
    }

    final SimulatedNetwork network;

    /** {@code null} for hosts that do not fail. */
    final Hosts hosts;

    final Random random;

    /** Whether connections may be reset; otherwise faults are delays. */
    final boolean hasLosses;

    private final Class<? extends ServerChannel> serverType;
    private final Class<? extends Channel> clientType;
    private final List<E> ends = new ArrayList<>();

    PairSimulation(
            SimulatedNetwork network,
            Hosts hosts,
            Class<? extends ServerChannel> serverType,
            Class<? extends Channel> clientType) {
        this.network = network;
        this.hosts = hosts;
        this.serverType = serverType;
        this.clientType = clientType;
        random = new Random(~network.seed());
        hasLosses = random.nextInt(3) == 0;
    }

    /** {@return an end that is the handler of a channel} */
    abstract E end(Channel channel, String name);

    /** Chooses options of the channels of a client, or of those that the server accepts. */
    abstract void options(Options options);

    /** Has an end do something. */
    abstract void act(E end);

    /** {@return whether nothing is closed but in the end} */
    boolean isComplete() {
        return !hasLosses;
    }

    /**
     * Runs the history.
     *
     * @throws AssertionError when a check fails
     */
    public final void run() {
        RdmaEventLoopGroup servers = group();
        List<RdmaEventLoopGroup> groups = new ArrayList<>(List.of(servers));
        ServerBootstrap server =
                new ServerBootstrap()
                        .group(servers)
                        .channel(serverType)
                        .childHandler(handler("server "));
        options(server::childOption);
        ChannelFuture bound = server.bind(ADDRESS);
        expect("the server listens", bound::isDone);
        int pairs = 1 + random.nextInt(2);
        for (int i = 0; i < pairs; i++) {
            RdmaEventLoopGroup group = group();
            groups.add(group);
            connect(group);
        }
        beginFaults();
        for (int i = 10 + random.nextInt(60); i > 0; i--) {
            beforeAnAction(groups);
            act(ends.get(random.nextInt(ends.size())));
            network.run(random.nextInt(80));
            if (random.nextInt(10) == 0) {
                fault();
            }
        }
        beforeTheEnd(ends, groups);
        ends.forEach(SimulatedEnd::finish);
        expect("all promises end", () -> ends.stream().allMatch(SimulatedEnd::isSettled));
        checkLosses(ends);
        if (isComplete()) {
            expect(
                    "all that was written arrives",
                    () -> ends.stream().allMatch(E::hasAllOfItsPeer));
            // A connect may have failed for lack of memory.
            ends.stream().filter(E::hasPeer).forEach(SimulatedEnd::checkPromises);
        }
        ends.forEach(SimulatedEnd::close);
        expect("all channels are closed", () -> ends.stream().noneMatch(SimulatedEnd::isOpen));
        for (RdmaEventLoopGroup group : groups) {
            expect("no channel has memory", () -> group.registeredBytesInUse() == 0);
        }
        checkEnd(ends);
        bound.channel().close();
        groups.forEach(group -> group.shutdownGracefully(0, 1, TimeUnit.SECONDS));
        expect("all event loops end", () -> network.threadCount() == 0);
    }

    private void beginFaults() {
        if (hosts != null) {
            hosts.beginFaults(random);
        }
    }

    /** Called when all has been done but for the end. */
    void beforeTheEnd(List<E> all, List<RdmaEventLoopGroup> groups) {}

    /** Called before each one; the first of the groups is that of the server. */
    void beforeAnAction(List<RdmaEventLoopGroup> groups) {}

    /** Called when all channels are closed. */
    void checkEnd(List<E> all) {}

    /** Called when no promise is left. */
    void checkLosses(List<E> all) {}

    /** {@return an event loop of its own} */
    private RdmaEventLoopGroup group() {
        if (hosts != null) {
            return hosts.group(random);
        }
        return SimulatedGroups.single(
                network.executor(),
                network.provider(IwarpConfig.defaults()),
                random.nextBoolean() ? PollMode.BLOCKING : PollMode.ADAPTIVE,
                DirectMemoryBudget.jvm());
    }

    private ChannelInitializer<Channel> handler(String side) {
        return new ChannelInitializer<>() {
            @Override
            protected void initChannel(Channel channel) {
                E end = end(channel, side + ends.size());
                ends.add(end);
                channel.pipeline().addLast(end);
            }
        };
    }

    /** Connects an end that is to have a peer. */
    final void connect(RdmaEventLoopGroup group) {
        int before = ends.size();
        ChannelFuture connected = tryToConnect(group);
        expect("the client is connected", () -> connected.isDone() && ends.size() == before + 2);
        SimulatedEnd.pair(ends.get(before), ends.get(before + 1));
    }

    /** Connects an end, which may fail. */
    final ChannelFuture tryToConnect(RdmaEventLoopGroup group) {
        Bootstrap bootstrap =
                new Bootstrap().group(group).channel(clientType).handler(handler("client "));
        options(bootstrap::option);
        return bootstrap.connect(ADDRESS);
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

    /** Waits for a condition, and then checks all ends. */
    final void expect(String what, BooleanSupplier condition) {
        if (!network.runUntil(condition, PATIENCE_MILLIS * MILLI)) {
            StringBuilder state = new StringBuilder();
            for (E end : ends) {
                state.append('\n').append(end.state());
            }
            throw new AssertionError("not so: " + what + state);
        }
        ends.forEach(SimulatedEnd::check);
        if (hosts != null) {
            hosts.checkNow();
        }
    }
}
