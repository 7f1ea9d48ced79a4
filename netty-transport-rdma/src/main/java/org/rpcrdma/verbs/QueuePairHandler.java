// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs;

/** What a queue pair reports, always from inside {@link VerbsContext#poll}. */
public interface QueuePairHandler {

    /**
     * The connection exists. Called once, on either side.
     *
     * @param privateData what the peer sent with its request or answer, empty when it sent none
     */
    void connected(byte[] privateData);

    /**
     * The connection could not be made. Nothing follows.
     *
     * @param cause a {@link java.net.ConnectException} when the peer refused, a {@link RejectedException} when it
     *     rejected, otherwise what happened
     */
    void connectFailed(Throwable cause);

    /**
     * A work request is complete.
     *
     * @param id as given when it was posted
     * @param length the bytes received, for a receive; otherwise undefined
     * @param invalidatedKey the key that the peer invalidated with the message, or 0
     */
    void completed(long id, WorkStatus status, int length, int invalidatedKey);

    /**
     * The connection has ended, and every completion was delivered before. Called once after {@link #connected}.
     *
     * @param cause {@code null} for an orderly end by either side
     */
    void disconnected(Throwable cause);
}
