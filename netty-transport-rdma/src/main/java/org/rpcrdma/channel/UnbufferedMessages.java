// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import io.netty.channel.Channel;
import io.netty.channel.ChannelOutboundBuffer;
import io.netty.channel.ChannelPromise;
import io.netty.util.ReferenceCountUtil;
import io.netty.util.internal.SystemPropertyUtil;
import java.nio.channels.ClosedChannelException;

/**
 * Queue of Sends and RDMA Writes of a codec that bypass Netty's outbound buffer, which enters some forty methods for
 * each message. Either this queue or the outbound buffer is empty. Whatever is unusual, such as another message, a
 * close, a cancelled or failed write, is left to Netty: {@link #spill} moves all messages to the outbound buffer, as if
 * they had been written there. Event loop only.
 */
final class UnbufferedMessages {

    private static final int FIRST_SLOTS = 16;

    /** Counted for each message besides its bytes, as in Netty's outbound buffer. */
    private static final int OVERHEAD =
            SystemPropertyUtil.getInt("io.netty.transport.outboundBufferEntrySizeOverhead", 96);

    /** Of the bits of a channel's writability that are its user's, the last one. */
    private static final int HELD = 31;

    private final Channel channel;

    /** {@code null} when the channel is closed already. */
    private final ChannelOutboundBuffer outbound;

    private Object[] messages = {};
    private ChannelPromise[] promises = {};
    private int[] sizes = {};
    private int mask = -1;

    /** Numbers of the oldest message, of the first that is not posted, of the first not flushed, and of the next. */
    private int head;

    private int posted;
    private int flushed;
    private int tail;

    /** Sizes of all messages here, those in flight included. Written by the event loop alone. */
    volatile long pending;

    /** Whether {@link #pending} has passed the high water mark, and not the low one since. */
    private volatile boolean isFull;

    private boolean isOpen;

    /** Whether a move to the outbound buffer found no heap: it has older messages than this queue. */
    private boolean isPartlyMoved;

    UnbufferedMessages(Channel channel) {
        this.channel = channel;
        outbound = channel.unsafe().outboundBuffer();
    }

    /** Takes messages from now on. */
    void open() {
        // Without an overhead, the size of the outbound buffer does not tell whether it is empty.
        isOpen = outbound != null && OVERHEAD > 0;
    }

    /** The output ends: takes no more messages, and leaves those that it has to Netty. */
    void close() {
        isOpen = false;
        spill();
    }

    boolean isEmpty() {
        return head == tail;
    }

    /** Number of flushed messages that are not sent. */
    int unsent() {
        return flushed - head;
    }

    // ------------------------------------------------------------------ writing

    /**
     * Adds a message.
     *
     * @param message a buffer, or the holder of one
     * @param length of the readable bytes
     * @param high the high water mark
     * @return whether it was added; otherwise the caller writes it in the usual way
     */
    boolean tryAdd(Object message, int length, int high, ChannelPromise promise) {
        if (!isOpen || outbound.totalPendingWriteBytes() > 0) {
            return false;
        }
        int size = length + OVERHEAD;
        if (tail - head > mask) {
            grow();
        }
        int slot = tail & mask;
        messages[slot] = message;
        promises[slot] = promise;
        sizes[slot] = size;
        tail++;
        long all = pending + size;
        pending = all;
        if (all > high && !isFull) {
            isFull = true;
            channel.pipeline().fireChannelWritabilityChanged();
        }
        return true;
    }

    /** Doubles the ring, if there is memory for all of it. */
    private void grow() {
        int slots = Math.max(FIRST_SLOTS, 2 * messages.length);
        final Object[] newMessages = new Object[slots];
        final ChannelPromise[] newPromises = new ChannelPromise[slots];
        final int[] newSizes = new int[slots];
        int newMask = slots - 1;
        for (int number = head; number != tail; number++) {
            int from = number & mask;
            int to = number & newMask;
            newMessages[to] = messages[from];
            newPromises[to] = promises[from];
            newSizes[to] = sizes[from];
        }
        messages = newMessages;
        promises = newPromises;
        sizes = newSizes;
        mask = newMask;
    }

    // ------------------------------------------------------------------ posting

