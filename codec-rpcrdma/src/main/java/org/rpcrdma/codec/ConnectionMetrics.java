// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import org.rpcrdma.codec.wire.TransportHeader;

/** The counters of one connection: written on its event loop without a fence, readable from any thread. */
@SuppressWarnings("EnumOrdinal") // the array lives and dies with the enum's class
final class ConnectionMetrics {

    private static final VarHandle ELEMENT = MethodHandles.arrayElementVarHandle(long[].class);
    private static final int COUNT = RpcRdmaCounter.values().length;

    /** Those of the requester and of what has no role, then those of the responder. */
    private final long[] values = new long[2 * COUNT];

    private final long[] gauges = new long[RpcRdmaGauge.values().length];
    private final RpcRdmaMetrics all;

    ConnectionMetrics(RpcRdmaMetrics all) {
        this.all = all;
    }

    /** One more of what is not counted by role. */
    void increment(RpcRdmaCounter counter) {
        int i = counter.ordinal();
        ELEMENT.setOpaque(values, i, values[i] + 1);
    }

    /** More of what is not counted by role. */
    void add(RpcRdmaCounter counter, long amount) {
        addAt(counter.ordinal(), amount);
    }

    /** More of what is counted for both roles. */
    void add(RpcRdmaRole role, RpcRdmaCounter counter, long amount) {
        int i = role.ordinal() * COUNT + counter.ordinal();
        ELEMENT.setOpaque(values, i, values[i] + amount);
    }

    private static int index(RpcRdmaRole role, RpcRdmaCounter counter) {
        return role.ordinal() * COUNT + counter.ordinal();
    }

    private void addAt(int i, long amount) {
        ELEMENT.setOpaque(values, i, values[i] + amount);
    }

    /** Takes over what another connection has counted. */
    void addAll(ConnectionMetrics other) {
        for (int i = 0; i < values.length; i++) {
            addAt(i, (long) ELEMENT.getOpaque(other.values, i));
        }
    }

    long value(RpcRdmaCounter counter) {
        return value(RpcRdmaRole.REQUESTER, counter) + value(RpcRdmaRole.RESPONDER, counter);
    }

    long value(RpcRdmaRole role, RpcRdmaCounter counter) {
        return (long) ELEMENT.getOpaque(values, index(role, counter));
    }

    void set(RpcRdmaGauge gauge, long value) {
        ELEMENT.setOpaque(gauges, gauge.ordinal(), value);
    }

    long value(RpcRdmaGauge gauge) {
        return (long) ELEMENT.getOpaque(gauges, gauge.ordinal());
    }

    // ------------------------------------------------------------------ times

    /** Now, for {@link #callEnded} and {@link #creditGot}; 0 when nobody wants to know. */
    long startTime() {
        return all.listeners().length == 0 && !FlightEvents.areCallsOn() ? 0 : System.nanoTime();
    }

    /**
     * Tells that a call has been answered.
     *
     * @param start {@link #startTime} of it
     */
    void callEnded(RpcRdmaRole role, String procedure, CallOutcome outcome, long start) {
        if (start != 0) {
            long nanos = System.nanoTime() - start;
            FlightEvents.call(role, procedure, outcome, nanos);
            for (RpcRdmaListener listener : all.listeners()) {
                try {
                    listener.callEnded(role, procedure, outcome, nanos);
                } catch (Throwable t) {
                    UserCode.failed("RpcRdmaListener.callEnded", t);
                }
            }
        }
    }

    /**
     * Tells that a call has waited for its credit.
     *
     * @param start {@link #startTime} of the wait
     */
    void creditGot(long start) {
        if (start != 0) {
            long nanos = System.nanoTime() - start;
            FlightEvents.creditWait(nanos);
            for (RpcRdmaListener listener : all.listeners()) {
                try {
                    listener.creditGot(nanos);
                } catch (Throwable t) {
                    UserCode.failed("RpcRdmaListener.creditGot", t);
                }
            }
        }
    }

    // ------------------------------------------------------------------ forms

    /** Of what form a call is. */
    void countCall(RpcRdmaRole role, TransportHeader header, boolean isLong) {
        if (!isLong && !header.hasChunks()) {
            add(role, RpcRdmaCounter.SHORT_MESSAGES, 1);
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
     * Of what form a reply is that has come.
     *
     * @param inlineBytes of it
     */
    void countReply(TransportHeader header, boolean isLong, int inlineBytes) {
        increment(RpcRdmaCounter.REPLIES_RECEIVED);
        if (header.hasChunks()) {
            add(
                    RpcRdmaCounter.PLACED_BYTES,
                    header.reply().chunkLength()
                            + header.writes().sum(0, header.writes().segments()));
        }
        add(RpcRdmaRole.REQUESTER, RpcRdmaCounter.INLINE_BYTES, inlineBytes);
        countReplyForm(RpcRdmaRole.REQUESTER, header, isLong);
    }

    /** Of what form a reply is, whichever way it goes. */
    void countReplyForm(RpcRdmaRole role, TransportHeader header, boolean isLong) {
        if (!isLong && !header.hasChunks()) {
            add(role, RpcRdmaCounter.SHORT_MESSAGES, 1);
        } else if (header.reads().segments() > 0) {
            add(role, RpcRdmaCounter.READ_CHUNK_REPLIES, 1);
        } else if (isLong) {
            add(role, RpcRdmaCounter.LONG_REPLIES, 1);
        }
    }
}
