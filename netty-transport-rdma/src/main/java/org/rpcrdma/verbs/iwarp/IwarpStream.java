// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.ScatteringByteChannel;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.zip.CRC32C;
import org.rpcrdma.verbs.WorkStatus;
import org.rpcrdma.verbs.iwarp.ddp.DdpSegment;
import org.rpcrdma.verbs.iwarp.memory.Exposure;
import org.rpcrdma.verbs.iwarp.mpa.FpduReceiver;
import org.rpcrdma.verbs.iwarp.mpa.FpduSender;
import org.rpcrdma.verbs.iwarp.mpa.MarkedFpduSender;
import org.rpcrdma.verbs.iwarp.mpa.MarkerStripper;
import org.rpcrdma.verbs.iwarp.mpa.MpaError;
import org.rpcrdma.verbs.iwarp.mpa.MpaNegotiation;
import org.rpcrdma.verbs.iwarp.mpa.Rtr;
import org.rpcrdma.verbs.iwarp.mpa.StreamException;
import org.rpcrdma.verbs.iwarp.rdmap.LocalAccessException;
import org.rpcrdma.verbs.iwarp.rdmap.Rdmap;
import org.rpcrdma.verbs.iwarp.rdmap.RdmapError;
import org.rpcrdma.verbs.iwarp.rdmap.RdmapReceiver;
import org.rpcrdma.verbs.iwarp.rdmap.RdmapSender;
import org.rpcrdma.verbs.iwarp.rdmap.ReadRequest;
import org.rpcrdma.verbs.iwarp.rdmap.Terminate;
import org.rpcrdma.verbs.iwarp.rdmap.TerminatedException;

/**
 * A connection in full operation: moves bytes between a carrier and the two halves of the stream, and ends it by the
 * rules of RFC 5040, 6.
 */
final class IwarpStream implements ByteTransportListener, Timer {

    /** Bytes after which the next connection has its turn. */
    private static final int RECEIVE_BUDGET = 256 * 1024;

    private static final long SEND_BUDGET = 1024 * 1024;

    /**
     * How long a message waits for memory: what others hold may wait for what is behind it. Longer than peers may leave
     * what they have begun, so that whoever pins the memory goes first.
     */
    private static final long HELD_NANOS = TimeUnit.SECONDS.toNanos(60);

    private enum State {
        OPEN,
        /** Disconnected here: what can be sent is still sent, then the output is shut down. */
        CLOSING,
        /** Nothing is sent any more; waits for the peer's end. */
        OUTPUT_SHUT,
        ENDED
    }

    private final IwarpContext context;
    private final IwarpQueuePair queuePair;
    private final ByteTransport carrier;

    /** Lends what FPDUs are staged in: whole, where their CRC is checked before anything is placed. */
    private final ReceiveStagingPool staging;

    private final MarkerStripper stripper;
    private final ScatteringByteChannel source;
    private final FpduReceiver fpdusIn;
    private final FpduSender fpdusOut;
    private final RdmapReceiver receiver;
    private final RdmapSender sender;

    private State state = State.OPEN;
    private boolean maySend;
    private boolean wantsWrite;

    /** When a message began to wait for memory, if one waits. */
    private long heldSince;

    private boolean isHeld;

    /** Bytes received, without markers. */
    private long received;

    private final Stall frame = new Stall();
    private final Stall message = new Stall();
    private IOException brokenBy;
    private long deadline;
    private long writtenAtTimer;
    private LostWakeupRetry nudge;

