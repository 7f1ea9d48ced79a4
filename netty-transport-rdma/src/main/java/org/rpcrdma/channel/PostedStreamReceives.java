// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import org.rpcrdma.channel.memory.RegisteredBufferPool;
import org.rpcrdma.channel.memory.RegisteredByteBuf;
import org.rpcrdma.stream.StreamMessage;
import org.rpcrdma.verbs.QueuePair;

/**
 * The receives of a stream, of one message each. A receive is posted again as soon as its message was read, whether the
 * pipeline reads or not: what the peer may have under way is bounded by its credits and by the buffers that it knows.
 */
final class PostedStreamReceives {

    private final QueuePair queuePair;
    private final int count;

    /** {@code null} where messages come without memory. */
    private final RegisteredByteBuf memory;

    /** The oldest posted receive: they complete in the order of posting. */
    private int next;

    /**
     * Posts all receives.
     *
     * @param bytes of memory for each message, as {@link StreamMessagePoster#receivedBytes} has it
     * @param credits the DATA messages that the peer may have under way; as many receives again by half, and some, are
     *     for the messages that cost no credit
     */
    PostedStreamReceives(QueuePair queuePair, RegisteredBufferPool pool, int bytes, int credits) {
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

    /** How many receives so many credits need. */
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

    /** The message of the oldest receive, which has completed. The receive is posted again. */
    int take() {
        int message = memory.buffer().getIntLE(next * StreamMessage.BYTES);
        postAgain();
        return message;
    }

    /** Posts the oldest receive again, which has completed. */
    void postAgain() {
        int slot = next;
        next = slot + 1 == count ? 0 : slot + 1;
        post(slot);
    }

    /** Lets the memory go, when the queue pair is gone. */
    void release() {
        if (memory != null) {
            memory.buffer().release();
        }
    }
}
