// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel.memory;

import io.netty.buffer.ByteBuf;
import org.rpcrdma.verbs.MemoryRegion;
import org.rpcrdma.verbs.ReceiveMemoryRange;

/**
 * A buffer of a {@link RegisteredBufferPool} over one block of a slab. Releasing its last reference, on any thread,
 * returns it to the pool, which reuses the object with another block.
 */
public final class RegisteredByteBuf extends AbstractSlabByteBuf implements ReceiveMemoryRange {

    /** The pool that it is lent from and returns to, always the same one. */
    public final RegisteredBufferPool pool;

    SlabBlock block;
    private Slab slab;
    private int capacity;

    /** The object that users have in the place of this one while Netty's leak detector tracks it; or {@code null}. */
    private ByteBuf tracked;

    RegisteredByteBuf(RegisteredBufferPool pool) {
        this.pool = pool;
    }

    /** Sets the block. */
    void hold(SlabBlock newBlock) {
        block = newBlock;
        slab = newBlock.slab;
    }

    /** Resets the buffer: one reference, empty, fixed capacity. */
    void lend(int newCapacity) {
        beginCount();
        tracked = null;
        begin(slab, block.offset);
        maxCapacity(newCapacity);
        capacity = newCapacity;
        clear();
    }

    /** Reduces the capacity, not below the written bytes. */
    public void shrink(int newCapacity) {
        maxCapacity(newCapacity);
        capacity = newCapacity;
    }

    /** Detaches the block. */
    void forget() {
        block = null;
        slab = null;
        end();
    }

    /** Sets the object that users have from now on. */
    void trackedBy(ByteBuf newTracked) {
        tracked = newTracked;
    }

    /**
     * Whether a buffer is a whole one of the pool, tracked or not, and the caller has the only reference to it: so it
     * is no view, and nobody else may use any of its bytes.
     */
    public static boolean isOnlyReference(ByteBuf buffer, RegisteredBufferPool pool) {
        RegisteredByteBuf own =
                buffer instanceof RegisteredByteBuf direct
                        ? direct
                        : buffer.unwrap() instanceof RegisteredByteBuf inner
                                        && inner.tracked == buffer
                                ? inner
                                : null;
        return own != null && own.pool == pool && own.refCnt() == 1;
    }

    /**
     * Finds the registration of a part of the bytes.
     *
     * @return {@code null} when they are not all in this buffer
     * @throws io.netty.util.IllegalReferenceCountException when the buffer was released
     */
    public MemoryRegion registration(int index, int length) {
        check(0, 0);
        boolean isInside = index >= 0 && length >= 0 && length <= capacity - index;
        return isInside ? slab.region : null;
    }

    /** This object as a plain {@code ByteBuf}. */
    public ByteBuf buffer() {
        return this;
    }

    @Override
    public MemoryRegion region() {
        return slab.region;
    }

    @Override
    public long address() {
        return slab.registered + offset;
    }

    @Override
    public int length() {
        return capacity;
    }

    @Override
    void deallocate() {
        pool.takeBack(this);
    }

    @Override
    void check(int index, int length) {
        if (refCnt() == 0 || index < 0 || length < 0 || index > capacity - length) {
            checkIndex(index, length); // names what is wrong
        }
    }

    /** Netty's own way walks through three methods to find that the buffer is writable. */
    @Override
    public ByteBuf writeInt(int value) {
        int index = writerIndex();
        if (refCnt() == 0 || index > capacity - Integer.BYTES) {
            return super.writeInt(value); // names what is wrong
        }
        _setInt(index, value);
        return writerIndex(index + Integer.BYTES);
    }

    /** As {@link #writeInt}. */
    @Override
    public ByteBuf writeLong(long value) {
        int index = writerIndex();
        if (refCnt() == 0 || index > capacity - Long.BYTES) {
            return super.writeLong(value); // names what is wrong
        }
        _setLong(index, value);
        return writerIndex(index + Long.BYTES);
    }

    /** {@link #setBytes} checks all but that the capacity may grow. */
    @Override
    public ByteBuf writeBytes(ByteBuf source, int sourceIndex, int length) {
        int index = writerIndex();
        if (length > capacity - index) {
            return super.writeBytes(source, sourceIndex, length);
        }
        setBytes(index, source, sourceIndex, length);
        return writerIndex(index + length);
    }

    /** As {@link #writeBytes(ByteBuf, int, int)}. */
    @Override
    public ByteBuf writeBytes(byte[] source, int sourceIndex, int length) {
        int index = writerIndex();
        if (length > capacity - index) {
            return super.writeBytes(source, sourceIndex, length);
        }
        setBytes(index, source, sourceIndex, length);
        return writerIndex(index + length);
    }

    @Override
    public int capacity() {
        return capacity;
    }

    @Override
    public ByteBuf capacity(int newCapacity) {
        checkNewCapacity(newCapacity);
        trimIndicesToCapacity(newCapacity);
        capacity = newCapacity;
        return this;
    }

    /** Moves no bytes: the buffer gives up the space before its reader index. */
    @Override
    public ByteBuf discardReadBytes() {
        check(0, 0);
        int discarded = readerIndex();
        if (discarded > 0) {
            int readable = readableBytes();
            skip(discarded);
            adjustMarkers(discarded);
            setIndex(0, readable);
            shrink(capacity - discarded);
        }
        return this;
    }

    @Override
    public boolean hasMemoryAddress() {
        return pool.hasAddresses;
    }

    @Override
    public long memoryAddress() {
        ensureAccessible();
        if (!hasMemoryAddress()) {
            throw new UnsupportedOperationException();
        }
        return nativeAddress();
    }
}
