// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.rpc;

/** A message is not an RPC message (RFC 5531, 9): its type, its RPC version or its status is not a defined one. */
public class MalformedHeaderException extends MalformedXdrException {

    private static final long serialVersionUID = 1L;

    MalformedHeaderException(String message) {
        super(message);
    }
}
