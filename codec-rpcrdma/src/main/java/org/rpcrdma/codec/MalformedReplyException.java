// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

/** The results of a reply do not agree with its chunks (RFC 8166, 3.4.6), or are not a reply at all. */
public final class MalformedReplyException extends RpcRdmaException {

    private static final long serialVersionUID = 1L;

    MalformedReplyException(String message) {
        super(message);
    }
}
