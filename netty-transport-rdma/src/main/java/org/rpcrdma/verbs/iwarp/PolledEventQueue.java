// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp;

import java.util.Arrays;

/**
 * Completions and connection events of one context, in the order in which they are delivered. A ring of arrays that
 * grows to what the queues of the context can hold, and allocates nothing after that.
 *
 * <p>Each queue pair keeps a place for the end of its connection, which is told where there is no memory any more.
 */
class PolledEventQueue {

    private DequeuedEventHandler[] targets = new DequeuedEventHandler[256];
    private DequeuedEventHandler.Kind[] kinds = new DequeuedEventHandler.Kind[256];
    private Object[] arguments = new Object[256];
    private long[] ids = new long[256];
    private int[] lengths = new int[256];
    private int[] keys = new int[256];
    private int head;
    private int tail;

    /** Queue pairs that keep a place, and how many of the places are not taken. */
    private int keepers;

    private int freePlaces;

    int size() {
        return tail - head;
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
        if (tail - head + freePlaces == ids.length) {
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

    /** Keeps a place for one event, which {@link #addToPlace} takes without memory. */
    void keepPlace() {
        // No more than half of all: what goes before the ends always finds room in time.
        if (tail - head + freePlaces == ids.length || keepers == ids.length / 2) {
            grow();
        }
        keepers++;
        freePlaces++;
    }

    void addToPlace(DequeuedEventHandler target, DequeuedEventHandler.Kind kind, Object argument) {
        freePlaces--;
        add(target, kind, argument);
    }

    /** Keeps the place again of the event that is being delivered. */
    void keepPlaceAgain() {
        freePlaces++;
    }

    /** @param isFree whether nothing is in the place */
    void giveUpPlace(boolean isFree) {
        keepers--;
        if (isFree) {
            freePlaces--;
        }
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

    /** Makes all arrays before it takes one: where memory ends in between, no event goes to another queue pair. */
    void grow() {
        int old = ids.length;
        int count = tail - head;
        int first = head & (old - 1);
        DequeuedEventHandler[] newTargets = rotate(targets, Arrays.copyOf(targets, 2 * old), first);
        DequeuedEventHandler.Kind[] newKinds = rotate(kinds, Arrays.copyOf(kinds, 2 * old), first);
        Object[] newArguments = rotate(arguments, Arrays.copyOf(arguments, 2 * old), first);
        long[] newIds = new long[2 * old];
        int[] newLengths = new int[2 * old];
        int[] newKeys = new int[2 * old];
        for (int i = 0; i < old; i++) {
            int from = first + i & (old - 1);
            newIds[i] = ids[from];
            newLengths[i] = lengths[from];
            newKeys[i] = keys[from];
        }
        targets = newTargets;
        kinds = newKinds;
        arguments = newArguments;
        ids = newIds;
        lengths = newLengths;
        keys = newKeys;
        head = 0;
        tail = count;
    }

    private static <T> T[] rotate(T[] from, T[] to, int first) {
        System.arraycopy(from, first, to, 0, from.length - first);
        System.arraycopy(from, 0, to, from.length - first, first);
        Arrays.fill(to, from.length, to.length, null);
        return to;
    }
}
