// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs;

/** Registered memory for one message. */
public interface ReceiveMemory {

    /** The address of the first byte, as work requests name it. */
    long address();

    /** The region that it is a part of. */
    MemoryRegion region();

    /** Its bytes. A message that turns out to be longer ends the connection. */
    int length();
}
