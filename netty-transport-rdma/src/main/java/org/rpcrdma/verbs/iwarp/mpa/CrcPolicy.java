// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp.mpa;

/** When the CRC of RFC 5044, 4.4 is used. It is on in both directions if either side asks for it. */
public enum CrcPolicy {
    /** Never: a peer that asks for it is refused. A deviation from RFC 5044, for trusted links. */
    OFF,
    /** Not asked for; on when the peer asks. */
    ACCEPT,
    /** Asked for, so that it is always on. */
    REQUIRE
}
