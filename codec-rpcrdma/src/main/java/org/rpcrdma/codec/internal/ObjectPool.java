// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.internal;

import java.util.ArrayDeque;
import java.util.function.Supplier;

/** Free list of one connection: holds as many objects as were in use at once, up to a limit. */
public final class ObjectPool<T> {

    private static final int MOST = 256;

    private final Supplier<T> maker;

    /** Initially small, to save memory of idle connections. */
    private final ArrayDeque<T> kept = new ArrayDeque<>(1);

    public ObjectPool(Supplier<T> maker) {
        this.maker = maker;
    }

    public T take() {
        T spare = kept.pollLast();
        return spare == null ? maker.get() : spare;
    }

    /** Returns an unused object. */
    public void give(T used) {
        if (kept.size() < MOST) {
            kept.addLast(used);
        }
    }
}
