// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.simulation;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;

/** Requesters and responders that lie, one of each kind for each server, on connections of their own. */
final class SimulatedRogues {

    private final SimulatedWorld world;
    private final List<RogueClient> clients = new ArrayList<>();
    private final List<RogueServer> servers = new ArrayList<>();

    SimulatedRogues(SimulatedWorld world) {
        this.world = world;
    }

    /** Has one of them act; the calls of a victim are added to those of the world. */
    void act(SimulatedServer server, Random random, List<SimulatedCall> calls) {
        RogueClient.Personality[] all = RogueClient.Personality.values();
        RogueClient.Personality personality = all[random.nextInt(all.length)];
        if (random.nextBoolean() || personality == RogueClient.Personality.PULLS) {
            deceive(personality, random, calls);
            return;
        }
        RogueClient rogue =
                clients.stream()
                        .filter(known -> known.is(personality, server))
                        .findFirst()
                        .orElse(null);
        if (rogue == null) {
            rogue = new RogueClient(world, personality, server, random.nextLong());
            clients.add(rogue);
        }
        rogue.act(1 + random.nextInt(6));
    }

    private void deceive(
            RogueClient.Personality personality, Random random, List<SimulatedCall> calls) {
        RogueServer rogue =
                servers.stream().filter(known -> known.is(personality)).findFirst().orElse(null);
        if (rogue == null) {
            rogue = new RogueServer(world, personality, servers.size(), random.nextLong());
            servers.add(rogue);
        }
        for (int i = random.nextInt(4); i >= 0; i--) {
            calls.add(SimulatedCall.of(world, world.nextNumber(), rogue.victim, random).deceived());
        }
    }

    /** Whether each call and each mistake of those that keep to their credits was answered. */
    boolean areAnswered() {
        return clients.stream().allMatch(RogueClient::isAnswered);
    }

    /** Whether no requester lies. */
    boolean isQuiet() {
        return clients.isEmpty();
    }

    /** The hosts of honest clients that have called one. */
    Stream<SimulatedHost> victims() {
        return servers.stream().map(rogue -> rogue.victim.host);
    }

    void close() {
        clients.forEach(RogueClient::close);
        servers.forEach(RogueServer::close);
    }

    void shutdown() {
        clients.forEach(RogueClient::shutdown);
        servers.forEach(RogueServer::shutdown);
    }
}
