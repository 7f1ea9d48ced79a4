// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.hardware;

import java.io.IOException;

/**
 * A memory window of type 2: a key that a work request binds to a range of a registration, for the peer of one queue
 * pair, and that this peer may invalidate.
 */
public abstract class NativeWindow {

    private static final int COUNTED = 0xff;

    private int key;
    private boolean isAllocated = true;

    /** @param key reported by the library */
    protected NativeWindow(int key) {
        this.key = key;
    }

    /** Key of the last binding. */
    final int key() {
        return key;
    }

    /** The key to bind it under next: the lowest eight bits are the program's, and never the same twice in a row. */
    final int nextKey() {
        return (key & ~COUNTED) | ((key + 1) & COUNTED);
    }

    /** The work request that binds it under {@link #nextKey()} is posted. */
    final void bound() {
        key = nextKey();
        remember(key);
    }

    /** Informs the library of the key, which it passes to the device at the next binding. */
    protected abstract void remember(int boundKey);

    /** The {@code ibv_mw}. */
    protected abstract long pointer();

    /** Ends the peer's access before this method returns, and destroys the window. Idempotent. */
    final void free() throws IOException {
        if (isAllocated) {
            isAllocated = false;
            end();
        }
    }

    /** Ends it in the library. Called once. */
    protected abstract void end() throws IOException;
}
