// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel.memory;

import static io.netty.util.internal.ObjectUtil.checkPositive;

import io.netty.buffer.AbstractByteBuf;
import io.netty.buffer.ByteBuf;
import io.netty.util.IllegalReferenceCountException;
import java.util.concurrent.atomic.AtomicIntegerFieldUpdater;

/**
 * Abstract {@code ByteBuf} that counts its references by their plain number. The count of Netty's own base class has
 * to be decoded, through several methods, for each check that a buffer may be accessed.
 */
abstract class AbstractCountedByteBuf extends AbstractByteBuf {

    private static final AtomicIntegerFieldUpdater<AbstractCountedByteBuf> COUNT =
            AtomicIntegerFieldUpdater.newUpdater(AbstractCountedByteBuf.class, "count");

    /** From 0. A buffer whose last reference was released gets no further ones. */
    private volatile int count;

    AbstractCountedByteBuf() {
        super(0);
    }

    /** Begins again with one reference, of a buffer that has none and that nobody else knows. */
    final void beginCount() {
        COUNT.lazySet(this, 1);
    }

    /** Called once the last reference is released. */
    abstract void deallocate();

    @Override
    public final int refCnt() {
        return count;
    }

    @Override
    public final ByteBuf retain() {
        return add(1);
    }

    @Override
    public final ByteBuf retain(int increment) {
        return add(checkPositive(increment, "increment"));
    }

    private ByteBuf add(int increment) {
        int before;
        do {
            before = count;
            if (before == 0 || before > Integer.MAX_VALUE - increment) {
                throw new IllegalReferenceCountException(before, increment);
            }
        } while (!COUNT.compareAndSet(this, before, before + increment));
        return this;
    }

    @Override
    public final boolean release() {
        return subtract(1);
    }

    @Override
    public final boolean release(int decrement) {
        return subtract(checkPositive(decrement, "decrement"));
    }

    private boolean subtract(int decrement) {
        int before;
        do {
            before = count;
            if (before < decrement) {
                throw new IllegalReferenceCountException(before, -decrement);
            }
        } while (!COUNT.compareAndSet(this, before, before - decrement));
        if (before != decrement) {
            return false;
        }
        deallocate();
        return true;
    }

    @Override
    public final ByteBuf touch() {
        return this;
    }

    @Override
    public final ByteBuf touch(Object hint) {
        return this;
    }
}
