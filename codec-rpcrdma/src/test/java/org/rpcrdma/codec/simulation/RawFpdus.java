// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.simulation;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.util.function.Consumer;
import java.util.zip.CRC32C;
import org.rpcrdma.verbs.iwarp.MarkedStream;

/** FPDUs and DDP segments as the documents write them, and what comes cut into them. Shares no code with the RNIC. */
final class RawFpdus {

    static final int TAGGED = 14;
    static final int UNTAGGED = 18;
    static final int READ_REQUEST = 28;
    private static final int INTERVAL = 512;

    private final boolean crc;
    private final boolean markersIn;
    private final MarkedStream marked;
    private final Consumer<byte[]> segments;
    private final Consumer<String> wrong;

    /** Of the FPDU that arrives: all bytes, and those without markers. */
    private final ByteArrayOutputStream raw = new ByteArrayOutputStream();

    private final ByteArrayOutputStream plain = new ByteArrayOutputStream();
    private int position;
    private int sent;

    /** Bytes of the FPDU that arrives, without markers; negative before its ULPDU_Length is there. */
    private int expected = -1;

    /** Bytes of a marker before the FPDU, which is no part of it. */
    private int before;

    /**
     * @param segments are told of each ULPDU that comes
     * @param wrong is told what is not as RFC 5044 says
     */
    RawFpdus(
            boolean crc,
            boolean markersOut,
            boolean markersIn,
            Consumer<byte[]> segments,
            Consumer<String> wrong) {
        this.crc = crc;
        this.markersIn = markersIn;
        this.marked = markersOut ? new MarkedStream(crc) : null;
        this.segments = segments;
        this.wrong = wrong;
    }

    boolean hasCrc() {
        return crc;
    }

    boolean hasMarkersOut() {
        return marked != null;
    }

    /** Whether nothing of another FPDU has come. */
    boolean isBetween() {
        return plain.size() == 0;
    }

    /** Where the next marker stands in what is sent next; negative when that is no more than so many bytes. */
    int nextMarker(int length) {
        int at = (INTERVAL - sent % INTERVAL) % INTERVAL;
        return at + 4 <= length ? at : -1;
    }

    /** The FPDU of a ULPDU. */
    byte[] fpdu(byte[] ulpdu) {
        if (marked != null) {
            byte[] fpdu = marked.fpdu(ulpdu);
            sent += fpdu.length;
            return fpdu;
        }
        int covered = 2 + ulpdu.length + (-(ulpdu.length + 2) & 3);
        ByteBuffer fpdu = ByteBuffer.allocate(covered + 4);
        fpdu.putShort((short) ulpdu.length).put(ulpdu);
        if (crc) {
            CRC32C sum = new CRC32C();
            sum.update(fpdu.array(), 0, covered);
            fpdu.putInt(covered, Integer.reverseBytes((int) sum.getValue()));
        }
        return fpdu.array();
    }

    /** The next byte that comes (RFC 5044, 4.1 and 4.3). */
    void arrives(byte next) {
        if (markersIn && position % INTERVAL < 4) {
            raw.write(next);
            if (position++ % INTERVAL == 3) {
                checkMarker();
            }
            return;
        }
        position++;
        raw.write(next);
        plain.write(next);
        if (plain.size() == 2) {
            int covered = 2 + (ByteBuffer.wrap(plain.toByteArray()).getShort() & 0xffff);
            expected = covered + (-covered & 3) + 4;
        }
        if (plain.size() != expected) {
            return;
        }
        byte[] bytes = plain.toByteArray();
        if (crc && !isCrcRight(bytes)) {
            wrong.accept("an FPDU has a wrong CRC");
            return;
        }
        int length = ByteBuffer.wrap(bytes).getShort() & 0xffff;
        expected = -1;
        raw.reset();
        before = 0;
        plain.reset();
        byte[] ulpdu = new byte[length];
        System.arraycopy(bytes, 2, ulpdu, 0, length);
        segments.accept(ulpdu);
    }

    private void checkMarker() {
        byte[] bytes = raw.toByteArray();
        int pointer = ByteBuffer.wrap(bytes).getInt(bytes.length - 4);
        int expected = plain.size() == 0 ? 0 : bytes.length - 4 - before;
        before = plain.size() == 0 ? 4 : before;
        if (pointer != expected) {
            wrong.accept("a marker points " + pointer + " bytes back, not " + expected);
        }
    }

    private boolean isCrcRight(byte[] bytes) {
        CRC32C sum = new CRC32C();
        sum.update(raw.toByteArray(), 0, raw.size() - 4);
        int field = ByteBuffer.wrap(bytes).getInt(bytes.length - 4);
        return Integer.reverseBytes((int) sum.getValue()) == field;
    }

    // ------------------------------------------------------------------ segments

    /** A tagged segment (RFC 5041, 4.2). */
    static byte[] tagged(boolean last, int opcode, int stag, long offset, byte[] payload) {
        return ByteBuffer.allocate(TAGGED + payload.length)
                .put((byte) (last ? 0xc1 : 0x81))
                .put((byte) (0x40 | opcode))
                .putInt(stag)
                .putLong(offset)
                .put(payload)
                .array();
    }

    /** An untagged segment (RFC 5041, 4.3). */
    static byte[] untagged(
            boolean last, int opcode, int word, int queue, int msn, int mo, byte[] payload) {
        return ByteBuffer.allocate(UNTAGGED + payload.length)
                .put((byte) (last ? 0x41 : 0x01))
                .put((byte) (0x40 | opcode))
                .putInt(word)
                .putInt(queue)
                .putInt(msn)
                .putInt(mo)
                .put(payload)
                .array();
    }

    /** A Read Request (RFC 5040, 4.4). */
    static byte[] readRequest(int msn, int sink, long sinkOffset, int size, int stag, long offset) {
        byte[] header =
                ByteBuffer.allocate(READ_REQUEST)
                        .putInt(sink)
                        .putLong(sinkOffset)
                        .putInt(size)
                        .putInt(stag)
                        .putLong(offset)
                        .array();
        return untagged(true, 1, 0, 1, msn, 0, header);
    }

    /** A Terminate about a Read Request (RFC 5040, 4.8). */
    static byte[] terminate(int control, byte[] about) {
        byte[] body =
                ByteBuffer.allocate(4 + 2 + UNTAGGED)
                        .putInt(control)
                        .putShort((short) about.length)
                        .put(about, 0, UNTAGGED)
                        .array();
        return untagged(true, 7, 0, 2, 1, 0, body);
    }
}
