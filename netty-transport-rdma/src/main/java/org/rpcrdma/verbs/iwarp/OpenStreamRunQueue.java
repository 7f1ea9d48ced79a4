// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp;

import java.util.ArrayDeque;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/** The open streams of one context, and the queue of those among them that wait for a turn in the next poll. */
final class OpenStreamRunQueue {

    private final Set<OpenStreamRunQueueEntry> open = new LinkedHashSet<>();
    private final ArrayDeque<OpenStreamRunQueueEntry> broken = new ArrayDeque<>();

    /** Streams with a message that waits for memory. */
    private final Set<OpenStreamRunQueueEntry> held = new LinkedHashSet<>();

    /** FPDUs that have arrived in part. */
    final IncompleteInputStallTimer frames;

    /** Messages of which some segments have arrived. */
    final IncompleteInputStallTimer messages;

    OpenStreamRunQueue(DeadlineTaskQueue timers, IwarpConfig config) {
        frames =
                new IncompleteInputStallTimer(
                        timers,
                        open,
                        OpenStreamRunQueueEntry::checkFrameStall,
                        config.frameTimeout());
        messages =
                new IncompleteInputStallTimer(
                        timers,
                        open,
                        OpenStreamRunQueueEntry::checkMessageStall,
                        config.messageTimeout());
    }

    void add(OpenStreamRunQueueEntry stream) {
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
            broken.poll().resolveBroken();
        }
        if (!held.isEmpty()) {
            retryHeld();
        }
    }

    private void retryHeld() {
        for (OpenStreamRunQueueEntry stream : List.copyOf(held)) {
            if (!stream.tryPlaceHeld()) {
                held.remove(stream);
            }
        }
    }

    void detachAll() {
        for (OpenStreamRunQueueEntry stream : open) {
            stream.detach();
        }
    }
}
