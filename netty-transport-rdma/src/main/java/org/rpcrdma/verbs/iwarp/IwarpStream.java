// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.zip.CRC32C;
import org.rpcrdma.verbs.WorkStatus;
import org.rpcrdma.verbs.iwarp.ddp.DdpSegmentHeader;
import org.rpcrdma.verbs.iwarp.memory.IwarpExposure;
import org.rpcrdma.verbs.iwarp.mpa.FpduSender;
import org.rpcrdma.verbs.iwarp.mpa.MarkedFpduSender;
import org.rpcrdma.verbs.iwarp.mpa.MpaError;
import org.rpcrdma.verbs.iwarp.mpa.MpaNegotiation;
import org.rpcrdma.verbs.iwarp.mpa.Rtr;
import org.rpcrdma.verbs.iwarp.mpa.StreamException;
import org.rpcrdma.verbs.iwarp.rdmap.LocalAccessException;
import org.rpcrdma.verbs.iwarp.rdmap.RdmapError;
import org.rpcrdma.verbs.iwarp.rdmap.RdmapOpcodes;
import org.rpcrdma.verbs.iwarp.rdmap.RdmapReceiver;
import org.rpcrdma.verbs.iwarp.rdmap.RdmapSender;
import org.rpcrdma.verbs.iwarp.rdmap.ReadRequestHeader;
import org.rpcrdma.verbs.iwarp.rdmap.Terminate;
import org.rpcrdma.verbs.iwarp.rdmap.TerminatedException;

/**
 * A connection in full operation: moves bytes between a carrier and the two halves of the stream, and ends it by the
 * rules of RFC 5040, 6.
 */
