// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.util.collection.IntObjectHashMap;
import java.util.Collection;

/**
 * What belongs to XIDs, most of which count up. Netty's table has neighbouring keys in neighbouring places, and who
 * removes the first of a row looks at all of the row; so keys are spread first.
 */
final class XidMap<V> {

    /** Odd, so that no two XIDs are spread to the same key; near the golden ratio, so that neighbours lie far apart. */
    private static final int SPREAD = 0x9E3779B1;

    private final IntObjectHashMap<V> map = new IntObjectHashMap<>();

    V get(int xid) {
        return map.get(xid * SPREAD);
    }

    boolean containsKey(int xid) {
        return map.containsKey(xid * SPREAD);
    }

    /** Returns what was there before, or {@code null}. */
    V put(int xid, V value) {
        return map.put(xid * SPREAD, value);
    }

    /** Returns what was there, or {@code null}. */
    V remove(int xid) {
        return map.remove(xid * SPREAD);
    }

    boolean remove(int xid, V value) {
        return map.remove(xid * SPREAD, value);
    }

    /** In no order. */
    Collection<V> values() {
        return map.values();
    }

    int size() {
        return map.size();
    }

    boolean isEmpty() {
        return map.isEmpty();
    }

    void clear() {
        map.clear();
    }
}
