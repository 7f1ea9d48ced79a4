// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs;

import io.netty.util.collection.IntObjectHashMap;
import java.util.Collection;

/**
 * Map with remote keys (STags, rkeys) as keys. Of a remote key the high 24 bits tell the memory apart, and the low 8
 * its successive uses; they are often the same for all memory. A hash table of Netty, which takes the low bits as the
 * hash, would have to search among all entries. Not thread-safe.
 *
 * @param <V> type of the values, which are not {@code null}
 */
public final class RemoteKeyMap<V> {

    private static final int INDEX_BITS = 24;
    private static final int FIRST_SLOTS = 4;

    private final IntObjectHashMap<V> byRotatedKey = new IntObjectHashMap<>(FIRST_SLOTS);

    private static int rotated(int remoteKey) {
        return Integer.rotateLeft(remoteKey, INDEX_BITS);
    }

    /**
     * {@return the value, or {@code null} if there is none}
     *
     * @param remoteKey any 32 bits
     */
    public V get(int remoteKey) {
        return byRotatedKey.get(rotated(remoteKey));
    }

    /**
     * {@return whether there is a value}
     *
     * @param remoteKey any 32 bits
     */
    public boolean containsKey(int remoteKey) {
        return byRotatedKey.containsKey(rotated(remoteKey));
    }

    /**
     * Adds a value, or replaces the one of the same key.
     *
     * @param remoteKey any 32 bits
     * @param value not {@code null}
     */
    public void put(int remoteKey, V value) {
        byRotatedKey.put(rotated(remoteKey), value);
    }

    /**
     * Removes a value.
     *
     * @param remoteKey any 32 bits
     * @return the value, or {@code null} if there was none
     */
    public V remove(int remoteKey) {
        return byRotatedKey.remove(rotated(remoteKey));
    }

    /** {@return a view of all values} */
    public Collection<V> values() {
        return byRotatedKey.values();
    }

    /** {@return whether there is no value} */
    public boolean isEmpty() {
        return byRotatedKey.isEmpty();
    }

    /** Removes all values. */
    public void clear() {
        byRotatedKey.clear();
    }

    @Override
    public String toString() {
        return "RemoteKeyMap(values: " + byRotatedKey.size() + ")";
    }
}
