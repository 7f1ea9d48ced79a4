// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

/**
 * Is told how long things have taken, by {@link RpcRdmaMetrics#addListener}. Runs on the event loop of the
 * connection, in the middle of a message: it must be quick, and must not touch the channel. What it throws is logged.
 * All times are in nanoseconds.
 */
public interface RpcRdmaListener {

    /**
     * A call has ended by an answer.
     *
     * @param role which side of the call this is
     * @param procedure what the upper-layer binding calls it: one of a small number of constants; {@code null} when no
     *     binding knows it
     * @param outcome how it has ended
     * @param nanos as requester from its write to its reply, the wait for a credit included; as responder from when its
     *     message was received until its reply is given to the device
     */
    default void callEnded(RpcRdmaRole role, String procedure, CallOutcome outcome, long nanos) {}

    /**
     * A call that had to wait for a credit has got one.
     *
     * @param nanos how long it has waited, in nanoseconds
     */
    default void creditGot(long nanos) {}

    /**
     * An attempt of an {@link org.rpcrdma.codec.client.RpcRdmaClient} to connect is over.
     *
     * @param isConnected whether there is a connection now
     * @param nanos how long the attempt took, in nanoseconds
     */
    default void connectEnded(boolean isConnected, long nanos) {}
}
