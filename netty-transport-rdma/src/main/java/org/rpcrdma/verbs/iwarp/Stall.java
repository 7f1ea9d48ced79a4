// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp;

/** Tells whether something that was begun has stood still for so many looks at it. */
final class Stall {

    /** Looks within a limit, after the one that finds where it stands: a limit is exceeded by a quarter at most. */
    static final int LOOKS = 4;

    private long position;
    private int looks;

    /** Nothing is begun, or who has begun it need not go on now. */
    void end() {
        looks = 0;
    }

    /**
     * Looks at something that is begun; returns whether its time is over.
     *
     * @param now where it stands: another number whenever a byte of it has come
     */
    boolean isOver(long now) {
        if (looks == 0 || now != position) {
            position = now;
            looks = 1;
            return false;
        }
        return ++looks > LOOKS;
    }
}
