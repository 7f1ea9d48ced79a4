// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import java.util.concurrent.CancellationException;

/**
 * Cancels a call when written to the channel. A call that waits for a credit is removed from the queue and its promise
 * fails. A call that was sent keeps its credit and its XID until the late reply, which is dropped, or the end of the
 * connection. An unknown XID is no error: the reply may have arrived first.
 *
 * <p>With {@code fences}, the memory of the call is invalidated before the cancel's promise completes (RFC 8166,
 * 4.4.1). If the responder still uses the memory, or names its handle in a Send With Invalidate, the device ends the
 * connection and with it all other calls. Without {@code fences}, the memory stays exposed, and owned by the transport,
 * until the late reply: the connection is not at risk, and the memory is not reused before.
 *
 * <p>Cancelling a call that exposes no memory has no cost either way: a short call without Write chunks and, by {@link
 * ReadChunkReplyConfig.ReplyChunks#NEVER}, without a Reply chunk. Its late reply in Read chunks is answered with a pull
 * completion.
 *
 * @param xid of the call
 * @param fences whether the memory is invalidated at once
 */
public record RpcRdmaCancel(int xid, boolean fences) {

    /**
     * Cancels a call and invalidates its memory at once.
     *
     * @param xid of the call, in the byte order of an {@code int} that was read from its message
     */
    public RpcRdmaCancel(int xid) {
        this(xid, true);
    }

    /** The failure of the write of a call that was not sent. */
    CancellationException exception() {
        return new CancellationException("call 0x" + Integer.toHexString(xid) + " was cancelled");
    }
}
