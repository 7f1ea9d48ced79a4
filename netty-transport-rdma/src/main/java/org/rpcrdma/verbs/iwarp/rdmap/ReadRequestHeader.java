// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp.rdmap;

import java.nio.ByteBuffer;
import org.rpcrdma.verbs.iwarp.ddp.DdpSegmentHeader;

/** The RDMA Read Request header: RFC 5040, 4.4. Reused. The data sink comes first, then the size, then the source. */
public final class ReadRequestHeader {

    /** Bytes of the header. */
    public static final int BYTES = 28;

    int sinkStag;
    long sinkOffset;
    long size;
    int sourceStag;
    long sourceOffset;

    /** The MSN of the request, which a Terminate about it names. */
    int messageNumber;

    /**
     * Takes the header at an index.
     *
     * @param msn the message sequence number of the request
     */
    public void decode(ByteBuffer bytes, int at, int msn) {
        messageNumber = msn;
        sinkStag = bytes.getInt(at);
        sinkOffset = bytes.getLong(at + 4);
        size = Integer.toUnsignedLong(bytes.getInt(at + 12));
        sourceStag = bytes.getInt(at + 16);
        sourceOffset = bytes.getLong(at + 20);
    }

    /** Writes the header. */
    public void encode(ByteBuffer out) {
        encode(out, sinkStag, sinkOffset, size, sourceStag, sourceOffset);
    }

    static void encode(
            ByteBuffer out,
            int sinkStag,
            long sinkOffset,
            long size,
            int sourceStag,
            long sourceOffset) {
        out.putInt(sinkStag)
                .putLong(sinkOffset)
                .putInt((int) size)
                .putInt(sourceStag)
                .putLong(sourceOffset);
    }

    /** Gives a segment the DDP header that this request came with. */
    public void restoreHeader(DdpSegmentHeader segment) {
        segment.restoreUntagged(
                DdpSegmentHeader.UNTAGGED_BYTES + BYTES,
                RdmapOpcodes.control(RdmapOpcodes.READ_REQUEST),
                RdmapOpcodes.QUEUE_READ,
                messageNumber);
    }

    void set(ReadRequestHeader other) {
        sinkStag = other.sinkStag;
        sinkOffset = other.sinkOffset;
        size = other.size;
        sourceStag = other.sourceStag;
        sourceOffset = other.sourceOffset;
        messageNumber = other.messageNumber;
    }
}
