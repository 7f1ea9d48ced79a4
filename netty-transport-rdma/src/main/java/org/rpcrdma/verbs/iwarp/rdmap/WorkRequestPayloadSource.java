// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp.rdmap;

import org.rpcrdma.verbs.WorkStatus;
import org.rpcrdma.verbs.iwarp.ddp.PayloadSource;
import org.rpcrdma.verbs.iwarp.memory.IwarpMemoryRegion;
import org.rpcrdma.verbs.iwarp.memory.LocalKeyTable;
import org.rpcrdma.verbs.iwarp.mpa.FpduSender;

/** Gathers the payload of the work request that is being sent from its memory ranges. */
public final class WorkRequestPayloadSource implements PayloadSource {

    private static final long MAX_MESSAGE = 0xffff_ffffL;

    private final SendQueue work;
    private final LocalKeyTable memory;
    private int range;
    private int rangeOffset;

    /** The region of the first bytes that were admitted; {@code null} when they are gathered. */
    private IwarpMemoryRegion admitted;

    public WorkRequestPayloadSource(SendQueue work, LocalKeyTable memory) {
        this.work = work;
        this.memory = memory;
    }

    /** Begins with the work request that starts next. */
    void start() throws LocalAccessException {
        range = work.firstRange;
        rangeOffset = 0;
        if (work.length > MAX_MESSAGE) {
            throw new LocalAccessException(
                    WorkStatus.LOCAL_LENGTH_ERROR,
                    "Work request has "
                            + work.length
                            + " bytes, a message has at most "
                            + MAX_MESSAGE);
        }
        if (work.opcode == RdmapOpcodes.READ_REQUEST) {
            int sinks = range;
            for (long bytes = work.length; bytes > 0; bytes -= work.rangeLength(sinks++)) {
                region(sinks, 0, work.rangeLength(sinks));
            }
        }
    }

    @Override
    public int admit(int wanted) throws LocalAccessException {
        int bytes = Math.min(work.rangeLength(range) - rangeOffset, wanted);
        admitted = region(range, rangeOffset, bytes);
        for (int r = range + 1; bytes < wanted; r++) {
            int piece = Math.min(work.rangeLength(r), wanted - bytes);
            region(r, 0, piece);
            bytes += piece;
        }
        return bytes;
    }

    @Override
    public void gather(FpduSender out, int bytes) {
        IwarpMemoryRegion region = admitted;
        admitted = null;
        int left = bytes;
        while (left > 0) {
            int piece = Math.min(work.rangeLength(range) - rangeOffset, left);
            long address = work.rangeAddress(range) + rangeOffset;
            if (region == null) {
                region = memory.find(work.rangeKey(range), address, piece);
            }
            if (out.wantsCopy(piece)) {
                out.copy(region.memory, region.index(address), piece);
            } else {
                out.payload(region.borrow(address, piece), region);
            }
            left -= piece;
            rangeOffset += piece;
            if (rangeOffset == work.rangeLength(range)) {
                range++;
                rangeOffset = 0;
            }
            region = null;
        }
    }

    /** The registered memory of a part of a range. */
    IwarpMemoryRegion region(int r, int offset, int length) throws LocalAccessException {
        long address = work.rangeAddress(r) + offset;
        IwarpMemoryRegion region = memory.find(work.rangeKey(r), address, length);
        if (region == null) {
            throw new LocalAccessException(
                    WorkStatus.LOCAL_PROTECTION_ERROR,
                    String.format(
                            "Work request names %d bytes at address 0x%x with local key 0x%x, which"
                                    + " are not registered",
                            length, address, work.rangeKey(r)));
        }
        return region;
    }
}
