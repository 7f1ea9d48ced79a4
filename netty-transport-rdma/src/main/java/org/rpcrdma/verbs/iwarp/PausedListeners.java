// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp;

import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.Set;

/** Listeners of one context that pause accepting until there is room. */
final class PausedListeners {

    /** Listener that can be paused. */
    interface Acceptor {

        boolean hasRoom();

        /** Accepts again. */
        void resume();
    }

    /** Not final, for tests: a set for which there is no memory. */
    Set<Acceptor> paused = new LinkedHashSet<>();

    /** Has {@link Acceptor#resume()} called once there is room. */
    void add(Acceptor listener) {
        paused.add(listener);
    }

    void remove(Acceptor listener) {
        paused.remove(listener);
    }

    /**
     * Resumes where there is room again. Called in each poll, and before the thread blocks: room that this thread
     * itself has made, such as by a time-out, wakes nobody.
     */
    void resume() {
        for (Iterator<Acceptor> each = paused.iterator(); each.hasNext(); ) {
            Acceptor listener = each.next();
            if (listener.hasRoom()) {
                each.remove();
                listener.resume();
            }
        }
    }
}
