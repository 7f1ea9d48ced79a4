// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

/**
 * A reply has arrived and could not be decoded for a reason on this side: the upper-layer binding has thrown the cause
 * of this exception, or there was no memory. The responder has executed the call, and the connection is not affected.
 */
public final class LocalReplyDecodeException extends RpcRdmaException {

    private static final long serialVersionUID = 1L;

    LocalReplyDecodeException(Throwable cause) {
        super(
                "the reply could not be read: "
                        + (cause instanceof FaultyUpperLayerBindingException
                                ? cause.getMessage()
                                : cause),
                cause instanceof FaultyUpperLayerBindingException ? cause.getCause() : cause);
    }
}
