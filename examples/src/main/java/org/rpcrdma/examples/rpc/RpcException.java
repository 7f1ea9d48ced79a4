// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.rpc;

import java.io.IOException;

/** A call has no result: the server did not take it, or its reply makes no sense. The message is for a person. */
public class RpcException extends IOException {

    private static final long serialVersionUID = 1L;

    public RpcException(String message) {
        super(message);
    }

    public RpcException(String message, Throwable cause) {
        super(message, cause);
    }
}
