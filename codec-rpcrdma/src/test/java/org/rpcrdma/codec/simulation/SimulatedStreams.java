// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.simulation;

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
import java.util.Objects;
import java.util.Random;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.rpcrdma.channel.RdmaChannelOption;
import org.rpcrdma.channel.RdmaServerStreamChannel;
import org.rpcrdma.channel.RdmaStreamChannel;
import org.rpcrdma.channel.StreamEnd;
import org.rpcrdma.verbs.QueuePair;

/**
 * The byte streams of a world, on the same hosts and event loops as its calls. Both ends write, flush, stop and resume
 * reading, shut their output down, close and abort.
 */
final class SimulatedStreams {

    private static final int PORT = 30_049;
    private static final int MOST_OF_A_CLIENT = 3;
    private static final int LATE_STREAMS = 3;
    private static final int MOST_KEYS = 3;
    private static final int LATE_BYTES = 1500;
    private static final int CLOSED_BYTES = 40_000;

    private final SimulatedWorld world;
    private final List<StreamEnd> servers = new ArrayList<>();
    private final List<StreamEnd> clients = new ArrayList<>();

    /** Of clients, to rogues. */
    private final List<StreamEnd> victims = new ArrayList<>();

    private final List<ChannelFuture> connects = new ArrayList<>();
    private final DeceivedStreams deceived;
    private int closes;

    SimulatedStreams(SimulatedWorld world) {
        this.world = world;
        deceived = new DeceivedStreams(world, this);
    }

    static InetSocketAddress address(int server) {
        return new InetSocketAddress(InetAddress.getLoopbackAddress(), PORT + server);
    }

    /** What listens for streams at a server, of a random kind. */
    ServerBootstrap bootstrap(SimulatedHost host, Random random) {
        ServerBootstrap bootstrap =
                new ServerBootstrap()
                        .group(host.group)
                        .channel(RdmaServerStreamChannel.class)
                        .childOption(ChannelOption.ALLOW_HALF_CLOSURE, true)
                        .childOption(RdmaChannelOption.RECEIVE_DEPTH, depth(random))
                        .childOption(ChannelOption.SO_RCVBUF, size(random))
                        .childOption(ChannelOption.SO_SNDBUF, size(random));
        return bootstrap.childHandler(
                new ChannelInitializer<Channel>() {
                    @Override
                    protected void initChannel(Channel channel) {
                        StreamEnd end = add(channel, "a stream at " + host, servers);
                        if (deceived.isOfRogue(channel)) {
                            deceived.add(end, host);
                        }
                    }
                });
    }

    private static int depth(Random random) {
        return 16 << random.nextInt(3);
    }

    private static int size(Random random) {
        return 1024 << random.nextInt(9);
    }

    private StreamEnd add(Channel channel, String name, List<StreamEnd> to) {
        StreamEnd end = new StreamEnd(channel, name + ", number " + to.size(), world.network);
        channel.pipeline().addLast(end);
        to.add(end);
        return end;
    }

    /** Takes some actions of one client's streams, on either end. */
    void act(SimulatedClient client, Random random) {
        List<StreamEnd> mine = clients.stream().filter(end -> isOf(end, client)).toList();
        if (mine.isEmpty() || (mine.size() < MOST_OF_A_CLIENT && random.nextInt(4) == 0)) {
            connect(client, address(client.server.number()), random);
            if (random.nextInt(6) == 0) {
                world.network.run(random.nextInt(40));
                cancelConnect();
            }
            return;
        }
        List<StreamEnd> all = new ArrayList<>(mine);
        all.addAll(servers);
        all.addAll(victims);
        for (int i = random.nextInt(4); i >= 0; i--) {
            act(all.get(random.nextInt(all.size())), random);
        }
    }

    private static boolean isOf(StreamEnd end, SimulatedClient client) {
        return end.toString().startsWith(client + ",");
    }

    private void act(StreamEnd end, Random random) {
        if (!end.isActive()) {
            return;
        }
        switch (random.nextInt(16)) {
            case 0, 1 -> end.setReading(random.nextInt(3) != 0);
            case 2 -> end.write(0);
            // Up to the last byte of a buffer, as long as buffers are as at first.
            case 3 -> end.write((512 << random.nextInt(6)) - 1);
            case 4 -> {
                switch (random.nextInt(8)) {
                    case 0 -> {
                        closes++;
                        end.close();
                    }
                    case 1 -> {
                        closes++;
                        end.abort();
                    }
                    case 2, 3 -> end.finish();
                    case 4 -> closeBoth(end);
                    default -> end.flush();
                }
            }
            case 5 -> end.write(1 + random.nextInt(1 << (10 + random.nextInt(7))));
            default -> end.write(1 + random.nextInt(2000));
        }
        if (random.nextInt(3) != 0) {
            end.flush();
        }
    }

