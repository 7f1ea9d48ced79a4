// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

/** More calls wait for a credit than the configuration allows. Nothing was sent. */
public final class CallQueueFullException extends RpcRdmaException {

    private static final long serialVersionUID = 1L;

    CallQueueFullException(int limit) {
        super(
                limit
                        + " calls wait for a credit (expected: fewer; slow down, or raise"
                        + " maxQueuedCalls)");
    }
}
