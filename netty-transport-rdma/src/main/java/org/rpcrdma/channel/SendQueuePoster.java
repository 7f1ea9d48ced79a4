// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufHolder;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelOutboundBuffer;
import io.netty.util.internal.PlatformDependent;
import io.netty.util.internal.StringUtil;
import java.nio.channels.ClosedChannelException;
import org.rpcrdma.verbs.MemoryRegion;
import org.rpcrdma.verbs.QueuePair;
import org.rpcrdma.verbs.WorkStatus;

/**
 * Posts flushed messages as work requests, the last one of a batch signalled, and completes their promises when the
 * work requests complete.
 */
final class SendQueuePoster implements ChannelOutboundBuffer.MessageProcessor {

    /** Marks the work request ids of the send queue. Ids of receives lack the mark. */
    static final long SEND = 1L << 62;

    private final QueuePair queuePair;
    private final ZeroCopyRegistrar memory;
    private final int depth;
    private final PostedSendQueueEntries posted;
    private ChannelOutboundBuffer outbound;

    /** What a codec has written past the outbound buffer. */
    final UnbufferedMessages unbuffered;

    /** The number of the last Read that was posted; -1 for none. */
    private long lastRead = -1;

    private int skip;
    private int room;

    /** Message held back until it is known whether another one follows, because only the last one is signalled. */
    private Object held;

    /** Whether opened work requests wait for the doorbell. */
    private boolean opened;

    /** Why the device has refused messages that were not in the outbound buffer; {@code null} if it has not. */
    private Throwable refusal;

    /** Whether flushed messages wait for room on the send queue. */
    boolean blocked;

    /**
     * @param depth the most work requests of the queue pair's send queue
     * @param channel to which the messages were written
     */
    SendQueuePoster(QueuePair queuePair, ZeroCopyRegistrar memory, int depth, Channel channel) {
        this.queuePair = queuePair;
        this.memory = memory;
        this.depth = depth;
        this.posted = new PostedSendQueueEntries();
        this.outbound = channel.unsafe().outboundBuffer();
        this.unbuffered = new UnbufferedMessages(channel);
    }

    /** Whether no work is in flight. */
    boolean isEmpty() {
        return posted.size() == 0;
    }

    /** Whether a Read is in flight. */
    boolean hasReads() {
        return lastRead >= posted.head;
    }

    /** Whether the oldest work in flight is a Read. */
    boolean isReadOldest() {
        return posted.size() > 0 && posted.headMessage() instanceof RdmaRead;
    }

    /** Number of the oldest work request in flight. */
    long oldest() {
        return posted.head;
    }

    /** Number of flushed messages that are not sent, in flight or not. */
    int unsent() {
        return unbuffered.unsent() + outbound.size();
    }

    /** Bytes of all messages that are not sent, with Netty's overhead for each. */
    long unsentBytes() {
        return unbuffered.pending + outbound.totalPendingWriteBytes();
    }

    // ------------------------------------------------------------------ posting

    /**
     * Posts flushed messages while there is room in the send queue.
     *
     * @throws RuntimeException when the device refuses; a partly posted batch cannot be revoked
     */
    void post(ChannelOutboundBuffer in) throws Exception {
        outbound = in;
        do {
            if (refusal != null) {
                PlatformDependent.throwException(refusal);
            }
            skip = posted.size();
            room = depth - skip;
            // Handlers write past this buffer while it has nothing but cancelled messages.
            blocked = unbuffered.hasNext();
            in.forEachFlushedMessage(this);
            postHeld(QueuePair.SIGNALED);
            ring();
            removeCancelled();
            // A listener notified of an empty buffer may flush more.
        } while (completeNothings() > 0);
    }

