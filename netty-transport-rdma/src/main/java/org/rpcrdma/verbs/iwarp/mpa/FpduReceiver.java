// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp.mpa;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.ScatteringByteChannel;
import java.util.zip.CRC32C;

/**
 * Cuts a TCP stream into ULPDUs: RFC 5044, 4 and 5.2, without markers (see {@link MarkerStripper}).
 *
 * <p>Bytes are read into one staging buffer and every whole FPDU in it is handled at once. When the CRC is off, what
 * remains of a large payload is read straight to its target. When it is on, nothing is placed before the CRC of the
 * whole FPDU was verified (RFC 5044, 4.4).
 */
public final class FpduReceiver extends AbstractStagingBufferReceiver {

    /** From this many payload bytes on a read goes straight to the target. Below, the copy is cheaper. */
    private static final int DIRECT_MIN = 2048;

    /**
     * Read behind a large payload: its trailer, the short FPDU that often ends a message, and the head of the next, so
     * that this one can be direct too.
     */
    private static final int BEHIND_DIRECT = 1024;

    /** From this many ULPDU bytes on an FPDU is large: it is read in two parts in any case. */
    private static final int LARGE_MIN = 8192;

    /** So many FPDUs after a large one another large one is expected. */
    private static final int LARGE_EXPECTED = 4;

    private final UlpduHandler handler;
    private final CRC32C crc;
    private final ByteBuffer[] scatter = new ByteBuffer[2];

    private boolean inUlpdu;

    /** Whether the last read has drained the channel. */
    public boolean drained;

    /** Whether an FPDU waits for its handler to accept it. */
    public boolean held;

    private int payload;
    private int trailer;

    /** FPDUs completely received. */
    public long fpdus;

    /** Bytes read, also those of FPDUs that break a rule. */
    public long bytes;

    private int sinceLarge = LARGE_EXPECTED;

    /**
     * @param staging a buffer of at least {@link #minimumStaging} bytes, lent until it is taken or dropped; {@code
     *     null}
     *     where {@link #staging} lends one later
     * @param crc computes CRCs, may be shared by streams of one thread; {@code null} when the CRC is off
     */
    public FpduReceiver(ByteBuffer staging, UlpduHandler handler, CRC32C crc) {
        super(staging);
        this.handler = handler;
        this.crc = crc;
    }

    /** The smallest staging buffer: with the CRC on it has to hold the largest FPDU. */
    public static int minimumStaging(boolean withCrc) {
        return withCrc ? FpduLayout.MAX_BYTES : 2 * BEHIND_DIRECT;
    }

    /** Whether the stream is at an FPDU boundary, where an orderly end is possible. */
    public boolean atBoundary() {
        return start == end && !inUlpdu;
    }

    /** Offers the waiting FPDU again, and handles the data after it. */
    public void resume() throws IOException {
        held = false;
        parse();
    }

    /**
     * Reads once and handles all complete FPDUs.
     *
     * @return the bytes read, -1 at the end of the stream
     * @throws StreamException when the peer broke a rule; nothing more may be received
     */
    public int receive(ScatteringByteChannel channel) throws IOException {
        makeRoom();
        boolean direct = inUlpdu && crc == null && start == end && payload >= DIRECT_MIN;
        int read = direct ? readStraight(channel) : readStaged(channel);
        if (read > 0) {
            bytes += read;
            parse();
        }
        return read;
    }

    private int readStaged(ScatteringByteChannel channel) throws IOException {
        // Only the head of a large FPDU is staged, because staged payload would have to be copied.
        boolean isLargeExpected = end == 0 && crc == null && sinceLarge < LARGE_EXPECTED;
        int wanted = isLargeExpected ? BEHIND_DIRECT : staging.capacity() - end;
        int read = channel.read(staging.limit(end + wanted).position(end));
        staging.clear();
        end += Math.max(read, 0);
        drained = read < wanted;
        return read;
    }

    private int readStraight(ScatteringByteChannel channel) throws IOException {
        ByteBuffer target = handler.target();
        int wanted = target.remaining();
        if (wanted < payload) {
            int read = channel.read(target);
            placed(Math.max(read, 0));
            drained = read < wanted;
            return read;
        }
        scatter[0] = target;
        scatter[1] = staging.limit(BEHIND_DIRECT).position(0);
        int read = (int) channel.read(scatter);
        staging.clear();
        scatter[0] = null;
        int straight = Math.min(Math.max(read, 0), wanted);
        placed(straight);
        end = Math.max(read, 0) - straight;
        drained = read < wanted + BEHIND_DIRECT;
        return read;
    }

    private void placed(int bytes) {
        payload -= bytes;
        handler.placed(bytes);
    }

    private void makeRoom() {
        if (start == end) {
            start = 0;
            end = 0;
        } else if (start > 0
                && (end - start <= BEHIND_DIRECT || staging.capacity() - end < wanting())) {
            staging.limit(end).position(start);
            staging.compact().clear();
            end -= start;
            start = 0;
        }
    }

    /** The bytes that are missing before anything can be handled. */
    private int wanting() {
        int available = end - start;
        if (inUlpdu || available < FpduLayout.LENGTH_BYTES) {
            return BEHIND_DIRECT;
        }
        return needed(staging.getShort(start) & 0xffff) - available;
    }

    private int needed(int ulpduLength) {
        return crc != null
                ? FpduLayout.length(ulpduLength)
                : FpduLayout.LENGTH_BYTES + Math.min(ulpduLength, UlpduHandler.LOOK_AHEAD);
    }

    private void parse() throws IOException {
        while (inUlpdu ? continueUlpdu() : beginUlpdu()) {
            // until bytes are missing
        }
    }

    private boolean beginUlpdu() throws IOException {
        int available = end - start;
        if (available < FpduLayout.LENGTH_BYTES) {
            return false;
        }
        int length = staging.getShort(start) & 0xffff;
        if (available < needed(length)) {
            return false;
        }
        if (crc != null) {
            verifyCrc(length);
        }
        int begun = handler.begin(staging, start + FpduLayout.LENGTH_BYTES, length);
        if (begun == UlpduHandler.NOT_NOW) {
            held = true;
            return false;
        }
        payload = begun;
        start += FpduLayout.LENGTH_BYTES + length - payload;
        trailer = FpduLayout.pad(length) + FpduLayout.CRC_BYTES;
        inUlpdu = true;
        sinceLarge = length >= LARGE_MIN ? 0 : Math.min(sinceLarge + 1, LARGE_EXPECTED);
        return true;
    }

    private void verifyCrc(int length) throws StreamException {
        int covered = FpduLayout.length(length) - FpduLayout.CRC_BYTES;
        crc.reset();
        crc.update(staging.limit(start + covered).position(start));
        staging.clear();
        FpduLayout.verifyCrc(
                (int) crc.getValue(),
                staging.getInt(start + covered),
                covered + FpduLayout.CRC_BYTES);
    }

    private boolean continueUlpdu() throws IOException {
        while (payload > 0) {
            int available = end - start;
            if (available == 0) {
                return false;
            }
            ByteBuffer target = handler.target();
            int bytes = Math.min(available, target.remaining());
            target.put(target.position(), staging, start, bytes);
            start += bytes;
            placed(bytes);
        }
        // RFC 5044, 4.1: the content of the pad is ignored.
        if (end - start < trailer) {
            return false;
        }
        start += trailer;
        inUlpdu = false;
        fpdus++;
        handler.end();
        return true;
    }
}
