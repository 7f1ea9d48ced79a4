// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

/** Access rights of a peer to exposed memory. Never both: an RPC's memory is either argument or result. */
public enum RemoteAccess {
    /** Read only. */
    READ,

    /** Write only. */
    WRITE
}
