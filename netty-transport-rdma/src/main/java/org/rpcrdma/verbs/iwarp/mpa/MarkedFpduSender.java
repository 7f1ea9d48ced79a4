// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp.mpa;

import java.nio.ByteBuffer;
import java.util.zip.CRC32C;

/**
 * An {@link FpduSender} for a peer that wants markers (RFC 5044, 4.3). Every FPDU is collected and copied into its
 * marked form; nothing is borrowed.
 */
public final class MarkedFpduSender extends FpduSender {

    private static final long NOT_BEGUN = -1;

    private final CRC32C crc;

    /** The FPDU that is being made, without its markers; everybody's. */
    private final ByteBuffer fpdu;

    private int ulpduLength;

    /** The position behind the start-up frame: markers count from there. */
    private long firstFpdu = NOT_BEGUN;

    /**
     * @param crc computes CRCs, may be shared by streams of one thread; {@code null} when the CRC is off
     * @param batches {@linkplain FpduBatchPool#marked() for markers}; may be shared by them too
     */
    public MarkedFpduSender(CRC32C crc, FpduBatchPool batches) {
        super(crc, batches, MarkerInserter.MAX_FPDU_BYTES);
        this.crc = crc;
        fpdu = batches.fpdu();
    }

    @Override
    public ByteBuffer begin(int length) {
        ulpduLength = length;
        return fpdu.clear().putShort((short) length);
    }

    @Override
    public boolean wantsCopy(int bytes) {
        return true;
    }

    @Override
    public void copy(ByteBuffer source, int index, int bytes) {
        fpdu.put(fpdu.position(), source, index, bytes);
        fpdu.position(fpdu.position() + bytes);
    }

    @Override
    public void payload(ByteBuffer view, MemoryViewLender owner) {
        fpdu.put(view);
        if (owner != null) {
            owner.release(view);
        }
    }

    @Override
    public void changingPayload(ByteBuffer view, MemoryViewLender owner) {
        payload(view, owner);
    }

    @Override
    public void end() {
        for (int pad = FpduLayout.pad(ulpduLength); pad > 0; pad--) {
            fpdu.put((byte) 0);
        }
        if (firstFpdu == NOT_BEGUN) {
            firstFpdu = queued;
        }
        ByteBuffer out = openControl();
        int before = out.position();
        MarkerInserter.insert(fpdu.flip(), queued - firstFpdu, out, crc);
        queuedFpdu(out.position() - before);
    }

    @Override
    ByteBuffer frame(byte[] ulpdu, long position) {
        return MarkerInserter.frame(
                ulpdu, crc != null, firstFpdu == NOT_BEGUN ? 0 : position - firstFpdu);
    }
}
