// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import static io.netty.util.internal.ObjectUtil.checkNotNull;
import static io.netty.util.internal.ObjectUtil.checkPositive;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * A {@link DuplicateRequestCache} that bounds the number of calls and the bytes of replies. It evicts the oldest reply
 * first. It does not keep a reply above the limit; a retransmission of that call is executed again.
 *
 * <p>One lock guards all state; it is held for a map operation and the copy of a reply.
 */
public final class BoundedDuplicateRequestCache implements DuplicateRequestCache {

    /** Selects the procedures whose replies are kept. */
    @FunctionalInterface
    public interface Filter {
        /**
         * {@return whether calls of a procedure are remembered; asked on the event loops}
         *
         * @param program unsigned
         * @param version unsigned
         * @param procedure unsigned
         */
        boolean covers(int program, int version, int procedure);
    }

    private final int maxEntries;
    private final int maxReplyBytes;
    private final long maxBytes;
    private final Filter filter;

    /** Calls that handlers are executing, each with its waiters in order of arrival. */
    private final Map<Call, ArrayDeque<Waiter>> inProgress = new HashMap<>();

    /** Replies in the order in which they were given. */
    private final Map<Call, byte[]> replies = new LinkedHashMap<>();

    private final Object lock = new Object();
    private long bytes;

    /**
     * A cache for any number of connections, servers and threads.
     *
     * @param maxEntries the most calls in progress, and the most replies, that are kept, from 1
     * @param maxReplyBytes the longest reply that is kept
     * @param maxBytes the most bytes of all replies together
     * @param filter which procedures are remembered
     */
    public BoundedDuplicateRequestCache(
            int maxEntries, int maxReplyBytes, long maxBytes, Filter filter) {
        this.maxEntries = checkPositive(maxEntries, "maxEntries");
        this.maxReplyBytes = checkPositive(maxReplyBytes, "maxReplyBytes");
        this.maxBytes = checkPositive(maxBytes, "maxBytes");
        this.filter = checkNotNull(filter, "filter");
    }

    /** 4096 calls, replies of up to 4 KiB, 4 MiB in all, and every procedure. */
    public BoundedDuplicateRequestCache() {
        this(4096, 4096, 4 << 20, (program, version, procedure) -> true);
    }

    @Override
    public boolean covers(int program, int version, int procedure) {
        return filter.covers(program, version, procedure);
    }

    @Override
    public Lookup begin(Call call, Waiter waiter) {
        synchronized (lock) {
            byte[] reply = replies.get(call);
            if (reply != null) {
                return new Lookup(Progress.DONE, Unpooled.wrappedBuffer(reply));
            }
            ArrayDeque<Waiter> waiting = inProgress.get(call);
            if (waiting != null) {
                waiting.add(waiter);
                return new Lookup(Progress.IN_PROGRESS, null);
            }
            if (inProgress.size() < maxEntries) {
                inProgress.put(call, new ArrayDeque<>(2));
            }
            return new Lookup(Progress.NEW, null);
        }
    }

    @Override
    public void done(Call call, ByteBuf reply) {
        ArrayDeque<Waiter> waiting;
        byte[] copy;
        synchronized (lock) {
            waiting = inProgress.remove(call);
            if (waiting == null) {
                return;
            }
            boolean isKept = reply.readableBytes() <= maxReplyBytes;
            if (!isKept && waiting.isEmpty()) {
                return;
            }
            copy = ByteBufUtil.getBytes(reply);
            if (isKept) {
                replies.put(call, copy);
                bytes += copy.length;
                forgetOldest();
            }
        }
        for (Waiter waiter : waiting) {
            waiter.answered(Unpooled.wrappedBuffer(copy));
        }
    }

    private void forgetOldest() {
        Iterator<byte[]> oldest = replies.values().iterator();
        while (replies.size() > maxEntries || bytes > maxBytes) {
            bytes -= oldest.next().length;
            oldest.remove();
        }
    }

    @Override
    public void abandon(Call call) {
        Waiter next;
        synchronized (lock) {
            ArrayDeque<Waiter> waiting = inProgress.get(call);
            if (waiting == null) {
                return;
            }
            next = waiting.poll();
            if (next == null) {
                inProgress.remove(call);
                return;
            }
        }
        next.abandoned();
    }

    @Override
    public void withdraw(Call call, Waiter waiter) {
        synchronized (lock) {
            ArrayDeque<Waiter> waiting = inProgress.get(call);
            if (waiting != null) {
                waiting.remove(waiter);
            }
        }
    }

    /** Fill level and limits, without the contents of calls or replies. Any thread. */
    @Override
    public String toString() {
        synchronized (lock) {
            return "BoundedDuplicateRequestCache("
                    + replies.size()
                    + " of "
                    + maxEntries
                    + " replies, "
                    + bytes
                    + " of "
                    + maxBytes
                    + " bytes, "
                    + inProgress.size()
                    + " calls in progress)";
        }
    }
}
