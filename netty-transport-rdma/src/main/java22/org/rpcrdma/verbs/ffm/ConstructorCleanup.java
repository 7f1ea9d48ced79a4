// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.ffm;

import java.util.ArrayDeque;

/** Steps that undo a constructor which fails, the last one first. */
final class ConstructorCleanup {

    private final ArrayDeque<Runnable> steps = new ArrayDeque<>();

    void add(Runnable step) {
        steps.push(step);
    }

    void run() {
        steps.forEach(Runnable::run);
    }
}
