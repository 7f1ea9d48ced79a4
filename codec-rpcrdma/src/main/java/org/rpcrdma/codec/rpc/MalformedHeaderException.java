// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.rpc;

/** A message is no RPC message (RFC 5531, 9), or ends in its header; the message says what was found and expected. */
public class MalformedHeaderException extends Exception {

    private static final long serialVersionUID = 1L;

    MalformedHeaderException(String message) {
        super(message);
    }
}