    /** All that was written so far is flushed. */
    void flush() {
        flushed = tail;
    }

    /** Whether there are flushed messages to post. */
    boolean hasNext() {
        return posted != flushed;
    }

    /** The next flushed message, which the caller posts; {@code null} when all have to move to the outbound buffer. */
    Object next() {
        int slot = posted & mask;
        if (isPartlyMoved || !promises[slot].setUncancellable()) {
            return null;
        }
        posted++;
        return messages[slot];
    }

    /** Completes the oldest message, if it is this one. */
    boolean tryComplete(Object message) {
        int slot = head & mask;
        if (head == posted || messages[slot] != message) {
            return false;
        }
        final ChannelPromise promise = promises[slot];
        final int size = sizes[slot];
        messages[slot] = null;
        promises[slot] = null;
        head++;
        ReferenceCountUtil.safeRelease(message);
        promise.trySuccess();
        long all = pending - size;
        pending = all;
        if (isFull && all < channel.config().getWriteBufferLowWaterMark()) {
            isFull = false;
            channel.pipeline().fireChannelWritabilityChanged();
        }
        return true;
    }

    // ------------------------------------------------------------------ water marks, any thread

    boolean isWritable() {
        return !isFull;
    }

    /** Bytes until the channel is not writable, given those that the outbound buffer tells. */
    long bytesBeforeUnwritable(long others) {
        return isFull ? 0 : Math.max(0, others - pending);
    }

    /** Bytes until the channel is writable, given those that the outbound buffer tells. */
    long bytesBeforeWritable(long others) {
        long own = isFull ? pending - channel.config().getWriteBufferLowWaterMark() + 1 : 0;
        return Math.max(own, others);
    }

    // ------------------------------------------------------------------ leaving it to Netty

    /**
     * Moves all messages to the outbound buffer, which has none if there are any. Its water marks would tell handlers
     * meanwhile, who may write, flush and close: while a bit of its writability is cleared they do not, and setting and
     * clearing bits tells by a task. By then all is in its place, and what the caller is about to write, too. However
     * few bytes are moved: other threads count those of their writes in the same place at any time.
     */
    void spill() {
        if (isEmpty()) {
            return;
        }
        boolean isFlushed = head != flushed;
        // Where the user has cleared the bit, nobody is told anyway.
        boolean isHeld = outbound.getUserDefinedWritability(HELD);
        if (isHeld) {
            setWritability(false);
        }
        isFull = false; // the outbound buffer decides from here on
        isPartlyMoved = true;
        try {
            spillUpTo(flushed);
            if (isFlushed) {
                outbound.addFlush();
            }
            spillUpTo(tail);
            isPartlyMoved = false;
        } finally {
            if (isHeld) {
                setWritability(true);
            }
        }
    }

    private void setWritability(boolean isWritable) {
        try {
            outbound.setUserDefinedWritability(HELD, isWritable);
        } catch (RuntimeException e) {
            // The bit is set, and the event loop takes no task that would tell of it: it has ended
            // and closes the
            // channel, or its user has bounded its queue.
        }
    }

    private void spillUpTo(int end) {
        while (end - head > 0) {
            int slot = head & mask;
            Object message = messages[slot];
            ChannelPromise promise = promises[slot];
            try {
                // Takes nothing when the heap is exhausted: then the message stays here.
                outbound.addMessage(message, sizes[slot] - OVERHEAD, promise);
                takeHead();
            } catch (RuntimeException e) {
                // Somebody has released the content of a holder; all others still go.
                takeHead();
                promise.tryFailure(e);
            }
        }
    }

    private void takeHead() {
        int slot = head & mask;
        messages[slot] = null;
        promises[slot] = null;
        long left = pending - sizes[slot];
        pending = left;
        head++;
        posted = Math.max(posted - head, 0) + head; // numbers overflow
        flushed = Math.max(flushed - head, 0) + head;
    }

    /** The queue pair was destroyed: fails what could not be moved. */
    void clear() {
        while (!isEmpty()) {
            int slot = head & mask;
            Object message = messages[slot];
            ChannelPromise promise = promises[slot];
            takeHead();
            ReferenceCountUtil.safeRelease(message);
            promise.tryFailure(new ClosedChannelException());
        }
    }
}
