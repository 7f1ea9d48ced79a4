// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs;

/**
 * Receives the events of a queue pair, always from inside {@link EventLoopVerbsContext#poll} or {@link
 * EventLoopVerbsContext#deliverQueued}.
 */
public interface QueuePairHandler {

    /**
     * The connection exists. Called once, on either side.
     *
     * @param privateData what the peer sent with its request or answer, empty when it sent none
     */
    void connected(byte[] privateData);

    /**
     * The connection failed. No further events.
     *
     * @param cause a {@link java.net.ConnectException} when the peer refused, a {@link RejectedException} when it
     *     rejected, otherwise the failure
     */
    void connectFailed(Throwable cause);

    /**
     * A work request is complete.
     *
     * @param id as given when it was posted
     * @param status how it has ended
     * @param length the bytes received, for a receive; otherwise undefined
     * @param invalidatedKey the key that the peer invalidated with the message, or 0
     */
    void completed(long id, WorkStatus status, int length, int invalidatedKey);

    /**
     * An RDMA Write with Immediate of the peer has used up the oldest receive, whose memory is as it was. Called in the
     * place of {@link #completed}, and never without {@link DeviceCapabilities#writesWithImmediate()}.
     *
     * @param id of the receive, as given when it was posted
     * @param length the bytes that this Write has written, wherever that was
     * @param immediate as the peer has given it
     * @return whether such Writes are expected: if not, the receive completes as flushed, and the connection ends
     */
    default boolean acceptWriteWithImmediate(long id, int length, int immediate) {
        return false;
    }

    /**
     * A message is arriving for a receive that was posted without memory. Called during data transfer: the
     * implementation may only allocate memory.
     *
     * @param id as given when it was posted
     * @param length the exact or the maximum bytes of the message, at most those of the receive
     * @return memory of that length, not to be accessed until the receive completes; less, to refuse longer messages;
     *     {@code null} for lack of memory: the device stops reading from the peer, retries, and ends the connection
     *     after a time-out
     */
    default ReceiveMemoryRange receiveMemory(long id, int length) {
        throw new UnsupportedOperationException("receive without memory: " + id);
    }

    /**
     * The peer writes into a range that was {@linkplain QueuePair#expose(int) exposed without memory}. Called during
     * data transfer: the implementation may only allocate memory.
     *
     * @param key of the range
     * @param start offset of the next byte in the range
     * @param length bytes that arrive from there, from 1; all inside the range
     * @return memory for at least that many bytes, not to be accessed until a later message of the peer completes;
     *     {@code null} for lack of memory: the device stops reading from the peer, retries, and ends the connection
     *     after a time-out
     * @throws IllegalStateException when the peer may not write there yet: the connection ends
     */
    default ReceiveMemoryRange writeMemory(int key, int start, int length) {
        throw new UnsupportedOperationException("exposed without memory: " + key);
    }

    /**
     * Looks for bytes that keep memory of {@link #writeMemory} and that no message of the peer has told of yet. A
     * device with a time limit for incomplete messages applies it to them: a silent peer would keep the memory.
     *
     * @return a number that changes with each byte that is written or told of; negative when there are none
     */
    default long unannounced() {
        return -1;
    }

    /**
     * A message is arriving, no receive is posted, and every completion was delivered. Called during data transfer: the
     * implementation must not call the queue pair.
     *
     * @return whether receives will be posted without another message of the peer: a device with flow control then
     *     delays the peer, asks again, and ends the connection after a time-out; otherwise the connection ends at once
     */
    default boolean receivesFollow() {
        return false;
    }

    /**
     * The connection has ended, and every completion was delivered before. Called once after {@link #connected}.
     *
     * @param cause {@code null} for an orderly end by either side
     */
    void disconnected(Throwable cause);
}
