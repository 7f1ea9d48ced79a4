// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

/**
 * A reply has come and could not be read here: the upper-layer binding has thrown what is the cause of this exception,
 * or there was no memory. The responder has executed the call, and nothing is wrong with the connection.
 */
public final class UnmarshalException extends RpcRdmaException {

    private static final long serialVersionUID = 1L;

    UnmarshalException(Throwable cause) {
        super(
                "the reply could not be read: "
                        + (cause instanceof BindingException ? cause.getMessage() : cause),
                cause instanceof BindingException ? cause.getCause() : cause);
    }
}
