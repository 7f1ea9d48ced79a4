// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import org.rpcrdma.channel.memory.RegisteredBufferPool;
import org.rpcrdma.channel.memory.RegisteredByteBuf;
import org.rpcrdma.stream.RsocketMessage;
import org.rpcrdma.stream.StreamProtocolException;
import org.rpcrdma.verbs.MemoryRegion;
import org.rpcrdma.verbs.QueuePair;
import org.rpcrdma.verbs.ReceiveMemoryRange;

/**
 * Receives of a stream's control and DATA messages. A receive is posted again as soon as its message was processed,
 * whether the pipeline reads or not: credits and exposed buffers bound what the peer may have in flight.
 */
final class StreamMessageReceiveRing implements ReceiveMemoryRange {

    /** Not used: receives complete in the order of posting. Equal ones take less memory of the software RNIC. */
    private static final int ID = 0;

    private final QueuePair queuePair;
    private final int count;

    /** Whether the device asks for memory when a message arrives. */
    private final boolean withoutMemory;

    /** {@code null} if messages need no memory (immediate data). */
    private final RegisteredByteBuf memory;

    /** The oldest receive whose message was not taken: they complete in the order of posting. */
    private int next;

    /** Number of messages that have got memory; the next one gets the slot of that number. */
    private int arrived;

    /** Address of the message that arrives now. */
    private long address;

    /**
     * Posts all receives.
     *
     * @param withoutMemory whether the device asks for memory when a message arrives
     * @param bytes of memory for each message, see {@link SendOrImmediateStreamPoster#receivedBytes}
     * @param credits DATA messages that the peer may have in flight; additional receives, half as many and a constant,
     *     are for messages that cost no credit
     */
    StreamMessageReceiveRing(
            QueuePair queuePair,
            RegisteredBufferPool pool,
            boolean withoutMemory,
            int bytes,
            int credits) {
        this.queuePair = queuePair;
        this.withoutMemory = withoutMemory;
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
            queuePair.postReceive(ID, 0, 0, 0);
        } else if (withoutMemory) {
            queuePair.postReceive(ID, RsocketMessage.BYTES);
        } else {
            queuePair.postReceive(
                    ID, addressOf(slot), RsocketMessage.BYTES, memory.region().localKey());
        }
    }

    private long addressOf(int slot) {
        return memory.address() + (long) slot * RsocketMessage.BYTES;
    }

    /** Memory for the message that arrives now, see {@link org.rpcrdma.verbs.QueuePairHandler#receiveMemory}. */
    ReceiveMemoryRange arriving() {
        address = addressOf(arrived);
        arrived = arrived + 1 == count ? 0 : arrived + 1;
        return this;
    }

    @Override
    public long address() {
        return address;
    }

    @Override
    public MemoryRegion region() {
        return memory.region();
    }

    @Override
    public int length() {
        return RsocketMessage.BYTES;
    }

    /**
     * Returns the message of the oldest receive, which has completed, and posts the receive again.
     *
     * @param length of what has arrived
     * @throws StreamProtocolException when it is no message; with immediate data there is no memory for a Send
     */
    int take(int length) throws StreamProtocolException {
        if (length != RsocketMessage.BYTES) {
            throw new StreamProtocolException(
                    "The peer sent a message of "
                            + length
                            + " bytes, expected "
                            + RsocketMessage.BYTES);
        }
        int message = memory.buffer().getIntLE(next * RsocketMessage.BYTES);
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
