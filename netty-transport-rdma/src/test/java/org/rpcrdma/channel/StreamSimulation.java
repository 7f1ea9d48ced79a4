// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelOption;
import java.util.ArrayList;
import java.util.List;
import org.rpcrdma.verbs.iwarp.SimulatedNetwork;

/**
 * A history of byte streams: both ends write, flush, stop and resume reading, and shut their output down at random
 * times. Without losses each byte arrives once and in order, and each end sees the end of its input. With losses the
 * received bytes are a prefix of the written ones. On hosts that fail, no more streams are lost than something has
 * failed, none where memory was only to be waited for, and a new one has all of its bytes when nothing fails any more.
 */
public final class StreamSimulation extends PairSimulation<StreamEnd> {

    private static final int LATE_BYTES = 100_000;

    /** Streams that were made while something failed. */
    private final List<ChannelFuture> tried = new ArrayList<>();

    /** A history that has not begun. */
    public StreamSimulation(SimulatedNetwork network) {
        this(network, null);
    }

    /** A history, with hosts of the caller's, that has not begun. */
    public StreamSimulation(SimulatedNetwork network, Hosts hosts) {
        super(network, hosts, RdmaServerStreamChannel.class, RdmaStreamChannel.class);
    }

    @Override
    boolean isComplete() {
        return super.isComplete() && (hosts == null || hosts.isMendable());
    }

    @Override
    StreamEnd end(Channel channel, String name) {
        return new StreamEnd(channel, name, network);
    }

    @Override
    void options(Options options) {
        options.set(ChannelOption.ALLOW_HALF_CLOSURE, true);
        // With few credits they run out; with many, only buffers do.
        options.set(RdmaChannelOption.RECEIVE_DEPTH, 16 << random.nextInt(5));
        options.set(ChannelOption.SO_RCVBUF, 1024 << random.nextInt(9));
        options.set(ChannelOption.SO_SNDBUF, 1024 << random.nextInt(9));
        if (hosts != null) {
            // Its messages would have a stream go on that would wait for ever without them.
            options.set(RdmaChannelOption.KEEP_ALIVE_SECONDS, 3600);
        }
    }

    @Override
    void beforeAnAction(List<RdmaEventLoopGroup> groups) {
        if (hosts != null && tried.size() < 3 && random.nextInt(20) == 0) {
            tried.add(tryToConnect(groups.get(1 + random.nextInt(groups.size() - 1))));
        }
    }

    @Override
    void act(StreamEnd end) {
        if (hosts != null && !end.isActive()) {
            return;
        }
        if (hosts != null && random.nextInt(3) == 0) {
            int length = 1 + random.nextInt(1 << (8 + random.nextInt(10)));
            if (random.nextBoolean()) {
                // Half of them are long enough to be registered.
                end.writeDirect(8 * length);
            } else {
                end.writeRegistered(length);
            }
        }
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

    /** Nothing fails any more: what waits goes on, and each client gets a new stream. */
    @Override
    void beforeTheEnd(List<StreamEnd> all, List<RdmaEventLoopGroup> groups) {
        if (hosts == null) {
            return;
        }
        hosts.recover();
        expect("all connects end", () -> tried.stream().allMatch(ChannelFuture::isDone));
        pair(all);
        if (isComplete()) {
            all.forEach(end -> end.setReading(true));
            expectFlushed(all);
            // Those that nobody has written to yet, too.
            all.stream()
                    .filter(end -> end.isPaired() && end.isActive())
                    .forEach(end -> end.write(1));
            all.forEach(StreamEnd::flush);
            expectFlushed(all);
        }
        if (isComplete() && tried.stream().anyMatch(StreamSimulation::isGone)) {
            throw new AssertionError("a connection has succeeded, and is not open any more");
        }
        for (RdmaEventLoopGroup client : groups.subList(1, groups.size())) {
            int before = all.size();
            connect(client);
            StreamEnd late = all.get(before);
            // What is written before a channel is active fails.
            expect("a late stream begins", () -> late.isActive() && late.peer().isActive());
            for (StreamEnd end : List.of(late, late.peer())) {
                end.writeDirect(LATE_BYTES);
                end.write(LATE_BYTES);
                end.finish();
            }
            expect(
                    "a late stream has all of its bytes",
                    () -> late.hasAll() && late.peer().hasAll() && late.isSettled());
            late.checkPromises();
        }
    }

    private void expectFlushed(List<StreamEnd> all) {
        expect(
                "what was flushed arrives without another flush",
                () -> all.stream().allMatch(end -> !end.isPaired() || end.hasFlushed()));
    }

    private static boolean isGone(ChannelFuture connected) {
        return connected.isSuccess() && !connected.channel().isOpen();
    }

    private static void pair(List<StreamEnd> all) {
        for (StreamEnd end : all) {
            all.stream()
                    .filter(other -> other != end && !other.isPaired() && !end.isPaired())
                    .filter(other -> other.port() == end.port() && end.port() != 0)
                    .findFirst()
                    .ifPresent(end::pair);
        }
    }

    @Override
    void checkLosses(List<StreamEnd> all) {
        if (hosts == null) {
            return;
        }
        for (StreamEnd end : all) {
            if (end.isToldOfDefect()) {
                throw new AssertionError(end + " is told of a defect", end.told());
            }
        }
        // Both ends of a stream are lost with it.
        long lost = all.stream().filter(end -> end.isPaired() && isLost(end)).count() / 2;
        if (!hasLosses && lost > hosts.mostLost()) {
            throw new AssertionError(lost + " streams are lost by " + hosts.mostLost() + " faults");
        }
    }

    private static boolean isLost(StreamEnd end) {
        return end.isLost() || end.peer().isLost();
    }

    @Override
    void checkEnd(List<StreamEnd> all) {
        all.forEach(StreamEnd::checkReleased);
    }
}
