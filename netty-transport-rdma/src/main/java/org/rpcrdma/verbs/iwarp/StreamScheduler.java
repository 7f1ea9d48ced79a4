// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp;

import java.util.ArrayDeque;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/** The streams of one context: those that are open, and those among them that wait for a turn in the next poll. */
final class StreamScheduler {

    private final Set<ScheduledStream> open = new LinkedHashSet<>();
    private final ArrayDeque<ScheduledStream> broken = new ArrayDeque<>();

    /** Streams with a message that waits for memory. */
    private final Set<ScheduledStream> held = new LinkedHashSet<>();

    /** FPDUs that have arrived in part. */
    final ReceiveStallTimer frames;

    /** Messages of which some segments have arrived. */
    final ReceiveStallTimer messages;

    StreamScheduler(Timers timers, IwarpConfig config) {
        frames =
                new ReceiveStallTimer(
                        timers, open, ScheduledStream::lookAtFrame, config.frameTimeout());
        messages =
                new ReceiveStallTimer(
                        timers, open, ScheduledStream::lookAtMessage, config.messageTimeout());
    }

    void add(ScheduledStream stream) {
        open.add(stream);
    }

    /** Returns whether it was there. */
    boolean remove(ScheduledStream stream) {
        held.remove(stream);
        return open.remove(stream);
    }

    /** Has {@link ScheduledStream#resolveBroken} called by the next poll. */
    void broken(ScheduledStream stream) {
        broken.add(stream);
    }

    /** Has {@link ScheduledStream#retryHeld} called until it tells that nothing waits. */
    void hold(ScheduledStream stream) {
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
        for (ScheduledStream stream : List.copyOf(held)) {
            if (!stream.retryHeld()) {
                held.remove(stream);
            }
        }
    }

    void detachAll() {
        for (ScheduledStream stream : open) {
            stream.detach();
        }
    }
}
