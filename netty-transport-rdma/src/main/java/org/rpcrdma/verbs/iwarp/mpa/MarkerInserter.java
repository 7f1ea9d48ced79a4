// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp.mpa;

import java.nio.ByteBuffer;
import java.util.zip.CRC32C;

/**
 * Positions of markers, and their insertion into an FPDU: RFC 5044, 4.3.
 *
 * <p>A marker stands before the first FPDU of a direction, and after that every 512 bytes of the TCP stream, markers
 * counted in. It tells how far back the FPDU around it begins. One that falls between two FPDUs belongs to the second.
 * FPDUs are multiples of 4 bytes, so a marker never splits a ULPDU_Length or a CRC.
 *
 * <p>Positions count from the first byte of the first marker.
 */
public final class MarkerInserter {

    /** Bytes of a marker: 16 reserved bits, then FPDUPTR. */
    static final int BYTES = 4;

    /** From one marker to the next, in bytes of the TCP stream. */
    static final int INTERVAL = 512;

    /** The most bytes that an FPDU of the largest ULPDU_Length has with its markers. */
    public static final int MAX_FPDU_BYTES =
            FpduLayout.MAX_BYTES + BYTES * (1 + (FpduLayout.MAX_BYTES - 1) / (INTERVAL - BYTES));

    private MarkerInserter() {}

    /** The bytes from a position to the next marker, 0 to 511. */
    static int distance(long position) {
        return (int) (-position & (INTERVAL - 1));
    }

    /** The bytes that an FPDU at a position takes with its markers, the one right before it included. */
    static int lengthWith(long position, int fpduBytes) {
        int before = distance(position);
        int markers = fpduBytes <= before ? 0 : 1 + (fpduBytes - before - 1) / (INTERVAL - BYTES);
        return fpduBytes + BYTES * markers;
    }

    /**
     * The largest ULPDU whose FPDU still fits where one of the given size did without markers: RFC 5044, 5.1.
     *
     * @param mulpdu the largest ULPDU without markers, a multiple of 4 less 2
     */
    public static int mulpdu(int mulpdu) {
        int fpdu = FpduLayout.length(mulpdu);
        int markers = (fpdu + INTERVAL - 1) / INTERVAL;
        return Math.max(mulpdu - BYTES * markers, FpduLayout.MIN_MULPDU + 2);
    }

    /**
     * Writes an FPDU with its markers and its CRC.
     *
     * @param fpdu ULPDU_Length, ULPDU and pad, from its position to its limit
     * @param position where it begins in the stream
     * @param crc computes the CRC; {@code null} when it is off, the field is 0 then
     */
    static void insert(ByteBuffer fpdu, long position, ByteBuffer out, CRC32C crc) {
        int start = out.position();
        int begin = start + (distance(position) == 0 ? BYTES : 0);
        int limit = fpdu.limit();
        while (fpdu.position() < limit) {
            long at = position + out.position() - start;
            if (distance(at) == 0) {
                put(out, begin);
                at += BYTES;
            }
            fpdu.limit(Math.min(limit, fpdu.position() + distance(at)));
            out.put(fpdu);
        }
        if (distance(position + out.position() - start) == 0) {
            put(out, begin);
        }
        // RFC 5044, 4.4: the CRC covers the markers inside the FPDU and the one right before it.
        int field = 0;
        if (crc != null) {
            int end = out.position();
            int room = out.limit();
            crc.reset();
            crc.update(out.limit(end).position(start));
            out.limit(room);
            field = FpduLayout.wireOrder((int) crc.getValue());
        }
        out.putInt(field);
    }

    private static void put(ByteBuffer out, int begin) {
        out.putInt(Math.max(out.position() - begin, 0));
    }

    /**
     * Frames one ULPDU that is sent by itself.
     *
     * @param withCrc whether the CRC is on
     * @param position where its FPDU begins in the stream
     */
    public static ByteBuffer frame(byte[] ulpdu, boolean withCrc, long position) {
        ByteBuffer fpdu = FpduLayout.frame(ulpdu, false);
        ByteBuffer out = ByteBuffer.allocate(lengthWith(position, fpdu.limit()));
        insert(
                fpdu.limit(fpdu.limit() - FpduLayout.CRC_BYTES),
                position,
                out,
                withCrc ? new CRC32C() : null);
        return out.flip();
    }
}
