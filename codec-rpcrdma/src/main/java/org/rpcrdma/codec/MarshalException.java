// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

/**
 * A call could not be built or handed to the device: there was no memory to register, for example (RFC 8166, 4.5.4).
 * Nothing was sent, and other calls are not touched.
 */
public final class MarshalException extends RpcRdmaException {

    private static final long serialVersionUID = 1L;

    MarshalException(Throwable cause) {
        super("the call could not be built: " + cause.getMessage(), cause);
    }
}
