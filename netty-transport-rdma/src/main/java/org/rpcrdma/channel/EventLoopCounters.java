// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/** Counters of one event loop: written there without a fence, readable from any thread. */
@SuppressWarnings("EnumOrdinal") // the array lives and dies with the enum's class
final class EventLoopCounters {

    private static final VarHandle ELEMENT = MethodHandles.arrayElementVarHandle(long[].class);

    private final long[] values = new long[RdmaCounter.values().length];

    void add(RdmaCounter counter, long amount) {
        int i = counter.ordinal();
        ELEMENT.setOpaque(values, i, values[i] + amount);
    }

    long value(RdmaCounter counter) {
        return (long) ELEMENT.getOpaque(values, counter.ordinal());
    }
}
