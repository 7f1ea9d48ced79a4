// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.hardware;

/** Handles the events of one connection identifier, on the thread of its event loop. */
public interface CmEventHandler {

    void happened(CmEvent event);

    /**
     * The device reports that the queue pair has failed.
     *
     * @param what name of the event in verbs
     */
    default void broken(String what) {}
}
