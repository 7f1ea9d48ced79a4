// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp.rdmap;

import java.nio.ByteBuffer;
import org.rpcrdma.verbs.ReceiveMemoryRange;
import org.rpcrdma.verbs.WorkStatus;
import org.rpcrdma.verbs.iwarp.ddp.DdpError;
import org.rpcrdma.verbs.iwarp.ddp.DdpSegmentHeader;
import org.rpcrdma.verbs.iwarp.ddp.InboundUntaggedSegmentSequence;
import org.rpcrdma.verbs.iwarp.memory.ExposureOwner;
import org.rpcrdma.verbs.iwarp.memory.IwarpExposure;
import org.rpcrdma.verbs.iwarp.memory.IwarpMemoryRegion;
import org.rpcrdma.verbs.iwarp.memory.LocalKeyTable;
import org.rpcrdma.verbs.iwarp.memory.StagTable;
import org.rpcrdma.verbs.iwarp.mpa.MpaError;
import org.rpcrdma.verbs.iwarp.mpa.StreamException;
import org.rpcrdma.verbs.iwarp.mpa.UlpduHandler;

/**
 * Inbound half of a stream: validates every segment (RFC 5040, 6; RFC 5041, 7), selects the target of its payload, and
 * executes its message when complete. TCP delivers in order, so placement and delivery are in order too.
 */
public final class RdmapReceiver implements UlpduHandler {

    private final ExposureOwner stream;
    private final StagTable stags;
    private final LocalKeyTable memory;
    private final ReceiveQueue receives;
    private final OnDemandInboundMemorySupplier source;
    private final InboundReads inboundReads;
    private final OutboundReads outboundReads;
    private final WorkCompletionHandler completions;

    private final DdpSegmentHeader segment = new DdpSegmentHeader();
    private final ReadRequestHeader request = new ReadRequestHeader();
    private final InboundUntaggedSegmentSequence sendQueue =
            new InboundUntaggedSegmentSequence(RdmapOpcodes.QUEUE_SEND);
    private final InboundUntaggedSegmentSequence readQueue =
            new InboundUntaggedSegmentSequence(RdmapOpcodes.QUEUE_READ);

    private int opcode;
    private int sendOpcode;
    private boolean writeOpen;
    private int writeStag;

    /** The memory of this segment, if it writes where there is none. */
    private long writeAddress;

    private int writeKey;
    private IwarpExposure exposure;
    private long cursor;
    private int remaining;

    /** Whether the peer has not yet answered any FPDU, which disambiguates two Terminate codes. */
    private boolean starting = true;

    /** Whether the next Send is the peer's ready-to-receive message, which is not delivered to the ULP. */
    private boolean awaitsReadyToReceive;

    /** Whether memory was taken for a Write since there were no unannounced bytes. */
    private boolean isWriteMemoryTaken;

    private WorkStatus receiveStatus = WorkStatus.FLUSHED;
    private WorkStatus readStatus = WorkStatus.FLUSHED;

    public RdmapReceiver(
            ExposureOwner stream,
            StagTable stags,
            LocalKeyTable memory,
            ReceiveQueue receives,
            OnDemandInboundMemorySupplier source,
            InboundReads inboundReads,
            OutboundReads outboundReads,
            WorkCompletionHandler completions) {
        this.stream = stream;
        this.stags = stags;
        this.memory = memory;
        this.receives = receives;
        this.source = source;
        this.inboundReads = inboundReads;
        this.outboundReads = outboundReads;
        this.completions = completions;
    }

    /** Expects a zero-length Send as ready-to-receive message (RFC 6581, 9.2). It takes no receive. */
    public void awaitReadyToReceive() {
        awaitsReadyToReceive = true;
    }

    /** Whether a message has begun and not ended, so that the stream must not end here. */
    public boolean isMessageOpen() {
        return sendQueue.open || writeOpen || outboundReads.isResponseOpen();
    }

