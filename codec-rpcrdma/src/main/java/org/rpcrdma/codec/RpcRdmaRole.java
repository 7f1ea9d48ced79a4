// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

/** The two sides of a call (RFC 8166, 2.1). A connection whose reverse direction is open has both at either end. */
public enum RpcRdmaRole {
    /** Sends calls and receives replies. */
    REQUESTER,
    /** Receives calls and sends replies. */
    RESPONDER
}
