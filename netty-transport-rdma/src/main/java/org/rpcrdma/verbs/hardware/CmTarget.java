// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.hardware;

/** Receives the events of one connection identifier, on the thread of its event loop. */
public interface CmTarget {

    void happened(CmEvent event);

    /**
     * The device says that the queue pair is broken.
     *
     * @param what in words of verbs
     */
    default void broken(String what) {}
}
