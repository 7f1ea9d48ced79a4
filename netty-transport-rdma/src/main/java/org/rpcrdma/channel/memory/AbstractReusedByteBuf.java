// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel.memory;

import io.netty.buffer.AbstractByteBuf;
import io.netty.buffer.ByteBuf;
import io.netty.util.IllegalReferenceCountException;
import java.util.concurrent.atomic.AtomicIntegerFieldUpdater;

/**
 * Reference count of a buffer whose object is used again after its last reference was released. References may be
 * taken and released on any thread. As Netty's own count, in a fifth of the methods: that one is made for several ways
 * to reach a field, and each buffer of a message is begun, examined and released.
 */
abstract class AbstractReusedByteBuf extends AbstractByteBuf {

    private static final AtomicIntegerFieldUpdater<AbstractReusedByteBuf> REFERENCES =
            AtomicIntegerFieldUpdater.newUpdater(AbstractReusedByteBuf.class, "references");

    private volatile int references;

    AbstractReusedByteBuf() {
        super(0);
    }

    /** Gives the buffer its first reference. No other thread knows it. */
    final void beginReferences() {
        REFERENCES.lazySet(this, 1);
    }

    /** The last reference was released, on this thread. */
    abstract void deallocate();

    @Override
    public final int refCnt() {
        return references;
    }

    @Override
    public final ByteBuf retain() {
        return retain(1);
    }

    @Override
    public final ByteBuf retain(int count) {
        while (true) {
            int before = references;
            int after = before + count;
            if (before == 0 || count <= 0 || after < before) { // none, or more than an int holds
                throw new IllegalReferenceCountException(before, count);
            }
            if (REFERENCES.compareAndSet(this, before, after)) {
                return this;
            }
        }
    }

    @Override
    public final boolean release() {
        return release(1);
    }

    @Override
    public final boolean release(int count) {
        while (true) {
            int before = references;
            if (count <= 0 || count > before) {
                throw new IllegalReferenceCountException(before, -count);
            }
            if (REFERENCES.compareAndSet(this, before, before - count)) {
                if (count == before) {
                    deallocate();
                }
                return count == before;
            }
        }
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
