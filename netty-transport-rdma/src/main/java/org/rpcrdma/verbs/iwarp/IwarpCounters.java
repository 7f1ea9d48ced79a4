// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp;

import java.util.stream.LongStream;
import org.rpcrdma.verbs.DeviceCounter;
import org.rpcrdma.verbs.iwarp.mpa.StreamError;

/**
 * Counters of one context. Only its thread counts; another thread may read, and may see numbers that are a little
 * old.
 */
public final class IwarpCounters {

    private static final int LAYERS = 4;

    long bytesIn;
    long bytesOut;
    long fpdusIn;
    long fpdusOut;
    long connectionsOpened;
    long connectionsEnded;
    long connectionsShared;
    long startupsRefused;
    long startupsTimedOut;
    long connectionsLost;
    long connectionsStalled;
    long crcErrors;
    long receivesHeld;
    private final long[] terminatesSent = new long[LAYERS];
    private final long[] terminatesReceived = new long[LAYERS];

    IwarpCounters() {}

    void terminateSent(int layer) {
        terminatesSent[Math.min(layer, LAYERS - 1)]++;
    }

    void terminateReceived(int layer) {
        terminatesReceived[Math.min(layer, LAYERS - 1)]++;
    }

    /** As {@link org.rpcrdma.verbs.EventLoopVerbsContext#value}. */
    long value(DeviceCounter counter) {
        return switch (counter) {
            case BYTES_IN -> bytesIn;
            case BYTES_OUT -> bytesOut;
            case FPDUS_IN -> fpdusIn;
            case FPDUS_OUT -> fpdusOut;
            case CONNECTIONS_OPENED -> connectionsOpened;
            case CONNECTIONS_SHARED -> connectionsShared;
            case CONNECTIONS_ENDED -> connectionsEnded;
            case CONNECTIONS_LOST -> connectionsLost;
            case CONNECTIONS_STALLED -> connectionsStalled;
            case STARTUPS_REFUSED -> startupsRefused;
            case STARTUPS_TIMED_OUT -> startupsTimedOut;
            case TERMINATES_SENT -> LongStream.of(terminatesSent).sum();
            case TERMINATES_RECEIVED -> LongStream.of(terminatesReceived).sum();
            case CRC_ERRORS -> crcErrors;
            case RECEIVES_HELD -> receivesHeld;
            case COMPLETIONS_FAILED -> -1;
        };
    }

    /** {@return bytes received after start-up, without markers} */
    public long bytesIn() {
        return bytesIn;
    }

    /** {@return bytes sent after start-up, with markers} */
    public long bytesOut() {
        return bytesOut;
    }

    /** {@return FPDUs received} */
    public long fpdusIn() {
        return fpdusIn;
    }

    /** {@return FPDUs sent} */
    public long fpdusOut() {
        return fpdusOut;
    }

    /** {@return connections whose start-up has succeeded} */
    public long connectionsOpened() {
        return connectionsOpened;
    }

    /** {@return connections that have ended after their start-up had succeeded} */
    public long connectionsEnded() {
        return connectionsEnded;
    }

    /** {@return connections that are carried by shared memory, of those opened} */
    public long connectionsShared() {
        return connectionsShared;
    }

    /**
     * {@return start-ups that ended because a frame was malformed, something was asked that is not supported, or for
     * lack of room}
     */
    public long startupsRefused() {
        return startupsRefused;
    }

    /** {@return start-ups whose peer did not answer in time} */
    public long startupsTimedOut() {
        return startupsTimedOut;
    }

    /** {@return connections that ended by a TCP error, or inside a message} */
    public long connectionsLost() {
        return connectionsLost;
    }

    /**
     * {@return connections that ended because the peer has begun an FPDU or a message and not gone on, of those lost}
     */
    public long connectionsStalled() {
        return connectionsStalled;
    }

    /** {@return FPDUs whose CRC was wrong, each of which ended its connection} */
    public long crcErrors() {
        return crcErrors;
    }

    /** {@return messages that had to wait for memory} */
    public long receivesHeld() {
        return receivesHeld;
    }

    /**
     * {@return Terminate messages sent}
     *
     * @param layer the layer of the error, {@link StreamError#LAYER_RDMAP} to {@link StreamError#LAYER_LLP}
     */
    public long terminatesSent(int layer) {
        return terminatesSent[layer];
    }

    /**
     * {@return Terminate messages received}
     *
     * @param layer the layer of the error, or 3 for one that is not known
     */
    public long terminatesReceived(int layer) {
        return terminatesReceived[layer];
    }

    /** Connections, bytes and Terminate messages. Any thread. */
    @Override
    public String toString() {
        return "IwarpCounters("
                + connectionsOpened
                + " connections opened, "
                + connectionsShared
                + " of them shared, "
                + connectionsEnded
                + " ended, "
                + connectionsLost
                + " lost, "
                + startupsRefused
                + " refused, "
                + startupsTimedOut
                + " timed out; bytes "
                + bytesIn
                + " in, "
                + bytesOut
                + " out; Terminates "
                + value(DeviceCounter.TERMINATES_SENT)
                + " sent, "
                + value(DeviceCounter.TERMINATES_RECEIVED)
                + " received)";
    }
}
