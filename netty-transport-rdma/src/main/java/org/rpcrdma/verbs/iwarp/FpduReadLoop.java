// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp;

import java.io.IOException;
import java.nio.channels.ScatteringByteChannel;
import java.util.concurrent.TimeUnit;
import java.util.zip.CRC32C;
import org.rpcrdma.verbs.iwarp.mpa.FpduReceiver;
import org.rpcrdma.verbs.iwarp.mpa.MarkerStripper;
import org.rpcrdma.verbs.iwarp.mpa.MpaNegotiation;
import org.rpcrdma.verbs.iwarp.rdmap.RdmapReceiver;

/**
 * Receives the FPDUs of one stream: reads its byte transport, and limits the time that FPDUs and messages stay
 * incomplete.
 */
final class FpduReadLoop {

    /** Bytes after which the next connection has its turn. */
    private static final int BUDGET = 256 * 1024;

    /**
     * Time that a message may wait for memory or a receive, bounded because what holds them may depend on later data.
     * Longer than the time-out of incomplete data, so that a peer that pins memory is disconnected first.
     */
    private static final long HELD_NANOS = TimeUnit.SECONDS.toNanos(60);

    private final IwarpContextResources loop;
    private final RdmapReceiver receiver;

    /** Pool of staging buffers; with CRC they hold whole FPDUs, which are checked before placement. */
    private final ReceiveStagingPool staging;

    private final MarkerStripper stripper;
    private final ScatteringByteChannel source;
    private final FpduReceiver fpdus;
    private final IncompleteInputStallDetector frame;
    private final IncompleteInputStallDetector message;
    private final IncompleteInputStallDetector written;

    /** Bytes that the last call has read. */
    long bytes;

    /** Whether the last call has received an FPDU. */
    boolean hasReceived;

    /** Bytes received so far, without markers. */
    private long counted;

    /** When a message began to wait for memory, if one waits. */
    private long heldSince;

    /** Whether a message waits for memory: nothing is read until there is some. */
    boolean isHeld;

    FpduReadLoop(
            IwarpContextResources loop,
            RdmapReceiver receiver,
            ScatteringByteChannel transport,
            MpaNegotiation agreed) {
        this.loop = loop;
        this.receiver = receiver;
        CRC32C crc = agreed.crc() ? loop.crc : null;
        // Behind the stripper no CRC is left to be checked.
        CRC32C crcIn = agreed.markersIn() ? null : crc;
        this.staging = crcIn != null ? loop.wholeStaging : loop.staging;
        this.stripper = agreed.markersIn() ? new MarkerStripper(transport, null, crc) : null;
        this.source = agreed.markersIn() ? stripper : transport;
        this.fpdus = new FpduReceiver(null, receiver, crcIn);
        this.frame = new IncompleteInputStallDetector("an FPDU", loop.config.frameTimeout());
        this.message = new IncompleteInputStallDetector("a Send", loop.config.messageTimeout());
        this.written =
                new IncompleteInputStallDetector(
                        "RDMA Writes that no message announces", loop.config.messageTimeout());
    }

    /** Whether the peer may close here without a fault. */
    boolean isBetweenMessages() {
        return fpdus.atBoundary() && !receiver.isMessageOpen();
    }

    /** Reads what has arrived, up to a budget; returns false at the end of the stream. */
    boolean receive() throws IOException {
        long before = fpdus.fpdus;
        bytes = 0;
        try {
            staging.lend(fpdus);
            if (stripper != null) {
                loop.wholeStaging.lend(stripper);
                // It keeps the budget itself: what it has read the selector would not tell of
                // again.
                stripper.allow(BUDGET);
            }
            do {
                int read = fpdus.receive(source);
                if (read < 0) {
                    return false;
                }
                bytes += read;
            } while (!fpdus.drained && !fpdus.held && (bytes < BUDGET || stripper != null));
            if (fpdus.held) {
                isHeld = true;
                heldSince = loop.nanoTime();
                loop.counters.receivesHeld++;
            }
            return true;
        } finally {
            // Also those of a read whose FPDUs break a rule.
            long received = stripper == null ? fpdus.bytes : stripper.handedOut();
            bytes = received - counted;
            counted = received;
            loop.counters.bytesIn += bytes;
            hasReceived = fpdus.fpdus > before;
            loop.counters.fpdusIn += fpdus.fpdus - before;
            loop.poller.moved(bytes);
        }
    }

    /**
     * Tries to place the message that waits for memory; returns whether any FPDU was received.
     *
     * @throws IOException also when it has waited for too long
     */
    boolean tryPlaceHeld() throws IOException {
        long before = fpdus.fpdus;
        try {
            fpdus.resume();
        } finally {
            loop.counters.fpdusIn += fpdus.fpdus - before;
        }
        isHeld = fpdus.held;
        if (!isHeld || fpdus.fpdus != before) {
            loop.poller.moved(1);
            heldSince = loop.nanoTime();
            return true;
        }
        if (loop.nanoTime() - heldSince > HELD_NANOS) {
            throw new IOException(
                    "There was no memory, or no receive, for a message within "
                            + TimeUnit.NANOSECONDS.toSeconds(HELD_NANOS)
                            + " s");
        }
        return false;
    }

    /** Between two messages no staging is needed: an idle connection costs none. */
    void returnStaging() {
        staging.takeBack(fpdus);
        if (stripper != null) {
            loop.wholeStaging.takeBack(stripper);
        }
    }

    void dropStaging() {
        staging.drop(fpdus);
        if (stripper != null) {
            loop.wholeStaging.drop(stripper);
        }
    }

    /** Starts to watch what the peer has begun and has to continue. */
    void watch() {
        if (isFrameOpen()) {
            loop.streams.frames.begin();
        }
        if (receiver.mayBeIncomplete()) {
            loop.streams.messages.begin();
        }
    }

    private boolean isFrameOpen() {
        return !fpdus.atBoundary() || (stripper != null && !stripper.atBoundary());
    }

    /**
     * Looks at an FPDU that has arrived in part; returns whether there is one still.
     *
     * @throws IOException when nothing more of it came for too long
     */
    boolean checkFrameStall() throws IOException {
        return checkStall(
                frame, isFrameOpen(), stripper == null ? fpdus.bytes : stripper.received());
    }

    /**
     * Looks at a message of which some segments have arrived, or the Writes that it has to announce; returns whether
     * there is one still.
     *
     * @throws IOException when nothing more of it came for too long
     */
    boolean checkMessageStall() throws IOException {
        boolean isOpen = receiver.isSendOpen();
        long position = receiver.unannounced();
        boolean isAwaited = checkStall(written, position >= 0, position);
        return checkStall(message, isOpen, isOpen ? receiver.sendPosition() : 0) || isAwaited;
    }

    /** While a message waits for memory nothing is read, and the peer is not to blame. */
    private boolean checkStall(IncompleteInputStallDetector stall, boolean isOpen, long position)
            throws IOException {
        if (!isOpen || isHeld) {
            stall.end();
            return isOpen;
        }
        stall.look(position);
        if (stall.isStalled()) {
            loop.counters.connectionsStalled++;
            throw stall.failure();
        }
        return true;
    }
}
