// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs;

/** Memory that work requests of one {@link EventLoopVerbsContext} may name. */
public interface MemoryRegion {

    /** {@return the address of the first byte, as given when it was registered} */
    long address();

    /** {@return the length in bytes} */
    int length();

    /** {@return the key that work requests carry for this memory} Never sent to a peer. */
    int localKey();

    /** Ends the registration. What is exposed of it is invalidated first; no posted work request may name it. */
    void deregister();

    /** As {@link #deregister()} for memory that is freed next: nothing may be kept for a later registration of it. */
    default void forget() {
        deregister();
    }
}
