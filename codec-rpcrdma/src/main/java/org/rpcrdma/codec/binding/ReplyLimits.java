// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.binding;

import java.util.Arrays;

/**
 * Upper bounds of the results of one call (RFC 8166, 6.2): the part that always stays in the payload stream, and the
 * DDP-eligible results in the order in which they appear. Lengths are in bytes, without the RPC reply header.
 *
 * <p>Not safe for use by several threads.
 */
public final class ReplyLimits {

    private long fixed;
    private boolean known;
    private boolean unbounded;
    private long[] sinks = new long[2];
    private int count;

    /** Nothing is known yet. */
    public ReplyLimits() {}

    /** Forgets everything: no limit is known. */
    public void clear() {
        fixed = 0;
        known = false;
        unbounded = false;
        count = 0;
    }

    /**
     * Sets the longest results without those in {@linkplain #sink sinks}, including count words.
     *
     * @param bytes from 0, as on the wire with round-up
     */
    public void results(long bytes) {
        fixed += bytes;
        known = true;
    }

    /**
     * States that a part of the results has no bound, apart from the sinks and what {@link #results} has stated: the
     * configured default is allowed for it (RFC 8166, 6.2).
     */
    public void unbounded() {
        unbounded = true;
    }

    /**
     * States the next DDP-eligible result that the requester wants to be placed directly when it does not fit inline.
     *
     * @param maximum its greatest length, without count word and round-up
     */
    public void sink(long maximum) {
        if (count == sinks.length) {
            sinks = Arrays.copyOf(sinks, count << 1);
        }
        sinks[count++] = maximum;
    }

    /** Has the results that were stated as sinks come with the payload. */
    void withoutSinks() {
        fixed = totalBytes();
        count = 0;
    }

    /**
     * {@return whether the binding bounds the results; if not, add the configured default}
     */
    public boolean isKnown() {
        return known && !unbounded;
    }

    /** {@return the longest results without the sinks} */
    public long fixedBytes() {
        return fixed;
    }

    /** {@return the number of sinks: results that the responder may place directly} */
    public int sinks() {
        return count;
    }

    /**
     * {@return the longest that a sink can get}
     *
     * @param sink from 0 to {@link #sinks()} - 1, in the order of the results
     */
    public long sinkBytes(int sink) {
        return sinks[sink];
    }

    /** {@return the longest results with everything inline, round-up included} */
    public long totalBytes() {
        long total = fixed;
        for (int i = 0; i < count; i++) {
            total += (sinks[i] + 3) & ~3L;
        }
        return total;
    }

    /** Of the thread that it belongs to. */
    @Override
    public String toString() {
        return "ReplyLimits("
                + fixed
                + " bytes and "
                + count
                + " sinks, "
                + totalBytes()
                + " in all)";
    }
}
