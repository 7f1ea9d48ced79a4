// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

/**
 * Receives durations; registered by {@link RpcRdmaMetrics#addListener}. Called on the event loop of the connection
 * while a message is processed: must not block, and must not use the channel. Exceptions are logged. All times are in
 * nanoseconds.
 */
public interface RpcRdmaLatencyListener {

    /**
     * A call has ended by an answer.
     *
     * @param role of this side
     * @param procedure name from the upper-layer binding, one of a small number of constants; {@code null} if unknown
     * @param outcome how it has ended
     * @param nanos at the requester from write to reply, including the wait for a credit; at the responder from receipt
     *     of the call until its reply is passed to the device
     */
    default void callEnded(
            RpcRdmaRole role, String procedure, RpcRdmaCallOutcome outcome, long nanos) {}

    /**
     * A call that waited for a credit has received one.
     *
     * @param nanos how long it has waited, in nanoseconds
     */
    default void creditGot(long nanos) {}

    /**
     * An attempt of an {@link org.rpcrdma.codec.client.RpcRdmaClient} to connect has ended.
     *
     * @param isConnected whether there is a connection now
     * @param nanos how long the attempt took, in nanoseconds
     */
    default void connectEnded(boolean isConnected, long nanos) {}
}