    /** Each while it sends. */
    private void closeBoth(StreamEnd end) {
        pair();
        StreamEnd peer = end.peer();
        if (peer == null || !peer.isActive()) {
            return;
        }
        for (StreamEnd each : List.of(end, peer)) {
            each.write(CLOSED_BYTES);
            each.flush();
        }
        closes += 2;
        end.close();
        peer.close();
    }

    private ChannelFuture connect(SimulatedClient client, InetSocketAddress to, Random random) {
        world.network.note(client + " connects a stream");
        ChannelFuture connected =
                bootstrap(client, random, channel -> add(channel, client.toString(), clients))
                        .connect(to);
        connects.add(connected);
        return connected;
    }

    /** Whoever waits for a connection of its stream does not any more. */
    private void cancelConnect() {
        for (ChannelFuture one : connects) {
            if (!one.isDone() && one.cancel(false)) {
                world.network.note("nobody wants a stream any more");
                closes++; // its server may have accepted it
                return;
            }
        }
    }

    /** Connects an end of a client to a rogue. */
    void connectTo(SimulatedClient client, InetSocketAddress rogue, Random random) {
        world.network.note(client + " connects a stream to a rogue");
        bootstrap(
                        client,
                        random,
                        channel ->
                                deceived.add(
                                        add(channel, "a stream to a rogue", victims), client.host))
                .connect(rogue);
    }

    private Bootstrap bootstrap(SimulatedClient client, Random random, Consumer<Channel> add) {
        return new Bootstrap()
                .group(client.host.group)
                .channel(RdmaStreamChannel.class)
                .option(ChannelOption.ALLOW_HALF_CLOSURE, true)
                .option(RdmaChannelOption.RECEIVE_DEPTH, depth(random))
                .option(ChannelOption.SO_RCVBUF, size(random))
                .option(ChannelOption.SO_SNDBUF, size(random))
                .handler(
                        new ChannelInitializer<Channel>() {
                            @Override
                            protected void initChannel(Channel channel) {
                                add.accept(channel);
                            }
                        });
    }

    /** Between steps: what has arrived is what was written. */
    void checkNow() {
        servers.forEach(StreamEnd::check);
        clients.forEach(StreamEnd::check);
        victims.forEach(StreamEnd::check);
    }

    /** All streams end, with all their bytes where nothing was lost; and a new one of each client does. */
    void finish(List<SimulatedClient> of, boolean hasLosses) {
        world.expect(
                "streams connect",
                () -> connects.stream().allMatch(ChannelFuture::isDone),
                hasLosses);
        world.expect(
                "streams that nobody wants are closed",
                () ->
                        connects.stream()
                                .filter(ChannelFuture::isCancelled)
                                .noneMatch(one -> one.channel().isOpen()));
        connects.stream()
                .filter(ChannelFuture::isCancelled)
                .forEach(one -> clients.forEach(end -> end.connectCancelled(one.channel())));
        pair();
        Random random = new Random(world.plan.seed());
        clients.stream()
                .filter(client -> client.isActive() && random.nextInt(3) == 0)
                .forEach(this::closeBoth);
        Stream.of(servers, clients, victims)
                .flatMap(List::stream)
                .filter(StreamEnd::isActive)
                .forEach(StreamEnd::finish);
        checkKeys();
        // An end that does not read keeps what has come before it ends.
        deceived.finish(hasLosses);
        if (!hasLosses) {
            world.expect("streams end", () -> clients.stream().allMatch(this::isOver));
            for (ChannelFuture connect : connects) {
                // Delays may be longer than a start-up may take.
                if (!connect.isSuccess() && !connect.isCancelled() && world.plan.isCalm()) {
                    throw new AssertionError("a stream does not connect", connect.cause());
                }
            }
            for (StreamEnd client : clients) {
                if (client.isPaired() && !client.isCut()) {
                    client.checkPromises();
                    client.peer().checkPromises();
                }
            }
            // A close waits for a peer that takes nothing only so long.
            if (world.plan.isCalm()) {
                // An end whose peer is over may have been told to read the rest just now.
                world.expect("what was confirmed arrives", this::hasConfirmedBytes, true);
                clients.forEach(StreamEnd::checkArrived);
                servers.forEach(StreamEnd::checkArrived);
                clients.forEach(StreamEnd::checkClose);
                servers.forEach(StreamEnd::checkClose);
            }
        }
        of.forEach(this::checkIsServed);
    }

