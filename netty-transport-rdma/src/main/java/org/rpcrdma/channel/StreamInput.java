// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import org.rpcrdma.stream.ConnectionData;
import org.rpcrdma.stream.PublishedBuffers;
import org.rpcrdma.stream.ReceiveCredits;
import org.rpcrdma.stream.StreamProtocolException;
import org.rpcrdma.stream.TargetEntry;

/**
 * The receive buffers of a stream: at most two, each published under a key of its own. A key ends when its buffer is
 * full, so that the peer cannot change what was delivered; until then only copies are delivered. A peer that announces
 * bytes without writing them gets zeros delivered, not what somebody else has left there: devices that do not know what
 * was written get buffers that are cleared.
 */
final class StreamInput {

    private static final int BUFFERS = 2;

    private final RegisteredBufferPool pool;
    private final Exposures exposures;
    private final ReceiveBufferSize sizes;
    private final ReceiveCredits credits;
    private final PublishedBuffers published;

    /** The buffers by age; the writer index says what was received, the reader index what was delivered. */
    private final RegisteredMemory[] buffers = new RegisteredMemory[BUFFERS];

    private final int[] keys = new int[BUFFERS];
    private final int[] lengths = new int[BUFFERS];
    private int oldest;
    private int count;

    /** How many of them are full. */
    private int full;

    /**
     * Makes the first buffer.
     *
     * @param most of each buffer, in bytes
     * @param window the credits that the private data offers
     */
    StreamInput(RegisteredBufferPool pool, Exposures exposures, int most, int window) {
        this.pool = pool;
        this.exposures = exposures;
        this.sizes = new ReceiveBufferSize(most);
        this.credits = new ReceiveCredits(window);
        this.published = new PublishedBuffers(sizes.next());
        add();
    }

    private int slot(int age) {
        return (oldest + age) % BUFFERS;
    }

    private void add() {
        RegisteredMemory memory = take();
        int size = sizes.next();
        int slot = slot(count);
        try {
            keys[slot] = exposures.exposeBlank(memory.buffer(), size);
        } catch (RuntimeException e) {
            memory.buffer().release();
            throw e;
        }
        buffers[slot] = memory;
        lengths[slot] = size;
        count++;
    }

    private RegisteredMemory take() {
        while (true) {
            try {
                return pool.take(sizes.next());
            } catch (IllegalStateException e) {
                if (!sizes.refused()) {
                    throw e;
                }
            }
        }
    }

    /** The buffer that was made last, as the peer has to be told of it. */
    TargetEntry entry() {
        int slot = slot(count - 1);
        return new TargetEntry(exposures.offset(keys[slot]), keys[slot], lengths[slot]);
    }

    void open(ConnectionData peer) {
        published.open(peer);
    }

    /** Publishes buffers and grants credits, as far as it is time for it and messages can go out. */
    void replenish(StreamOutput output) {
        while (count < BUFFERS && output.takesControl()) {
            add();
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
        return count < BUFFERS || credits.isDue();
    }

    /** A message came that costs a credit. */
    void creditUsed() throws StreamProtocolException {
        credits.received();
    }

    /**
     * A DATA message came.
     *
     * @throws RuntimeException when the device cannot end the peer's access to a full buffer
     */
    void received(int bytes) throws StreamProtocolException {
        boolean isFull = published.received(bytes);
        int slot = slot(full);
        ByteBuf buffer = buffers[slot].buffer();
        int end = buffer.writerIndex() + bytes;
        int written = Math.max(exposures.written(keys[slot], end), buffer.writerIndex());
        if (written < end) {
            buffer.setZero(written, end - written);
        }
        buffer.writerIndex(end);
        sizes.message();
        if (isFull) {
            sizes.filled(lengths[slot]);
            exposures.invalidate(keys[slot]);
            full++;
        }
    }

    /** Whether there are bytes that were not delivered. */
    boolean isReadable() {
        return count > 0 && buffers[oldest].buffer().isReadable();
    }

    /**
     * The next bytes: the buffer itself if it is full and most of it was not delivered yet, else a copy. The caller
     * releases it.
     *
     * @param most the most bytes to be copied
     */
    ByteBuf read(int most, ByteBufAllocator allocator) {
        ByteBuf buffer = buffers[oldest].buffer();
        int readable = buffer.readableBytes();
        if (full > 0 && readable > lengths[oldest] / 2) {
            return RegisteredBufferPool.watched(removeOldest());
        }
        int length = Math.min(readable, most);
        ByteBuf copy = allocator.ioBuffer(length);
        copy.writeBytes(buffer, length);
        releaseDelivered();
        return copy;
    }

    /** Nobody wants what has arrived. */
    void discard() {
        while (isReadable()) {
            buffers[oldest].buffer().skipBytes(buffers[oldest].buffer().readableBytes());
            releaseDelivered();
        }
    }

    private void releaseDelivered() {
        if (full > 0 && !buffers[oldest].buffer().isReadable()) {
            removeOldest().buffer().release();
        }
    }

    private RegisteredMemory removeOldest() {
        RegisteredMemory memory = buffers[oldest];
        buffers[oldest] = null;
        oldest = slot(1);
        count--;
        full--;
        return memory;
    }

    /** Lets all memory go, when the queue pair is gone. */
    void release() {
        for (int i = 0; i < count; i++) {
            buffers[slot(i)].buffer().release();
        }
        count = 0;
    }
}
