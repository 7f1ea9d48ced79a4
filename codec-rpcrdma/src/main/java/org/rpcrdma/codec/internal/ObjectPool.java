// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.internal;

import java.util.ArrayDeque;
import java.util.function.Supplier;

/** Objects of one kind that one connection uses again and again: as many as it has needed at once, up to a limit. */
public final class ObjectPool<T> {

    private static final int MOST = 256;

    private final Supplier<T> maker;

    /** An idle connection has hardly any memory for them. */
    private final ArrayDeque<T> kept = new ArrayDeque<>(1);

    public ObjectPool(Supplier<T> maker) {
        this.maker = maker;
    }

    public T take() {
        T spare = kept.pollLast();
        return spare == null ? maker.get() : spare;
    }

    /** Takes one back that nobody uses any more. */
    public void give(T used) {
        if (kept.size() < MOST) {
            kept.addLast(used);
        }
    }
}
