// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import org.rpcrdma.stream.PublishedReceiveBuffers;
import org.rpcrdma.stream.ReceiveBufferAddress;
import org.rpcrdma.stream.ReceiveCredits;
import org.rpcrdma.stream.StreamPrivateData;
import org.rpcrdma.stream.StreamProtocolException;
import org.rpcrdma.verbs.ReceiveMemoryRange;

/**
 * Receive buffers of a stream: at most two, each published with its own key, which is invalidated when the buffer is
 * full. The next buffer is published when the oldest is fully delivered.
 */
final class PublishedStreamReceiveBuffers {

    static final int BUFFERS = 2;

    private final ChannelMemoryExposures exposures;
    private final StreamReceiveMemory memory;
    private final ReceiveCredits credits;
    private final PublishedReceiveBuffers published;
    private final DataMessageBoundaries messages = new DataMessageBoundaries();

    /** The buffers by age. */
    private final int[] keys = new int[BUFFERS];

    private final int[] lengths = new int[BUFFERS];

    /** Undelivered bytes of each buffer, including bytes not yet received. */
    private final int[] undelivered = new int[BUFFERS];

    private int oldest;
    private int count;

    /** Number of full buffers. */
    private int full;

    /** Whether the last allocation of a buffer failed. */
    private boolean lacksMemory;

    /**
     * Creates the first buffer.
     *
     * @param window credits offered in the private data
     */
    PublishedStreamReceiveBuffers(
            ChannelMemoryExposures exposures, StreamReceiveMemory memory, int window) {
        this.exposures = exposures;
        this.memory = memory;
        this.credits = new ReceiveCredits(window);
        add();
        this.published = new PublishedReceiveBuffers(lengths[0]);
    }

    private int slot(int age) {
        return (oldest + age) % BUFFERS;
    }

    private void add() {
        int slot = slot(count);
        keys[slot] = memory.expose();
        lengths[slot] = memory.length();
        undelivered[slot] = lengths[slot];
        count++;
    }

    /** Table entry of the newest buffer, for the peer. */
    ReceiveBufferAddress entry() {
        int slot = slot(count - 1);
        return new ReceiveBufferAddress(exposures.offset(keys[slot]), keys[slot], lengths[slot]);
    }

    void open(StreamPrivateData peer) {
        published.open(peer);
    }

    /** Publishes buffers and grants credits that are due, while messages can be sent and there is memory. */
    void replenish(StreamOutput output) {
        while (count < BUFFERS && output.takesControl()) {
            try {
                add();
            } catch (IllegalStateException e) {
                lacksMemory = true;
                break;
            }
            lacksMemory = false;
            int slot = slot(count - 1);
            int key = keys[slot];
            int size = lengths[slot];
            output.publish(
                    published.publish(size), exposures.offset(key), key, size, credits.grant());
        }
        if (credits.isDue() && output.takesControl()) {
            output.grant(credits.grant());
        }
    }

    /** Whether {@link #replenish} has something to do. */
    boolean wantsReplenishing() {
        return (count < BUFFERS && !lacksMemory) || credits.isDue();
    }

    /** Whether a buffer waits for memory. */
    boolean lacksMemory() {
        return lacksMemory;
    }

    /** Counts a message that costs a credit. */
    void creditUsed() throws StreamProtocolException {
        credits.received();
    }

    /** Memory for bytes that the peer is writing, see {@link StreamReceiveMemory#forWrite}. */
    ReceiveMemoryRange forWrite(int key, int start, int bytes) {
        return memory.forWrite(key, start, bytes);
    }

    /** See {@link StreamReceiveMemory#unannounced}. */
    long unannounced() {
        return memory.unannounced();
    }

    /**
     * A DATA message has arrived.
     *
     * @throws RuntimeException when the device cannot end the peer's access to a full buffer
     */
    void received(int bytes) throws StreamProtocolException {
        boolean isFull = published.addReceived(bytes);
        memory.received(bytes);
        messages.received(bytes);
        if (isFull) {
            int slot = slot(full);
            exposures.invalidate(keys[slot]);
            memory.filled(lengths[slot]);
            full++;
        }
    }

    /** Whether there are undelivered bytes. */
    boolean isReadable() {
        return memory.isReadable();
    }

    /** The next bytes, see {@link StreamReceiveMemory#read}. */
    ByteBuf read(int most, ByteBufAllocator allocator) {
        ByteBuf bytes = memory.read(most, allocator);
        delivered(bytes.readableBytes());
        return bytes;
    }

    /**
     * Whether a read loop goes on with more bytes. For the only busy stream it ends with a DATA message, so that each
     * flush of the peer is answered by a flush of its own: otherwise all requests in flight would soon be in one batch,
     * with one end always idle. With other streams on the event loop, more bytes save flushes.
     *
     * @param isAlone whether it is the only busy one, of an event loop that polls
     */
    boolean continuesRead(boolean isAlone) {
        return isAlone ? messages.isWithinMessage() : memory.isReadable();
    }

    /** Discards all undelivered bytes. */
    void discard() {
        delivered(memory.discard());
    }

    private void delivered(int bytes) {
        messages.delivered(bytes);
        int left = bytes;
        while (left > 0) {
            int taken = Math.min(left, undelivered[oldest]);
            undelivered[oldest] -= taken;
            left -= taken;
            if (undelivered[oldest] == 0) {
                oldest = slot(1);
                count--;
                full--;
            }
        }
    }

    /** Releases memory that is not needed until more data arrive. */
    void rest() {
        memory.rest();
    }

    /** Releases all memory, after the queue pair was destroyed. */
    void release() {
        memory.release();
    }
}
