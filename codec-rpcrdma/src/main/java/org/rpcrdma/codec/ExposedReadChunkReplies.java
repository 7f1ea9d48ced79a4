// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.channel.ChannelPromise;
import io.netty.util.concurrent.ScheduledFuture;
import java.nio.channels.ClosedChannelException;
import java.util.ArrayDeque;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import org.rpcrdma.channel.RdmaChannel;
import org.rpcrdma.codec.internal.XidHashMap;

/**
 * The replies of one connection that wait for their pull completion (draft-cel-nfsv4-rpcrdma-reliable-reply-04,
 * 5.4.3). Each is freed once: by its completion, by its deadline, or with the connection.
 */
final class ExposedReadChunkReplies {

    private final ConnectionContext link;
    private final ReadChunkReplyConfig limits;
    private final int most;
    private final XidHashMap<ExposedReadChunkReply> byXid = new XidHashMap<>();
    private long bytes;

    // All have the same time to wait, so they are due in the order in which they have come.
    private ExposedReadChunkReply oldest;
    private ExposedReadChunkReply newest;

    private ExposedReadChunkReply spare;

    private record Held(int length, Runnable write, ChannelPromise promise) {}

    /** Replies that find no room, in their order. */
    private final ArrayDeque<Held> held = new ArrayDeque<>();

    private final MemoryRetry retry;

    private boolean isWritingDue;
    private boolean isWriting;

    /** There was no memory for the first of them. */
    private boolean isLacking;

    /** One for the connection: it is armed for the oldest reply, and may find that this one is gone. */
    private ScheduledFuture<?> timer;

    /**
     * @param credits the highest grant: who has announced these replies keeps the credit of a call until its pull
     *     completion is sent, so no more of them may wait
     */
    ExposedReadChunkReplies(ConnectionContext link, ReadChunkReplyConfig limits, int credits) {
        this.link = link;
        this.limits = limits;
        most = limits.areAnnounced() ? credits : limits.maxWaiting();
        retry = new MemoryRetry(link, this::writeHeld);
    }

    int count() {
        return byXid.size();
    }

    long bytes() {
        return bytes;
    }

    /** Whether one more may wait: the caps hold, and there is a receive for its completion, outside of the grant. */
    boolean hasRoom(int length) {
        return byXid.size() < most && bytes + length <= limits.maxWaitingBytes();
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

    /**
     * Holds a reply back that there was no memory for: it is tried again.
     *
     * @param write as for {@link #hold}; may find no memory again
     * @param promise as there
     */
    void retry(int length, Runnable write, ChannelPromise promise) {
        Held first = new Held(length, write, promise);
        if (isWriting) {
            held.addFirst(first); // it was the first
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
        for (Held next = held.peek();
                next != null && !isLacking && hasRoom(next.length);
                next = held.peek()) {
            held.remove();
            next.write.run();
        }
        if (!isLacking) {
            retry.succeeded();
        }
        isWriting = false;
    }

    /** A reply that does not wait yet; it goes to {@link #add} or {@link #abandon}. */
    ExposedReadChunkReply prepare(int xid) {
        ExposedReadChunkReply reply = spare == null ? new ExposedReadChunkReply() : spare;
        spare = reply.next;
        reply.next = null;
        reply.xid = xid;
        return reply;
    }

    /** It was never sent. */
    void abandon(ExposedReadChunkReply reply) {
        reply.free(link);
        recycle(reply);
    }

    /** Waits from now on. A requester that uses an XID again wants nothing of the reply that has waited under it. */
    void add(ExposedReadChunkReply reply) {
        ExposedReadChunkReply before = byXid.put(reply.xid, reply);
        if (before != null) {
            end(before);
        }
        publish();
        bytes += reply.bytes();
        reply.deadline = link.channel().nanoTime() + limits.completionTimeoutNanos();
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
        ExposedReadChunkReply reply = byXid.remove(xid);
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
        long now = link.channel().nanoTime();
        expire(now);
        if (oldest != null && timer == null) {
            arm(Math.max(0, oldest.deadline - now));
        }
    }

    /** Frees what is due at this time of {@link RdmaChannel#nanoTime}. */
    void expire(long now) {
        while (oldest != null && oldest.deadline - now <= 0) {
            ExposedReadChunkReply late = oldest;
            byXid.remove(late.xid);
            link.metrics().increment(RpcRdmaCounter.READ_CHUNK_REPLIES_EXPIRED);
            link.problem(late.xid, "no pull completion in time", "the reply is freed");
            end(late);
        }
    }

    /** It is out of the table already, so that nothing finds it while its memory goes. */
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
            link.channel().eventLoop().execute(this::writeHeld);
        }
    }

    private void publish() {
        link.metrics().set(RpcRdmaGauge.REPLIES_WAITING, byXid.size());
    }

    private void recycle(ExposedReadChunkReply reply) {
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
