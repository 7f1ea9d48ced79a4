// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import org.rpcrdma.channel.memory.RegisteredBufferPool;
import org.rpcrdma.stream.StreamProtocolException;
import org.rpcrdma.verbs.DeviceCapabilities;
import org.rpcrdma.verbs.ReceiveMemory;

/** The memory that the peer of a stream writes into, and what it holds of bytes that were not delivered. */
abstract class StreamReceiveMemory {

    /** @param most of each buffer, in bytes */
    static StreamReceiveMemory of(
            DeviceCapabilities device,
            RegisteredBufferPool pool,
            PeerAccessibleMemory exposures,
            int most) {
        return device.exposesWithoutMemory()
                ? new OnDemandStreamReceiveMemory(pool, exposures, most)
                : new PreallocatedStreamReceiveMemory(pool, exposures, most);
    }

    /** The length of the buffer that {@link #expose} would make now, in bytes. */
    abstract int length();

    /**
     * Makes the next receive buffer.
     *
     * @return its key
     * @throws IllegalStateException when there is no memory for it now, or no key
     */
    abstract int expose();

    /**
     * Memory for bytes that the peer writes, see {@link org.rpcrdma.verbs.QueuePairHandler#writeMemory}; only asked for
     * where buffers are exposed without any.
     */
    ReceiveMemory forWrite(int key, int start, int bytes) {
        throw new UnsupportedOperationException("exposed with memory: " + key);
    }

    /**
     * The peer has announced bytes, which are the next ones of its buffer.
     *
     * @throws StreamProtocolException when it is known not to have written them
     */
    abstract void received(int bytes) throws StreamProtocolException;

    /** The peer has filled its buffer, of that length, and cannot reach it any more. */
    abstract void filled(int length);

    /** Whether there are bytes that were not delivered. */
    abstract boolean isReadable();

    /**
     * The next bytes: memory of its own if that saves a copy and nobody can write into it, else a copy. The caller
     * releases it.
     *
     * @param most the most bytes to be copied
     */
    abstract ByteBuf read(int most, ByteBufAllocator allocator);

    /** Forgets what was not delivered; returns how many bytes. */
    abstract int discard();

    /** Gives back what is not needed before more arrives. */
    void rest() {
        // What was exposed stays.
    }

    /** Lets all memory go, when the queue pair is gone. */
    abstract void release();
}
