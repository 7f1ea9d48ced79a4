// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp.rdmap;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.GatheringByteChannel;
import org.rpcrdma.verbs.QueuePair;
import org.rpcrdma.verbs.iwarp.ddp.DdpSegmentHeader;
import org.rpcrdma.verbs.iwarp.ddp.DdpSegmenter;
import org.rpcrdma.verbs.iwarp.memory.IwarpMemoryRegion;
import org.rpcrdma.verbs.iwarp.memory.LocalKeyTable;
import org.rpcrdma.verbs.iwarp.mpa.FpduSender;
import org.rpcrdma.verbs.iwarp.mpa.Rtr;

/**
 * The outbound half of a stream: turns work requests and Read Responses into messages, one after another.
 *
 * <p>A message never starts before the one before it is complete (RFC 5040, 5.5). Between two messages up to four Read
 * Responses go before the next work request, so that neither side starves the other.
 */
public final class RdmapSender {

    private static final int RESPONSES_IN_A_ROW = 4;

    private static final int READ_REQUEST_ULPDU =
            DdpSegmentHeader.UNTAGGED_BYTES + ReadRequestHeader.BYTES;

    /** The STag of a zero-length Write, which the peer ignores (RFC 5040, 5.1). */
    private static final int ANY_STAG = 1;

    private final SendQueue work;
    private final OutboundReads outboundReads;
    private final InboundReads inboundReads;
    private final FpduSender out;
    private final DdpSegmenter segmenter;
    private final WorkRequestPayloadSource source;
    private final LocalKeyTable memory;

    /** Bytes of payload. */
    private final int mostInOneSegment;

    private Rtr readyToReceive;
    private int sendMessage = 1;
    private int readMessage = 1;
    private int responses;
    private boolean responding;

    public RdmapSender(
            SendQueue work,
            OutboundReads outboundReads,
            InboundReads inboundReads,
            LocalKeyTable memory,
            FpduSender out,
            int mulpdu) {
        this.work = work;
        this.outboundReads = outboundReads;
        this.inboundReads = inboundReads;
        this.memory = memory;
        this.source = new WorkRequestPayloadSource(work, memory);
        this.out = out;
        this.segmenter = new DdpSegmenter(mulpdu);
        this.mostInOneSegment = mulpdu - DdpSegmentHeader.UNTAGGED_BYTES;
    }

    /** Makes a ready-to-receive message the first one; {@code null} for none. */
    public void readyToReceive(Rtr rtr) {
        readyToReceive = rtr;
    }

    /**
     * Sends until nothing is left, the channel takes no more or the budget is spent.
     *
     * @param budget the bytes after which to stop
     * @return whether something is left to be sent when the channel is writable
     * @throws IOException when the channel is broken or a source is not accessible any more
     */
    public boolean send(GatheringByteChannel channel, long budget) throws IOException {
        long end = out.written + budget;
        while (true) {
            if (out.queued != out.written) {
                out.write(channel);
                work.written(out.written);
                if (out.queued != out.written || out.written - end >= 0) {
                    return out.queued != out.written || hasMore();
                }
            }
            fill();
            if (out.queued == out.written) {
                return false;
            }
        }
    }

    /** Whether a message is in progress or could start. */
    private boolean hasMore() {
        return segmenter.active
                || readyToReceive != null
                || inboundReads.count > 0
                || canStartWork();
    }

    /** Whether all that can be sent now is sent: only work that waits for Reads may be left. */
    public boolean isIdle() {
        return out.queued == out.written && !hasMore();
    }

    /** The Read Request whose response is being sent, for error reports; otherwise {@code null}. */
    public ReadRequestHeader respondingTo() {
        return responding ? inboundReads.first() : null;
    }

    private void fill() throws IOException {
        while (out.hasRoom() && (segmenter.active || start())) {
            if (segmenter.active) {
                segmenter.next(out);
                if (!segmenter.active) {
                    messageMade();
                }
            }
        }
    }

    private void messageMade() {
        if (responding) {
            responding = false;
            inboundReads.remove();
        } else {
            work.made(out.queued);
        }
    }

    /** Starts the next message, or sends it if it is one that has no payload of its own. */
    private boolean start() throws IOException {
        if (readyToReceive != null) {
            sendReadyToReceive();
            return true;
        }
        boolean workWaits = canStartWork();
        if (inboundReads.count > 0 && (responses < RESPONSES_IN_A_ROW || !workWaits)) {
            responses++;
            startResponse();
            return true;
        }
        responses = 0;
        if (!workWaits) {
            return false;
        }
        if (work.opcode >= RdmapOpcodes.SEND) {
            startSend();
        } else {
            startWriteOrRead();
        }
        return true;
    }

