// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufHolder;
import io.netty.channel.ChannelOutboundBuffer;
import io.netty.util.internal.StringUtil;
import org.rpcrdma.verbs.MemoryRegion;
import org.rpcrdma.verbs.QueuePair;
import org.rpcrdma.verbs.WorkStatus;

/**
 * Posts flushed messages as work requests, the last one of a batch signalled, and completes their promises when the
 * device is done with their memory.
 */
final class SendPoster implements ChannelOutboundBuffer.MessageProcessor {

    /** Marks the work request ids of the send queue; receives have the others. */
    private static final long SEND = 1L << 62;

    private final QueuePair queuePair;
    private final MessageMemory memory;
    private final int depth;
    private final SendRing posted;
    private ChannelOutboundBuffer outbound;

    private int skip;
    private int room;

    /** Posted when it is known whether another one follows. */
    private Object held;

    /** Whether work requests wait for the doorbell. */
    private boolean opened;

    /** Whether flushed messages wait for room on the send queue. */
    private boolean blocked;

    /** @param depth the most work requests of the queue pair's send queue */
    SendPoster(QueuePair queuePair, MessageMemory memory, int depth) {
        this.queuePair = queuePair;
        this.memory = memory;
        this.depth = depth;
        this.posted = new SendRing();
    }

    /** Whether a work request id is of the send queue. */
    static boolean isSend(long id) {
        return (id & SEND) != 0;
    }

    /** Whether nothing is under way. */
    boolean isEmpty() {
        return posted.isEmpty();
    }

    /** Whether flushed messages wait until work completes. */
    boolean isBlocked() {
        return blocked;
    }

    // ------------------------------------------------------------------ posting

    /**
     * Posts the flushed messages that are not posted yet, as far as there is room.
     *
     * @throws RuntimeException when the device refuses; what is half posted cannot be taken back
     */
    void post(ChannelOutboundBuffer in) throws Exception {
        outbound = in;
        do {
            skip = posted.size();
            room = depth - skip;
            blocked = false;
            in.forEachFlushedMessage(this);
            postHeld(QueuePair.SIGNALED);
            if (opened) {
                opened = false;
                queuePair.doorbell();
            }
            removeCancelled();
            // Whoever hears of an empty buffer may flush more.
        } while (completeNothings());
    }

    @Override
    public boolean processMessage(Object message) {
        if (skip > 0) {
            skip--;
            return true;
        }
        if (room == 0) {
            blocked = true;
            return false;
        }
        room--;
        if (isNothing(message)) {
            postHeld(QueuePair.SIGNALED);
            posted.addNothing(message);
        } else {
            postHeld(0);
            held = message;
        }
        return true;
    }

    private void postHeld(int flags) {
        Object message = held;
        if (message == null) {
            return;
        }
        held = null;
        opened = true;
        open(message, SEND | posted.next(), flags);
        ByteBuf content = content(message);
        MemoryRegion registration =
                content.isReadable()
                        ? memory.gather(
                                queuePair, content, content.readerIndex(), content.readableBytes())
                        : null;
        posted.add(message, content, registration);
    }

    private void open(Object message, long id, int flags) {
        if (message instanceof RdmaWrite write) {
            queuePair.write(id, flags, write.offset(), write.handle());
        } else if (message instanceof RdmaRead read) {
            queuePair.read(id, flags | QueuePair.SIGNALED, read.offset(), read.handle());
        } else if (message instanceof RdmaSend send) {
            queuePair.sendWithInvalidate(id, flags, send.invalidateHandle());
        } else {
            queuePair.send(id, flags);
        }
    }

    private static ByteBuf content(Object message) {
        return message instanceof ByteBuf buffer ? buffer : ((ByteBufHolder) message).content();
    }

    /** An empty buffer is Netty's way to wait for what was written before it; it is not a message. */
    private static boolean isNothing(Object message) {
        return message instanceof ByteBuf buffer && !buffer.isReadable();
    }

    // ------------------------------------------------------------------ completing

    /** A signalled work request, or one that has failed, is complete, and with it all before it. */
    void completed(long id, WorkStatus status) {
        long number = id & ~SEND;
        while (!posted.isEmpty() && posted.head() < number) {
            completeHead(WorkStatus.SUCCESS);
        }
        if (!posted.isEmpty()) {
            completeHead(status);
        }
        completeNothings();
    }

    private void completeHead(WorkStatus status) {
        if (status == WorkStatus.FLUSHED) {
            // The outbound buffer fails the message, with the cause of the close that follows.
            posted.removeHead();
            return;
        }
        Object message = posted.headMessage();
        boolean isHead = isHeadOfOutbound();
        posted.removeHead();
        if (!isHead) {
            return;
        }
        if (status == WorkStatus.SUCCESS) {
            outbound.remove();
        } else {
            outbound.remove(new RdmaException(StringUtil.simpleClassName(message), status));
        }
    }

    /** Completes empty buffers that have nothing posted before them any more; returns whether there was one. */
    private boolean completeNothings() {
        boolean hasCompleted = false;
        while (!posted.isEmpty() && posted.headIsNothing()) {
            boolean isHead = isHeadOfOutbound();
            posted.removeHead();
            if (isHead) {
                hasCompleted = true;
                outbound.remove();
            }
        }
        return hasCompleted;
    }

    /**
     * Makes the oldest posted message the head of the outbound buffer too: cancelled ones before it go. False when the
     * buffer was emptied meanwhile, because the output was shut down.
     */
    private boolean isHeadOfOutbound() {
        Object message = posted.headMessage();
        while (outbound.current() != message) {
            if (!outbound.remove()) {
                return false;
            }
        }
        return true;
    }

    /** With nothing in flight, what is left of the flushed messages was cancelled before it could be posted. */
    private void removeCancelled() {
        if (posted.isEmpty()) {
            while (outbound.size() > 0) {
                outbound.remove();
            }
        }
    }

    /** See {@link Traffic#outputEnds}. */
    void hold() {
        posted.hold();
    }

    /** Lets all memory go, when the queue pair is gone. */
    void clear() {
        posted.clear();
    }
}
