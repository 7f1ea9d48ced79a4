// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp.mpa;

/** The ready-to-receive message that an initiator owes in the peer-to-peer model: RFC 6581, 9.2. */
public enum Rtr {
    NONE,
    ZERO_LENGTH_WRITE,
    ZERO_LENGTH_READ
}
