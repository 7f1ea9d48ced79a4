// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.rpc;

/** No reply came in time. Whether the server has done what it was called for is not known. */
public final class RpcTimeoutException extends RpcException {

    private static final long serialVersionUID = 1L;

    public RpcTimeoutException(String message) {
        super(message);
    }
}
