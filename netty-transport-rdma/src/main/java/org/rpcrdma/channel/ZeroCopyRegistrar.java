// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import io.netty.buffer.ByteBuf;
import org.rpcrdma.channel.internal.DeviceMemory;
import org.rpcrdma.channel.memory.RegisteredBufferPool;
import org.rpcrdma.channel.memory.RegisteredByteBuf;
import org.rpcrdma.verbs.MemoryRegion;
import org.rpcrdma.verbs.QueuePair;

/** Decides which memory of messages a device can use without a copy, and finds or creates its registration. */
final class ZeroCopyRegistrar {

    /**
     * From this size on, registering unpooled memory for one work request costs less than copying it, on a device with
     * cheap registration.
     */
    private static final int COPY_LIMIT = 16 << 10;

    private final RegisteredBufferPool pool;
    private final boolean cheapRegistration;

    ZeroCopyRegistrar(RegisteredBufferPool pool, boolean cheapRegistration) {
        this.pool = pool;
        this.cheapRegistration = cheapRegistration;
    }

    /** The pool's registration that holds these bytes, or {@code null}. */
    MemoryRegion pooled(ByteBuf buffer, int index, int length) {
        if (buffer instanceof RegisteredByteBuf own && own.pool == pool) {
            return own.registration(index, length);
        }
        return buffer.hasMemoryAddress()
                ? pool.region(buffer.memoryAddress() + index, length)
                : null;
    }

    /** The address, in work requests, of the first byte of a buffer for which {@link #pooled} has a registration. */
    static long address(ByteBuf buffer) {
        return buffer instanceof RegisteredByteBuf own ? own.address() : buffer.memoryAddress();
    }

    /**
     * Registers exactly these bytes until {@link MemoryRegion#deregister()}.
     *
     * @param buffer direct and in one piece
     * @throws IllegalArgumentException if the buffer is read-only: devices register writable memory only
     */
    MemoryRegion register(ByteBuf buffer, int index, int length) {
        checkWritable(buffer);
        return pool.register(buffer, index, length);
    }

    /**
     * @param buffer direct and in one piece
     * @throws IllegalArgumentException if the buffer is read-only
     */
    static void checkWritable(ByteBuf buffer) {
        if (DeviceMemory.isReadOnly(buffer)) {
            throw new IllegalArgumentException(
                    "buffer: " + buffer + " is read-only (expected: writable; copy it first)");
        }
    }

    /** The buffer itself if the device can use its memory, otherwise a copy of it. Takes the buffer over. */
    ByteBuf sendable(ByteBuf buffer) {
        int length = buffer.readableBytes();
        int index = buffer.readerIndex();
        if (length == 0 || isUsable(buffer, index, length)) {
            return buffer;
        }
        ByteBuf copy = copy(buffer, index, length);
        buffer.release();
        return copy;
    }

    /**
     * These bytes to be sent at once: a copy if there are few and the device cannot use their memory, otherwise a
     * slice. Of many, only their write tells whether it has to copy them: to ask twice costs more than it spares.
     *
     * @param buffer stays the caller's
     * @return owned by the caller
     */
    ByteBuf sendablePart(ByteBuf buffer, int index, int length) {
        return length >= COPY_LIMIT || pooled(buffer, index, length) != null
                ? buffer.retainedSlice(index, length)
                : copy(buffer, index, length);
    }

    private ByteBuf copy(ByteBuf buffer, int index, int length) {
        ByteBuf copy = pool.toSend(length);
        try {
            return copy.writeBytes(buffer, index, length);
        } catch (Throwable t) {
            copy.release();
            throw t;
        }
    }

    /** Whether the device can use these bytes without a copy, at lower cost than a copy. */
    boolean isUsable(ByteBuf buffer, int index, int length) {
        return pooled(buffer, index, length) != null || isWorthRegistering(buffer, length);
    }

    /** Whether registering this memory, which is not pooled, costs less than copying it. */
    boolean isWorthRegistering(ByteBuf buffer, int length) {
        return length >= COPY_LIMIT && cheapRegistration && DeviceMemory.isWritable(buffer);
    }

    /**
     * Adds these bytes, direct and contiguous, to the work request opened last.
     *
     * @return the registration made for this work request only, or {@code null}
     */
    MemoryRegion gather(QueuePair queuePair, ByteBuf buffer, int index, int length) {
        MemoryRegion region = pooled(buffer, index, length);
        if (region != null) {
            queuePair.gather(address(buffer) + index, length, region.localKey());
            return null;
        }
        region = register(buffer, index, length);
        try {
            queuePair.gather(region.address(), length, region.localKey());
        } catch (Throwable t) {
            region.deregister();
            throw t;
        }
        return region;
    }
}
