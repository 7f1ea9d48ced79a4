// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.UnpooledDirectByteBuf;
import io.netty.buffer.UnpooledUnsafeDirectByteBuf;
import java.nio.ByteBuffer;
import org.rpcrdma.verbs.MemoryRegion;

/**
 * A buffer of a {@link RegisteredBufferPool}. When its last reference is released, on whatever thread, it goes back to
 * its pool; the pool brings it to life again with {@link #lend}.
 *
 * <p>Netty has two direct buffers, with and without {@code sun.misc.Unsafe}; hence the two classes.
 */
interface RegisteredMemory {

    Place place();

    /** The region that this buffer is a part of. */
    default MemoryRegion region() {
        return place().region();
    }

    /** The address of byte 0, as work requests name it. */
    default long address() {
        return place().address();
    }

    /** The pool's free list that it goes back to. */
    default int sizeClass() {
        return place().sizeClass();
    }

    /** Starts a new life with one reference, empty, with that capacity and no room to grow. */
    void lend(int capacity);

    /** This object. */
    default ByteBuf buffer() {
        return (ByteBuf) this;
    }

    /** Where a buffer is, seen from its pool. */
    record Place(RegisteredBufferPool pool, MemoryRegion region, long address, int sizeClass) {}

    static RegisteredMemory create(ByteBuffer memory, boolean hasUnsafe, Place place) {
        return hasUnsafe ? new WithUnsafe(memory, place) : new WithoutUnsafe(memory, place);
    }

    /** On {@code sun.misc.Unsafe}. */
    final class WithUnsafe extends UnpooledUnsafeDirectByteBuf implements RegisteredMemory {
        private final Place place;
        private int capacity;

        WithUnsafe(ByteBuffer memory, Place place) {
            super(ByteBufAllocator.DEFAULT, memory, memory.remaining());
            this.place = place;
            this.capacity = memory.remaining();
        }

        @Override
        public Place place() {
            return place;
        }

        @Override
        public void lend(int newCapacity) {
            resetRefCnt();
            maxCapacity(newCapacity);
            capacity = newCapacity;
            setIndex(0, 0);
        }

        @Override
        public int capacity() {
            // The superclass asks before the field has its value.
            return place == null ? super.capacity() : capacity;
        }

        @Override
        public ByteBuf capacity(int newCapacity) {
            checkNewCapacity(newCapacity);
            trimIndicesToCapacity(newCapacity);
            capacity = newCapacity;
            return this;
        }

        @Override
        protected void deallocate() {
            place.pool().takeBack(this);
        }
    }

    /** On the public API of {@link ByteBuffer} alone. */
    final class WithoutUnsafe extends UnpooledDirectByteBuf implements RegisteredMemory {
        private final Place place;
        private int capacity;

        WithoutUnsafe(ByteBuffer memory, Place place) {
            super(ByteBufAllocator.DEFAULT, memory, memory.remaining());
            this.place = place;
            this.capacity = memory.remaining();
        }

        @Override
        public Place place() {
            return place;
        }

        @Override
        public void lend(int newCapacity) {
            resetRefCnt();
            maxCapacity(newCapacity);
            capacity = newCapacity;
            setIndex(0, 0);
        }

        @Override
        public int capacity() {
            return place == null ? super.capacity() : capacity;
        }

        @Override
        public ByteBuf capacity(int newCapacity) {
            checkNewCapacity(newCapacity);
            trimIndicesToCapacity(newCapacity);
            capacity = newCapacity;
            return this;
        }

        @Override
        protected void deallocate() {
            place.pool().takeBack(this);
        }
    }
}
