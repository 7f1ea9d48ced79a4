// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

/**
 * The requester could not pull a reply in Read chunks: it exceeds a limit, there is no memory for it, or its chunks are
 * not supported. The responder has executed the call; its memory is released.
 */
public final class ReplyPullException extends RpcRdmaException {

    private static final long serialVersionUID = 1L;

    ReplyPullException(String message) {
        super(message);
    }
}
