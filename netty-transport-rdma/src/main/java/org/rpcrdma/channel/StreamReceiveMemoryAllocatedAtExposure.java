// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import org.rpcrdma.channel.memory.RegisteredBufferPool;
import org.rpcrdma.channel.memory.RegisteredByteBuf;

/**
 * Receive memory of a stream on a device that needs it before the peer writes: each receive buffer is contiguous
 * registered memory. Until a buffer is full only copies are delivered, because the peer could change written bytes.
 * Buffers are zeroed, so that bytes announced but not written are zeros, not data of other connections.
 */
final class StreamReceiveMemoryAllocatedAtExposure extends StreamReceiveMemory {

    private final RegisteredBufferPool pool;
    private final ChannelMemoryExposures exposures;
    private final AdaptiveStreamReceiveBufferSize sizes;

    /** Buffers by age; the writer index counts received bytes, the reader index delivered bytes. */
    private final RegisteredByteBuf[] buffers =
            new RegisteredByteBuf[PublishedStreamReceiveBuffers.BUFFERS];

    private int oldest;
    private int count;

    /** Number of full buffers. */
    private int full;

    /** @param most the largest size of each buffer, in bytes */
    StreamReceiveMemoryAllocatedAtExposure(
            RegisteredBufferPool pool, ChannelMemoryExposures exposures, int most) {
        this.pool = pool;
        this.exposures = exposures;
        this.sizes = new AdaptiveStreamReceiveBufferSize(most);
    }

    private int slot(int age) {
        return (oldest + age) % buffers.length;
    }

    @Override
    int length() {
        return sizes.next();
    }

    @Override
    int expose() {
        RegisteredByteBuf memory = take();
        try {
            memory.setZero(0, memory.capacity());
            int key = exposures.exposeForWrite(memory);
            buffers[slot(count)] = memory;
            count++;
            return key;
        } catch (Throwable t) {
            memory.release();
            throw t;
        }
    }

    private RegisteredByteBuf take() {
        while (true) {
            try {
                return pool.take(sizes.next());
            } catch (IllegalStateException e) {
                if (sizes.isLeast()) {
                    throw e;
                }
                sizes.shrink();
            }
        }
    }

    @Override
    void received(int bytes) {
        RegisteredByteBuf buffer = buffers[slot(full)];
        buffer.writerIndex(buffer.writerIndex() + bytes);
        sizes.message();
    }

    @Override
    void filled(int length) {
        sizes.filled(length);
        full++;
    }

    @Override
    boolean isReadable() {
        return count > 0 && buffers[oldest].isReadable();
    }

    @Override
    ByteBuf read(int most, ByteBufAllocator allocator) {
        RegisteredByteBuf buffer = buffers[oldest];
        int readable = buffer.readableBytes();
        if (full > 0 && readable > buffer.capacity() / 2) {
            return RegisteredBufferPool.watched(removeOldest());
        }
        int length = Math.min(readable, most);
        ByteBuf copy = allocator.ioBuffer(length);
        copy.writeBytes(buffer, length);
        releaseDelivered();
        return copy;
    }

    @Override
    int discard() {
        int discarded = 0;
        while (isReadable()) {
            int bytes = buffers[oldest].readableBytes();
            buffers[oldest].skipBytes(bytes);
            discarded += bytes;
            releaseDelivered();
        }
        return discarded;
    }

    private void releaseDelivered() {
        if (full > 0 && !buffers[oldest].isReadable()) {
            removeOldest().release();
        }
    }

    private RegisteredByteBuf removeOldest() {
        RegisteredByteBuf memory = buffers[oldest];
        buffers[oldest] = null;
        oldest = slot(1);
        count--;
        full--;
        return memory;
    }

    @Override
    void release() {
        for (int i = 0; i < count; i++) {
            buffers[slot(i)].release();
        }
        count = 0;
    }
}
