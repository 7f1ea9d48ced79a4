// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs;

/** Counters of a context, see {@link EventLoopVerbsContext#value}. Each device counts some of them. */
public enum DeviceCounter {
    /** Bytes received on connections, as far as the device sees them. */
    BYTES_IN,
    /** Bytes sent on connections. */
    BYTES_OUT,
    /** FPDUs received (RFC 5044). */
    FPDUS_IN,
    /** FPDUs sent. */
    FPDUS_OUT,
    /** Connections that were made, by either side. */
    CONNECTIONS_OPENED,
    /** Connections that shared memory carries, of those that were made. */
    CONNECTIONS_SHARED,
    /** Connections that ended, for whatever reason. */
    CONNECTIONS_ENDED,
    /** Connections that ended by an error of the network, or inside a message. */
    CONNECTIONS_LOST,
    /** Connections that ended because the peer has begun a frame or a message and not gone on, of those lost. */
    CONNECTIONS_STALLED,
    /** Start-ups that were refused here: malformed, not supported, or without room. */
    STARTUPS_REFUSED,
    /** Start-ups whose peer did not answer in time. */
    STARTUPS_TIMED_OUT,
    /** Terminate messages sent (RFC 5040, 4.8). */
    TERMINATES_SENT,
    /** Terminate messages received. */
    TERMINATES_RECEIVED,
    /** FPDUs whose CRC was wrong, each of which ended its connection (RFC 5044, 4.4). */
    CRC_ERRORS,
    /** Messages that had to wait for memory. */
    RECEIVES_HELD,
    /** Completions of work requests that have failed, those that were flushed not among them. */
    COMPLETIONS_FAILED
}
