// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.ffm;

import java.util.ArrayDeque;

/** What has to be undone when a constructor fails, the last first. */
final class Undo {

    private final ArrayDeque<Runnable> steps = new ArrayDeque<>();

    void add(Runnable step) {
        steps.push(step);
    }

    void run() {
        steps.forEach(Runnable::run);
    }
}
