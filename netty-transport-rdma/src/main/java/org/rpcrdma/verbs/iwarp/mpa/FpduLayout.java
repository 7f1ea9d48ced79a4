// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp.mpa;

import java.nio.ByteBuffer;
import java.util.zip.CRC32C;

/** Sizes and layout of an FPDU: RFC 5044, 4.1. Length, ULPDU, pad and CRC; no markers. */
public final class FpduLayout {

    /** Bytes of the ULPDU_Length field. */
    public static final int LENGTH_BYTES = 2;

    /** Bytes of the CRC field. It is always there, also when the CRC is off. */
    public static final int CRC_BYTES = 4;

    /** The largest FPDU that can be described: a ULPDU of 65535 bytes. More than RFC 5044 lets a peer send. */
    public static final int MAX_BYTES = ((LENGTH_BYTES + 0xffff + 3) & ~3) + CRC_BYTES;

    /** The largest ULPDU that may be sent: RFC 5044, 5.1 (MULPDU). */
    public static final int MAX_ULPDU = 64768;

    /** The smallest MULPDU: RFC 5044, 5.1. */
    public static final int MIN_MULPDU = 128;

    private static final int TCP_HEADER_WITH_TIMESTAMPS = 32;

    private FpduLayout() {}

    /** Bytes of pad after a ULPDU, 0 to 3. */
    public static int pad(int ulpduLength) {
        return -(ulpduLength + LENGTH_BYTES) & 3;
    }

    /** Bytes of the whole FPDU. */
    public static int length(int ulpduLength) {
        return LENGTH_BYTES + ulpduLength + pad(ulpduLength) + CRC_BYTES;
    }

    /**
     * The largest ULPDU to send so that an FPDU fits one TCP segment. It makes FPDUs whose length is a multiple of 8,
     * so that only the last segment of a message carries a pad.
     *
     * @param mtu the MTU of the local interface in bytes
     * @param ipHeader bytes of the IP header: 20, or 40 for IPv6
     */
    public static int mulpdu(int mtu, int ipHeader) {
        long segment = Math.min((long) mtu - ipHeader - TCP_HEADER_WITH_TIMESTAMPS, MAX_ULPDU + 6L);
        return Math.max((int) (segment & ~7) - LENGTH_BYTES - CRC_BYTES, MIN_MULPDU + 2);
    }

    /**
     * Frames one ULPDU that is sent by itself.
     *
     * @param withCrc whether the CRC is on; the field is 0 when it is not
     */
    public static ByteBuffer frame(byte[] ulpdu, boolean withCrc) {
        ByteBuffer fpdu = ByteBuffer.allocate(length(ulpdu.length));
        fpdu.putShort((short) ulpdu.length).put(ulpdu);
        fpdu.position(fpdu.position() + pad(ulpdu.length));
        if (withCrc) {
            CRC32C crc = new CRC32C();
            crc.update(fpdu.array(), 0, fpdu.position());
            fpdu.putInt(wireOrder((int) crc.getValue()));
        }
        return fpdu.clear();
    }

    /**
     * Compares the CRC of an FPDU.
     *
     * @param expected as computed
     * @param field as read from the FPDU by a big-endian buffer
     * @param length the bytes of the FPDU, for the message
     */
    static void verifyCrc(int expected, int field, int length) throws StreamException {
        int received = wireOrder(field);
        if (received != expected) {
            throw new StreamException(
                    MpaError.CRC,
                    String.format(
                            "FPDU of %d bytes has CRC %08x, expected %08x",
                            length, received, expected));
        }
    }

    /**
     * A CRC as it is read or written by a big-endian buffer: the field is the one little-endian field of the stream
     * (RFC 5044, 4.4 by the examples of its figures 5 and 6).
     */
    static int wireOrder(int crc) {
        return Integer.reverseBytes(crc);
    }
}
