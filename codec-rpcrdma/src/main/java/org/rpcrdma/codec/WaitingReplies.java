// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.util.collection.IntObjectHashMap;
import io.netty.util.concurrent.ScheduledFuture;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;

/**
 * The replies of one connection that wait for their pull completion (draft-cel-nfsv4-rpcrdma-reliable-reply-04, 5.4.3). Each
 * is freed once: by its completion, by its deadline, or with the connection.
 */
final class WaitingReplies {

    private final RpcRdmaConnection connection;
    private final ReadChunkReplies limits;
    private final IntObjectHashMap<WaitingReply> byXid = new IntObjectHashMap<>();
    private long bytes;

    // All have the same time to wait, so they are due in the order in which they have come.
    private WaitingReply oldest;
    private WaitingReply newest;

    private WaitingReply spare;

    /** One for the connection: it is armed for the oldest reply, and may find that this one is gone. */
    private ScheduledFuture<?> timer;

    WaitingReplies(RpcRdmaConnection connection, ReadChunkReplies limits) {
        this.connection = connection;
        this.limits = limits;
    }

    int count() {
        return byXid.size();
    }

    long bytes() {
        return bytes;
    }

    /** Whether one more may wait: the caps hold, and there is a receive for its completion, outside of the grant. */
    boolean hasRoom(int length) {
        return byXid.size() < limits.maxWaiting()
                && bytes + length <= limits.maxWaitingBytes()
                && connection.grants().keepsReceives(byXid.size() + 1);
    }

    /** A reply that does not wait yet; it goes to {@link #add} or {@link #abandon}. */
    WaitingReply prepare(int xid) {
        WaitingReply reply = spare == null ? new WaitingReply() : spare;
        spare = reply.next;
        reply.next = null;
        reply.xid = xid;
        return reply;
    }

    /** It was never sent. */
    void abandon(WaitingReply reply) {
        reply.free(connection);
        recycle(reply);
    }

    /** Waits from now on. A requester that uses an XID again wants nothing of the reply that has waited under it. */
    void add(WaitingReply reply) {
        WaitingReply before = byXid.put(reply.xid, reply);
        if (before != null) {
            end(before);
        }
        bytes += reply.bytes();
        reply.deadline = System.nanoTime() + limits.completionTimeoutNanos();
        reply.previous = newest;
        if (newest == null) {
            oldest = reply;
        } else {
            newest.next = reply;
        }
        newest = reply;
        if (timer == null) {
            arm(limits.completionTimeoutNanos());
        }
    }

    /** A pull completion has come; returns {@code false} when nothing waits for it (draft, 4.1.3). */
    boolean complete(int xid) {
        WaitingReply reply = byXid.remove(xid);
        if (reply == null) {
            return false;
        }
        end(reply);
        return true;
    }

    private void arm(long nanos) {
        try {
            timer =
                    connection
                            .channel()
                            .eventLoop()
                            .schedule(this::wake, nanos, TimeUnit.NANOSECONDS);
        } catch (RejectedExecutionException e) {
            timer = null; // the event loop ends, and the connection with it
        }
    }

    private void wake() {
        timer = null;
        long now = System.nanoTime();
        expire(now);
        if (oldest != null && timer == null) {
            arm(Math.max(0, oldest.deadline - now));
        }
    }

    /** Frees what is due at this time of {@link System#nanoTime}. */
    void expire(long now) {
        while (oldest != null && oldest.deadline - now <= 0) {
            WaitingReply late = oldest;
            byXid.remove(late.xid);
            connection.metrics().increment(RpcRdmaCounter.READ_CHUNK_REPLIES_EXPIRED);
            connection.problem(late.xid, "no pull completion in time", "the reply is freed");
            end(late);
        }
    }

    /** It is out of the table already, so that nothing finds it while its memory goes. */
    private void end(WaitingReply reply) {
        if (reply.previous == null) {
            oldest = reply.next;
        } else {
            reply.previous.next = reply.next;
        }
        if (reply.next == null) {
            newest = reply.previous;
        } else {
            reply.next.previous = reply.previous;
        }
        bytes -= reply.bytes();
        reply.free(connection);
        recycle(reply);
    }

    private void recycle(WaitingReply reply) {
        reply.previous = null;
        reply.next = spare;
        spare = reply;
    }

    /** The connection is over, or its handlers are gone. */
    void close() {
        if (timer != null) {
            timer.cancel(false);
            timer = null;
        }
        byXid.clear();
        while (oldest != null) {
            end(oldest);
        }
    }
}
