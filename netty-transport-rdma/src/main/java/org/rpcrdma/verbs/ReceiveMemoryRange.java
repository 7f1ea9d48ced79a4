// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs;

/** Registered memory for one message, or for bytes that the peer writes. */
public interface ReceiveMemoryRange {

    /** {@return the address of the first byte, as work requests name it} */
    long address();

    /** {@return the region that it is a part of} */
    MemoryRegion region();

    /** {@return its length in bytes} A message that turns out to be longer ends the connection. */
    int length();
}
