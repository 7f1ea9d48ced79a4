// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.channel.ChannelPromise;
import io.netty.util.concurrent.ScheduledFuture;
import java.nio.channels.ClosedChannelException;
import java.util.ArrayDeque;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import org.rpcrdma.codec.internal.XidHashMap;

/**
 * Replies of one connection that wait for their pull completion (draft-cel-nfsv4-rpcrdma-reliable-reply-04, 5.4.3).
 * Each is released exactly once: by its completion, at its deadline, or with the connection.
 */
final class OutboundRepliesAwaitingPullCompletion {

    private final ConnectionSharedState link;
    private final ReadChunkReplyConfig limits;
    private final int most;
    private final XidHashMap<ExposedReadChunkReply> byXid = new XidHashMap<>();
    private long bytes;

    // All replies have the same timeout, so their deadlines are in order of arrival.
    private ExposedReadChunkReply oldest;
    private ExposedReadChunkReply newest;

    private ExposedReadChunkReply spare;

    private record Held(int length, Runnable write, ChannelPromise promise) {}

    /** Replies held back until there is room, in order. */
    private final ArrayDeque<Held> held = new ArrayDeque<>();

    private final RegisteredMemoryRetryTimer retry;

    private boolean isWritingDue;
    private boolean isWriting;

    /** Whether the first held reply lacked registered memory. */
    private boolean isLacking;

    /** One timer per connection, armed for the oldest reply, which may have been completed before the timer fires. */
    private ScheduledFuture<?> timer;

    /**
     * @param credits the highest grant, which bounds the waiting replies: a requester that has announced these replies
     *     keeps the credit of each call until it sends the pull completion
     */
    OutboundRepliesAwaitingPullCompletion(
            ConnectionSharedState link, ReadChunkReplyConfig limits, int credits) {
        this.link = link;
        this.limits = limits;
        most = limits.areAnnounced() ? credits : limits.maxWaiting();
        retry = new RegisteredMemoryRetryTimer(link, this::writeHeld);
    }

    int count() {
        return byXid.size();
    }

    long bytes() {
        return bytes;
    }

    /**
     * Whether another reply may wait: within the limits, and with a receive for its completion outside of the grant.
     */
    boolean hasRoom(int length) {
        return byXid.size() < most && bytes + length <= limits.maxWaitingBytes();
    }

    /**
     * Whether a reply of that length must be held back until others are completed. Only where both sides have announced
     * these replies: there, a reply is never refused for lack of room.
     */
    boolean mustHold(int length) {
        return !isWriting
                && limits.areAnnounced()
                && length <= limits.maxWaitingBytes()
                && (!held.isEmpty() || !hasRoom(length));
    }

    /**
     * Holds back a reply.
     *
     * @param write writes it again, when there is room; not called when the connection is lost before
     * @param promise fails then
     */
    void hold(int length, Runnable write, ChannelPromise promise) {
        held.add(new Held(length, write, promise));
    }

    /**
     * Holds back a reply for lack of registered memory, and tries again later.
     *
     * @param write as for {@link #hold}; may find no memory again
     * @param promise as there
     */
    void retry(int length, Runnable write, ChannelPromise promise) {
        Held first = new Held(length, write, promise);
        if (isWriting) {
            held.addFirst(first); // keeps its place
            isLacking = true;
        } else {
            held.add(first);
        }
        retry.arm();
    }

    private void writeHeld() {
        isWritingDue = false;
        isWriting = true;
        isLacking = false;
        try {
            for (Held next = held.peek();
                    next != null && !isLacking && hasRoom(next.length);
                    next = held.peek()) {
                held.remove();
                next.write.run();
            }
            if (!isLacking) {
                retry.succeeded();
            }
        } catch (Throwable t) {
            // It is out of the queue, and nothing else would answer it.
            link.closeNow("a reply that has waited for memory was not sent", t);
        } finally {
            isWriting = false;
        }
    }

    /** Takes a reply object from the free list; the caller passes it to {@link #add} or {@link #abandon}. */
    ExposedReadChunkReply prepare(int xid) {
        ExposedReadChunkReply reply = spare == null ? new ExposedReadChunkReply() : spare;
        spare = reply.next;
        reply.next = null;
        reply.xid = xid;
        return reply;
    }

    /** The reply was never sent. */
    void abandon(ExposedReadChunkReply reply) {
        reply.free(link);
        recycle(reply);
    }

    /** The reply waits from now on. It replaces one with the same XID, which the requester has reused. */
    void add(ExposedReadChunkReply reply) {
        ExposedReadChunkReply before = byXid.put(reply.xid, reply);
        if (before != null) {
            end(before);
        }
        publish();
        bytes += reply.bytes();
        reply.deadline = link.internals.nanoTime() + limits.completionTimeoutNanos();
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

    /** A pull completion has arrived; returns {@code false} when no reply waits for it (draft, 4.1.3). */
    boolean tryComplete(int xid) {
        ExposedReadChunkReply reply = byXid.remove(xid);
        if (reply == null) {
            return false;
        }
        end(reply);
        return true;
    }

    private void arm(long nanos) {
        try {
            timer = link.channel.eventLoop().schedule(this::wake, nanos, TimeUnit.NANOSECONDS);
        } catch (RejectedExecutionException e) {
            timer = null; // the event loop shuts down, and closes the connection
        }
    }

    private void wake() {
        timer = null;
        long now = link.internals.nanoTime();
        expire(now);
        if (oldest != null && timer == null) {
            arm(Math.max(0, oldest.deadline - now));
        }
    }

    /** Releases all replies whose deadline has passed. */
    void expire(long now) {
        while (oldest != null && oldest.deadline - now <= 0) {
            ExposedReadChunkReply late = oldest;
            byXid.remove(late.xid);
            link.metrics.increment(RpcRdmaCounter.READ_CHUNK_REPLIES_EXPIRED);
            link.problem(late.xid, "no pull completion in time", "the reply is freed");
            end(late);
        }
    }

    /** Releases a reply, which is no longer in the table when its memory is invalidated. */
    private void end(ExposedReadChunkReply reply) {
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
        publish();
        bytes -= reply.bytes();
        reply.free(link);
        recycle(reply);
        if (!held.isEmpty() && !isWritingDue) {
            isWritingDue = true;
            link.channel.eventLoop().execute(this::writeHeld);
        }
    }

    private void publish() {
        link.metrics.set(RpcRdmaGauge.REPLIES_WAITING, byXid.size());
    }

    private void recycle(ExposedReadChunkReply reply) {
        reply.previous = null;
        reply.next = spare;
        spare = reply;
    }

    /** The connection is closed, or its handlers were removed. */
    void close() {
        if (timer != null) {
            timer.cancel(false);
            timer = null;
        }
        retry.stop();
        byXid.clear();
        for (Held lost = held.poll(); lost != null; lost = held.poll()) {
            lost.promise.tryFailure(new ClosedChannelException());
        }
        while (oldest != null) {
            end(oldest);
        }
    }
}
