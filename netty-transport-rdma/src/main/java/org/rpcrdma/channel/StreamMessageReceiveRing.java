// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import org.rpcrdma.channel.memory.RegisteredBufferPool;
import org.rpcrdma.channel.memory.RegisteredByteBuf;
import org.rpcrdma.stream.StreamMessage;
import org.rpcrdma.verbs.QueuePair;

/**
 * Receives of a stream's control and DATA messages. A receive is posted again as soon as its message was processed,
 * whether the pipeline reads or not: credits and exposed buffers bound what the peer may have in flight.
 */
final class StreamMessageReceiveRing {

    private final QueuePair queuePair;
    private final int count;

    /** {@code null} if messages need no memory (immediate data). */
    private final RegisteredByteBuf memory;

    /** The oldest posted receive: they complete in the order of posting. */
    private int next;

    /**
     * Posts all receives.
     *
     * @param bytes of memory for each message, see {@link SendOrImmediateStreamPoster#receivedBytes}
     * @param credits DATA messages that the peer may have in flight; additional receives, half as many and a constant,
     *     are for messages that cost no credit
     */
    StreamMessageReceiveRing(
            QueuePair queuePair, RegisteredBufferPool pool, int bytes, int credits) {
        this.queuePair = queuePair;
        this.count = count(credits);
        this.memory = bytes == 0 ? null : pool.take(count * bytes);
        try {
            for (int i = 0; i < count; i++) {
                post(i);
            }
        } catch (Throwable t) {
            release();
            throw t;
        }
    }

    /** Number of receives for that many credits. */
    static int count(int credits) {
        return credits + credits / 2 + 8;
    }

    private void post(int slot) {
        if (memory == null) {
            queuePair.postReceive(slot, 0, 0, 0);
            return;
        }
        queuePair.postReceive(
                slot,
                memory.address() + (long) slot * StreamMessage.BYTES,
                StreamMessage.BYTES,
                memory.region().localKey());
    }

    /** Returns the message of the oldest receive, which has completed, and posts the receive again. */
    int take() {
        int message = memory.buffer().getIntLE(next * StreamMessage.BYTES);
        postAgain();
        return message;
    }

    /** Posts the oldest, completed receive again. */
    void postAgain() {
        int slot = next;
        next = slot + 1 == count ? 0 : slot + 1;
        post(slot);
    }

    /** Releases the memory, after the queue pair was destroyed. */
    void release() {
        if (memory != null) {
            memory.buffer().release();
        }
    }
}
