// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs;

/**
 * The size of a queue pair.
 *
 * @param sendDepth the most work requests on the send queue, from posting to completion, signalled or not
 * @param receiveDepth the most receives posted
 * @param inboundReads the most RDMA Reads that the peer may have outstanding (IRD); what is agreed may be less
 * @param outboundReads the most RDMA Reads outstanding here (ORD); further ones wait on the send queue
 */
public record QueuePairConfig(
        int sendDepth, int receiveDepth, int inboundReads, int outboundReads) {}
