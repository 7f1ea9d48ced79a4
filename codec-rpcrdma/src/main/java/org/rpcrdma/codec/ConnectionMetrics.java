// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/** The counters of one connection: written on its event loop without a fence, readable from any thread. */
@SuppressWarnings("EnumOrdinal") // the array lives and dies with the enum's class
final class ConnectionMetrics {

    private static final VarHandle ELEMENT = MethodHandles.arrayElementVarHandle(long[].class);
    private static final int COUNT = RpcRdmaCounter.values().length;

    private final long[] values = new long[COUNT];
    private final RpcRdmaMetrics all;

    ConnectionMetrics(RpcRdmaMetrics all) {
        this.all = all;
    }

    void increment(RpcRdmaCounter counter) {
        add(counter, 1);
    }

    void add(RpcRdmaCounter counter, long amount) {
        int i = counter.ordinal();
        ELEMENT.setOpaque(values, i, values[i] + amount);
    }

    long value(RpcRdmaCounter counter) {
        return (long) ELEMENT.getOpaque(values, counter.ordinal());
    }

    void latency(long nanos) {
        all.latency(nanos);
    }

    /** Of what form a call is. */
    void countCall(TransportHeader header, boolean isLong) {
        int reads = header.reads().segments();
        boolean writes = header.writes().chunks() > 0;
        boolean reply = header.reply().isPresent();
        if (isLong) {
            increment(RpcRdmaCounter.LONG_CALLS);
        } else if (reads > 0) {
            increment(RpcRdmaCounter.READ_CHUNK_CALLS);
        } else if (!writes && !reply) {
            increment(RpcRdmaCounter.SHORT_MESSAGES);
        }
        if (writes) {
            increment(RpcRdmaCounter.WRITE_CHUNK_CALLS);
        }
        if (reply) {
            increment(RpcRdmaCounter.REPLY_CHUNK_CALLS);
        }
    }
}
