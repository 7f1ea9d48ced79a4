// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp.mpa;

import org.rpcrdma.Experimental;

/**
 * Policy for the CRC of RFC 5044, 4.4.
 *
 * <p>MPA has no way to decline it: it is on in both directions as soon as the flag C of either start-up frame asks
 * for it (RFC 5044, 7.1.1). So a policy says whether this end asks, and whether it wants a connection with a peer
 * that does.
 */
@Experimental
public enum CrcPolicy {
    /**
     * Never on. Not asked for, and a peer that asks gets no connection: its Request is rejected, its Reply ends the
     * start-up. That leaves out hardware, which always asks. For closed networks where a CRC that is on by mistake
     * should be noticed.
     */
    OFF,
    /**
     * Not asked for, on when the peer asks. RFC 5044, 4.4 wants asking to be the default; this is ours because
     * soft-iWARP does the same, and TCP's checksum and Ethernet's CRC are there in any case.
     */
    ACCEPT,
    /** Asked for, so that it is always on. What RFC 5044 has as default. */
    REQUIRE
}
