// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp.rdmap;

import org.rpcrdma.verbs.ReceiveMemoryRange;

/** Supplies memory when data arrive for which there is none: a Send, or bytes of an RDMA Write. */
public interface OnDemandInboundMemorySupplier {

    /** Memory for the oldest receive: {@link org.rpcrdma.verbs.QueuePairHandler#receiveMemory}. */
    ReceiveMemoryRange memory(long id, int length);

    /** Memory for bytes of a Write: {@link org.rpcrdma.verbs.QueuePairHandler#writeMemory}. */
    default ReceiveMemoryRange writeMemory(int key, int start, int length) {
        return null;
    }

    /** Progress of Writes that no message has told of: {@link org.rpcrdma.verbs.QueuePairHandler#unannounced}. */
    default long unannounced() {
        return -1;
    }

    /**
     * Whether receives will be posted without another message of the peer: completions of the last ones are not
     * delivered yet, or the owner says so ({@link org.rpcrdma.verbs.QueuePairHandler#receivesFollow}).
     */
    default boolean receivesFollow() {
        return false;
    }
}
