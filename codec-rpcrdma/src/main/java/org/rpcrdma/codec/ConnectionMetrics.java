// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import org.rpcrdma.codec.internal.RpcRdmaFlightEvents;
import org.rpcrdma.codec.internal.UserExceptionLog;
import org.rpcrdma.codec.wire.TransportHeader;

/** The counters of one connection: written on its event loop without a fence, readable from any thread. */
@SuppressWarnings("EnumOrdinal") // the array lives and dies with the enum's class
final class ConnectionMetrics {

    private static final VarHandle ELEMENT = MethodHandles.arrayElementVarHandle(long[].class);
    private static final int COUNT = RpcRdmaCounter.values().length;

    /** Counters of the requester and those without a role, then counters of the responder. */
    private final long[] values = new long[2 * COUNT];

    private final long[] gauges = new long[RpcRdmaGauge.values().length];

    /** Start of the oldest unanswered call of each role; 0 for none. */
    private final long[] oldestCalls = new long[RpcRdmaRole.values().length];

    private final RpcRdmaMetrics all;

    ConnectionMetrics(RpcRdmaMetrics all) {
        this.all = all;
    }

    /** Adds one to a counter that is not kept by role. */
    void increment(RpcRdmaCounter counter) {
        int i = counter.ordinal();
        ELEMENT.setOpaque(values, i, values[i] + 1);
    }

    /** Adds to a counter that is not kept by role. */
    void add(RpcRdmaCounter counter, long amount) {
        int i = counter.ordinal();
        ELEMENT.setOpaque(values, i, values[i] + amount);
    }

    /** Adds to a counter that is kept by role. */
    void add(RpcRdmaRole role, RpcRdmaCounter counter, long amount) {
        int i = role.ordinal() * COUNT + counter.ordinal();
        ELEMENT.setOpaque(values, i, values[i] + amount);
    }

    /** Adds all counts of another connection. */
    void addAll(ConnectionMetrics other) {
        for (int i = 0; i < values.length; i++) {
            long counted = (long) ELEMENT.getOpaque(other.values, i);
            ELEMENT.setOpaque(values, i, values[i] + counted);
        }
    }

    long value(RpcRdmaCounter counter) {
        return value(RpcRdmaRole.REQUESTER, counter) + value(RpcRdmaRole.RESPONDER, counter);
    }

    long value(RpcRdmaRole role, RpcRdmaCounter counter) {
        return (long) ELEMENT.getOpaque(values, role.ordinal() * COUNT + counter.ordinal());
    }

    void set(RpcRdmaGauge gauge, long value) {
        ELEMENT.setOpaque(gauges, gauge.ordinal(), value);
    }

    /** Changes a gauge by what is added to it. */
    void add(RpcRdmaGauge gauge, long change) {
        int i = gauge.ordinal();
        ELEMENT.setOpaque(gauges, i, gauges[i] + change);
    }

    long value(RpcRdmaGauge gauge) {
        return (long) ELEMENT.getOpaque(gauges, gauge.ordinal());
    }

    // ------------------------------------------------------------------ times

    /**
     * Publishes the start of the oldest unanswered call.
     *
     * @param start as {@link System#nanoTime}; 0 for no call
     */
    void oldestCall(RpcRdmaRole role, long start) {
        ELEMENT.setOpaque(oldestCalls, role.ordinal(), start);
    }

    /** The age of the oldest unanswered call in nanoseconds; 0 for no call. */
    long oldestCallNanos(RpcRdmaRole role, long now) {
        long start = (long) ELEMENT.getOpaque(oldestCalls, role.ordinal());
        return start == 0 ? 0 : Math.max(0, now - start);
    }

    /** The current time for {@link #callEnded} and {@link #creditGot}; 0 without listeners. */
    long startTime() {
        return all.listeners.length == 0 && !RpcRdmaFlightEvents.areCallsOn()
                ? 0
                : System.nanoTime();
    }

    /**
     * Tells the listeners that a call was answered.
     *
     * @param start {@link #startTime} of it
     */
    void callEnded(RpcRdmaRole role, String procedure, RpcRdmaCallOutcome outcome, long start) {
        if (start != 0) {
            long nanos = System.nanoTime() - start;
            RpcRdmaFlightEvents.call(role, procedure, outcome, nanos);
            for (RpcRdmaLatencyListener listener : all.listeners) {
                try {
                    listener.callEnded(role, procedure, outcome, nanos);
                } catch (Throwable t) {
                    UserExceptionLog.failed("RpcRdmaLatencyListener.callEnded", t);
                }
            }
        }
    }

    /**
     * Tells the listeners that a call has waited for its credit.
     *
     * @param start {@link #startTime} of the wait
     */
    void creditGot(long start) {
        if (start != 0) {
            long nanos = System.nanoTime() - start;
            RpcRdmaFlightEvents.creditWait(nanos);
            for (RpcRdmaLatencyListener listener : all.listeners) {
                try {
                    listener.creditGot(nanos);
                } catch (Throwable t) {
                    UserExceptionLog.failed("RpcRdmaLatencyListener.creditGot", t);
                }
            }
        }
    }

    // ------------------------------------------------------------------ forms

    /** Counts the form of a call. */
    void countCall(RpcRdmaRole role, TransportHeader header, boolean isLong) {
        if (!header.hasChunks()) {
            add(role, isLong ? RpcRdmaCounter.LONG_CALLS : RpcRdmaCounter.SHORT_MESSAGES, 1);
            return;
        }
        int reads = header.reads().segments();
        boolean writes = header.writes().chunks() > 0;
        boolean reply = header.reply().isPresent();
        if (isLong) {
            add(role, RpcRdmaCounter.LONG_CALLS, 1);
        } else if (reads > 0) {
            add(role, RpcRdmaCounter.READ_CHUNK_CALLS, 1);
        }
        if (writes) {
            add(role, RpcRdmaCounter.WRITE_CHUNK_CALLS, 1);
        }
        if (reply) {
            add(role, RpcRdmaCounter.REPLY_CHUNK_CALLS, 1);
        }
    }

    /**
     * Counts the form of an inbound reply.
     *
     * @param inlineBytes payload bytes in its Send
     */
    void countReply(TransportHeader header, boolean isLong, int inlineBytes) {
        increment(RpcRdmaCounter.REPLIES_RECEIVED);
        add(RpcRdmaRole.REQUESTER, RpcRdmaCounter.INLINE_BYTES, inlineBytes);
        if (header.hasChunks()) {
            int segments = header.writes().segments();
            long placed = header.reply().chunkLength() + header.writes().sum(0, segments);
            add(RpcRdmaCounter.WRITE_BYTES_RECEIVED, placed);
        }
        countReplyForm(RpcRdmaRole.REQUESTER, header, isLong);
    }

    /** Counts the form of a reply in either direction. */
    void countReplyForm(RpcRdmaRole role, TransportHeader header, boolean isLong) {
        if (!header.hasChunks()) {
            add(role, isLong ? RpcRdmaCounter.LONG_REPLIES : RpcRdmaCounter.SHORT_MESSAGES, 1);
            return;
        }
        if (header.reads().segments() > 0) {
            add(role, RpcRdmaCounter.READ_CHUNK_REPLIES, 1);
        } else if (isLong) {
            add(role, RpcRdmaCounter.LONG_REPLIES, 1);
        }
    }
}
