// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.hardware;

/** Binds memory windows by work requests of a queue pair. */
interface WindowBinder {

    /** Whether work requests can be posted, now. */
    boolean canBind();

    /**
     * Gives the peer of the queue pair a right in a range, from now on: who hears of the key by a message that is sent
     * after this finds it valid.
     *
     * @param access {@link VerbsConstants#REMOTE_READ} or {@link VerbsConstants#REMOTE_WRITE}
     * @throws IllegalStateException when too many are bound at a time
     */
    void bind(NativeWindow window, NativeRegion registration, long address, int length, int access);

    /**
     * Ends that right before it returns.
     *
     * @return whether it has: else only the end of the window does
     */
    boolean tryUnbind(NativeWindow window);
}
