// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

/** Gauges of {@link RpcRdmaMetrics}: sums over the open connections at this moment. */
public enum RpcRdmaGauge {
    /** Calls that were sent and are not answered. */
    CALLS_IN_FLIGHT,
    /** Calls that wait for a credit. */
    CALLS_WAITING,
    /** Credits that the peers have granted as responders. */
    CREDITS_GRANTED,
    /** Calls of the peers that are not answered. */
    CALLS_IN_PROGRESS,
    /** Credits that are granted to the peers. */
    CREDITS_OFFERED,
    /** Replies in Read chunks that wait for their pull completion. */
    REPLIES_WAITING,
    /** Bytes of messages whose Read chunks are being read, or were read and are not answered yet. */
    READ_BYTES_HELD
}
