// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.simulation;

import io.netty.channel.Channel;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.rpcrdma.channel.RdmaCounter;
import org.rpcrdma.channel.StreamEnd;

/**
 * Streams whose other ends are {@link RogueStreams}. Such a stream ends with a typed error and a counter as soon as its
 * peer has broken a rule, delivers no more than was announced, and leaves nothing behind.
 */
final class DeceivedStreams {

    private static final int PORT = 30_100;

    /** The ports of {@link RogueStreams}: no other end that connects has one of them. */
    private static final int FIRST_ROGUE_PORT = 50_000;

    private final SimulatedWorld world;
    private final SimulatedStreams streams;
    private final List<RogueStreams> rogues = new ArrayList<>();

    /** Those that accept, and where. */
    private final Map<RogueStreams, InetSocketAddress> listening = new HashMap<>();

    /** Ends of honest hosts, which rogues have connected to or accepted, and the hosts. */
    private final Map<StreamEnd, SimulatedHost> ends = new LinkedHashMap<>();

    DeceivedStreams(SimulatedWorld world, SimulatedStreams streams) {
        this.world = world;
        this.streams = streams;
    }

    boolean isEmpty() {
        return rogues.isEmpty();
    }

    /** Whether a rogue has connected to this end of a server. */
    boolean isOfRogue(Channel accepted) {
        InetSocketAddress peer = (InetSocketAddress) accepted.remoteAddress();
        return peer != null && peer.getPort() >= FIRST_ROGUE_PORT;
    }

    /** An honest end whose peer is a rogue. */
    void add(StreamEnd end, SimulatedHost host) {
        end.deceived();
        ends.put(end, host);
    }

    /** Has a rogue act, on a server or on streams of a client. */
    void act(SimulatedClient client, SimulatedServer server, Random random) {
        RogueStreams.Personality[] all = RogueStreams.Personality.values();
        RogueStreams.Personality personality = all[random.nextInt(all.length)];
        boolean isListening = random.nextInt(3) == 0;
        ends.keySet().forEach(end -> writeSome(end, random));
        RogueStreams rogue =
                rogues.stream()
                        .filter(one -> one.is(personality))
                        .filter(one -> listening.containsKey(one) == isListening)
                        .findFirst()
                        .orElse(null);
        if (rogue == null) {
            int number = rogues.size();
            rogue = new RogueStreams(world, personality, number, random.nextLong());
            rogues.add(rogue);
            if (isListening) {
                InetSocketAddress address =
                        new InetSocketAddress(InetAddress.getLoopbackAddress(), PORT + number);
                rogue.listen(address);
                listening.put(rogue, address);
            }
        }
        if (!isListening) {
            server.expectUnderruns();
            rogue.act(SimulatedStreams.address(server.number()));
            return;
        }
        if (random.nextBoolean()) {
            client.expectUnderruns();
            streams.connectTo(client, listening.get(rogue), random);
        }
        rogue.act();
    }

    /** Each stream whose peer has broken a rule is cut off, and its handler knows why. */
    void finish(boolean hasLosses) {
        world.expect("streams of rogues are cut off", this::areAllPunished, hasLosses);
        if (hasLosses) {
            return;
        }
        Map<SimulatedHost, Integer> cut = new HashMap<>();
        for (RogueStreams rogue : rogues) {
            for (RogueStream stream : rogue.streams()) {
                StreamEnd end = find(stream);
                if (end == null) {
                    continue;
                }
                if (end.received() > stream.announced()) {
                    throw new AssertionError(
                            end.state() + ", but " + stream + " announced " + stream.announced());
                }
                if (stream.mustTell() && !end.isClosedHere()) {
                    world.expect(end + " is closed", () -> !end.isOpen());
                    checkTold(end, stream);
                    cut.merge(ends.get(end), 1, Integer::sum);
                }
            }
        }
        cut.forEach(DeceivedStreams::checkCounted);
    }

    /** Many messages, as long as the peer takes them. */
    private static void writeSome(StreamEnd end, Random random) {
        for (int i = random.nextInt(8); i > 0 && end.isActive(); i--) {
            end.write(1 + random.nextInt(20));
            end.flush();
        }
    }

    private static void checkTold(StreamEnd end, RogueStream stream) {
        if (!(end.told() instanceof IOException)) {
            throw new AssertionError(
                    end.state() + " is not told of what " + stream + " has done: " + end.told());
        }
    }

    private static void checkCounted(SimulatedHost host, int cut) {
        long counted =
                host.group.value(RdmaCounter.STREAMS_RESET)
                        + host.group.value(RdmaCounter.STREAMS_RESET_BY_PEER);
        if (counted < cut) {
            throw new AssertionError(
                    host + " has counted " + counted + " streams that were reset, not " + cut);
        }
    }

    private boolean areAllPunished() {
        return rogues.stream()
                .flatMap(rogue -> rogue.streams().stream())
                .allMatch(RogueStream::isPunished);
    }

    private StreamEnd find(RogueStream stream) {
        return ends.keySet().stream()
                .filter(end -> end.port() == stream.port())
                .findFirst()
                .orElse(null);
    }

    void shutdown() {
        rogues.forEach(RogueStreams::close);
    }
}
