// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import org.rpcrdma.stream.StreamMessage;
import org.rpcrdma.verbs.QueuePair;

/**
 * The receives of a stream, of one message each. A receive is posted again as soon as its message was read, whether the
 * pipeline reads or not: what the peer may have under way is bounded by its credits and by the buffers that it knows.
 */
final class StreamReceives {

    private final QueuePair queuePair;
    private final int count;
    private final RegisteredMemory memory;

    /** The oldest posted receive: they complete in the order of posting. */
    private int next;

    /**
     * Posts all receives.
     *
     * @param credits the DATA messages that the peer may have under way; as many receives again by half, and some, are
     *     for the messages that cost no credit
     */
    StreamReceives(QueuePair queuePair, RegisteredBufferPool pool, int credits) {
        this.queuePair = queuePair;
        this.count = count(credits);
        this.memory = pool.take(count * StreamMessage.BYTES);
        try {
            for (int i = 0; i < count; i++) {
                post(i);
            }
        } catch (RuntimeException e) {
            memory.buffer().release();
            throw e;
        }
    }

    /** How many receives so many credits need. */
    static int count(int credits) {
        return credits + credits / 2 + 8;
    }

    private void post(int slot) {
        queuePair.postReceive(
                slot,
                memory.address() + (long) slot * StreamMessage.BYTES,
                StreamMessage.BYTES,
                memory.region().localKey());
    }

    /** The message of the oldest receive, which has completed. The receive is posted again. */
    int take() {
        int slot = next;
        int message = memory.buffer().getIntLE(slot * StreamMessage.BYTES);
        next = slot + 1 == count ? 0 : slot + 1;
        post(slot);
        return message;
    }

    /** Lets the memory go, when the queue pair is gone. */
    void release() {
        memory.buffer().release();
    }
}
