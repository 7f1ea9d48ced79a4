// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import java.io.IOException;

/**
 * One RPC failed in the transport; the connection is unharmed unless the subclass says otherwise. One class per cause.
 */
public abstract sealed class RpcRdmaException extends IOException
        permits ErrVersReplyException,
                ErrChunkReplyException,
                DdpEligibilityException,
                MalformedReplyException,
                ReplyPullException,
                CallTooLongException,
                OutboundReplyTooLongException,
                CallQueueFullException,
                MarshalException,
                LocalReplyDecodeException,
                CallTimeoutException,
                ConnectionLostException,
                OptionalOperationUnsupportedByPeerException {

    private static final long serialVersionUID = 1L;

    RpcRdmaException(String message) {
        super(message);
    }

    RpcRdmaException(String message, Throwable cause) {
        super(message, cause);
    }
}
