// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

/** Result of a call on the wire. The status that the reply has for the upper layer is not considered. */
public enum CallOutcome {
    /** By an RPC reply. */
    REPLIED,
    /** By RDMA_ERROR. */
    REFUSED,
    /** By a reply that the requester cannot take: eligibility, lengths, or Read chunks that cannot be pulled. */
    BAD_REPLY
}
