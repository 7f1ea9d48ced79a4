// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

/**
 * At a responder: a reply is longer than what the requester offered for it, and was not sent; the requester got
 * ERR_CHUNK (RFC 8166, 4.5.3).
 */
public final class OutboundReplyTooLongException extends RpcRdmaException {

    private static final long serialVersionUID = 1L;

    OutboundReplyTooLongException(String message) {
        super(message);
    }
}
