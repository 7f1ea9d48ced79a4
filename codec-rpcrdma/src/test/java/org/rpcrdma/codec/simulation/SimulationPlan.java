// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.simulation;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/**
 * What happens in one history, apart from the order in which threads run and bytes arrive: the size of the world, and
 * actions that any others can be left out of. Each action has a seed of its own, so that it stays what it is when
 * others are left out.
 *
 * @param seed of the whole history
 * @param servers how many
 * @param clients how many; each calls one server
 * @param weather which faults there are
 * @param actions in their order
 */
record SimulationPlan(
        long seed, int servers, int clients, Weather weather, List<SimulationAction> actions) {

    /** Which faults there are. */
    enum Weather {
        /** None but calls that are given up. */
        CALM,
        /** Whatever is only late: stalls, pauses, jumps of the clock. Each call is answered. */
        DELAYS,
        /** Heap and direct memory are exhausted now and then, and nothing else goes wrong. */
        MEMORY,
        /** Connections, servers and clients are lost too, and devices refuse. */
        LOSSES
    }

    private static final int MOST_ACTIONS = 60;
    private static final int MOST_CONNECTS = 5;
    private static final int MOST_DAMAGES = 6;
    private static final int MOST_STREAM_ACTIONS = 25;
    private static final int MOST_SEGMENT_ACTIONS = 10;
    private static final int MOST_ROGUE_STREAM_ACTIONS = 10;
    private static final int MOST_RAW_ACTIONS = 4;

    /** Determines all of it by a seed. */
    static SimulationPlan of(long seed) {
        Random random = new Random(seed * 0x9E3779B97F4A7C15L + 1);
        // Small worlds are as often as large ones, and find what needs many events of the same few.
        boolean isSmall = random.nextBoolean();
        int servers = isSmall ? 1 : 1 + random.nextInt(3);
        int clients = isSmall ? 1 + random.nextInt(2) : 1 + random.nextInt(6);
        Weather weather =
                switch (random.nextInt(5)) {
                    case 0 -> Weather.CALM;
                    case 1, 2 -> Weather.DELAYS;
                    case 3 -> seed % 2 == 0 ? Weather.MEMORY : Weather.LOSSES;
                    default -> Weather.LOSSES;
                };
        boolean hasRogues = random.nextInt(3) == 0;
        List<SimulationAction> actions = new ArrayList<>();
        int count = 20 + random.nextInt(MOST_ACTIONS - 20);
        for (int i = 0; i < count; i++) {
            SimulationAction.Kind kind = kind(random, weather, hasRogues);
            int steps = random.nextInt(3) == 0 ? 0 : random.nextInt(60);
            actions.add(
                    new SimulationAction(i, kind, random.nextInt(64), random.nextLong(), steps));
        }
        addStreams(actions, new Random(seed * 0x9E3779B97F4A7C15L + 2));
        addRogueStreams(actions, new Random(seed * 0x9E3779B97F4A7C15L + 3));
        addSegments(actions, new Random(seed * 0x9E3779B97F4A7C15L + 4));
        addConnects(actions, new Random(seed * 0x9E3779B97F4A7C15L + 5));
        if (weather == Weather.LOSSES && SimulatedDevice.isChecked(seed)) {
            addDamages(actions, new Random(seed * 0x9E3779B97F4A7C15L + 6));
        }
        addRaw(actions, weather, new Random(seed * 0x9E3779B97F4A7C15L + 7));
        return new SimulationPlan(seed, servers, clients, weather, actions);
    }

    /** In every other calm history, where each has to end in one way, and in one of eight others. */
    private static void addRaw(List<SimulationAction> actions, Weather weather, Random random) {
        if (weather == Weather.CALM ? random.nextBoolean() : random.nextInt(8) != 0) {
            return;
        }
        int count = 2 + random.nextInt(MOST_RAW_ACTIONS - 1);
        add(actions, SimulationAction.Kind.RAW, count, 40, random);
    }

    /** Somebody waits for a connection without a call, in one history of three. */
    private static void addConnects(List<SimulationAction> actions, Random random) {
        if (random.nextInt(3) == 0) {
            int count = 1 + random.nextInt(MOST_CONNECTS);
            add(actions, SimulationAction.Kind.CONNECT, count, 20, random);
        }
    }

    /** Where each host asks for the CRC. */
    private static void addDamages(List<SimulationAction> actions, Random random) {
        int count = 1 + random.nextInt(MOST_DAMAGES);
        add(actions, SimulationAction.Kind.DAMAGE, count, 60, random);
    }

    /** Between the others, in every other history. */
    private static void addSegments(List<SimulationAction> actions, Random random) {
        if (random.nextBoolean()) {
            return;
        }
        int count = 2 + random.nextInt(MOST_SEGMENT_ACTIONS);
        add(actions, SimulationAction.Kind.SEGMENTS, count, 60, random);
    }

    /** Adds actions of a kind at places between the others, each with at most so many steps behind it. */
    private static void add(
            List<SimulationAction> actions,
            SimulationAction.Kind kind,
            int count,
            int mostSteps,
            Random random) {
        int first = actions.size();
        for (int i = 0; i < count; i++) {
            actions.add(
                    random.nextInt(actions.size() + 1),
                    new SimulationAction(
                            first + i,
                            kind,
                            random.nextInt(64),
                            random.nextLong(),
                            random.nextInt(mostSteps)));
        }
    }

    /** Between the others, in one history of three. */
    private static void addStreams(List<SimulationAction> actions, Random random) {
        if (random.nextInt(3) != 0) {
            return;
        }
        int count = 5 + random.nextInt(MOST_STREAM_ACTIONS);
        add(actions, SimulationAction.Kind.STREAM, count, 60, random);
    }

    private static SimulationAction.Kind kind(Random random, Weather weather, boolean hasRogues) {
        int roll = random.nextInt(100);
        if (roll < 60) {
            return SimulationAction.Kind.CALL;
        }
        if (roll < 66) {
            return SimulationAction.Kind.CANCEL;
        }
        if (roll < 70) {
            return SimulationAction.Kind.REVERSE_CALL;
        }
        if (roll < 74) {
            return SimulationAction.Kind.OPTION;
        }
        if (hasRogues && roll < 82) {
            return SimulationAction.Kind.ROGUE;
        }
        if (roll >= 94) {
            return SimulationAction.Kind.CODEC;
        }
        SimulationAction.Kind[] kinds =
                switch (weather) {
                    case CALM -> new SimulationAction.Kind[] {SimulationAction.Kind.CALL};
                    case DELAYS ->
                            new SimulationAction.Kind[] {
                                SimulationAction.Kind.STALL,
                                SimulationAction.Kind.PAUSE,
                                SimulationAction.Kind.JUMP,
                            };
                    case MEMORY -> new SimulationAction.Kind[] {SimulationAction.Kind.EXHAUST};
                    case LOSSES ->
                            new SimulationAction.Kind[] {
                                SimulationAction.Kind.STALL,
                                SimulationAction.Kind.PAUSE,
                                SimulationAction.Kind.JUMP,
                                SimulationAction.Kind.RESET,
                                SimulationAction.Kind.CUT,
                                SimulationAction.Kind.CUT,
                                SimulationAction.Kind.SILENCE,
                                SimulationAction.Kind.REFUSE,
                                SimulationAction.Kind.REFUSE,
                                SimulationAction.Kind.EXHAUST,
                                SimulationAction.Kind.EXHAUST,
                                SimulationAction.Kind.RESTART_SERVER,
                                SimulationAction.Kind.RESTART_CLIENT,
                            };
                };
        return kinds[random.nextInt(kinds.length)];
    }

    /** In one of three histories that have streams. */
    private static void addRogueStreams(List<SimulationAction> actions, Random random) {
        boolean hasStreams =
                actions.stream().anyMatch(one -> one.kind() == SimulationAction.Kind.STREAM);
        if (!hasStreams || random.nextInt(3) != 0) {
            return;
        }
        int count = 2 + random.nextInt(MOST_ROGUE_STREAM_ACTIONS);
        add(actions, SimulationAction.Kind.ROGUE_STREAM, count, 120, random);
    }

    /** The same with other actions and clients, for a smaller history. */
    SimulationPlan with(int fewerClients, List<SimulationAction> fewer) {
        return new SimulationPlan(
                seed, Math.min(servers, fewerClients), fewerClients, weather, List.copyOf(fewer));
    }

    boolean hasStreams() {
        return has(SimulationAction.Kind.STREAM) || has(SimulationAction.Kind.ROGUE_STREAM);
    }

    boolean has(SimulationAction.Kind kind) {
        return actions.stream().anyMatch(one -> one.kind() == kind);
    }

    boolean hasLosses() {
        return weather == Weather.LOSSES || isShortOfMemory();
    }

    /** Whether clients learn of each loss, and find their server again at once. */
    boolean areLossesSeen() {
        // A length that was damaged lets an end wait for the rest of what is none.
        return !has(SimulationAction.Kind.SILENCE)
                && !has(SimulationAction.Kind.DAMAGE)
                && !has(SimulationAction.Kind.RESTART_SERVER);
    }

    boolean isCalm() {
        return weather == Weather.CALM;
    }

    /** Whether connections are lost for want of memory alone. */
    boolean isShortOfMemory() {
        return weather == Weather.MEMORY;
    }

    @Override
    public String toString() {
        return servers
                + " servers, "
                + clients
                + " clients, "
                + weather
                + ", "
                + actions.size()
                + " actions";
    }
}
