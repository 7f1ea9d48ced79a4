// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.buffer.AbstractByteBufAllocator;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.CompositeByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledDirectByteBuf;
import io.netty.buffer.UnpooledHeapByteBuf;
import java.util.ArrayList;
import java.util.List;

/** Gives a number of buffers, composite ones among them, and fails then. */
public final class ScarceMemory extends AbstractByteBufAllocator {

    private static final int MEBIBYTE = 1 << 20;

    private final List<ByteBuf> given = new ArrayList<>();
    private final int buffers;

    public ScarceMemory(int buffers) {
        this.buffers = buffers;
    }

    /** Whether nobody has a buffer, and one more than there are was asked for. */
    public boolean isBack() {
        return given.size() == buffers && given.stream().allMatch(one -> one.refCnt() == 0);
    }

    /** 4 bytes less than 2 GiB, in one of them 2048 times: nothing can be joined with it. */
    public static ByteBuf longest() {
        ByteBuf part = Unpooled.wrappedBuffer(new byte[MEBIBYTE]);
        CompositeByteBuf whole = Unpooled.compositeBuffer(Integer.MAX_VALUE);
        for (int i = 1; i < 2048; i++) {
            whole.addComponent(true, part.retainedDuplicate());
        }
        return whole.addComponent(true, part.slice(0, MEBIBYTE - 4));
    }

    private void take() {
        if (given.size() == buffers) {
            throw new OutOfMemoryError("of the test");
        }
    }

    private <B extends ByteBuf> B give(B buffer) {
        given.add(buffer);
        return buffer;
    }

    @Override
    public boolean isDirectBufferPooled() {
        return false;
    }

    @Override
    protected ByteBuf newHeapBuffer(int initialCapacity, int maxCapacity) {
        take();
        return give(new UnpooledHeapByteBuf(this, initialCapacity, maxCapacity));
    }

    @Override
    protected ByteBuf newDirectBuffer(int initialCapacity, int maxCapacity) {
        take();
        return give(new UnpooledDirectByteBuf(this, initialCapacity, maxCapacity));
    }

    @Override
    public CompositeByteBuf compositeHeapBuffer(int maxNumComponents) {
        take();
        return give(super.compositeHeapBuffer(maxNumComponents));
    }

    @Override
    public CompositeByteBuf compositeDirectBuffer(int maxNumComponents) {
        take();
        return give(super.compositeDirectBuffer(maxNumComponents));
    }
}
