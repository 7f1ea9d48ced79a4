// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp.mpa;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.ReadableByteChannel;
import java.nio.channels.ScatteringByteChannel;
import java.util.zip.CRC32C;

/**
 * Removes the markers from a stream in front of an {@link FpduReceiver} (RFC 5044, 4.3 and 5.2).
 *
 * <p>It hands out whole FPDUs only, each after its CRC and its markers were checked, so the receiver behind it checks
 * no CRC. The bytes of the CRC field pass through unchanged.
 */
public final class MarkerStripper extends AbstractStagingBufferReceiver
        implements ScatteringByteChannel {

    private final ReadableByteChannel channel;
    private final CRC32C crc;

    /** What has no markers any more stands between these two, before what was not looked at yet. */
    private int plain;

    private int plainEnd;
    private long position;
    private long received;
    private long handedOut;
    private int allowance = Integer.MAX_VALUE;

    /**
     * @param channel the stream, from the first byte of the first FPDU on; stays the caller's
     * @param staging a buffer of at least {@link MarkerInserter#MAX_FPDU_BYTES}, lent until it is taken or dropped;
     *     {@code null} where {@link #staging} lends one later
     * @param crc checks CRCs, may be shared by streams of one thread; {@code null} when the CRC is off
     */
    public MarkerStripper(ReadableByteChannel channel, ByteBuffer staging, CRC32C crc) {
        super(staging);
        this.channel = channel;
        this.crc = crc;
    }

    @Override
    int first() {
        return plain < plainEnd ? plain : start;
    }

    @Override
    void moved(int bytes) {
        super.moved(bytes);
        plainEnd = plain < plainEnd ? plainEnd - bytes : 0;
        plain = plainEnd == 0 ? 0 : plain - bytes;
    }

    /**
     * Sets how many bytes may be read from the stream from now on, or a few more. What was read before it is always
     * handed out, because a selector knows nothing of it.
     */
    public void allow(int count) {
        allowance = count;
    }

    /** Bytes read from the stream, markers included. */
    public long received() {
        return received;
    }

    /** Bytes handed out, without markers. */
    public long handedOut() {
        return handedOut;
    }

    /** Whether nothing is there of an FPDU that was not handed out. */
    public boolean atBoundary() {
        return start == end && plain == plainEnd;
    }

    /**
     * Reads FPDUs without markers, parts of them if the target ends there.
     *
     * @throws StreamException when a CRC is wrong, or a marker does not agree with the ULPDU_Length (RFC 5044, 8)
     * @throws IOException when the stream ends inside an FPDU
     */
    @Override
    public int read(ByteBuffer target) throws IOException {
        int total = 0;
        while (target.hasRemaining()) {
            if (plain < plainEnd) {
                int count = Math.min(plainEnd - plain, target.remaining());
                target.put(target.position(), staging, plain, count);
                target.position(target.position() + count);
                plain += count;
                handedOut += count;
                total += count;
            } else if (!tryStrip()) {
                int read = fill();
                if (read < 0 && total == 0 && start != end) {
                    throw new IOException("The peer closed the connection inside an FPDU");
                }
                if (read <= 0) {
                    return read < 0 && total == 0 ? -1 : total;
                }
            }
        }
        return total;
    }

    private int fill() throws IOException {
        if (allowance <= 0) {
            return 0;
        }
        if (start > 0) {
            staging.limit(end).position(start);
            staging.compact();
            end -= start;
            start = 0;
        }
        int read = channel.read(staging.clear().position(end));
        staging.clear();
        end += Math.max(read, 0);
        received += Math.max(read, 0);
        allowance -= Math.max(read, 0);
        return read;
    }

    /** Removes the markers of the next FPDU, in place; returns whether the FPDU was complete. */
    private boolean tryStrip() throws StreamException {
        int first = MarkerInserter.distance(position);
        int begin = first == 0 ? start + MarkerInserter.BYTES : start;
        if (end - begin < FpduLayout.LENGTH_BYTES) {
            return false;
        }
        int fpdu = FpduLayout.length(staging.getShort(begin) & 0xffff);
        int length = MarkerInserter.lengthWith(position, fpdu);
        if (end - start < length) {
            return false;
        }
        if (crc != null) {
            verifyCrc(length);
        }
        plain = begin;
        plainEnd = begin;
        int last = start + length;
        for (int from = start, to = start + first; from < last; to += MarkerInserter.INTERVAL) {
            int count = Math.min(to, last) - from;
            if (count > 0) {
                staging.put(plainEnd, staging, from, count);
                plainEnd += count;
            }
            if (to < last) {
                verifyMarker(to, Math.max(to - begin, 0));
            }
            from = to + MarkerInserter.BYTES;
        }
        start = last;
        position += length;
        return true;
    }

    private void verifyMarker(int at, int expected) throws StreamException {
        // RFC 5044, 4.3: the two low bits of FPDUPTR and the reserved bits are ignored.
        int pointer = staging.getShort(at + 2) & 0xfffc;
        if (pointer != expected) {
            throw new StreamException(
                    MpaError.FRAMING,
                    "Marker says that its FPDU begins "
                            + pointer
                            + " bytes before it, by ULPDU_Length it is "
                            + expected);
        }
    }

    private void verifyCrc(int length) throws StreamException {
        int field = start + length - FpduLayout.CRC_BYTES;
        crc.reset();
        crc.update(staging.limit(field).position(start));
        staging.clear();
        FpduLayout.verifyCrc((int) crc.getValue(), staging.getInt(field), length);
    }

    @Override
    public long read(ByteBuffer[] targets) throws IOException {
        return read(targets, 0, targets.length);
    }

    @Override
    public long read(ByteBuffer[] targets, int offset, int length) throws IOException {
        long total = 0;
        for (int i = offset; i < offset + length; i++) {
            if (targets[i].hasRemaining()) {
                int read = read(targets[i]);
                if (read < 0) {
                    return total == 0 ? read : total;
                }
                total += read;
            }
            if (targets[i].hasRemaining()) {
                return total;
            }
        }
        return total;
    }

    @Override
    public boolean isOpen() {
        return channel.isOpen();
    }

    @Override
    public void close() throws IOException {
        channel.close();
    }
}
