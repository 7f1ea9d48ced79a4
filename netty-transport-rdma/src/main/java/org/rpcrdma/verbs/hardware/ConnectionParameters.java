// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.hardware;

/**
 * Parameters of a connection for the connection manager.
 *
 * @param privateData for the peer
 * @param inboundReads the most Reads that the peer may have outstanding ({@code responder_resources})
 * @param outboundReads the most Reads outstanding here ({@code initiator_depth})
 */
@SuppressWarnings("ArrayRecordComponent") // passed on, never compared
public record ConnectionParameters(byte[] privateData, int inboundReads, int outboundReads) {}
