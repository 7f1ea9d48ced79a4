// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import org.rpcrdma.channel.memory.RegisteredBufferPool;
import org.rpcrdma.stream.StreamProtocolException;
import org.rpcrdma.verbs.DeviceCapabilities;
import org.rpcrdma.verbs.ReceiveMemoryRange;

/** Memory of a stream's receive buffers, which the peer writes, with the undelivered bytes. */
abstract class StreamReceiveMemory {

    /** @param most the largest size of each buffer, in bytes */
    static StreamReceiveMemory of(
            DeviceCapabilities device,
            RegisteredBufferPool pool,
            ChannelMemoryExposures exposures,
            int most) {
        return device.exposesWithoutMemory()
                ? new StreamReceiveMemoryAllocatedAtWrite(pool, exposures, most)
                : new StreamReceiveMemoryAllocatedAtExposure(pool, exposures, most);
    }

    /** Length in bytes of the next buffer of {@link #expose}. */
    abstract int length();

    /**
     * Exposes the next receive buffer.
     *
     * @return its key
     * @throws IllegalStateException for lack of memory or keys
     */
    abstract int expose();

    /**
     * Memory for bytes that the peer is writing, see {@link org.rpcrdma.verbs.QueuePairHandler#writeMemory}; only
     * called if buffers are exposed without memory.
     */
    ReceiveMemoryRange forWrite(int key, int start, int bytes) {
        throw new UnsupportedOperationException("exposed with memory: " + key);
    }

    /**
     * The peer has announced the next bytes of its buffer.
     *
     * @throws StreamProtocolException if the peer has provably not written them
     */
    abstract void received(int bytes) throws StreamProtocolException;

    /** See {@link org.rpcrdma.verbs.QueuePairHandler#unannounced}; negative where no memory is taken by a Write. */
    long unannounced() {
        return -1;
    }

    /** The peer has filled its buffer, of that length, whose key is invalidated. */
    abstract void filled(int length);

    /** Whether there are undelivered bytes. */
    abstract boolean isReadable();

    /**
     * The next bytes: the receive memory itself if the peer cannot write there any more and that saves a copy,
     * otherwise a copy. The caller releases the buffer.
     *
     * @param most the most bytes to copy
     */
    abstract ByteBuf read(int most, ByteBufAllocator allocator);

    /** Discards undelivered bytes; returns their number. */
    abstract int discard();

    /** Releases memory that is not needed until more data arrive. */
    void rest() {
        // Exposed memory stays allocated.
    }

    /** Releases all memory, after the queue pair was destroyed. */
    abstract void release();
}
