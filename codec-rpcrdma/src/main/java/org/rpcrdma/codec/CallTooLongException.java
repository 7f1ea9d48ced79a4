// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

/** A call that the configuration or the connection cannot carry. Nothing was sent. */
public final class CallTooLongException extends RpcRdmaException {

    private static final long serialVersionUID = 1L;

    CallTooLongException(String message) {
        super(message);
    }
}