    private boolean canStartWork() {
        if (work.next == work.posted) {
            return false;
        }
        if ((work.flags & QueuePair.FENCE) != 0 && !outboundReads.isEmpty()) {
            return false;
        }
        return work.opcode != RdmapOpcodes.READ_REQUEST || !outboundReads.isFull();
    }

    private void startResponse() {
        ReadRequestHeader request = inboundReads.first();
        responding = true;
        segmenter.startTagged(
                RdmapOpcodes.control(RdmapOpcodes.READ_RESPONSE),
                request.sinkStag,
                request.sinkOffset,
                request.size,
                inboundReads);
    }

    private void startWriteOrRead() throws IOException {
        source.start();
        if (work.opcode == RdmapOpcodes.WRITE) {
            segmenter.startTagged(
                    RdmapOpcodes.control(RdmapOpcodes.WRITE),
                    work.remoteKey,
                    work.remoteAddress,
                    work.length,
                    source);
        } else {
            sendReadRequest(
                    outboundReads.add(work.next), work.length, work.remoteKey, work.remoteAddress);
            work.made(out.queued);
        }
    }

    private void startSend() throws IOException {
        boolean isSolicited = (work.flags & QueuePair.SOLICITED) != 0;
        int solicited = isSolicited ? RdmapOpcodes.SEND_SOLICITED - RdmapOpcodes.SEND : 0;
        int control = RdmapOpcodes.control(work.opcode + solicited);
        if (work.length > 0 && work.length <= mostInOneSegment && work.length == work.firstLength) {
            sendInOneSegment(control);
        } else {
            source.start();
            segmenter.startUntagged(
                    control,
                    work.remoteKey,
                    RdmapOpcodes.QUEUE_SEND,
                    sendMessage++,
                    work.length,
                    source);
        }
    }

    /** Sends a message of one memory range, as most are, without the state that segments of one message share. */
    private void sendInOneSegment(int control) throws LocalAccessException {
        int length = (int) work.length;
        long address = work.firstAddress;
        IwarpMemoryRegion region = memory.find(work.firstKey, address, length);
        if (region == null) {
            region = source.region(work.firstRange, 0, length); // throws, and names what is wrong
        }
        ByteBuffer header = out.begin(DdpSegmentHeader.UNTAGGED_BYTES + length);
        DdpSegmentHeader.encodeUntagged(
                header, true, control, work.remoteKey, RdmapOpcodes.QUEUE_SEND, sendMessage++, 0);
        if (out.wantsCopy(length)) {
            out.copy(region.memory, region.index(address), length);
        } else {
            out.payload(region.borrow(address, length), region);
        }
        out.end();
        work.made(out.queued);
    }

    private void sendReadyToReceive() {
        switch (readyToReceive) {
            case ZERO_LENGTH_WRITE -> {
                ByteBuffer header = out.begin(DdpSegmentHeader.TAGGED_BYTES);
                DdpSegmentHeader.encodeTagged(
                        header, true, RdmapOpcodes.control(RdmapOpcodes.WRITE), ANY_STAG, 0);
                out.end();
            }
            case ZERO_LENGTH_READ ->
                    sendReadRequest(outboundReads.addReadyToReceive(), 0, ANY_STAG, 0);
            case ZERO_LENGTH_SEND -> {
                ByteBuffer header = out.begin(DdpSegmentHeader.UNTAGGED_BYTES);
                DdpSegmentHeader.encodeUntagged(
                        header,
                        true,
                        RdmapOpcodes.control(RdmapOpcodes.SEND),
                        0,
                        RdmapOpcodes.QUEUE_SEND,
                        sendMessage++,
                        0);
                out.end();
            }
        }
        readyToReceive = null;
    }

    private void sendReadRequest(int sinkStag, long size, int sourceStag, long sourceOffset) {
        ByteBuffer header = out.begin(READ_REQUEST_ULPDU);
        DdpSegmentHeader.encodeUntagged(
                header,
                true,
                RdmapOpcodes.control(RdmapOpcodes.READ_REQUEST),
                0,
                RdmapOpcodes.QUEUE_READ,
                readMessage++,
                0);
        ReadRequestHeader.encode(header, sinkStag, 0, size, sourceStag, sourceOffset);
        out.end();
    }
}