    /** Whether segments of a Send have come, but not its last. */
    public boolean isSendOpen() {
        return sendQueue.open;
    }

    /** Whether a Send is open, or memory was taken for a Write, which may have been told of meanwhile. */
    public boolean mayBeIncomplete() {
        return isWriteMemoryTaken || sendQueue.open;
    }

    /** Progress of Writes that no message has told of; negative if there are none. */
    public long unannounced() {
        long position = isWriteMemoryTaken ? source.unannounced() : -1;
        isWriteMemoryTaken = position >= 0;
        return position;
    }

    /** Progress of the open Send: changes with each received byte. */
    public long sendPosition() {
        return sendQueue.position() - (RdmapOpcodes.isSend(opcode) ? remaining : 0);
    }

    /** The header of the last segment, for a Terminate about it. */
    public DdpSegmentHeader segment() {
        return segment;
    }

    /** The last Read Request if the last segment was one, for a Terminate about it; otherwise {@code null}. */
    public ReadRequestHeader request() {
        return segment.isPresent() && opcode == RdmapOpcodes.READ_REQUEST ? request : null;
    }

    /** How the oldest receive completes when the stream has failed. */
    public WorkStatus receiveStatus() {
        return receiveStatus;
    }

    /** How the oldest Read completes when the stream has failed. */
    public WorkStatus readStatus() {
        return readStatus;
    }

    @Override
    public int begin(ByteBuffer bytes, int at, int length)
            throws StreamException, TerminatedException {
        opcode = -1;
        segment.decode(bytes, at, length);
        int code = RdmapOpcodes.check(segment);
        opcode = code;
        int body = at + segment.headerBytes;
        remaining = segment.payloadBytes;
        switch (code) {
            case RdmapOpcodes.WRITE -> {
                if (!tryBeginWrite()) {
                    return NOT_NOW;
                }
            }
            case RdmapOpcodes.READ_RESPONSE -> outboundReads.check(segment);
            case RdmapOpcodes.READ_REQUEST -> beginReadRequest(bytes, body);
            case RdmapOpcodes.TERMINATE -> throw terminated(bytes, body);
            default -> {
                if (!tryBeginSend()) {
                    return NOT_NOW;
                }
            }
        }
        return remaining;
    }

    /** Returns whether it can be taken now: whether there is memory. */
    private boolean tryBeginWrite() throws StreamException {
        if (writeOpen && segment.stag() != writeStag) {
            throw new StreamException(
                    DdpError.TAGGED_INVALID_STAG,
                    String.format(
                            "Write changes its STag from 0x%08x to 0x%08x before its end",
                            writeStag, segment.stag()));
        }
        if (remaining > 0) {
            IwarpExposure found = written();
            if (found.isWithoutMemory() && !tryTakeMemory(found)) {
                return false;
            }
            exposure = found;
            cursor = segment.taggedOffset();
        }
        writeOpen = !segment.isLast;
        writeStag = segment.stag();
        return true;
    }

    /** Target of the segment. */
    private IwarpExposure written() throws StreamException {
        IwarpExposure found = stags.find(segment.stag());
        if (found == null) {
            throw invalidWrite("which is not valid");
        }
        if (!found.admits(stream)) {
            throw new StreamException(
                    DdpError.TAGGED_NOT_ASSOCIATED,
                    String.format("Write names STag 0x%08x of another connection", segment.stag()));
        }
        if (!found.isWritable()) {
            throw new StreamException(
                    RdmapError.PROTECTION_ACCESS,
                    String.format(
                            "Write names STag 0x%08x, which gives no right to write",
                            segment.stag()));
        }
        long offset = segment.taggedOffset();
        if (Long.compareUnsigned(offset, -remaining) > 0) {
            throw new StreamException(
                    DdpError.TAGGED_WRAP,
                    String.format(
                            "Write of %d bytes at offset 0x%x wraps around 2^64",
                            remaining, offset));
        }
        if (!found.contains(offset, remaining)) {
            throw new StreamException(
                    DdpError.TAGGED_BOUNDS,
                    String.format(
                            "Write of %d bytes at offset 0x%x is not inside STag 0x%08x",
                            remaining, offset, segment.stag()));
        }
        return found;
    }

