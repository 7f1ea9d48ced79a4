// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel.memory;

import io.netty.buffer.ByteBuf;
import org.rpcrdma.verbs.MemoryRegion;
import org.rpcrdma.verbs.ReceiveMemory;

/**
 * A buffer of a {@link RegisteredBufferPool}: the block that it was lent. When its last reference is
 * released, on whatever thread, it goes back to its pool, which gives it another block one day.
 */
public final class RegisteredByteBuf extends AbstractSlabByteBuf implements ReceiveMemory {

    private final RegisteredBufferPool pool;
    private SlabBlock block;
    private Slab slab;
    private int capacity;

    RegisteredByteBuf(RegisteredBufferPool pool) {
        this.pool = pool;
    }

    /** Gets its memory. */
    void hold(SlabBlock newBlock) {
        block = newBlock;
        slab = newBlock.slab;
    }

    /** Starts a new life with one reference, empty, with that capacity and no room to grow. */
    void lend(int newCapacity) {
        resetRefCnt();
        begin(slab, block.offset);
        maxCapacity(newCapacity);
        capacity = newCapacity;
        setIndex(0, 0);
    }

    /** Has no more room than that, which holds all that is written. */
    public void shrink(int newCapacity) {
        maxCapacity(newCapacity);
        capacity = newCapacity;
    }

    SlabBlock block() {
        return block;
    }

    /** Lets its memory go. */
    void forget() {
        block = null;
        slab = null;
        end();
    }

    /** This object, to those who look at the bytes alone. */
    public ByteBuf buffer() {
        return this;
    }

    @Override
    public MemoryRegion region() {
        return slab.region();
    }

    @Override
    public long address() {
        return slab.region().address() + offset();
    }

    @Override
    public int length() {
        return capacity;
    }

    @Override
    protected void deallocate() {
        pool.takeBack(this);
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

    /** Nothing is moved: the room in front is given up, and the buffer begins behind it. */
    @Override
    public ByteBuf discardReadBytes() {
        ensureAccessible();
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
        return pool.hasAddresses();
    }

    @Override
    public long memoryAddress() {
        ensureAccessible();
        if (!hasMemoryAddress()) {
            throw new UnsupportedOperationException();
        }
        return slab.address() + offset();
    }
}
