// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import org.rpcrdma.stream.StreamHalfCloseState;

/** Counts one stream, from its connection to its end, for its event loop. Event loop only. */
final class StreamCounterUpdater {

    private final EventLoopDevicePoller poller;
    private final EventLoopStreamStateGauges loop;

    /** Between the connection and its end. */
    private boolean isOpen;

    private long sentBytes;
    private int credits;
    private boolean isWaiting;
    private boolean hasOutputEnded;
    private boolean hasInputEnded;

    StreamCounterUpdater(EventLoopDevicePoller poller) {
        this.poller = poller;
        this.loop = poller.streams();
    }

    void opened(StreamOutput output) {
        isOpen = true;
        poller.count(RdmaCounter.STREAMS_OPENED);
        loop.open(1);
        outputChanged(output);
    }

    /** Bytes were announced to the peer, or it has announced room for more. */
    void outputChanged(StreamOutput output) {
        poller.count(RdmaCounter.STREAM_BYTES_OUT, output.sentBytes() - sentBytes);
        sentBytes = output.sentBytes();
        if (!isOpen) {
            return; // the listener of a write has closed the channel while it posted
        }
        credits(output.credits());
        waiting(output.isWaitingForPeer());
    }

    void received(int bytes) {
        poller.count(RdmaCounter.STREAM_BYTES_IN, bytes);
    }

    /** One of the directions has ended, or both. */
    void endsChanged(StreamHalfCloseState ends) {
        halfClosed(
                ends.isOutputOver() && !ends.isInputOver(),
                ends.isInputOver() && !ends.isOutputOver());
    }

    /**
     * The connection has ended, if there was one.
     *
     * @param isByPeer whether the peer or the network has ended it, not this end
     */
    void ended(StreamHalfCloseState ends, boolean isByPeer) {
        if (!isOpen) {
            return;
        }
        isOpen = false;
        credits(0);
        waiting(false);
        halfClosed(false, false);
        loop.open(-1);
        if (ends.isOrderly(isByPeer)) {
            poller.count(RdmaCounter.STREAMS_CLOSED);
        } else {
            poller.count(isByPeer ? RdmaCounter.STREAMS_RESET_BY_PEER : RdmaCounter.STREAMS_RESET);
        }
    }

    private void credits(int now) {
        loop.credits(now - credits);
        credits = now;
    }

    private void waiting(boolean now) {
        if (now != isWaiting) {
            isWaiting = now;
            loop.waiting(now ? 1 : -1, poller.context().nanoTime());
        }
    }

    private void halfClosed(boolean ofOutput, boolean ofInput) {
        loop.outputEnded((ofOutput ? 1 : 0) - (hasOutputEnded ? 1 : 0));
        loop.inputEnded((ofInput ? 1 : 0) - (hasInputEnded ? 1 : 0));
        hasOutputEnded = ofOutput;
        hasInputEnded = ofInput;
    }
}
