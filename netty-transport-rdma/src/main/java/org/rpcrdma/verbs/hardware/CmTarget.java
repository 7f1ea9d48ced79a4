// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.hardware;

/** Who is told of the events of one identifier, by the thread of its event loop. */
public interface CmTarget {

    void happened(CmEvent event);

    /**
     * The device says that the queue pair is broken.
     *
     * @param what in words of verbs
     */
    default void broken(String what) {}
}