    private boolean hasConfirmedBytes() {
        return Stream.of(clients, servers)
                .flatMap(List::stream)
                .allMatch(StreamEnd::hasConfirmedBytes);
    }

    /** A stream has told its peer of its table and of two buffers; a full one is not the peer's any more. */
    private void checkKeys() {
        world.hosts()
                .flatMap(host -> host.context().queuePairs().stream())
                .filter(SimulatedStreams::isStream)
                .filter(queuePair -> queuePair.keys() > MOST_KEYS)
                .forEach(
                        queuePair -> {
                            throw new AssertionError(
                                    "a stream has "
                                            + queuePair.keys()
                                            + " keys out: "
                                            + queuePair.localAddress());
                        });
    }

    private static boolean isStream(QueuePair queuePair) {
        return Stream.of(queuePair.localAddress(), queuePair.remoteAddress())
                .filter(Objects::nonNull)
                .anyMatch(address -> address.getPort() / 1000 == PORT / 1000);
    }

    private boolean isOver(StreamEnd client) {
        if (!client.isPaired()) {
            pair();
            return client.isPaired() || (client.isSettled() && !client.isOpen());
        }
        StreamEnd server = client.peer();
        if (server.isActive()) {
            // It has come only now.
            server.finish();
        }
        boolean isSettled = client.isSettled() && server.isSettled();
        return isSettled && (client.isCut() || (client.hasAll() && server.hasAll()));
    }

    private void pair() {
        for (StreamEnd server : servers) {
            if (!server.isPaired()) {
                clients.stream()
                        .filter(client -> !client.isPaired() && client.port() == server.port())
                        .findFirst()
                        .ifPresent(server::pair);
            }
        }
    }

    private void checkIsServed(SimulatedClient client) {
        String last = "";
        for (int i = 0; i < LATE_STREAMS; i++) {
            InetSocketAddress to = address(client.server.number());
            ChannelFuture made = connect(client, to, new Random(i));
            world.expect("a late stream of " + client + " connects or fails", made::isDone);
            StreamEnd end = (StreamEnd) made.channel().pipeline().last();
            if (!made.isSuccess()) {
                last = made.cause().toString();
                continue;
            }
            end.write(LATE_BYTES);
            end.finish();
            world.expect("a late stream of " + client + " arrives", () -> isLateOneOver(end));
            if (end.isSuccess() && end.peer().hasAll()) {
                return;
            }
            last = end.state();
        }
        throw new AssertionError(client + " gets no stream any more: " + last);
    }

    private boolean isLateOneOver(StreamEnd end) {
        pair();
        if (end.isPaired()) {
            end.peer().finish();
        }
        return end.isSettled() && (!end.isSuccess() || (end.isPaired() && end.peer().hasAll()));
    }

    /** Those whose other ends are rogues. */
    DeceivedStreams deceived() {
        return deceived;
    }

    /** How many ends were closed, whose connections are not lost. */
    int closes() {
        return closes;
    }

    /** The host stops: its ends are closed. */
    void closeAt(SimulatedHost host) {
        servers.stream()
                .filter(end -> end.toString().startsWith("a stream at " + host + ","))
                .forEach(StreamEnd::close);
    }

    void close() {
        clients.forEach(StreamEnd::close);
        servers.forEach(StreamEnd::close);
        victims.forEach(StreamEnd::close);
    }

    /** Those that are not over, for a failure. */
    String state() {
        StringBuilder state = new StringBuilder();
        for (StreamEnd client : clients) {
            if (!isOver(client)) {
                state.append("; ").append(client.state()).append(" with ");
                state.append(client.isPaired() ? client.peer().state() : "nobody");
            }
        }
        return state.toString();
    }

    boolean isClosed() {
        return Stream.of(servers, clients, victims)
                .flatMap(List::stream)
                .noneMatch(StreamEnd::isOpen);
    }

    /** When all connections have ended. */
    void checkEnd() {
        checkNow();
        for (List<StreamEnd> ends : List.of(servers, clients, victims)) {
            for (StreamEnd end : ends) {
                if (!end.isSettled()) {
                    throw new AssertionError("nobody is told what became of " + end.state());
                }
            }
        }
    }
}
