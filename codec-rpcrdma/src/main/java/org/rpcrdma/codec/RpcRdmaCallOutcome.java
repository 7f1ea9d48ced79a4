// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

/** Result of a call on the wire. The status that the reply has for the upper layer is not considered. */
public enum RpcRdmaCallOutcome {
    /** By an RPC reply. */
    REPLIED,
    /** By RDMA_ERROR. */
    REFUSED,
    /** By a reply that the requester rejects: DDP-eligibility, lengths, or Read chunks that it cannot pull. */
    BAD_REPLY
}
