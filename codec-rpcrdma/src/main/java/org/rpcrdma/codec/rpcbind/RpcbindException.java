// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.rpcbind;

import java.io.IOException;

/**
 * An rpcbind has refused a request, has answered what is no answer, or does not know the service; the text says which
 * rpcbind, and what it answered.
 */
public final class RpcbindException extends IOException {

    private static final long serialVersionUID = 1L;

    RpcbindException(String message) {
        super(message);
    }

    RpcbindException(String message, Throwable cause) {
        super(message, cause);
    }
}
