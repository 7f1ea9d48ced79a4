// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp.mpa;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;

/**
 * A start-up frame, Request or Reply: RFC 5044, 7.1 with the enhancement of RFC 6581, 9.
 *
 * @param request whether it is a Request; otherwise it is a Reply
 * @param markers M: the sender wants markers in what it receives
 * @param crc C: the sender wants the CRC
 * @param rejected R: the responder rejects the connection
 * @param enhanced S: read depths and RTR flags are present; without it those fields mean nothing
 * @param revision the MPA revision, 1 or 2
 * @param peerToPeer A: the initiator sends a ready-to-receive (RTR) message first
 * @param rtrSend B: a zero-length Send is possible as RTR
 * @param rtrWrite C of the enhanced data: a zero-length RDMA Write is possible as RTR
 * @param rtrRead D: a zero-length RDMA Read is possible as RTR
 * @param ird the sender's inbound read depth, 14 bits
 * @param ord the sender's outbound read depth, 14 bits
 * @param privateData the ULP's private data, without the enhanced data
 */
@SuppressWarnings(
        "ArrayRecordComponent") // frames are never compared; the array is handed over, not shared
public record MpaStartupFrame(
        boolean request,
        boolean markers,
        boolean crc,
        boolean rejected,
        boolean enhanced,
        int revision,
        boolean peerToPeer,
        boolean rtrSend,
        boolean rtrWrite,
        boolean rtrRead,
        int ird,
        int ord,
        byte[] privateData) {

    /** Bytes before the private data. */
    public static final int HEADER_BYTES = 20;

    /** The largest PD_Length that is accepted: RFC 5044, 7.1. */
    public static final int MAX_PRIVATE_DATA = 512;

    /** The bytes of the enhanced data, which count as private data: RFC 6581, 9. */
    public static final int ENHANCED_BYTES = 4;

    /**
     * The most private data of the ULP to send to peers that are not known: some keep PD_Length in 8 bits, and
     * soft-iWARP of Linux 6.1 crashes when it is above 256.
     */
    public static final int SAFE_PRIVATE_DATA = 255 - ENHANCED_BYTES;

    /** A read depth that says: not negotiated here (RFC 6581, 9.1). */
    public static final int DEPTH_NOT_NEGOTIATED = 0x3fff;

    private static final byte[] REQUEST_KEY =
            "MPA ID Req Frame".getBytes(StandardCharsets.US_ASCII);
    private static final byte[] REPLY_KEY = "MPA ID Rep Frame".getBytes(StandardCharsets.US_ASCII);
    private static final int FLAG_MARKERS = 0x80;
    private static final int FLAG_CRC = 0x40;
    private static final int FLAG_REJECTED = 0x20;
    private static final int FLAG_ENHANCED = 0x10;
    private static final int HIGH_BIT = 0x8000;
    private static final int NEXT_BIT = 0x4000;

    /** The same frame with other private data. */
    public MpaStartupFrame with(byte[] data) {
        return new MpaStartupFrame(
                request,
                markers,
                crc,
                rejected,
                enhanced,
                revision,
                peerToPeer,
                rtrSend,
                rtrWrite,
                rtrRead,
                ird,
                ord,
                data);
    }

    /** The frame's bytes as they go on the wire. */
    public byte[] encode() {
        int length = privateData.length + (enhanced ? ENHANCED_BYTES : 0);
        ByteBuffer out = ByteBuffer.allocate(HEADER_BYTES + length);
        out.put(request ? REQUEST_KEY : REPLY_KEY);
        out.put(
                (byte)
                        ((markers ? FLAG_MARKERS : 0)
                                | (crc ? FLAG_CRC : 0)
                                | (rejected ? FLAG_REJECTED : 0)
                                | (enhanced ? FLAG_ENHANCED : 0)));
        out.put((byte) revision).putShort((short) length);
        if (enhanced) {
            out.putShort((short) ((peerToPeer ? HIGH_BIT : 0) | (rtrSend ? NEXT_BIT : 0) | ird));
            out.putShort((short) ((rtrWrite ? HIGH_BIT : 0) | (rtrRead ? NEXT_BIT : 0) | ord));
        }
        return out.put(privateData).array();
    }

    /**
     * The bytes after the header, from a header that is complete.
     *
     * @param header the first {@link #HEADER_BYTES} bytes
     * @param request whether a Request is expected
     * @throws StreamException when this is not the expected frame; nothing must be allocated for it then
     */
    public static int privateDataLength(ByteBuffer header, boolean request) throws StreamException {
        byte[] key = request ? REQUEST_KEY : REPLY_KEY;
        for (int i = 0; i < key.length; i++) {
            if (header.get(i) != key[i]) {
                throw invalid(
                        "its key is not '" + new String(key, StandardCharsets.US_ASCII) + "'");
            }
        }
        int revision = header.get(17) & 0xff;
        if (revision < 1 || revision > 2) {
            throw invalid("its revision is " + revision + ", expected 1 or 2");
        }
        int length = header.getShort(18) & 0xffff;
        if (length > MAX_PRIVATE_DATA) {
            throw invalid("its PD_Length is " + length + ", expected at most " + MAX_PRIVATE_DATA);
        }
        return length;
    }

    /**
     * Decodes a whole frame.
     *
     * @throws StreamException when it is not the expected frame or is malformed
     */
    public static MpaStartupFrame decode(ByteBuffer frame, boolean request) throws StreamException {
        int length = privateDataLength(frame, request);
        int flags = frame.get(16);
        int revision = frame.get(17);
        // RFC 6581, 9: the flag S is reserved in revision 1, and reserved bits are ignored.
        boolean enhanced = revision >= 2 && (flags & FLAG_ENHANCED) != 0;
        boolean rejected = (flags & FLAG_REJECTED) != 0;
        if (enhanced && length < ENHANCED_BYTES && !rejected) {
            throw new StreamException(
                    MpaError.INVALID_FRAME,
                    "MPA frame is not valid: it announces enhanced data and has a PD_Length of "
                            + length);
        }
        int words = enhanced && length >= ENHANCED_BYTES ? frame.getInt(HEADER_BYTES) : 0;
        int skipped = enhanced ? Math.min(length, ENHANCED_BYTES) : 0;
        byte[] privateData = new byte[length - skipped];
        frame.get(HEADER_BYTES + skipped, privateData);
        int inbound = words >>> 16;
        return new MpaStartupFrame(
                request,
                (flags & FLAG_MARKERS) != 0,
                (flags & FLAG_CRC) != 0,
                rejected,
                enhanced,
                revision,
                (inbound & HIGH_BIT) != 0,
                (inbound & NEXT_BIT) != 0,
                (words & HIGH_BIT) != 0,
                (words & NEXT_BIT) != 0,
                inbound & DEPTH_NOT_NEGOTIATED,
                words & DEPTH_NOT_NEGOTIATED,
                privateData);
    }

    private static StreamException invalid(String why) {
        return new StreamException(MpaError.INVALID_FRAME, "MPA frame is not valid: " + why);
    }
}
