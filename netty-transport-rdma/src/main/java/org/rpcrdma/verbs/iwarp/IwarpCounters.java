// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp;

import java.util.stream.LongStream;
import org.rpcrdma.verbs.DeviceCounter;
import org.rpcrdma.verbs.iwarp.mpa.StreamError;

/**
 * What one context has counted. Only its thread counts; another thread may read, and may see numbers that are a
 * little old.
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

    /** As {@link org.rpcrdma.verbs.VerbsContext#value}. */
    long value(DeviceCounter counter) {
        return switch (counter) {
            case BYTES_IN -> bytesIn;
            case BYTES_OUT -> bytesOut;
            case FPDUS_IN -> fpdusIn;
            case FPDUS_OUT -> fpdusOut;
            case CONNECTIONS_OPENED -> connectionsOpened;
            case CONNECTIONS_ENDED -> connectionsEnded;
            case CONNECTIONS_LOST -> connectionsLost;
            case STARTUPS_REFUSED -> startupsRefused;
            case STARTUPS_TIMED_OUT -> startupsTimedOut;
            case TERMINATES_SENT -> LongStream.of(terminatesSent).sum();
            case TERMINATES_RECEIVED -> LongStream.of(terminatesReceived).sum();
            case RECEIVES_HELD -> receivesHeld;
            case COMPLETIONS_FAILED -> -1;
        };
    }

    /** Bytes received after start-up, without markers. */
    public long bytesIn() {
        return bytesIn;
    }

    /** Bytes sent after start-up, with markers. */
    public long bytesOut() {
        return bytesOut;
    }

    public long fpdusIn() {
        return fpdusIn;
    }

    public long fpdusOut() {
        return fpdusOut;
    }

    public long connectionsOpened() {
        return connectionsOpened;
    }

    public long connectionsEnded() {
        return connectionsEnded;
    }

    /** Connections that are carried by shared memory, of those opened. */
    public long connectionsShared() {
        return connectionsShared;
    }

    /**
     * Start-ups that ended because a frame was malformed, something was asked that is not supported, or for lack
     * of room.
     */
    public long startupsRefused() {
        return startupsRefused;
    }

    /** Start-ups whose peer did not answer in time. */
    public long startupsTimedOut() {
        return startupsTimedOut;
    }

    /** Connections that ended by a TCP error, or inside a message. */
    public long connectionsLost() {
        return connectionsLost;
    }

    /** Messages that had to wait for memory. */
    public long receivesHeld() {
        return receivesHeld;
    }

    /**
     * Terminate messages sent.
     *
     * @param layer the layer of the error, {@link StreamError#LAYER_RDMAP} to {@link StreamError#LAYER_LLP}
     */
    public long terminatesSent(int layer) {
        return terminatesSent[layer];
    }

    /**
     * Terminate messages received.
     *
     * @param layer the layer of the error, or 3 for one that is not known
     */
    public long terminatesReceived(int layer) {
        return terminatesReceived[layer];
    }
}
