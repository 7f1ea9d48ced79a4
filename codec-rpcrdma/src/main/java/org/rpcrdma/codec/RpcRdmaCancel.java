// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

/**
 * Written to the channel to give up a call. A call that waits for a credit is taken out of the queue and its promise fails.
 * The memory of a call that was sent is out of the responder's reach when the promise of this message completes; its credit
 * and its XID stay taken until the late reply or the end of the connection (RFC 8166, 4.4.1). When the responder still
 * writes to that memory, the device ends the connection. An unknown XID is no error: the reply has overtaken.
 *
 * @param xid of the call
 */
public record RpcRdmaCancel(int xid) {}
