// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.benchmarks.soak;

import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongArray;

/** Which WRITEs of one client were executed, of the last few thousand. Any thread. */
final class Ledger {

    /** Far more than a client has under way in the life of a call. */
    private static final int KEPT = 1 << 14;

    private final AtomicLongArray executed = new AtomicLongArray(KEPT);
    private final AtomicLong doubled = new AtomicLong();

    /** A server has executed a WRITE. */
    void execute(long number) {
        if (executed.getAndSet(slot(number), number) == number) {
            doubled.incrementAndGet();
        }
    }

    boolean isExecuted(long number) {
        return executed.get(slot(number)) == number;
    }

    long doubled() {
        return doubled.get();
    }

    private static int slot(long number) {
        return (int) number & (KEPT - 1);
    }
}
