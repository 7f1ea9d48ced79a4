// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

/** How a call has ended on the wire. What the reply says to the upper layer is not looked at. */
public enum CallOutcome {
    /** By an RPC reply. */
    REPLIED,
    /** By RDMA_ERROR. */
    REFUSED,
    /** By a reply that the requester cannot take: eligibility, lengths, or Read chunks that cannot be pulled. */
    BAD_REPLY
}
