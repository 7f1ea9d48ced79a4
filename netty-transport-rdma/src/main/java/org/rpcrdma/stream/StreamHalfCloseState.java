// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.stream;

/** Tracks which directions of a stream have ended, and on which side. */
public final class StreamHalfCloseState {

    private boolean inputOver;
    private boolean outputOver;
    private boolean disconnectReceived;
    private boolean disconnectSent;

    /** A SHUTDOWN message was received: no data follows. */
    public void shutdownReceived() {
        inputOver = true;
    }

    /** A DISCONNECT message was received: both directions are over. */
    public void disconnectReceived() {
        inputOver = true;
        disconnectReceived = true;
    }

    /** A SHUTDOWN message was sent, or is queued after the data in flight. */
    public void shutdownSent() {
        outputOver = true;
    }

    /** A DISCONNECT message was sent. */
    public void disconnectSent() {
        outputOver = true;
        disconnectSent = true;
    }

    /** Whether the peer sends no more data. What it has sent may still wait to be read. */
    public boolean isInputOver() {
        return inputOver;
    }

    /** Whether this end sends no more data. */
    public boolean isOutputOver() {
        return outputOver || disconnectReceived;
    }

    /** Whether the peer has ended both directions. */
    public boolean isDisconnected() {
        return disconnectReceived;
    }

    /** Whether this end must send DISCONNECT. An end that has received one does not answer. */
    public boolean owesDisconnect() {
        return !disconnectReceived && !disconnectSent;
    }

    /**
     * Whether a connection that ends now has lost no data: both directions were ended by messages.
     *
     * @param isByPeer whether the peer ends it; by this alone a sent DISCONNECT is known to have arrived
     */
    public boolean isOrderly(boolean isByPeer) {
        if (disconnectSent && !disconnectReceived) {
            return isByPeer;
        }
        return disconnectReceived || (inputOver && outputOver);
    }

    /**
     * Data have arrived.
     *
     * @throws StreamProtocolException when the peer had ended its direction
     */
    public void dataReceived() throws StreamProtocolException {
        if (inputOver) {
            throw new StreamProtocolException(
                    "The peer sent data after its "
                            + (disconnectReceived ? "DISCONNECT" : "SHUTDOWN")
                            + " message");
        }
    }
}
