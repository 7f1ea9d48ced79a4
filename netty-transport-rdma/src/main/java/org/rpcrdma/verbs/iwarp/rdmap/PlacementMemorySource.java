// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp.rdmap;

import org.rpcrdma.verbs.ReceiveMemory;

/** Says what becomes of a Send that finds no receive, and of bytes that find no memory. */
public interface PlacementMemorySource {

    /** Memory for the oldest receive: {@link org.rpcrdma.verbs.QueuePairHandler#receiveMemory}. */
    ReceiveMemory memory(long id, int length);

    /** Memory for bytes of a Write: {@link org.rpcrdma.verbs.QueuePairHandler#writeMemory}. */
    default ReceiveMemory writeMemory(int key, int start, int length) {
        return null;
    }

    /**
     * Whether receives will be posted without anything more from the peer: the owner has not heard yet that the last
     * ones are used, or it says so ({@link org.rpcrdma.verbs.QueuePairHandler#receivesFollow}).
     */
    default boolean receivesFollow() {
        return false;
    }
}
