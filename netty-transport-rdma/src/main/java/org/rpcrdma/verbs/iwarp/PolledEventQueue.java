// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp;

import java.util.Arrays;

/**
 * Completions and connection events of one context, in the order in which they are delivered. A ring of arrays that
 * grows to what the queues of the context can hold, and allocates nothing after that.
 */
final class PolledEventQueue {

    private DequeuedEventHandler[] targets = new DequeuedEventHandler[256];
    private DequeuedEventHandler.Kind[] kinds = new DequeuedEventHandler.Kind[256];
    private Object[] arguments = new Object[256];
    private long[] ids = new long[256];
    private int[] lengths = new int[256];
    private int[] keys = new int[256];
    private int head;
    private int tail;

    boolean isEmpty() {
        return head == tail;
    }

    void add(DequeuedEventHandler target, DequeuedEventHandler.Kind kind, Object argument) {
        add(target, kind, argument, 0, 0, 0);
    }

    void add(
            DequeuedEventHandler target,
            DequeuedEventHandler.Kind kind,
            Object argument,
            long id,
            int length,
            int key) {
        if (tail - head == ids.length) {
            grow();
        }
        int slot = tail++ & (ids.length - 1);
        targets[slot] = target;
        kinds[slot] = kind;
        arguments[slot] = argument;
        ids[slot] = id;
        lengths[slot] = length;
        keys[slot] = key;
    }

    /** Delivers up to that many events; returns their number. */
    int deliver(int budget) {
        int delivered = 0;
        while (delivered < budget && head != tail) {
            int slot = head++ & (ids.length - 1);
            DequeuedEventHandler target = targets[slot];
            Object argument = arguments[slot];
            targets[slot] = null;
            arguments[slot] = null;
            delivered++;
            target.deliver(kinds[slot], argument, ids[slot], lengths[slot], keys[slot]);
        }
        return delivered;
    }

    private void grow() {
        int old = ids.length;
        int first = head & (old - 1);
        targets = rotate(targets, Arrays.copyOf(targets, 2 * old), first);
        kinds = rotate(kinds, Arrays.copyOf(kinds, 2 * old), first);
        arguments = rotate(arguments, Arrays.copyOf(arguments, 2 * old), first);
        long[] newIds = new long[2 * old];
        int[] newLengths = new int[2 * old];
        int[] newKeys = new int[2 * old];
        for (int i = 0; i < old; i++) {
            int from = first + i & (old - 1);
            newIds[i] = ids[from];
            newLengths[i] = lengths[from];
            newKeys[i] = keys[from];
        }
        ids = newIds;
        lengths = newLengths;
        keys = newKeys;
        head = 0;
        tail = old;
    }

    private static <T> T[] rotate(T[] from, T[] to, int first) {
        System.arraycopy(from, first, to, 0, from.length - first);
        System.arraycopy(from, 0, to, from.length - first, first);
        Arrays.fill(to, from.length, to.length, null);
        return to;
    }
}