    /**
     * Posts flushed messages of {@link #unbuffered} while there is room in the send queue. If the device refuses, they
     * go to the outbound buffer, and the {@link #post} that follows says why.
     */
    void postUnbuffered() {
        if (!unbuffered.hasNext()) {
            return;
        }
        if (refusal != null) {
            unbuffered.spill();
            return;
        }
        try {
            boolean mustMove = false;
            room = depth - posted.size();
            while (room > 0 && unbuffered.hasNext() && !mustMove) {
                room--;
                Object message = unbuffered.next();
                mustMove = message == null;
                if (!mustMove) {
                    postHeld(0);
                    held = message;
                }
            }
            postHeld(QueuePair.SIGNALED);
            ring();
            blocked = unbuffered.hasNext();
            if (mustMove) {
                unbuffered.spill();
            }
        } catch (RuntimeException | Error e) {
            refusal = e;
            unbuffered.spill();
        }
    }

    private void ring() {
        if (opened) {
            opened = false;
            queuePair.doorbell();
        }
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
        if (message == AbstractChannelDataPath.NOTHING) {
            postHeld(QueuePair.SIGNALED);
            posted.addNothing(message);
        } else {
            // Signal work before a Read: otherwise it would complete only with the slow Read.
            postHeld(message instanceof RdmaRead ? QueuePair.SIGNALED : 0);
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
        // First: a holder whose content was released throws.
        ByteBuf content =
                message instanceof ByteBuf buffer ? buffer : ((ByteBufHolder) message).content();
        opened = true;
        open(message, SEND | posted.next(), flags);
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
            lastRead = posted.next();
            queuePair.read(id, flags | QueuePair.SIGNALED, read.offset(), read.handle());
        } else if (message instanceof RdmaSendWithInvalidate send) {
            queuePair.sendWithInvalidate(id, flags, send.invalidateHandle());
        } else {
            queuePair.send(id, flags);
        }
    }

    // ------------------------------------------------------------------ completing

    /** A signalled or failed work request has completed, and so have all before it. */
    void completed(long id, WorkStatus status) {
        long number = id & ~SEND;
        while (posted.size() > 0 && posted.head < number) {
            completeHead(WorkStatus.SUCCESS);
        }
        if (posted.size() > 0) {
            completeHead(status);
        }
        completeNothings();
    }

    private void completeHead(WorkStatus status) {
        Object message = posted.removeHead();
        if (status != WorkStatus.SUCCESS) {
            unbuffered.spill();
        }
        switch (status) {
            case SUCCESS -> {
                if (!unbuffered.tryComplete(message) && isNextOfOutbound(message)) {
                    outbound.remove();
                    removeCancelled();
                }
            }
            case FLUSHED -> {
                // The close that follows fails the message in the outbound buffer, with its cause.
            }
            default -> fail(message, status);
        }
    }

    /** Fails a message and the flushed work before it. */
    private void fail(Object message, WorkStatus status) {
        WorkRequestFailedException failure =
                new WorkRequestFailedException(StringUtil.simpleClassName(message), status);
        ClosedChannelException ofOthers = new ClosedChannelException();
        ofOthers.initCause(failure);
        while (outbound.current() != message && outbound.remove(ofOthers)) {
            // up to and including the message, if still in the buffer
        }
        outbound.remove(failure);
        removeCancelled();
    }

    /** Completes empty buffers without posted work before them; returns their number. */
    private int completeNothings() {
        int completed = 0;
        while (posted.size() > 0 && posted.headIsNothing()) {
            posted.removeHead();
            if (isNextOfOutbound(AbstractChannelDataPath.NOTHING)) {
                completed++;
                outbound.remove();
                removeCancelled();
            }
        }
        return completed;
    }

    /**
     * Whether a posted message is the first in the outbound buffer. It is not after flushed work requests, which stay
     * in the buffer and fail with all that follows, nor after an output shutdown, which empties the buffer.
     */
    private boolean isNextOfOutbound(Object message) {
        return outbound.current() == message;
    }

    /** Removes messages that were cancelled before the flush, which have no work. */
    private void removeCancelled() {
        while (outbound.current() == Unpooled.EMPTY_BUFFER) {
            outbound.remove();
        }
    }

    /** See {@link AbstractChannelDataPath#outputEnds}. */
    void hold() {
        posted.hold();
    }

    /** Releases all memory, after the queue pair was destroyed. */
    void clear() {
        posted.clear();
        unbuffered.clear();
    }
}
