// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs;

/** Receives the events of a queue pair, always from inside {@link VerbsContext#poll}. */
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
     * @return whether such Writes are expected at all: else the receive completes as flushed, and the connection ends
     */
    default boolean writtenWithImmediate(long id, int length, int immediate) {
        return false;
    }

    /**
     * A message begins to arrive for a receive that was posted without memory. Called while bytes are moved: nothing
     * may be called from here but what gives memory.
     *
     * @param id as given when it was posted
     * @param length the bytes that the message has, or may have at most; not more than was promised
     * @return so much memory, untouched until the receive completes; less, when longer messages are not taken from this
     *     peer; {@code null} when there is none now: the device stops reading from the peer, asks again, and ends the
     *     connection when it has asked for too long
     */
    default ReceiveMemory receiveMemory(long id, int length) {
        throw new UnsupportedOperationException("receive without memory: " + id);
    }

    /**
     * The peer writes into a range that was {@linkplain QueuePair#expose(int) exposed without memory}. Called while
     * bytes are moved: nothing may be called from here but what gives memory.
     *
     * @param key of the range
     * @param start the place of the next byte in the range
     * @param length how many bytes arrive from there on, from 1; all of them are inside the range
     * @return memory for as many bytes or more, untouched until a message of the peer that follows them is complete;
     *     {@code null} when there is none now: the device stops reading from the peer, asks again, and ends the
     *     connection when it has asked for too long
     * @throws IllegalStateException when the peer may not write there yet: the connection ends
     */
    default ReceiveMemory writeMemory(int key, int start, int length) {
        throw new UnsupportedOperationException("exposed without memory: " + key);
    }

    /**
     * A message arrives, no receive is posted, and every completion was delivered. Called while bytes are moved:
     * nothing may be called from here.
     *
     * @return whether receives will be posted soon, whatever the peer does meanwhile: a device that can hold the peer
     *     up does so and asks again; otherwise, and on any other device, the connection ends
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
