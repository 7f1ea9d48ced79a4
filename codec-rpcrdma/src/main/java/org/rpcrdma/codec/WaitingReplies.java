// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.channel.ChannelPromise;
import io.netty.util.concurrent.ScheduledFuture;
import java.nio.channels.ClosedChannelException;
import java.util.ArrayDeque;
import java.util.Queue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;

/**
 * The replies of one connection that wait for their pull completion (draft-cel-nfsv4-rpcrdma-reliable-reply-04,
 * 5.4.3). Each is freed once: by its completion, by its deadline, or with the connection.
 */
final class WaitingReplies {

    private final Link link;
    private final ReadChunkReplies limits;
    private final XidMap<WaitingReply> byXid = new XidMap<>();
    private long bytes;

    // All have the same time to wait, so they are due in the order in which they have come.
    private WaitingReply oldest;
    private WaitingReply newest;

    private WaitingReply spare;

    private record Held(int length, Runnable write, ChannelPromise promise) {}

    /** Replies that find no room, in their order. */
    private final Queue<Held> held = new ArrayDeque<>();

    private boolean isWritingDue;
    private boolean isWriting;

    /** One for the connection: it is armed for the oldest reply, and may find that this one is gone. */
    private ScheduledFuture<?> timer;

    WaitingReplies(Link link, ReadChunkReplies limits) {
        this.link = link;
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
        return byXid.size() < limits.maxWaiting() && bytes + length <= limits.maxWaitingBytes();
    }

    /**
     * Whether a reply of so many bytes has to be held back until others are gone. Where both sides have only announced
     * these replies nobody expects a reply to be refused for them.
     */
    boolean mustHold(int length) {
        return !isWriting
                && limits.areAnnounced()
                && length <= limits.maxWaitingBytes()
                && (!held.isEmpty() || !hasRoom(length));
    }

    /**
     * Holds a reply back.
     *
     * @param write writes it again, when there is room; not called when the connection is lost before
     * @param promise fails then
     */
    void hold(int length, Runnable write, ChannelPromise promise) {
        held.add(new Held(length, write, promise));
    }

    private void writeHeld() {
        isWritingDue = false;
        isWriting = true;
        for (Held next = held.peek(); next != null && hasRoom(next.length); next = held.peek()) {
            held.remove();
            next.write.run();
        }
        isWriting = false;
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
        reply.free(link);
        recycle(reply);
    }

    /** Waits from now on. A requester that uses an XID again wants nothing of the reply that has waited under it. */
    void add(WaitingReply reply) {
        WaitingReply before = byXid.put(reply.xid, reply);
        if (before != null) {
            end(before);
        }
        publish();
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
            timer = link.channel().eventLoop().schedule(this::wake, nanos, TimeUnit.NANOSECONDS);
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
            link.metrics().increment(RpcRdmaCounter.READ_CHUNK_REPLIES_EXPIRED);
            link.problem(late.xid, "no pull completion in time", "the reply is freed");
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
        publish();
        bytes -= reply.bytes();
        reply.free(link);
        recycle(reply);
        if (!held.isEmpty() && !isWritingDue) {
            isWritingDue = true;
            link.channel().eventLoop().execute(this::writeHeld);
        }
    }

    private void publish() {
        link.metrics().set(RpcRdmaGauge.REPLIES_WAITING, byXid.size());
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
        for (Held lost = held.poll(); lost != null; lost = held.poll()) {
            lost.promise.tryFailure(new ClosedChannelException());
        }
        while (oldest != null) {
            end(oldest);
        }
    }
}
