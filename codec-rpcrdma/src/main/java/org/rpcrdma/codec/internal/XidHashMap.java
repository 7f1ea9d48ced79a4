// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.internal;

import java.util.AbstractCollection;
import java.util.Collection;
import java.util.Iterator;
import java.util.NoSuchElementException;

/**
 * Open-addressing hash map keyed by XIDs, most of which count up, by one or by a power of two. Linear probing, with a
 * load factor of at most one half.
 */
public final class XidHashMap<V> {

    /** Odd multiplier near the golden ratio (Fibonacci hashing): spreads the high bits of the products best. */
    private static final int SPREAD = 0x9E3779B1;

    private static final int FIRST_PLACES_LOG2 = 4;

    private int[] xids;
    private V[] values;
    private int shift;
    private int size;

    public XidHashMap() {
        allocate(FIRST_PLACES_LOG2);
    }

    @SuppressWarnings("unchecked")
    private void allocate(int placesLog2) {
        int[] newXids = new int[1 << placesLog2];
        values = (V[]) new Object[1 << placesLog2];
        xids = newXids; // both or none: there may be no heap for one of them
        shift = Integer.SIZE - placesLog2;
    }

    /** Slot of the XID, or the free slot for it. */
    private int find(int xid) {
        int at = (xid * SPREAD) >>> shift;
        while (values[at] != null && xids[at] != xid) {
            at = (at + 1) & (values.length - 1);
        }
        return at;
    }

    public V get(int xid) {
        return size == 0 ? null : values[find(xid)];
    }

    public boolean containsKey(int xid) {
        return get(xid) != null;
    }

    /** Adds a value; returns the previous one, or {@code null}. */
    public V put(int xid, V value) {
        int at = find(xid);
        V before = values[at];
        if (before == null) {
            if (size >= values.length / 2) {
                grow();
                at = find(xid);
            }
            size++;
        }
        xids[at] = xid;
        values[at] = value;
        return before;
    }

    private void grow() {
        int[] oldXids = xids;
        V[] oldValues = values;
        allocate(Integer.SIZE - shift + 1);
        for (int i = 0; i < oldValues.length; i++) {
            if (oldValues[i] != null) {
                int at = find(oldXids[i]);
                xids[at] = oldXids[i];
                values[at] = oldValues[i];
            }
        }
    }

    /** Removes and returns a value, or {@code null}. */
    public V remove(int xid) {
        int at = find(xid);
        V before = values[at];
        if (before != null) {
            empty(at);
        }
        return before;
    }

    public boolean remove(int xid, V value) {
        int at = find(xid);
        if (value == null || values[at] != value) {
            return false;
        }
        empty(at);
        return true;
    }

    /** Frees a slot, and moves up later entries of its probe sequence. */
    private void empty(int place) {
        int mask = values.length - 1;
        int free = place;
        for (int at = (free + 1) & mask; values[at] != null; at = (at + 1) & mask) {
            int home = (xids[at] * SPREAD) >>> shift;
            if (((at - home) & mask) >= ((at - free) & mask)) {
                xids[free] = xids[at];
                values[free] = values[at];
                free = at;
            }
        }
        values[free] = null;
        size--;
    }

    /** All values in no order. Iteration during a modification may repeat or miss values. */
    public Collection<V> values() {
        return new AbstractCollection<>() {
            @Override
            public Iterator<V> iterator() {
                return new Values();
            }

            @Override
            public int size() {
                return size;
            }
        };
    }

    private final class Values implements Iterator<V> {
        private int place;

        @Override
        public boolean hasNext() {
            while (place < values.length && values[place] == null) {
                place++;
            }
            return place < values.length;
        }

        @Override
        public V next() {
            if (!hasNext()) {
                throw new NoSuchElementException();
            }
            return values[place++];
        }
    }

    public int size() {
        return size;
    }

    public boolean isEmpty() {
        return size == 0;
    }

    public void clear() {
        allocate(FIRST_PLACES_LOG2);
        size = 0;
    }
}
