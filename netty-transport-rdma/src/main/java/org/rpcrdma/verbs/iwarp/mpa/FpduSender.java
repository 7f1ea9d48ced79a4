// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp.mpa;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.GatheringByteChannel;
import java.util.Arrays;
import java.util.zip.CRC32C;

/**
 * Frames ULPDUs and writes several FPDUs with one gathering write: RFC 5044, 4 and 5.1, without markers (see
 * {@link MarkedFpduSender}).
 *
 * <p>A batch is built by {@link #begin}, {@link #payload} and {@link #end} for each FPDU, and must be written out
 * before the next is built. Headers, pads, CRCs and small payloads are collected in one control buffer; large payloads
 * are views that are borrowed until they are written.
 */
public class FpduSender {

    /** The most payload pieces of one FPDU. */
    public static final int MAX_PIECES = 32;

    /** The least bytes of the buffer that FPDUs are made in. */
    public static final int CONTROL_BYTES = 16 * 1024;

    private static final int MOST_FPDUS = CONTROL_BYTES / 16;
    static final int VIEWS = 128;

    /** A batch of at least so many bytes takes no more FPDUs. */
    static final int BATCH_BYTES = 256 * 1024;

    /** Room for the control bytes of one FPDU: length, the longest header, pad and CRC. */
    private static final int CONTROL_OF_FPDU = 64;

    /** Payload pieces up to this size are copied: a view more in the gather list costs more than the copy. */
    private static final int COPY_MAX = 512;

    private final ByteBuffer control;
    private final ByteBuffer[] controlViews = new ByteBuffer[VIEWS];
    private final ByteBuffer[] views = new ByteBuffer[VIEWS];
    private final ViewOwner[] owners = new ViewOwner[VIEWS];

    /** Where each FPDU of the batch ends. */
    private long[] fpduEnds = new long[16];

    private final CRC32C crc;
    private final Snapshots snapshots;
    private Snapshots.Batch snapshot;

    private int first;
    private int count;
    private int controlStart;
    private int crcStart;
    private int fpduEndCount;
    private int ulpduLength;
    private boolean sealed;

    private long batchStart;
    private long queued;
    private long written;
    private long fpdus;

    /**
     * @param crc computes CRCs, may be shared by streams of one thread; {@code null} when the CRC is off
     * @param snapshots may be shared by them too
     */
    public FpduSender(CRC32C crc, Snapshots snapshots) {
        this(crc, snapshots, ByteBuffer.allocateDirect(CONTROL_BYTES));
    }

    /**
     * @param crc as in the other constructor
     * @param snapshots as in the other constructor
     * @param control a direct buffer of at least {@link #CONTROL_BYTES}, cleared; the sender's until {@link #drop}
     */
    public FpduSender(CRC32C crc, Snapshots snapshots, ByteBuffer control) {
        this.crc = crc;
        this.snapshots = snapshots;
        this.control = control;
    }

    /** The buffer that FPDUs are made in. */
    ByteBuffer control() {
        return control;
    }

    /** Bytes that have to be free in {@link #control()} before an FPDU is begun. */
    int roomForFpdu() {
        return CONTROL_OF_FPDU;
    }

    /** Whether everything is written, so that a new batch may be built. */
    public boolean isEmpty() {
        return queued == written;
    }

    /** Whether the batch can take another FPDU. */
    public boolean hasRoom() {
        return !sealed
                && queued - batchStart < BATCH_BYTES
                && control.remaining() >= roomForFpdu()
                && count + MAX_PIECES + 2 <= VIEWS
                && fpduEndCount < MOST_FPDUS;
    }

    /** The position in the stream behind the last byte that was queued. */
    public long queuedPosition() {
        return queued;
    }

    /** The position in the stream behind the last byte that TCP has taken. */
    public long writtenPosition() {
        return written;
    }

    /** FPDUs queued since the stream began. */
    public long fpdus() {
        return fpdus;
    }

    /**
     * Begins an FPDU.
     *
     * @param length the bytes of its ULPDU
     * @return the buffer into which the ULPDU's header is written, at its position; the payload follows
     */
    public ByteBuffer begin(int length) {
        ulpduLength = length;
        crcStart = control.position();
        if (crc != null) {
            crc.reset();
        }
        return control.putShort((short) length);
    }

    /** Whether a piece of payload is better added by {@link #copy} than by {@link #payload}. */
    public boolean wantsCopy(int bytes) {
        return bytes <= COPY_MAX && control.remaining() >= bytes + CONTROL_OF_FPDU;
    }

    /** Adds a piece of the payload by copying it. Positions of the source are left alone. */
    public void copy(ByteBuffer source, int index, int bytes) {
        control.put(control.position(), source, index, bytes);
        control.position(control.position() + bytes);
    }

    /** Adds a piece of the payload: a view from its position to its limit, given back once it is written. */
    public void payload(ByteBuffer view, ViewOwner owner) {
        closeControl();
        if (crc != null) {
            updateCrcWithControl();
            int position = view.position();
            crc.update(view);
            view.position(position);
        }
        views[count] = view;
        owners[count++] = owner;
    }

