// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp.mpa;

import java.nio.ByteBuffer;

/** Lends views of memory to an {@link FpduSender}. */
public interface MemoryViewLender {

    /** Takes back a view that was lent. */
    void release(ByteBuffer view);
}
