// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

/**
 * A reply was offered in Read chunks and could not be read here: it is longer than allowed, there is no memory
 * for it, or its chunks are in a form that is not supported. The responder has executed the call, and has its
 * memory back.
 */
public final class PullException extends RpcRdmaException {

    private static final long serialVersionUID = 1L;

    PullException(String message) {
        super(message);
    }
}
