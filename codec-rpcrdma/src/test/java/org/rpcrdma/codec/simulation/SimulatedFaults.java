// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.simulation;

import java.util.Random;
import org.rpcrdma.codec.fault.Step;
import org.rpcrdma.verbs.iwarp.SimulatedConnection;

/** The faults of one host or one connection of a world, by their seeds. */
final class SimulatedFaults {

    static final int MOST_MILLIS = 4000;

    private SimulatedFaults() {}

    /** The device refuses something soon. */
    static void refuse(SimulatedHost host, Random random) {
        host.refuse(random.nextInt(random.nextBoolean() ? 12 : 200), only(random));
    }

    /** Exhausts the heap or direct memory, once or for a time. */
    static void exhaust(SimulatedHost host, Random random) {
        switch (random.nextInt(5)) {
            case 0, 1 ->
                    host.exhaustHeap(random.nextInt(random.nextBoolean() ? 12 : 200), only(random));
            case 2 -> host.takeRegisteredMemory(1 + random.nextInt(MOST_MILLIS));
            default ->
                    host.exhaustMemory(
                            random.nextInt(6), 1 + random.nextInt(3), random.nextBoolean());
        }
    }

    /** The only kind of call to the device that fails; {@code null} for all of them. */
    private static Step only(Random random) {
        Step[] all = Step.values();
        Step one = all[random.nextInt(all.length)];
        return one.mayFail() && random.nextBoolean() ? one : null;
    }

    /** Stalls, resets, cuts, damages or silences a connection. */
    static void disturb(
            SimulationAction.Kind kind,
            SimulatedConnection connection,
            boolean isForward,
            long until,
            Random random) {
        switch (kind) {
            case STALL -> connection.stall(isForward, until);
            case RESET -> connection.reset();
            case CUT -> connection.cutAfter(isForward, random.nextInt(1 << random.nextInt(17)));
            case DAMAGE -> connection.damage(isForward);
            case SILENCE -> connection.silence(isForward);
            default -> throw new IllegalArgumentException(kind.toString());
        }
    }
}
