// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.benchmarks.soak;

import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;

/** What became of all calls. Any thread. */
final class SoakTally {

    private static final int MOST_FAULTS_TOLD = 20;

    final LongAdder answered = new LongAdder();
    final LongAdder bytes = new LongAdder();
    final LongAdder timedOut = new LongAdder();
    final LongAdder lost = new LongAdder();
    final LongAdder streamBytes = new LongAdder();
    final LongAdder streamsEnded = new LongAdder();
    final LongAdder executed = new LongAdder();

    private final AtomicLong longestNanos = new AtomicLong();
    private final LongAdder violations = new LongAdder();
    private final ConcurrentLinkedQueue<String> told = new ConcurrentLinkedQueue<>();

    /** Something that must not be. */
    void violation(String what) {
        violations.increment();
        if (told.size() < MOST_FAULTS_TOLD) {
            told.add(what);
            System.out.println("WRONG: " + what);
        }
    }

    void took(long nanos) {
        longestNanos.accumulateAndGet(nanos, Math::max);
    }

    long violations() {
        return violations.sum();
    }

    @Override
    public String toString() {
        return String.format(
                "%,d calls answered (%,d MiB), %,d timed out, %,d lost with their connection, the"
                    + " longest %.1f s; %,d WRITEs executed; %,d MiB through streams, %,d streams"
                    + " ended; %d wrong",
                answered.sum(),
                bytes.sum() >> 20,
                timedOut.sum(),
                lost.sum(),
                longestNanos.get() / 1e9,
                executed.sum(),
                streamBytes.sum() >> 20,
                streamsEnded.sum(),
                violations.sum());
    }
}
