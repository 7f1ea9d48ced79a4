// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.util.collection.IntObjectHashMap;
import java.util.Collection;

/**
 * What belongs to XIDs, most of which count up, by one or by a power of two. Netty's table has neighbouring keys in
 * neighbouring places, and who removes the first of a row looks at all of the row; so keys are spread first.
 */
final class XidMap<V> {

    /** Odd, and near the golden ratio. */
    private static final int SPREAD = 0x9E3779B1;

    private final IntObjectHashMap<V> map = new IntObjectHashMap<>();

    /** Another key for each XID. The table looks at the low bits, and the product is spread best in its high ones. */
    private static int key(int xid) {
        int product = xid * SPREAD;
        return product ^ (product >>> 16);
    }

    V get(int xid) {
        return map.get(key(xid));
    }

    boolean containsKey(int xid) {
        return map.containsKey(key(xid));
    }

    /** Returns what was there before, or {@code null}. */
    V put(int xid, V value) {
        return map.put(key(xid), value);
    }

    /** Returns what was there, or {@code null}. */
    V remove(int xid) {
        return map.remove(key(xid));
    }

    boolean remove(int xid, V value) {
        return map.remove(key(xid), value);
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
