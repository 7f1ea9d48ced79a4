// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp.mpa;

import org.rpcrdma.Experimental;

/**
 * A ready-to-receive message, which an initiator owes in the peer-to-peer model: RFC 6581, 9.2. In the order in which
 * an initiator prefers them.
 */
@Experimental
public enum Rtr {
    /** Touches nothing at the responder. */
    ZERO_LENGTH_WRITE,

    /** Takes a slot of the responder's inbound read depth, and is answered. */
    ZERO_LENGTH_READ,

    /**
     * Takes a receive of the responder's ULP, unless the responder is this software RNIC, which keeps it to itself.
     * Soft-iWARP and Intel hardware do not know it.
     */
    ZERO_LENGTH_SEND
}