    /** Asks for the memory of this segment. */
    private boolean tryTakeMemory(IwarpExposure found) {
        ReceiveMemoryRange given = source.writeMemory(found.stag(), found.filled(), remaining);
        if (given == null) {
            return false;
        }
        if (given.length() < remaining) {
            throw new IllegalStateException(
                    "Memory of "
                            + given.length()
                            + " bytes was given to a Write of "
                            + remaining
                            + " bytes");
        }
        isWriteMemoryTaken = true;
        writeKey = given.region().localKey();
        writeAddress = given.address();
        return true;
    }

    private StreamException invalidWrite(String why) {
        return new StreamException(
                DdpError.TAGGED_INVALID_STAG,
                String.format("Write names STag 0x%08x, %s", segment.stag(), why));
    }

    /** Returns whether it can be taken now: whether there is a receive for it, and memory. */
    private boolean tryBeginSend() throws StreamException {
        if (sendQueue.open && opcode != sendOpcode) {
            throw new StreamException(
                    RdmapError.OPERATION_UNEXPECTED_OPCODE,
                    "Send changes its opcode from "
                            + sendOpcode
                            + " to "
                            + opcode
                            + " before its end");
        }
        sendOpcode = opcode;
        sendQueue.check(segment);
        awaitsReadyToReceive =
                awaitsReadyToReceive
                        && opcode == RdmapOpcodes.SEND
                        && segment.isLast
                        && segment.payloadBytes == 0;
        if (awaitsReadyToReceive) {
            return true;
        }
        if (receives.count == 0) {
            if (source.receivesFollow()) {
                return false;
            }
            throw new StreamException(
                    DdpError.UNTAGGED_NO_BUFFER, "Send came, but no receive is posted");
        }
        long offset = Integer.toUnsignedLong(segment.messageOffset);
        checkLength(offset + remaining);
        if (receives.key == ReceiveQueue.NO_KEY) {
            // Only a message of one segment has a known length at its start.
            int length = segment.isLast ? remaining : receives.length;
            ReceiveMemoryRange found = source.memory(receives.id, length);
            if (found == null) {
                return false;
            }
            receives.memory(found);
            checkLength(offset + remaining);
        }
        cursor = receives.address + offset;
        return true;
    }

    private void checkLength(long bytes) throws StreamException {
        if (bytes > receives.length) {
            receiveStatus = WorkStatus.LOCAL_LENGTH_ERROR;
            throw new StreamException(
                    DdpError.UNTAGGED_TOO_LONG,
                    String.format(
                            "Send has %d bytes or more, the receive has room for %d",
                            bytes, receives.length));
        }
    }

    private void beginReadRequest(ByteBuffer bytes, int body) throws StreamException {
        if (remaining != ReadRequestHeader.BYTES || !segment.isLast) {
            opcode = -1;
            throw new StreamException(
                    MpaError.FRAMING,
                    "Read Request has "
                            + remaining
                            + " bytes after its DDP header, expected "
                            + ReadRequestHeader.BYTES);
        }
        request.decode(bytes, body, segment.messageNumber);
        readQueue.check(segment);
        remaining = 0;
    }

    /** RFC 5040, 5.4: the stream has ended; further input is ignored. */
    private TerminatedException terminated(ByteBuffer bytes, int body) {
        int length = Math.min(remaining, LOOK_AHEAD - DdpSegmentHeader.UNTAGGED_BYTES);
        return new TerminatedException(Terminate.decode(bytes, body, length, starting));
    }

    @Override
    public ByteBuffer target() throws StreamException {
        return switch (opcode) {
            case RdmapOpcodes.WRITE -> writeTarget();
            case RdmapOpcodes.READ_RESPONSE -> readTarget();
            default -> receiveTarget();
        };
    }

