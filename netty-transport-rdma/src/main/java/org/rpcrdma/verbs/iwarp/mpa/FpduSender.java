// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp.mpa;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.GatheringByteChannel;
import java.util.zip.CRC32C;

/**
 * Frames ULPDUs and writes several FPDUs with one gathering write: RFC 5044, 4 and 5.1, without markers (see
 * {@link MarkedFpduSender}).
 *
 * <p>A {@linkplain FpduBatch batch} is built by {@link #begin}, {@link #payload} and {@link #end} for each FPDU, and
 * must be written out before the next is built. Between two batches there is no memory for any.
 */
public class FpduSender {

    /** The most payload pieces of one FPDU. */
    public static final int MAX_PIECES = 32;

    /** Bytes after which a batch is closed: fits 256 KiB, their headers, and a message that announces them. */
    static final int BATCH_BYTES = 272 * 1024;

    /** Room for the control bytes of one FPDU: length, the longest header, pad and CRC. */
    private static final int CONTROL_OF_FPDU = 64;

    /** Payload pieces up to this size are copied: a view more in the gather list costs more than the copy. */
    private static final int COPY_MAX = 512;

    private final CRC32C crc;
    private final FpduBatchPool batches;

    /** Bytes that have to be free in {@link #openControl()} before an FPDU is begun. */
    private final int roomForFpdu;

    /** {@code null} while nothing is queued. */
    private FpduBatch batch;

    private FpduBatchPool.Snapshot snapshot;

    private int crcStart;
    private int ulpduLength;

    private long batchStart;

    /** Stream position after the last queued byte. */
    public long queued;

    /** Stream position after the last byte accepted by TCP. */
    public long written;

    /** FPDUs queued since the stream began. */
    public long fpdus;

    /**
     * @param crc computes CRCs, may be shared by streams of one thread; {@code null} when the CRC is off
     * @param batches may be shared by them too
     */
    public FpduSender(CRC32C crc, FpduBatchPool batches) {
        this(crc, batches, CONTROL_OF_FPDU);
    }

    FpduSender(CRC32C crc, FpduBatchPool batches, int roomForFpdu) {
        this.crc = crc;
        this.batches = batches;
        this.roomForFpdu = roomForFpdu;
    }

    /** The buffer that FPDUs are made in, of a batch that is begun where there is none. */
    ByteBuffer openControl() {
        if (batch == null) {
            batch = batches.take();
        }
        return batch.control;
    }

    /** Whether everything is written, so that a new batch may be built. */
    public boolean isEmpty() {
        return queued == written;
    }

    /** Whether the batch can take another FPDU. */
    public boolean hasRoom() {
        return batch == null || (queued - batchStart < BATCH_BYTES && batch.hasRoom(roomForFpdu));
    }

    /**
     * Begins an FPDU.
     *
     * @param length the bytes of its ULPDU
     * @return the buffer into which the ULPDU's header is written, at its position; the payload follows
     */
    public ByteBuffer begin(int length) {
        ByteBuffer control = openControl();
        ulpduLength = length;
        crcStart = control.position();
        if (crc != null) {
            crc.reset();
        }
        return control.putShort((short) length);
    }

    /** Whether a piece of payload is better added by {@link #copy} than by {@link #payload}. */
    public boolean wantsCopy(int bytes) {
        return bytes <= COPY_MAX && batch.control.remaining() >= bytes + CONTROL_OF_FPDU;
    }

    /** Adds a piece of the payload by copying it. Positions of the source are left alone. */
    public void copy(ByteBuffer source, int index, int bytes) {
        ByteBuffer control = batch.control;
        control.put(control.position(), source, index, bytes);
        control.position(control.position() + bytes);
    }

    /** Adds a piece of the payload: a view from its position to its limit, returned once written. */
    public void payload(ByteBuffer view, MemoryViewLender owner) {
        if (crc != null) {
            updateCrcWithControl();
            int position = view.position();
            crc.update(view);
            view.position(position);
        }
        batch.view(view, owner);
    }

    /**
     * Adds a piece of the payload that other threads may change before it is written. With CRC, copies the piece first,
     * so that the CRC matches the bytes sent.
     */
    public void changingPayload(ByteBuffer view, MemoryViewLender owner) {
        if (crc == null) {
            payload(view, owner);
            return;
        }
        if (snapshot == null) {
            snapshot = batches.takeSnapshot();
        }
        payload(snapshot.copy(view), null);
        owner.release(view);
    }

    /** Ends the FPDU: adds pad and CRC. */
    public void end() {
        ByteBuffer control = batch.control;
        int pad = FpduLayout.pad(ulpduLength);
        for (int i = pad; i > 0; i--) {
            control.put((byte) 0);
        }
        if (crc == null) {
            control.putInt(0);
        } else {
            updateCrcWithControl();
            control.putInt(FpduLayout.wireOrder((int) crc.getValue()));
        }
        queuedFpdu(FpduLayout.LENGTH_BYTES + ulpduLength + pad + FpduLayout.CRC_BYTES);
    }

    private void updateCrcWithControl() {
        ByteBuffer control = batch.control;
        int limit = control.limit();
        int position = control.position();
        crc.update(control.limit(position).position(crcStart));
        control.limit(limit);
        crcStart = position;
    }

    /** Counts a complete FPDU of that length. */
    void queuedFpdu(int length) {
        queued += length;
        batch.end(queued);
        fpdus++;
    }

    /** Queues bytes that are not an FPDU: a start-up frame. Only when nothing else is queued. */
    public void raw(byte[] bytes) {
        openControl().put(bytes);
        queued += bytes.length;
        batch.end(queued);
    }

    /**
     * Writes as much as the channel takes, with one call.
     *
     * @return the bytes written
     */
    public long write(GatheringByteChannel channel) throws IOException {
        long bytes = batch.write(channel);
        written += bytes;
        if (written == queued) {
            reset();
        }
        return bytes;
    }

    /**
     * Copies all unwritten bytes and releases all borrowed views, for the rare case that the owner needs the memory
     * before it is written.
     */
    public void detach() {
        if (!isEmpty()) {
            batch.replaceWith(batch.copy(queued - written));
            if (snapshot != null) {
                giveSnapshotBack();
            }
        }
    }

    /** Drops all queued bytes and releases all borrowed views. */
    public void drop() {
        reset();
        queued = written;
    }

    /**
     * Drops what is queued but for the rest of the FPDU that is partly written, if there is one: a Terminate may only
     * follow a whole FPDU.
     *
     * @param ulpdu the last ULPDU of the stream
     * @return that rest, a copy, and the FPDU of the last ULPDU; all borrowed views are given back
     */
    public ByteBuffer dropFor(byte[] ulpdu) {
        boolean isWhole = isEmpty() || written == batchStart;
        long boundary = isWhole ? written : batch.endAtOrAfter(written);
        ByteBuffer rest = isWhole ? ByteBuffer.allocate(0) : batch.copy(boundary - written);
        ByteBuffer last = frame(ulpdu, boundary);
        drop();
        return ByteBuffer.allocate(rest.remaining() + last.remaining()).put(rest).put(last).flip();
    }

    /** Frames a ULPDU whose FPDU begins at a position of the stream. */
    ByteBuffer frame(byte[] ulpdu, long position) {
        return FpduLayout.frame(ulpdu, crc != null);
    }

    private void reset() {
        if (batch != null) {
            batches.give(batch);
            batch = null;
        }
        if (snapshot != null) {
            giveSnapshotBack();
        }
        batchStart = written;
    }

    private void giveSnapshotBack() {
        batches.give(snapshot);
        snapshot = null;
    }
}
