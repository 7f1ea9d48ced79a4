// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp;

import java.util.ArrayDeque;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/** The streams of one context: those that are open, and those among them that wait for a turn in the next poll. */
final class OpenStreamMaintainer {

    private final Set<MaintainedStream> open = new LinkedHashSet<>();
    private final ArrayDeque<MaintainedStream> broken = new ArrayDeque<>();

    /** Streams with a message that waits for memory. */
    private final Set<MaintainedStream> held = new LinkedHashSet<>();

    /** FPDUs that have arrived in part. */
    final IncompleteInputStallTimer frames;

    /** Messages of which some segments have arrived. */
    final IncompleteInputStallTimer messages;

    OpenStreamMaintainer(Timers timers, IwarpConfig config) {
        frames =
                new IncompleteInputStallTimer(
                        timers, open, MaintainedStream::checkFrameStall, config.frameTimeout());
        messages =
                new IncompleteInputStallTimer(
                        timers, open, MaintainedStream::checkMessageStall, config.messageTimeout());
    }

    void add(MaintainedStream stream) {
        open.add(stream);
    }

    /** Returns whether it was there. */
    boolean remove(MaintainedStream stream) {
        held.remove(stream);
        return open.remove(stream);
    }

    /** Has {@link MaintainedStream#resolveBroken} called by the next poll. */
    void broken(MaintainedStream stream) {
        broken.add(stream);
    }

    /** Has {@link MaintainedStream#tryPlaceHeld} called until it tells that nothing waits. */
    void hold(MaintainedStream stream) {
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
        for (MaintainedStream stream : List.copyOf(held)) {
            if (!stream.tryPlaceHeld()) {
                held.remove(stream);
            }
        }
    }

    void detachAll() {
        for (MaintainedStream stream : open) {
            stream.detach();
        }
    }
}
