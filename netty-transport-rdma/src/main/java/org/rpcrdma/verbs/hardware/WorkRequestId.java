// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.hardware;

/**
 * The 64 bits that come back with a completion: the queue pair, the queue, and the position there. Of a completion in
 * error verbs fill in no more than this and the status, and devices use the number of a queue pair again at once, so
 * that it has to be in here. Bits 63 to 32 are the queue pair's serial number, which is never used again; bit 31 says
 * that it is a receive; the others are the position.
 */
final class WorkRequestId {

    private static final long RECEIVE = 1L << 31;
    private static final int POSITION = (1 << 31) - 1;

    private WorkRequestId() {}

    static long sends(int serial) {
        return (long) serial << 32;
    }

    static long receives(int serial) {
        return (long) serial << 32 | RECEIVE;
    }

    static long of(long tag, int position) {
        return tag | (position & POSITION);
    }

    static int serial(long workId) {
        return (int) (workId >>> 32);
    }

    static boolean isReceive(long workId) {
        return (workId & RECEIVE) != 0;
    }

    /** The position whose low 31 bits come back, seen from one nearby. */
    static int position(long workId, int near) {
        int low = (int) workId & POSITION;
        // The difference, sign-extended from 31 bits.
        return near + ((low - near) << 1 >> 1);
    }
}