    /**
     * Adds a piece of the payload that may be changed by others until it is written. The CRC has to be that of the
     * bytes which go out: with it the piece is looked at once, for a copy.
     */
    public void changingPayload(ByteBuffer view, ViewOwner owner) {
        if (crc == null) {
            payload(view, owner);
            return;
        }
        if (snapshot == null) {
            snapshot = snapshots.take();
        }
        payload(snapshot.copy(view), null);
        owner.release(view);
    }

    /** Ends the FPDU: adds pad and CRC. */
    public void end() {
        for (int pad = Fpdu.pad(ulpduLength); pad > 0; pad--) {
            control.put((byte) 0);
        }
        if (crc == null) {
            control.putInt(0);
        } else {
            updateCrcWithControl();
            control.putInt(Fpdu.wireOrder((int) crc.getValue()));
        }
        queuedFpdu(Fpdu.length(ulpduLength));
    }

    /** Counts an FPDU that is complete, of so many bytes. */
    void queuedFpdu(int length) {
        queued += length;
        addEnd();
        fpdus++;
    }

    /** Queues bytes that are not an FPDU: a start-up frame. Only when nothing else is queued. */
    public void raw(byte[] bytes) {
        control.put(bytes);
        queued += bytes.length;
        addEnd();
    }

    private void addEnd() {
        if (fpduEndCount == fpduEnds.length) {
            fpduEnds = Arrays.copyOf(fpduEnds, 2 * fpduEndCount);
        }
        fpduEnds[fpduEndCount++] = queued;
    }

    /**
     * Writes as much as the channel takes, with one call.
     *
     * @return the bytes written
     */
    public long write(GatheringByteChannel channel) throws IOException {
        if (!sealed) {
            closeControl();
            sealed = true;
        }
        long bytes =
                count - first == 1
                        ? channel.write(views[first])
                        : channel.write(views, first, count - first);
        written += bytes;
        if (written == queued) {
            reset();
        } else {
            while (!views[first].hasRemaining()) {
                release(first++);
            }
        }
        return bytes;
    }

    /**
     * Gives back all borrowed views; what was not yet written is copied first. It is for memory that its owner wants
     * back before it is written, which is rare.
     */
    public void detach() {
        if (!isEmpty()) {
            replaceWith(copy(queued - written));
        }
    }

    /** Drops what is queued; all borrowed views are given back. */
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
        long boundary = isEmpty() || written == batchStart ? written : boundaryAtOrAfter(written);
        ByteBuffer rest = copy(boundary - written);
        ByteBuffer last = frame(ulpdu, boundary);
        drop();
        return ByteBuffer.allocate(rest.remaining() + last.remaining()).put(rest).put(last).flip();
    }

    /** Frames a ULPDU whose FPDU begins at a position of the stream. */
    ByteBuffer frame(byte[] ulpdu, long position) {
        return Fpdu.frame(ulpdu, crc != null);
    }

    private long boundaryAtOrAfter(long position) {
        int i = 0;
        while (fpduEnds[i] < position) {
            i++;
        }
        return fpduEnds[i];
    }

    private ByteBuffer copy(long bytes) {
        if (!sealed) {
            closeControl();
            sealed = true;
        }
        ByteBuffer copy = ByteBuffer.allocate(Math.toIntExact(bytes));
        for (int i = first; i < count && copy.hasRemaining(); i++) {
            ByteBuffer view = views[i];
            int piece = Math.min(view.remaining(), copy.remaining());
            copy.put(copy.position(), view, view.position(), piece);
            copy.position(copy.position() + piece);
        }
        return copy.flip();
    }

    private void replaceWith(ByteBuffer rest) {
        for (int i = first; i < count; i++) {
            release(i);
        }
        first = 0;
        count = 1;
        views[0] = rest;
        owners[0] = null;
        giveSnapshotBack();
        control.clear();
        controlStart = 0;
    }

    private void reset() {
        for (int i = first; i < count; i++) {
            release(i);
        }
        giveSnapshotBack();
        first = 0;
        count = 0;
        control.clear();
        controlStart = 0;
        fpduEndCount = 0;
        batchStart = written;
        sealed = false;
    }

    private void giveSnapshotBack() {
        if (snapshot != null) {
            snapshots.give(snapshot);
            snapshot = null;
        }
    }

    private void release(int index) {
        ViewOwner owner = owners[index];
        if (owner != null) {
            owner.release(views[index]);
        }
        views[index] = null;
        owners[index] = null;
    }

    private void closeControl() {
        if (controlStart == control.position()) {
            return;
        }
        ByteBuffer view = controlViews[count];
        if (view == null) {
            view = control.duplicate();
            controlViews[count] = view;
        }
        views[count++] = view.limit(control.position()).position(controlStart);
        controlStart = control.position();
    }

    private void updateCrcWithControl() {
        int limit = control.limit();
        int position = control.position();
        crc.update(control.limit(position).position(crcStart));
        control.limit(limit);
        crcStart = position;
    }
}
