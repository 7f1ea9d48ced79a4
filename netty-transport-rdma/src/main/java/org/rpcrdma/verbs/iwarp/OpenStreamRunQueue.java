// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp;

import java.util.Arrays;
import java.util.LinkedHashSet;
import java.util.Set;
import java.util.function.Predicate;

/** The open streams of one context, and the queue of those among them that wait for a turn in the next poll. */
final class OpenStreamRunQueue {

    private final Set<OpenStreamRunQueueEntry> open = new LinkedHashSet<>();

    /** Of nodes: an array deque that finds no memory to grow has lost all that is in it. */
    private final Set<OpenStreamRunQueueEntry> broken = new LinkedHashSet<>();

    /** Streams with a message that waits for memory. */
    private final Set<OpenStreamRunQueueEntry> held = new LinkedHashSet<>();

    private final Predicate<OpenStreamRunQueueEntry> placing = this::tryPlaceHeld;

    /** Room for all open streams: a round may change the sets, and is made where there is no memory for copies. */
    private OpenStreamRunQueueEntry[] round = new OpenStreamRunQueueEntry[16];

    /** FPDUs that have arrived in part. */
    final IncompleteInputStallTimer frames;

    /** Messages of which some segments have arrived. */
    final IncompleteInputStallTimer messages;

    OpenStreamRunQueue(DeadlineTaskQueue timers, IwarpConfig config) {
        frames =
                new IncompleteInputStallTimer(
                        timers,
                        () -> anyOf(open, OpenStreamRunQueueEntry::checkFrameStall),
                        config.frameTimeout());
        messages =
                new IncompleteInputStallTimer(
                        timers,
                        () -> anyOf(open, OpenStreamRunQueueEntry::checkMessageStall),
                        config.messageTimeout());
    }

    void add(OpenStreamRunQueueEntry stream) {
        if (open.size() == round.length) {
            round = new OpenStreamRunQueueEntry[2 * round.length];
        }
        open.add(stream);
    }

    /** Returns whether it was there. */
    boolean remove(OpenStreamRunQueueEntry stream) {
        held.remove(stream);
        return open.remove(stream);
    }

    /** Has {@link OpenStreamRunQueueEntry#resolveBroken} called by the next poll. */
    void broken(OpenStreamRunQueueEntry stream) {
        broken.add(stream);
    }

    /** Has {@link OpenStreamRunQueueEntry#tryPlaceHeld} called until it tells that nothing waits. */
    void hold(OpenStreamRunQueueEntry stream) {
        held.add(stream);
    }

    boolean hasBroken() {
        return !broken.isEmpty();
    }

    boolean hasHeld() {
        return !held.isEmpty();
    }

    /** Gives all streams that wait for one their turn. */
    void run() {
        while (!broken.isEmpty()) {
            OpenStreamRunQueueEntry next = broken.iterator().next();
            broken.remove(next);
            next.resolveBroken();
        }
        if (!held.isEmpty()) {
            anyOf(held, placing);
        }
    }

    private boolean tryPlaceHeld(OpenStreamRunQueueEntry stream) {
        boolean waits = stream.tryPlaceHeld();
        if (!waits) {
            held.remove(stream);
        }
        return waits;
    }

    /**
     * Asks all of some open streams, which may end meanwhile; returns whether one has said yes. Not from within itself.
     */
    private boolean anyOf(
            Set<OpenStreamRunQueueEntry> streams, Predicate<OpenStreamRunQueueEntry> question) {
        int count = streams.size();
        OpenStreamRunQueueEntry[] asked = streams.toArray(round);
        boolean isAny = false;
        try {
            for (int i = 0; i < count; i++) {
                isAny |= question.test(asked[i]);
            }
        } finally {
            Arrays.fill(asked, 0, count, null);
        }
        return isAny;
    }

    void detachAll() {
        for (OpenStreamRunQueueEntry stream : open) {
            stream.detach();
        }
    }
}
