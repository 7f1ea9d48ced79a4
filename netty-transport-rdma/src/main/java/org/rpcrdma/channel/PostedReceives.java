// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import org.rpcrdma.channel.memory.RegisteredBufferPool;
import org.rpcrdma.channel.memory.RegisteredByteBuf;
import org.rpcrdma.verbs.QueuePair;

/**
 * Receives of a channel: posted, or completed and not yet delivered.
 *
 * <p>A receive is replaced when its message is delivered, not when it completes: a pipeline that does not read exerts
 * back-pressure by withholding receives, and so credits. If the pipeline retains the buffer, new memory replaces it, so
 * that the number promised to the peer stays posted.
 */
final class PostedReceives {

    /** Length posted for a receive without memory; the memory given on arrival is the real bound. */
    private static final int MOST_BYTES = 1 << 20;

    private final QueuePair queuePair;
    private final RegisteredBufferPool pool;

    /** Whether the device asks for memory when a message arrives; otherwise each receive is posted with memory. */
    private final boolean withoutMemory;

    /** Bytes of each receive; for receives without memory, the most bytes given on arrival. */
    int size;

    private final int depth;
    private final int batch;

    /** Number of receives posted after replenishment; at most {@code depth}. */
    private int target;

    /** Receives complete in the order in which they were posted. */
    private final RegisteredByteBuf[] slots;

    private final int[] lengths;
    private final int mask;
    private int delivered;

    /** Number of the oldest receive that has not completed; the first one has 0. */
    int completed;

    /** Number of the receive that gets the next memory; only for receives without memory. */
    private int withMemory;

    /** Whether any receive was flushed. */
    private boolean isFlushed;

    private int posted;
    private final EventLoopPostedReceiveCounters counts;

    /** Number of receives included in the counters of the loop. */
    private int counted;

    /** Whether the queue pair was destroyed: receives posted now would never complete. */
    private boolean isOver;

    /**
     * @param counts counters of the event loop
     * @param withoutMemory whether the device asks for memory when a message arrives
     * @param size bytes of each receive
     * @param depth the number kept posted
     */
    PostedReceives(
            QueuePair queuePair,
            RegisteredBufferPool pool,
            EventLoopPostedReceiveCounters counts,
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

    /** Posts missing receives, in batches. */
    void replenish() {
        int missing = target - (posted - delivered);
        if (missing < batch) {
            return;
        }
        if (withoutMemory) {
            postWithoutMemory(missing);
        } else {
            while (posted - delivered < target) {
                post();
            }
        }
        count();
    }

    /** Receives without memory are alike: memory comes in their order. */
    private void postWithoutMemory(int number) {
        posted += number;
        queuePair.postReceives(number, 0, MOST_BYTES);
    }

    /** Updates the counters once for each batch, which is accurate enough and costs nothing per message. */
    private void count() {
        int now = posted - completed;
        counts.posted(now - counted);
        counted = now;
    }

    private void post() {
        if (withoutMemory) {
            postWithoutMemory(1);
        } else {
            long id = posted & 0xFFFFFFFFL;
            RegisteredByteBuf memory = pool.take(size);
            slots[posted & mask] = memory;
            // Counted before posting: receives that the device refuses are released with the others
            // at the close.
            posted++;
            queuePair.postReceive(id, memory.address(), size, memory.region().localKey());
        }
    }

    /** Sets the longest message accepted from now on; only for receives without memory. */
    void size(int bytes) {
        size = bytes;
    }

    /**
     * Memory for the message that is arriving, which is that of the oldest receive without memory.
     *
     * @param length exact or maximum bytes of the message; limited to the size of a receive
     * @return {@code null} for lack of memory now
     */
    RegisteredByteBuf memory(int length) {
        try {
            RegisteredByteBuf memory = pool.take(Math.min(length, size));
            slots[withMemory++ & mask] = memory;
            return memory;
        } catch (IllegalStateException e) {
            return null;
        }
    }

    /** Number of the receive that got the last memory. */
    int lastWithMemory() {
        return withMemory - 1;
    }

    /** The least number of posted receives while messages are delivered: the rest waits for its batch. */
    int least() {
        return Math.max(1, target - batch + 1);
    }

    /**
     * Changes the least number of posted receives. Additional receives are posted before this method returns; surplus
     * ones stay posted until consumed.
     *
     * @return the resulting number: lower than requested if depth or memory does not suffice; unchanged after the end
     *     of the queue pair
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
        int before = target;
        target = wanted;
        while (isMore && posted - delivered < target) {
            int postedBefore = posted;
            try {
                post();
            } catch (IllegalStateException e) {
                if (posted != postedBefore) {
                    throw e; // the device refused
                }
                // No registered memory left. What a batch was short of stays due.
                target = Math.max(before, posted - delivered);
                break;
            }
        }
        count();
        return least();
    }

    /** The oldest posted receive has completed with a message. */
    void complete(int length) {
        if (withoutMemory) {
            // The length of a message of several segments is known only now.
            RegisteredByteBuf memory = slots[completed & mask];
            if (length < memory.length()) {
                pool.trim(memory, length);
            }
        }
        lengths[completed++ & mask] = length;
        if (posted - completed == target >>> 2) {
            counts.fell();
        }
    }

    /** The oldest posted receive was flushed. */
    void flushed() {
        isFlushed = true;
        lengths[completed++ & mask] = -1;
        dropFlushed();
    }

    /** Drops flushed receives, so that the oldest completed one has a message. */
    private void dropFlushed() {
        while (delivered != completed && lengths[delivered & mask] < 0) {
            drop();
        }
    }

    boolean hasMessage() {
        return delivered != completed;
    }

    /** Removes the oldest message; the caller owns it. */
    RegisteredByteBuf poll() {
        int length = lengths[delivered & mask];
        RegisteredByteBuf memory = take();
        memory.writerIndex(length);
        if (isFlushed) {
            dropFlushed();
        }
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

    /** Releases all memory, after the queue pair was destroyed. */
    void clear() {
        isOver = true;
        // Not "!=": a device that completes more than was posted must not have this count to 2^32.
        while (posted - delivered > 0) {
            drop();
        }
        completed = delivered;
        count();
    }
}
