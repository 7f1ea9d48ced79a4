// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.benchmarks.soak;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import org.rpcrdma.benchmarks.Nfs3Messages;

/** What a peer may begin and never finish, as bytes of iWARP without CRCs (RFC 5044, RFC 5041, RFC 5040, RFC 8166). */
enum HalfDone {
    /** A part of the MPA Request. */
    START_UP("half start-ups"),
    /** The first segment of a Send, or a part of its FPDU. */
    MESSAGE("half messages"),
    /** WRITEs whose data the responder reads in vain. */
    READ("Reads never answered"),
    /** READs whose results nobody takes from the TCP connection. */
    REPLY("unread replies"),
    /** Nothing at all, on a byte stream. */
    STREAM("silent streams");

    private static final String REQUEST_KEY = "MPA ID Req Frame";
    private static final int REQUEST_CUT = 9;

    /** Enhanced, no CRC, no markers; revision 2; 12 bytes follow (RFC 6581, 9). */
    private static final int REQUEST_FLAGS = 0x1002_000c;

    private static final int READS_ANSWERED = 128 << 16;

    /** RPC-over-RDMA version one, remote invalidation, 4096 bytes inline both ways (RFC 8797, 4). */
    private static final long PRIVATE_DATA = 0xf6ab0e18_01010303L;

    /** Length of the FPDU's header and of an untagged DDP segment's and RDMAP's (RFC 5041, 4.3). */
    private static final int UNTAGGED = 18;

    private static final int LAST = 0x41;
    private static final int NOT_LAST = 0x01;
    private static final int SEND = 0x43;
    private static final int CRC_BYTES = 4;

    private static final int CALLS = 16;
    private static final int CREDITS = 16;
    private static final int READ_BYTES = 1 << 16;
    private static final int REPLY_BYTES = 1 << 18;
    private static final int HANDLE = 0x1234;
    private static final int PART = 1000;
    private static final int WHOLE = 4000;

    /** Where the data of a WRITE call begin, and the length of a READ call. */
    private static final int WRITE_DATA = SoakCalls.WRITE_DATA;

    private final String plural;

    HalfDone(String plural) {
        this.plural = plural;
    }

    /** Whether the MPA Reply is to be awaited before {@link #bytes}. */
    boolean startsUp() {
        return this == MESSAGE || this == READ || this == REPLY;
    }

    static ByteBuffer request() {
        return ByteBuffer.allocate(64)
                .put(REQUEST_KEY.getBytes(StandardCharsets.US_ASCII))
                .putInt(REQUEST_FLAGS)
                .putInt(READS_ANSWERED)
                .putLong(PRIVATE_DATA)
                .flip();
    }

    /** What is sent before the silence. */
    ByteBuffer bytes(int number) {
        return switch (this) {
            case START_UP -> request().limit(REQUEST_CUT);
            case MESSAGE -> number % 2 == 0 ? segment() : ByteBuffer.wrap(cutFrame());
            case READ, REPLY -> calls();
            case STREAM -> ByteBuffer.allocate(0);
        };
    }

    private static ByteBuffer segment() {
        ByteBuffer frame = ByteBuffer.allocate(fpdu(PART));
        header(frame, NOT_LAST, PART, 1);
        return frame.rewind();
    }

    private static byte[] cutFrame() {
        ByteBuffer frame = ByteBuffer.allocate(2 + UNTAGGED);
        header(frame, LAST, WHOLE, 1);
        return frame.array();
    }

    private ByteBuffer calls() {
        ByteBuffer frames = ByteBuffer.allocate(CALLS * 256);
        for (int i = 1; i <= CALLS; i++) {
            byte[] message = this == READ ? write(i) : read(i);
            int start = frames.position();
            header(frames, LAST, message.length, i);
            frames.put(message).position(start + fpdu(message.length));
        }
        return frames.flip();
    }

    private static void header(ByteBuffer to, int control, int length, int msn) {
        to.putShort((short) (UNTAGGED + length))
                .put((byte) control)
                .put((byte) SEND)
                .putInt(0)
                .putInt(0)
                .putInt(msn)
                .putInt(0);
    }

    /** With length, padding and CRC (RFC 5044, 4). */
    private static int fpdu(int length) {
        return (2 + UNTAGGED + length + 3) / 4 * 4 + CRC_BYTES;
    }

    /** A WRITE whose data are in a Read chunk. */
    private static byte[] write(int xid) {
        ByteBuffer call = ByteBuffer.allocate(28 + 24 + WRITE_DATA);
        call.putInt(xid).putInt(1).putInt(CREDITS).putInt(0);
        call.putInt(1).putInt(WRITE_DATA).putInt(HANDLE).putInt(READ_BYTES).putLong(0).putInt(0);
        call.putInt(0).putInt(0);
        rpc(call, xid, Nfs3Messages.PROCEDURE_WRITE)
                .putInt(READ_BYTES)
                .putInt(0)
                .putInt(READ_BYTES);
        return call.array();
    }

    /** A READ with a Write chunk for its data. */
    private static byte[] read(int xid) {
        ByteBuffer call = ByteBuffer.allocate(28 + 24 + WRITE_DATA - 8);
        call.putInt(xid).putInt(1).putInt(CREDITS).putInt(0);
        call.putInt(0);
        call.putInt(1).putInt(1).putInt(HANDLE).putInt(REPLY_BYTES).putLong(0).putInt(0);
        call.putInt(0);
        rpc(call, xid, Nfs3Messages.PROCEDURE_READ).putInt(REPLY_BYTES);
        return call.array();
    }

    private static ByteBuffer rpc(ByteBuffer to, int xid, int procedure) {
        return to.putInt(xid)
                .putInt(0)
                .putInt(2)
                .putInt(Nfs3Messages.NFS_PROGRAM)
                .putInt(Nfs3Messages.NFS_V3)
                .putInt(procedure)
                .putLong(0)
                .putLong(0)
                .putInt(Long.BYTES)
                .putLong(1)
                .putLong(0);
    }

    @Override
    public String toString() {
        return plural;
    }
}