    /**
     * @param carrier is closed with the stream, or before it when this fails
     * @param maySend whether FPDUs may be sent at once: only an initiator may, a responder waits for the first FPDU of
     *     its peer (RFC 5044, 7.1.2)
     */
    IwarpStream(
            IwarpContext context,
            IwarpQueuePair queuePair,
            ByteTransport carrier,
            MpaNegotiation agreed,
            boolean maySend) {
        this.context = context;
        this.queuePair = queuePair;
        this.carrier = carrier;
        this.maySend = maySend;
        CRC32C crc = agreed.crc() ? context.crc : null;
        // Behind the stripper no CRC is left to be checked.
        CRC32C crcIn = agreed.markersIn() ? null : crc;
        this.staging = crcIn != null ? context.wholeStaging : context.staging;
        int configured = context.config.maxUlpdu();
        int mulpdu = configured != 0 ? configured : carrier.mulpdu(agreed.markersOut());
        this.stripper = agreed.markersIn() ? new MarkerStripper(carrier, null, crc) : null;
        this.source = agreed.markersIn() ? stripper : carrier;
        this.receiver = queuePair.newReceiver();
        if (!maySend && agreed.rtr() == Rtr.ZERO_LENGTH_SEND) {
            receiver.awaitReadyToReceive();
        }
        this.fpdusIn = new FpduReceiver(null, receiver, crcIn);
        this.fpdusOut =
                agreed.markersOut()
                        ? new MarkedFpduSender(crc, context.markedBatches)
                        : new FpduSender(crc, context.batches);
        this.sender = queuePair.newSender(fpdusOut, mulpdu);
        carrier.carry(this);
        carrier.await(true, false);
        context.add(this);
        long nudgeNanos = context.config.nudgeAfter().toNanos();
        if (maySend && nudgeNanos > 0) {
            nudge = new LostWakeupRetry(context.timers, this, nudgeNanos);
        }
    }

    RdmapSender sender() {
        return sender;
    }

    /** Sends a start-up frame; FPDUs follow it. */
    void sendFrame(byte[] frame) {
        fpdusOut.raw(frame);
        transmit();
    }

    @Override
    public void writable() {
        transmit();
    }

    @Override
    public boolean readable() {
        return receive() > 0;
    }

    @Override
    public void failed(Exception cause) {
        lost(cause);
    }

    private long receive() {
        if (state == State.ENDED || isHeld) {
            return 0;
        }
        long bytes = 0;
        long fpdus = fpdusIn.fpdus();
        try {
            staging.lend(fpdusIn);
            if (stripper != null) {
                context.wholeStaging.lend(stripper);
                // It keeps the budget itself: what it has read the selector would not tell of
                // again.
                stripper.allow(RECEIVE_BUDGET);
            }
            do {
                int read = fpdusIn.receive(source);
                if (read < 0) {
                    endOfStream();
                    return bytes;
                }
                bytes += read;
            } while (!fpdusIn.drained()
                    && !fpdusIn.isHeld()
                    && (bytes < RECEIVE_BUDGET || stripper != null));
            if (fpdusIn.isHeld()) {
                hold();
            }
        } catch (TerminatedException e) {
            terminatedByPeer(e);
        } catch (StreamException e) {
            terminate(e, receiver.segment(), receiver.request());
        } catch (IOException | RuntimeException e) {
            lost(e);
        } catch (OutOfMemoryError e) {
            lost(IwarpContext.noMemory(e));
        } finally {
            received += bytes;
            context.counters.bytesIn += bytes;
            context.counters.fpdusIn += fpdusIn.fpdus() - fpdus;
            context.moved(bytes);
        }
        // What is between two messages needs none: an idle connection costs no staging.
        staging.takeBack(fpdusIn);
        if (stripper != null) {
            context.wholeStaging.takeBack(stripper);
        }
        if (fpdusIn.fpdus() > fpdus) {
            maySend = true;
            stopNudging();
            doorbell();
        }
        watch();
        return bytes;
    }

    // ------------------------------------------------------------------ incomplete input

    /** What the peer has begun it has to go on with. */
    private void watch() {
        if (isFrameOpen()) {
            context.frames.begin();
        }
        if (isMessageOpen()) {
            context.messages.begin();
        }
    }

    private boolean isFrameOpen() {
        return state != State.ENDED
                && (!fpdusIn.atBoundary() || (stripper != null && !stripper.atBoundary()));
    }

    private boolean isMessageOpen() {
        return state != State.ENDED && receiver.isSendOpen();
    }

    /** Looks at an FPDU that has come in part; returns whether there is one still. */
    boolean lookAtFrame() {
        boolean isOpen = isFrameOpen();
        long position = stripper == null ? received : stripper.received();
        return look(frame, isOpen, position, "an FPDU", context.config.frameTimeout());
    }

    /** Looks at a message of which some segments have come; returns whether there is one still. */
    boolean lookAtMessage() {
        boolean isOpen = isMessageOpen();
        long position = isOpen ? receiver.sendPosition() : 0;
        return look(message, isOpen, position, "a Send", context.config.messageTimeout());
    }

