// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp.rdmap;

import java.nio.ByteBuffer;
import org.rpcrdma.verbs.WorkStatus;
import org.rpcrdma.verbs.iwarp.ddp.DdpError;
import org.rpcrdma.verbs.iwarp.ddp.DdpSegmentHeader;
import org.rpcrdma.verbs.iwarp.memory.IwarpMemoryRegion;
import org.rpcrdma.verbs.iwarp.memory.LocalKeyTable;
import org.rpcrdma.verbs.iwarp.mpa.StreamException;

/**
 * Our Reads that wait for their data, oldest first: as many as the outbound read depth (ORD).
 *
 * <p>The sink STag is made up for each Read and is in no table: it only ties a Read Response to its request, and a
 * Write to it fails. The sink's TO counts from 0.
 */
public final class OutboundReads {

    private static final int NO_WORK = 0;

    private final SendQueue work;
    private final LocalKeyTable memory;
    private int[] sinkStags = new int[0];
    private int[] positions = new int[0];
    private boolean[] ofWork = new boolean[0];
    private int head;
    private int count;
    private int nextStag;
    private long received;
    private long total;
    private int range;
    private int rangeOffset;

    /** @param firstStag the first sink STag, an unpredictable number */
    public OutboundReads(SendQueue work, LocalKeyTable memory, int firstStag) {
        this.work = work;
        this.memory = memory;
        this.nextStag = firstStag;
    }

    /** Sets the agreed depth. */
    public void depth(int ord) {
        sinkStags = new int[ord];
        positions = new int[ord];
        ofWork = new boolean[ord];
    }

    /** The agreed depth. */
    public int depth() {
        return positions.length;
    }

    /** Bytes of Read Responses that have come, in all. */
    public long bytes() {
        return total;
    }

    boolean isEmpty() {
        return count == 0;
    }

    boolean isFull() {
        return count == positions.length && count > 0;
    }

    /** Whether a part of a Read Response has come, but not its end. */
    boolean isResponseOpen() {
        return received > 0;
    }

    /**
     * Adds the Read of a work request and returns its sink STag.
     *
     * @throws LocalAccessException when the agreed depth is 0: the Read was posted before that was known
     */
    int add(int position) throws LocalAccessException {
        if (positions.length == 0) {
            throw new LocalAccessException(
                    WorkStatus.REMOTE_OPERATION_ERROR,
                    "A Read is posted, but the peer admits none");
        }
        return add(position, true);
    }

    /** Adds the zero-length Read that is a ready-to-receive message and returns its sink STag. */
    int addReadyToReceive() {
        return add(NO_WORK, false);
    }

    private int add(int position, boolean isWork) {
        int slot = (head + count++) % positions.length;
        if (nextStag == 0) {
            nextStag++;
        }
        sinkStags[slot] = nextStag++;
        positions[slot] = position;
        ofWork[slot] = isWork;
        if (count == 1) {
            rewind();
        }
        return sinkStags[slot];
    }

    private void rewind() {
        received = 0;
        rangeOffset = 0;
        range = count > 0 && ofWork[head] ? work.firstRange(positions[head]) : 0;
    }

    private long size() {
        return ofWork[head] ? work.length(positions[head]) : 0;
    }

    /** Checks that a segment is the next one of the oldest Read: RFC 5040, 5.3 (data sink). */
    void check(DdpSegmentHeader segment) throws StreamException {
        if (count == 0) {
            throw new StreamException(
                    DdpError.TAGGED_INVALID_STAG, "Read Response came, but no Read is outstanding");
        }
        if (segment.stag() != sinkStags[head]) {
            throw new StreamException(
                    DdpError.TAGGED_INVALID_STAG,
                    String.format(
                            "Read Response names sink STag 0x%08x, expected 0x%08x",
                            segment.stag(), sinkStags[head]));
        }
        long end = received + segment.payloadBytes;
        if (segment.taggedOffset() != received
                || end > size()
                || segment.isLast != (end == size())) {
            throw new StreamException(
                    DdpError.TAGGED_BOUNDS,
                    String.format(
                            "Read Response has %d bytes at offset 0x%x%s, expected offset 0x%x of"
                                    + " %d bytes in all",
                            segment.payloadBytes,
                            segment.taggedOffset(),
                            segment.isLast ? " as its end" : "",
                            received,
                            size()));
        }
    }

    /** Target of the next bytes, at most that many; {@code null} if its memory is no longer registered. */
    ByteBuffer target(int bytes) {
        long address = work.rangeAddress(range) + rangeOffset;
        int length = Math.min(bytes, work.rangeLength(range) - rangeOffset);
        IwarpMemoryRegion region = memory.find(work.rangeKey(range), address, length);
        return region == null ? null : region.placement(address, length);
    }

    /** So many bytes were put there. */
    void placed(int bytes) {
        received += bytes;
        total += bytes;
        rangeOffset += bytes;
        if (rangeOffset == work.rangeLength(range)) {
            range++;
            rangeOffset = 0;
        }
    }

    /** The oldest Read has all its data. */
    void done() {
        int position = positions[head];
        boolean isWork = ofWork[head];
        head = (head + 1) % positions.length;
        count--;
        if (isWork) {
            work.readDone(position);
        }
        rewind();
    }
}
