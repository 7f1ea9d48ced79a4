// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import org.rpcrdma.channel.memory.RegisteredBufferPool;
import org.rpcrdma.channel.memory.RegisteredByteBuf;
import org.rpcrdma.verbs.QueuePair;

/**
 * The receives of a channel: posted ones, and completed ones that wait to be delivered.
 *
 * <p>A receive is replaced when its message is delivered, not when it completes: a pipeline that does not read
 * withholds receives, and with them credits. What the pipeline keeps is replaced by fresh memory, so that what the peer
 * was promised stays posted.
 */
final class PostedReceives {

    /** What a receive without memory promises to take: the memory that it is given bounds it. */
    private static final int MOST_BYTES = 1 << 20;

    private final QueuePair queuePair;
    private final RegisteredBufferPool pool;

    /** Whether the device asks for memory when a message arrives; otherwise each receive is posted with memory. */
    private final boolean withoutMemory;

    /** Bytes of each receive; of those without memory it is what the next one is given at most. */
    private int size;

    private final int depth;
    private final int batch;

    /** How many are posted after a batch; at most {@code depth}. */
    private int target;

    /** Receives complete in the order in which they were posted. */
    private final RegisteredByteBuf[] slots;

    private final int[] lengths;
    private final int mask;
    private int delivered;
    private int completed;
    private int posted;
    private final EventLoopReceiveCounters counts;

    /** As many of these are in the counts of the loop. */
    private int counted;

    /** Whether the queue pair is gone: what would be posted now nobody would take back. */
    private boolean isOver;

    /**
     * @param counts of all channels of the event loop
     * @param withoutMemory whether the device asks for memory when a message arrives
     * @param size bytes of each receive
     * @param depth the number kept posted
     */
    PostedReceives(
            QueuePair queuePair,
            RegisteredBufferPool pool,
            EventLoopReceiveCounters counts,
            boolean withoutMemory,
            int size,
            int depth) {
        this.queuePair = queuePair;
        this.pool = pool;
        this.counts = counts;
        this.withoutMemory = withoutMemory;
        this.size = size;
        this.depth = depth;
        this.target = depth;
        this.batch = Math.min(8, Math.max(1, depth / 8));
        int slotCount = Integer.highestOneBit(Math.max(1, depth - 1)) << 1;
        slots = new RegisteredByteBuf[slotCount];
        lengths = new int[slotCount];
        mask = slotCount - 1;
    }

    /** Posts what is missing, in batches. */
    void replenish() {
        if (target - (posted - delivered) < batch) {
            return;
        }
        while (posted - delivered < target) {
            post();
        }
        count();
    }

    /** Once for each batch, which is exact enough and costs a message nothing. */
    private void count() {
        int now = posted - completed;
        counts.posted(now - counted);
        counted = now;
    }

    private void post() {
        long id = posted & 0xFFFFFFFFL;
        if (withoutMemory) {
            posted++;
            queuePair.postReceive(id, MOST_BYTES);
        } else {
            RegisteredByteBuf memory = pool.take(size);
            slots[posted & mask] = memory;
            // Counted first: what the device refuses is released with the others when it closes.
            posted++;
            queuePair.postReceive(id, memory.address(), size, memory.region().localKey());
        }
    }

    /** Bytes of each receive. */
    int size() {
        return size;
    }

    /** Takes messages of up to so many bytes from now on; only where receives have no memory. */
    void size(int bytes) {
        size = bytes;
    }

    /**
     * Memory for the message that begins to arrive.
     *
     * @param length the bytes that it has, or may have at most; it gets no more than the size of a receive
     * @return {@code null} when there is none now
     */
    RegisteredByteBuf memory(long id, int length) {
        try {
            RegisteredByteBuf memory = pool.take(Math.min(length, size));
            slots[(int) id & mask] = memory;
            return memory;
        } catch (IllegalStateException e) {
            return null;
        }
    }

    /** The number that is posted at least, as long as messages are delivered: the rest waits for its batch. */
    int least() {
        return Math.max(1, target - batch + 1);
    }

    /**
     * Changes the number that is posted at least. More are posted before this returns; of fewer, what is posted stays
     * until it is used.
     *
     * @return the number that there is now: less than asked for when depth or memory end before; unchanged when the
     *     queue pair is gone
     */
    int keep(int count) {
        if (isOver) {
            return least();
        }
        int wanted = Math.min(count + batch - 1, depth);
        if (wanted == target) {
            return least();
        }
        boolean isMore = wanted > target;
        target = wanted;
        while (isMore && posted - delivered < target) {
            int before = posted;
            try {
                post();
            } catch (IllegalStateException e) {
                if (posted != before) {
                    throw e; // the device has refused it
                }
                target = posted - delivered; // no more memory to register
                break;
            }
        }
        count();
        return least();
    }

    /** The oldest posted receive holds a message. */
    void complete(int length) {
        if (withoutMemory) {
            // Of several segments nobody knew before how long it is.
            pool.trim(slots[completed & mask], length);
        }
        ended(length);
        if (posted - completed == target >>> 2) {
            counts.fell();
        }
    }

    /** The oldest posted receive was flushed. */
    void flushed() {
        ended(-1);
    }

    private void ended(int length) {
        lengths[completed & mask] = length;
        completed++;
    }

    boolean hasMessage() {
        while (delivered != completed && lengths[delivered & mask] < 0) {
            drop();
        }
        return delivered != completed;
    }

    /** The oldest message, which belongs to the caller. */
    RegisteredByteBuf poll() {
        int length = lengths[delivered & mask];
        RegisteredByteBuf memory = take();
        memory.writerIndex(length);
        return memory;
    }

    private void drop() {
        RegisteredByteBuf memory = take();
        if (memory != null) {
            memory.release();
        }
    }

    private RegisteredByteBuf take() {
        int slot = delivered & mask;
        RegisteredByteBuf memory = slots[slot];
        slots[slot] = null;
        delivered++;
        return memory;
    }

    /** Lets all memory go, when the queue pair is gone. */
    void clear() {
        isOver = true;
        while (delivered != posted) {
            drop();
        }
        completed = delivered;
        count();
    }
}
