// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp.mpa;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.GatheringByteChannel;
import java.util.Arrays;

/**
 * FPDUs that are written with one gathering write. Headers, pads, CRCs and small payloads are collected in one control
 * buffer; large payloads are views that are borrowed until they are written. Once a write has begun nothing is added.
 */
final class FpduBatch {

    static final int VIEWS = 128;

    private static final int MOST_FPDUS = FpduBatchPool.CONTROL_BYTES / 16;

    /** Its bytes up to the position go out, where {@link #view} has not been told of others in between. */
    final ByteBuffer control;

    private final ByteBuffer[] controlViews = new ByteBuffer[VIEWS];
    private final ByteBuffer[] views = new ByteBuffer[VIEWS];
    private final MemoryViewLender[] owners = new MemoryViewLender[VIEWS];

    /** Where each FPDU ends. */
    private long[] fpduEnds = new long[16];

    private int fpduEndCount;
    private int first;
    private int count;
    private int controlStart;
    private boolean sealed;

    /** @param control direct, cleared; the batch's as long as it lives */
    FpduBatch(ByteBuffer control) {
        this.control = control;
    }

    /** Whether an FPDU with that many bytes in the control buffer may be added. */
    boolean hasRoom(int controlBytes) {
        return !sealed
                && control.remaining() >= controlBytes
                && count + FpduSender.MAX_PIECES + 2 <= VIEWS
                && fpduEndCount < MOST_FPDUS;
    }

    /** Adds a view from its position to its limit; returns the view to its owner, if any, once written. */
    void view(ByteBuffer view, MemoryViewLender owner) {
        closeControl();
        views[count] = view;
        owners[count++] = owner;
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

    /** An FPDU ends at that position of the stream. */
    void end(long position) {
        if (fpduEndCount == fpduEnds.length) {
            fpduEnds = Arrays.copyOf(fpduEnds, 2 * fpduEndCount);
        }
        fpduEnds[fpduEndCount++] = position;
    }

    /** Where the first FPDU ends that does not end before a position of the stream. */
    long endAtOrAfter(long position) {
        int i = 0;
        while (fpduEnds[i] < position) {
            i++;
        }
        return fpduEnds[i];
    }

    /** Writes as much as the channel takes, with one call; returns the bytes. There are some to be written. */
    long write(GatheringByteChannel channel) throws IOException {
        closeControl();
        sealed = true;
        long bytes =
                count - first == 1
                        ? channel.write(views[first])
                        : channel.write(views, first, count - first);
        while (first < count && !views[first].hasRemaining()) {
            release(first++);
        }
        return bytes;
    }

    /** A copy of the next bytes to be written, on the heap. */
    ByteBuffer copy(long bytes) {
        closeControl();
        sealed = true;
        ByteBuffer copy = ByteBuffer.allocate(Math.toIntExact(bytes));
        for (int i = first; i < count && copy.hasRemaining(); i++) {
            ByteBuffer view = views[i];
            int piece = Math.min(view.remaining(), copy.remaining());
            copy.put(copy.position(), view, view.position(), piece);
            copy.position(copy.position() + piece);
        }
        return copy.flip();
    }

    /** Gives back all borrowed views; these bytes are written instead. */
    void replaceWith(ByteBuffer rest) {
        releaseAll();
        views[0] = rest;
        count = 1;
    }

    /** Gives back all borrowed views, and is empty. */
    void clear() {
        releaseAll();
        control.clear();
        controlStart = 0;
        fpduEndCount = 0;
        sealed = false;
    }

    private void releaseAll() {
        while (first < count) {
            release(first++);
        }
        first = 0;
        count = 0;
    }

    private void release(int index) {
        MemoryViewLender owner = owners[index];
        if (owner != null) {
            owner.release(views[index]);
        }
        views[index] = null;
        owners[index] = null;
    }
}
