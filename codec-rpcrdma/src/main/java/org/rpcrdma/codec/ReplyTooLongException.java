// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

/** A reply longer than what the requester offered for it; the requester got ERR_CHUNK (RFC 8166, 4.5.3). */
public final class ReplyTooLongException extends RpcRdmaException {

    private static final long serialVersionUID = 1L;

    ReplyTooLongException(String message) {
        super(message);
    }
}