    /** While a message waits for memory nothing is read, and the peer is not to blame. */
    private boolean look(Stall stall, boolean isOpen, long position, String what, Duration limit) {
        if (!isOpen || isHeld) {
            stall.end();
            return isOpen;
        }
        if (!stall.isOver(position)) {
            return true;
        }
        context.counters.connectionsStalled++;
        lost(
                new IOException(
                        "The peer has begun "
                                + what
                                + " and sent nothing more of it for "
                                + limit.toMillis()
                                + " ms"));
        return false;
    }

    // ------------------------------------------------------------------ memory

    /** There is no memory for a message: nothing is read until there is some, so that the carrier holds the peer up. */
    private void hold() {
        isHeld = true;
        heldSince = context.nanoTime();
        context.counters.receivesHeld++;
        updateInterest();
        context.hold(this);
    }

    /** Looks whether there is memory now; returns whether the stream has to wait on. */
    boolean retryHeld() {
        if (state == State.ENDED) {
            return false;
        }
        long fpdus = fpdusIn.fpdus();
        try {
            fpdusIn.resume();
        } catch (TerminatedException e) {
            terminatedByPeer(e);
        } catch (StreamException e) {
            terminate(e, receiver.segment(), receiver.request());
        } catch (IOException | RuntimeException e) {
            lost(e);
        } catch (OutOfMemoryError e) {
            lost(IwarpContext.noMemory(e));
        }
        context.counters.fpdusIn += fpdusIn.fpdus() - fpdus;
        if (state == State.ENDED) {
            return false;
        }
        if (fpdusIn.isHeld() && fpdusIn.fpdus() == fpdus) {
            if (context.nanoTime() - heldSince > HELD_NANOS) {
                lost(
                        new IOException(
                                "There was no memory for a message within "
                                        + TimeUnit.NANOSECONDS.toSeconds(HELD_NANOS)
                                        + " s"));
                return false;
            }
            return true;
        }
        context.moved(1);
        heldSince = context.nanoTime();
        maySend = true;
        stopNudging();
        doorbell();
        if (state == State.ENDED || fpdusIn.isHeld()) {
            return state != State.ENDED;
        }
        isHeld = false;
        updateInterest();
        // What a stripper has read already nobody tells of.
        receive();
        return isHeld;
    }

    /**
     * Sends an FPDU without effect, if the peer may have missed one. Nothing of the kind is needed while others wait.
     */
    void nudge() {
        if (state == State.OPEN && fpdusOut.fpdus() > 0 && sender.isIdle()) {
            sender.readyToReceive(Rtr.ZERO_LENGTH_WRITE);
            transmit();
        }
    }

    private void stopNudging() {
        if (nudge != null) {
            nudge.stop();
            nudge = null;
        }
    }

    /** Sends what can be sent now, unless the carrier is known to take nothing. Calls no handler. */
    void doorbell() {
        if (!wantsWrite) {
            transmit();
        }
    }

    /** Sends what can be sent now, the rest when there is room. Calls no handler. */
    void transmit() {
        if (state == State.ENDED || state == State.OUTPUT_SHUT || brokenBy != null) {
            return;
        }
        long written = fpdusOut.writtenPosition();
        long fpdus = fpdusOut.fpdus();
        try {
            if (maySend) {
                wantWrite(sender.send(carrier, SEND_BUDGET));
            } else if (!fpdusOut.isEmpty()) {
                fpdusOut.write(carrier);
                wantWrite(!fpdusOut.isEmpty());
            }
            if (state == State.CLOSING && (maySend ? sender.isIdle() : fpdusOut.isEmpty())) {
                state = State.OUTPUT_SHUT;
                context.timers.remove(this);
                startTimer();
                carrier.shutdownOutput();
            }
        } catch (LocalAccessException e) {
            queuePair.culprit(e.status());
            terminate(
                    new StreamException(RdmapError.LOCAL_CATASTROPHIC, e.getMessage()), null, null);
        } catch (StreamException e) {
            ReadRequest request = sender.respondingTo();
            DdpSegment segment = receiver.segment();
            if (request != null) {
                request.restoreHeader(segment);
            }
            terminate(e, segment, request);
        } catch (IOException e) {
            // The peer may have said why: what it sent is read before the connection is given up.
            brokenBy = e;
            context.broken(this);
        } catch (IllegalStateException | OutOfMemoryError e) {
            brokenBy = new IOException("No memory is left: " + e.getMessage(), e);
            context.broken(this);
        } finally {
            long bytes = fpdusOut.writtenPosition() - written;
            context.counters.bytesOut += bytes;
            context.counters.fpdusOut += fpdusOut.fpdus() - fpdus;
            context.moved(bytes);
        }
    }