    private ByteBuffer writeTarget() throws StreamException {
        if (!exposure.admits(stream) || exposure.stag() != segment.stag()) {
            throw invalidWrite("which was invalidated meanwhile");
        }
        if (!exposure.isWithoutMemory()) {
            return exposure.region().placement(exposure.address(cursor), remaining);
        }
        IwarpMemoryRegion region = memory.find(writeKey, writeAddress, remaining);
        if (region == null) {
            throw new StreamException(
                    DdpError.LOCAL_CATASTROPHIC,
                    String.format(
                            "Memory of a Write at address 0x%x with local key 0x%x is not"
                                    + " registered any more",
                            writeAddress, writeKey));
        }
        return region.placement(writeAddress, remaining);
    }

    private ByteBuffer readTarget() throws StreamException {
        ByteBuffer target = outboundReads.target(remaining);
        if (target == null) {
            readStatus = WorkStatus.LOCAL_PROTECTION_ERROR;
            throw new StreamException(
                    RdmapError.LOCAL_CATASTROPHIC, "Sink of a Read is not registered any more");
        }
        return target;
    }

    private ByteBuffer receiveTarget() throws StreamException {
        IwarpMemoryRegion region = memory.find(receives.key, cursor, remaining);
        if (region == null) {
            receiveStatus = WorkStatus.LOCAL_PROTECTION_ERROR;
            throw new StreamException(
                    DdpError.LOCAL_CATASTROPHIC,
                    String.format(
                            "Receive of %d bytes at address 0x%x with local key 0x%x is not"
                                    + " registered",
                            receives.length, receives.address, receives.key));
        }
        return region.placement(cursor, remaining);
    }

    @Override
    public void placed(int bytes) {
        if (bytes > 0) {
            if (opcode == RdmapOpcodes.WRITE) {
                exposure.placed(bytes);
                writeAddress += bytes;
            } else if (opcode == RdmapOpcodes.READ_RESPONSE) {
                outboundReads.placed(bytes);
            }
        }
        cursor += bytes;
        remaining -= bytes;
    }

    @Override
    public void end() throws StreamException {
        switch (opcode) {
            case RdmapOpcodes.WRITE -> exposure = null;
            case RdmapOpcodes.READ_RESPONSE -> {
                if (segment.isLast) {
                    outboundReads.done();
                }
            }
            case RdmapOpcodes.READ_REQUEST -> {
                inboundReads.add(request);
                readQueue.advance(segment);
            }
            default -> endSend();
        }
        starting = false;
    }

    private void endSend() throws StreamException {
        sendQueue.advance(segment);
        if (awaitsReadyToReceive) {
            awaitsReadyToReceive = false;
            return;
        }
        if (!segment.isLast) {
            return;
        }
        int invalidated = 0;
        if (opcode != RdmapOpcodes.SEND && RdmapOpcodes.invalidates(opcode)) {
            invalidated = segment.ulpWord();
            invalidate(invalidated);
        }
        int length = segment.messageOffset + segment.payloadBytes;
        receives.complete(completions, WorkStatus.SUCCESS, length, invalidated);
    }

    /** RFC 5040, 5.2: the STag is invalid before the Send is delivered. */
    private void invalidate(int stag) throws StreamException {
        IwarpExposure found = stags.find(stag);
        if (found == null) {
            throw new StreamException(
                    RdmapError.OPERATION_CANNOT_INVALIDATE,
                    String.format(
                            "Send with Invalidate names STag 0x%08x, which is not valid", stag));
        }
        if (found.owner() != stream) {
            throw new StreamException(
                    RdmapError.PROTECTION_CANNOT_INVALIDATE,
                    String.format(
                            "Send with Invalidate names STag 0x%08x of another connection", stag));
        }
        stags.invalidate(found);
    }
}
