// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.simulation;

/**
 * One action of a {@link SimulationPlan}.
 *
 * @param number names it in the whole plan
 * @param kind what is done
 * @param peer by whom or to whom, modulo those that there are
 * @param seed of its details
 * @param steps of the network behind it
 */
record SimulationAction(int number, Kind kind, int peer, long seed, int steps) {

    /** What is done. */
    enum Kind {
        CALL,
        CANCEL,
        REVERSE_CALL,
        OPTION,
        CODEC,
        SEGMENTS,
        STREAM,
        ROGUE,
        ROGUE_STREAM,
        /** A connection of {@link RawIwarpRogue}. */
        RAW,
        /** As many of each kind as the action has steps. */
        CROWD,
        STALL,
        PAUSE,
        JUMP,
        RESET,
        CUT,
        SILENCE,
        DAMAGE,
        CONNECT,
        REFUSE,
        EXHAUST,
        RESTART_SERVER,
        RESTART_CLIENT
    }
}