    private void wantWrite(boolean wanted) {
        if (wanted != wantsWrite) {
            wantsWrite = wanted;
            updateInterest();
        }
    }

    private void updateInterest() {
        carrier.await(!isHeld, wantsWrite);
    }

    /** Writing has failed; reads what is left and ends the stream. */
    void resolveBroken() {
        receive();
        if (state != State.ENDED) {
            lost(brokenBy);
        }
    }

    /** An exposure ends: bytes of it that wait to be written are copied, nothing more is read from it. */
    void revoking(Exposure exposure) {
        if (exposure.queuedUntil() > fpdusOut.writtenPosition()) {
            fpdusOut.detach();
        }
    }

    /** Gives back all borrowed views of registered memory. */
    void detach() {
        fpdusOut.detach();
    }

    /** Ends in an orderly way: RFC 5040, 6.2.1. */
    void disconnect() {
        if (state != State.OPEN) {
            return;
        }
        state = State.CLOSING;
        startTimer();
        transmit();
    }

    @Override
    public long deadline() {
        return deadline;
    }

    @Override
    public void expired() {
        if (state == State.CLOSING && fpdusOut.writtenPosition() != writtenAtTimer) {
            // A slow peer that still takes something is not cut off.
            startTimer();
        } else {
            end(null);
        }
    }

    private void startTimer() {
        writtenAtTimer = fpdusOut.writtenPosition();
        deadline = context.nanoTime() + context.config.drainTimeout().toNanos();
        context.timers.add(this);
    }

    private void endOfStream() {
        if (fpdusIn.atBoundary() && !receiver.isMessageOpen()) {
            end(null);
        } else {
            lost(new IOException("The peer closed the connection inside a message"));
        }
    }

    private void terminatedByPeer(TerminatedException e) {
        Terminate terminate = e.terminate();
        context.counters.terminateReceived(terminate.layer());
        context.log.warn("Connection to {} ended: {}", queuePair.remoteAddress(), e);
        queuePair.oldestCulprit(terminate.status(), terminate.opcode());
        end(e);
    }

    private void terminate(StreamException e, DdpSegment segment, ReadRequest request) {
        context.log.warn("Connection to {} is terminated: {}", queuePair.remoteAddress(), e);
        if (e.error() == MpaError.CRC) {
            context.counters.crcErrors++;
        }
        queuePair.receiveCulprit(receiver.receiveStatus());
        if (receiver.readStatus() != WorkStatus.FLUSHED) {
            queuePair.oldestCulprit(receiver.readStatus(), Rdmap.READ_REQUEST);
        }
        if (state == State.OUTPUT_SHUT || brokenBy != null) {
            end(e);
            return;
        }
        context.counters.terminateSent(e.error().layer());
        boolean lingers = false;
        try {
            ByteBuffer last = fpdusOut.dropFor(Terminate.encode(e.error(), segment, request));
            leave(e);
            new LingeringClose(context, carrier, last);
            lingers = true;
        } finally {
            if (!lingers) {
                end(e);
            }
        }
    }

    private void lost(Exception cause) {
        if (state != State.ENDED) {
            context.counters.connectionsLost++;
            context.log.warn("Connection to {} was lost: {}", queuePair.remoteAddress(), cause);
        }
        end(cause);
    }

    /** First of all nobody looks at the carrier any more, whatever goes wrong later. May be called again then. */
    private void end(Exception cause) {
        carrier.close();
        leave(cause);
    }

    /** Lets go of the carrier and completes all work. */
    private void leave(Exception cause) {
        try {
            release();
        } finally {
            queuePair.ended(cause);
        }
    }

    private void release() {
        if (state == State.ENDED) {
            return;
        }
        state = State.ENDED;
        fpdusOut.drop();
        stopNudging();
        context.timers.remove(this);
        context.remove(this);
        staging.drop(fpdusIn);
        if (stripper != null) {
            context.wholeStaging.drop(stripper);
        }
    }

    /** Ends at once. Nothing is reported; what the carrier has taken arrives. */
    void close() {
        if (state != State.ENDED) {
            release();
            new LingeringClose(context, carrier);
        }
    }

    /** Cuts the connection; nothing is reported. */
    void abort() {
        carrier.close();
        release();
    }
}