final class IwarpStream
        implements ByteTransportEventHandler, OpenStreamRunQueueEntry, DeadlineTask {

    private static final long SEND_BUDGET = 1024 * 1024;

    private enum State {
        OPEN,
        /** Disconnected here: what can be sent is still sent, then the output is shut down. */
        CLOSING,
        /** Nothing is sent any more; waits for the peer's end. */
        OUTPUT_SHUT,
        ENDED
    }

    private final IwarpContextResources loop;
    private final StreamQueuePair owner;
    private final ByteTransport carrier;

    private final FpduReadLoop fpdusIn;
    private final FpduSender fpdusOut;
    private final RdmapReceiver receiver;
    private final RdmapSender sender;

    private State state = State.OPEN;
    private boolean maySend;
    private boolean wantsWrite;

    private IOException brokenBy;
    private long deadline;
    private long writtenAtTimer;
    private ZeroLengthWritePeerWakeup wakeup;

    /**
     * @param carrier is closed with the stream, or before it when this fails
     * @param maySend whether FPDUs may be sent at once: only an initiator may, a responder waits for the first FPDU of
     *     its peer (RFC 5044, 7.1.2)
     */
    IwarpStream(
            IwarpContextResources loop,
            StreamQueuePair owner,
            ByteTransport carrier,
            MpaNegotiation agreed,
            boolean maySend) {
        this.loop = loop;
        this.owner = owner;
        this.carrier = carrier;
        this.maySend = maySend;
        CRC32C crc = agreed.crc() ? loop.crc : null;
        int configured = loop.config.maxUlpdu();
        int mulpdu = configured != 0 ? configured : carrier.mulpdu(agreed.markersOut());
        this.receiver = owner.newReceiver();
        if (!maySend && agreed.rtr() == Rtr.ZERO_LENGTH_SEND) {
            receiver.awaitReadyToReceive();
        }
        this.fpdusIn = new FpduReadLoop(loop, receiver, carrier, agreed);
        this.fpdusOut =
                agreed.markersOut()
                        ? new MarkedFpduSender(crc, loop.markedBatches)
                        : new FpduSender(crc, loop.batches);
        this.sender = owner.newSender(fpdusOut, mulpdu);
        carrier.carry(this);
        carrier.await(true, false);
        loop.add(this);
        long wakeupNanos = loop.config.wakeAfter().toNanos();
        if (maySend && wakeupNanos > 0) {
            wakeup = new ZeroLengthWritePeerWakeup(loop.timers, this::wakePeer, wakeupNanos);
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
    public void failed(Exception cause) {
        lost(cause);
    }

    @Override
    public boolean readAvailable() {
        if (state == State.ENDED || fpdusIn.isHeld) {
            return false;
        }
        try {
            if (!fpdusIn.receive()) {
                endOfStream();
                return fpdusIn.bytes > 0;
            }
            if (fpdusIn.isHeld) {
                // The byte transport holds the peer up meanwhile.
                updateInterest();
                loop.streams.hold(this);
            }
            fpdusIn.returnStaging();
            if (fpdusIn.hasReceived) {
                peerHeard();
            }
            if (state != State.ENDED) {
                fpdusIn.watch();
            }
        } catch (IOException | RuntimeException | Error e) {
            receiveFailed(e);
        }
        return fpdusIn.bytes > 0;
    }

    private void peerHeard() {
        maySend = true;
        if (wakeup != null) {
            stopWaking();
        }
        doorbell();
    }

    private void receiveFailed(Throwable e) {
        if (e instanceof TerminatedException terminated) {
            terminatedByPeer(terminated);
        } else if (e instanceof StreamException violation) {
            terminate(violation, receiver.segment(), receiver.request());
        } else if (e instanceof Error error) {
            lost(Sockets.ended(error));
        } else {
            lost((Exception) e);
        }
    }

    @Override
    public boolean checkFrameStall() {
        return checkStall(FpduReadLoop::checkFrameStall);
    }

    @Override
    public boolean checkMessageStall() {
        return checkStall(FpduReadLoop::checkMessageStall);
    }

    private interface Look {
        boolean at(FpduReadLoop fpdus) throws IOException;
    }

    private boolean checkStall(Look look) {
        try {
            return state != State.ENDED && look.at(fpdusIn);
        } catch (IOException | RuntimeException | Error e) {
            receiveFailed(e);
            return false;
        }
    }

    @Override
    public boolean tryPlaceHeld() {
        try {
            if (state != State.ENDED && fpdusIn.tryPlaceHeld()) {
                peerHeard();
            }
        } catch (IOException | RuntimeException | Error e) {
            receiveFailed(e);
        }
        if (state == State.ENDED || fpdusIn.isHeld) {
            return state != State.ENDED;
        }
        updateInterest();
        // The selector does not report bytes that the marker stripper has already read.
        readAvailable();
        return fpdusIn.isHeld;
    }

    /**
     * Sends an FPDU without effect, if the peer may have missed one. Nothing of the kind is needed while others wait.
     */
    private void wakePeer() {
        if (state == State.OPEN && fpdusOut.fpdus > 0 && sender.isIdle()) {
            sender.readyToReceive(Rtr.ZERO_LENGTH_WRITE);
            transmit();
        }
    }

    private void stopWaking() {
        wakeup.stop();
        wakeup = null;
    }

    /** Sends as much as possible, unless the transport is known to be full. Calls no handler. */
    void doorbell() {
        if (!wantsWrite) {
            transmit();
        }
    }

    /** Sends as much as possible now, and the rest when there is room. Calls no handler. */
    void transmit() {
        if (state == State.ENDED || state == State.OUTPUT_SHUT || brokenBy != null) {
            return;
        }
        long written = fpdusOut.written;
        long fpdus = fpdusOut.fpdus;
        try {
            if (maySend) {
                wantWrite(sender.send(carrier, SEND_BUDGET));
            } else if (!fpdusOut.isEmpty()) {
                fpdusOut.write(carrier);
                wantWrite(!fpdusOut.isEmpty());
            }
            if (state == State.CLOSING && (maySend ? sender.isIdle() : fpdusOut.isEmpty())) {
                state = State.OUTPUT_SHUT;
                loop.timers.remove(this);
                startTimer();
                carrier.shutdownOutput();
            }
        } catch (LocalAccessException e) {
            owner.culprit(e.status());
            terminate(
                    new StreamException(RdmapError.LOCAL_CATASTROPHIC, e.getMessage()), null, null);
        } catch (StreamException e) {
            ReadRequestHeader request = sender.respondingTo();
            DdpSegmentHeader segment = receiver.segment();
            if (request != null) {
                request.restoreHeader(segment);
            }
            terminate(e, segment, request);
        } catch (IOException e) {
            // The peer may have sent a Terminate: reads all data before the connection is closed.
            broken(e);
        } catch (IllegalStateException | Error e) {
            broken(Sockets.ended(e));
        } finally {
            long bytes = fpdusOut.written - written;
            loop.counters.bytesOut += bytes;
            loop.counters.fpdusOut += fpdusOut.fpdus - fpdus;
            loop.poller.moved(bytes);
        }
    }

    private void broken(IOException cause) {
        brokenBy = cause;
        try {
            loop.streams.broken(this);
        } catch (Error e) {
            lost(cause);
        }
    }

    private void wantWrite(boolean wanted) {
        if (wanted != wantsWrite) {
            wantsWrite = wanted;
            updateInterest();
        }
    }

    private void updateInterest() {
        carrier.await(!fpdusIn.isHeld, wantsWrite);
    }

    /** Writing has failed; reads what is left and ends the stream. */
    @Override
    public void resolveBroken() {
        readAvailable();
        if (state != State.ENDED) {
            lost(brokenBy);
        }
    }

    /** An exposure ends: bytes of it that wait to be written are copied, nothing more is read from it. */
    void revoking(IwarpExposure exposure) {
        if (exposure.queuedUntil() > fpdusOut.written) {
            fpdusOut.detach();
        }
    }

    /** Gives back all borrowed views of registered memory. */
    @Override
    public void detach() {
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
        if (state == State.CLOSING && fpdusOut.written != writtenAtTimer) {
            // A slow peer that still takes something is not cut off.
            startTimer();
        } else {
            end(null);
        }
    }

    private void startTimer() {
        deadline = loop.nanoTime() + loop.config.drainTimeout().toNanos();
        loop.timers.add(this);
        // Behind it: where it could not be added, the progress until now counts the next time.
        writtenAtTimer = fpdusOut.written;
    }

    private void endOfStream() {
        if (fpdusIn.isBetweenMessages()) {
            end(null);
        } else {
            lost(new IOException("The peer closed the connection inside a message"));
        }
    }

    private void terminatedByPeer(TerminatedException e) {
        Terminate terminate = e.terminate();
        loop.counters.terminateReceived(terminate.layer());
        loop.log.warn("Connection to {} ended: {}", owner.remoteAddress(), e);
        owner.oldestCulprit(terminate.status(), terminate.opcode());
        end(e);
    }

    private void terminate(StreamException e, DdpSegmentHeader segment, ReadRequestHeader request) {
        loop.log.warn("Connection to {} is terminated: {}", owner.remoteAddress(), e);
        if (e.error() == MpaError.CRC) {
            loop.counters.crcErrors++;
        }
        owner.receiveCulprit(receiver.receiveStatus());
        if (receiver.readStatus() != WorkStatus.FLUSHED) {
            owner.oldestCulprit(receiver.readStatus(), RdmapOpcodes.READ_REQUEST);
        }
        if (state == State.OUTPUT_SHUT || brokenBy != null) {
            end(e);
            return;
        }
        loop.counters.terminateSent(e.error().layer());
        boolean lingers = false;
        try {
            ByteBuffer last = fpdusOut.dropFor(Terminate.encode(e.error(), segment, request));
            leave(e);
            new LingeringClose(loop, carrier, last);
            lingers = true;
        } finally {
            if (!lingers) {
                end(e);
            }
        }
    }

    private void lost(Exception cause) {
        if (state != State.ENDED) {
            loop.counters.connectionsLost++;
            loop.log.warn("Connection to {} was lost: {}", owner.remoteAddress(), cause);
        }
        end(cause);
    }

    /** First removes the transport from polling, even if a later step fails. May be called repeatedly. */
    private void end(Exception cause) {
        try {
            carrier.close();
        } finally {
            leave(cause);
        }
    }

    /** Lets go of the carrier and completes all work. */
    private void leave(Exception cause) {
        try {
            release();
        } finally {
            owner.ended(cause);
        }
    }

    private void release() {
        if (state == State.ENDED) {
            return;
        }
        state = State.ENDED;
        fpdusOut.drop();
        if (wakeup != null) {
            stopWaking();
        }
        loop.timers.remove(this);
        loop.remove(this);
        fpdusIn.dropStaging();
    }

    /** Ends at once, without events. Bytes already written to the transport arrive. */
    void close() {
        if (state == State.ENDED) {
            return;
        }
        try {
            release();
            new LingeringClose(loop, carrier);
        } catch (RuntimeException | Error e) {
            carrier.close();
            loop.log.warn("Connection to {} was cut: {}", owner.remoteAddress(), e);
        }
    }

    /** Cuts the connection; nothing is reported. */
    void abort() {
        carrier.close();
        release();
    }
}
