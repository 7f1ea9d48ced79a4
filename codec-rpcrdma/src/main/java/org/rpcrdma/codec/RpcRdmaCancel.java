// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import java.util.concurrent.CancellationException;

/**
 * Written to the channel to give up a call. A call that waits for a credit is taken out of the queue and its promise
 * fails. A call that was sent keeps its credit and its XID until the late reply, which is dropped, or the end of the
 * connection. An unknown XID is no error: the reply has overtaken.
 *
 * <p>A cancel that fences takes the memory of the call out of the responder's reach before its promise completes (RFC
 * 8166, 4.4.1). When the responder still uses the memory, or names its handle in a Send With Invalidate, the device
 * ends the connection, and all other calls with it. One that does not fence leaves the memory to the responder, and
 * with the transport, until the late reply: the connection lives, and nobody else gets the memory meanwhile.
 *
 * <p>A call that exposes nothing costs nothing either way: one that is short and has neither Write chunks nor, by
 * {@link ReadChunkReplyConfig.ReplyChunks#NEVER}, a Reply chunk. Its late reply is told off with a pull completion.
 *
 * @param xid of the call
 * @param fences whether the memory is taken away at once
 */
public record RpcRdmaCancel(int xid, boolean fences) {

    /**
     * Fences the memory of the call at once.
     *
     * @param xid of the call, in the byte order of an {@code int} that was read from its message
     */
    public RpcRdmaCancel(int xid) {
        this(xid, true);
    }

    /** How the write of a call ends that was not sent yet. */
    CancellationException exception() {
        return new CancellationException("call 0x" + Integer.toHexString(xid) + " was cancelled");
    }
}
