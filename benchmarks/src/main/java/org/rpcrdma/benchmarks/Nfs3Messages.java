// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.benchmarks;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;

/** The three calls of the benchmarks and their replies, in XDR (RFC 5531, 9; RFC 1813, 3.3.0, 3.3.6 and 3.3.7). */
public final class Nfs3Messages {

    public static final int PROCEDURE_NULL = 0;
    public static final int PROCEDURE_READ = 6;
    public static final int PROCEDURE_WRITE = 7;

    static final int XID_OFFSET = 0;
    public static final int PROCEDURE_OFFSET = 20;

    /** XID, direction, reply status, verifier and accept status. */
    public static final int NULL_REPLY_LENGTH = 24;

    /** What precedes the data in a READ reply: NFS status, no attributes, count, end of file, length. */
    public static final int READ_REPLY_OVERHEAD = NULL_REPLY_LENGTH + 20;

    /** What precedes the data in a WRITE call: file handle, offset, count, stability, length. */
    public static final int WRITE_CALL_OVERHEAD = 40 + 12 + 8 + 4 + 4 + 4;

    /** NFS status, no attributes before or after, count, stability and verifier. */
    public static final int WRITE_REPLY_LENGTH = NULL_REPLY_LENGTH + 28;

    /** Where a READ call and a WRITE call say how much. */
    public static final int COUNT_OFFSET = 40 + 12 + 8;

    private static final int CALL = 0;
    private static final int REPLY = 1;
    private static final int RPC_VERSION = 2;
    public static final int NFS_PROGRAM = 100003;
    public static final int NFS_V3 = 3;
    public static final int CALL_HEADER_LENGTH = 40;
    private static final int FILE_HANDLE_LENGTH = 8;

    /** File handle, offset and count follow the header. */
    public static final int READ_CALL_LENGTH = CALL_HEADER_LENGTH + 24;

    private Nfs3Messages() {}

    public static ByteBuf nullCall(ByteBufAllocator allocator, int xid) {
        return nullCall(allocator.directBuffer(CALL_HEADER_LENGTH), xid);
    }

    /** Appends a NULL call. */
    public static ByteBuf nullCall(ByteBuf to, int xid) {
        return callHeader(to, xid, PROCEDURE_NULL);
    }

    public static ByteBuf readCall(ByteBufAllocator allocator, int xid, int count) {
        return readCall(allocator.directBuffer(READ_CALL_LENGTH), xid, count);
    }

    /** Appends a READ call. */
    public static ByteBuf readCall(ByteBuf to, int xid, int count) {
        return callHeader(to, xid, PROCEDURE_READ)
                .writeInt(FILE_HANDLE_LENGTH)
                .writeLong(1)
                .writeLong(0)
                .writeInt(count);
    }

    /**
     * A WRITE call without a copy of the data.
     *
     * @param data its readable bytes, a multiple of 4; the call takes a reference of its own
     */
    public static ByteBuf writeCall(ByteBufAllocator allocator, int xid, ByteBuf data) {
        ByteBuf head =
                writeCallHead(
                        allocator.directBuffer(WRITE_CALL_OVERHEAD), xid, data.readableBytes());
        return allocator
                .compositeDirectBuffer(2)
                .addComponents(true, head, data.retainedDuplicate());
    }

    /** Appends a WRITE call up to its data. */
    public static ByteBuf writeCallHead(ByteBuf to, int xid, int count) {
        return callHeader(to, xid, PROCEDURE_WRITE)
                .writeInt(FILE_HANDLE_LENGTH)
                .writeLong(1)
                .writeLong(0)
                .writeInt(count)
                .writeInt(0)
                .writeInt(count);
    }

    /** A successful WRITE reply. */
    public static ByteBuf writeReply(ByteBufAllocator allocator, int xid, int count) {
        return writeReply(allocator.directBuffer(WRITE_REPLY_LENGTH), xid, count);
    }

    /** Appends a successful WRITE reply. */
    public static ByteBuf writeReply(ByteBuf to, int xid, int count) {
        return replyHeader(to, xid)
                .writeInt(0)
                .writeInt(0)
                .writeInt(0)
                .writeInt(count)
                .writeInt(0)
                .writeLong(1);
    }

    public static ByteBuf nullReply(ByteBufAllocator allocator, int xid) {
        return nullReply(allocator.directBuffer(NULL_REPLY_LENGTH), xid);
    }

    /** Appends a NULL reply. */
    public static ByteBuf nullReply(ByteBuf to, int xid) {
        return replyHeader(to, xid);
    }

    /**
     * A successful READ reply without a copy of the data.
     *
     * @param data its readable bytes, a multiple of 4, are the file's data; the reply takes a reference of its own
     */
    public static ByteBuf readReply(ByteBufAllocator allocator, int xid, ByteBuf data) {
        ByteBuf head =
                readReplyHead(
                        allocator.directBuffer(READ_REPLY_OVERHEAD), xid, data.readableBytes());
        return allocator
                .compositeDirectBuffer(2)
                .addComponents(true, head, data.retainedDuplicate());
    }

    /** Appends a successful READ reply up to its data. */
    public static ByteBuf readReplyHead(ByteBuf to, int xid, int count) {
        return replyHeader(to, xid)
                .writeInt(0)
                .writeInt(0)
                .writeInt(count)
                .writeInt(1)
                .writeInt(count);
    }

    private static ByteBuf callHeader(ByteBuf to, int xid, int procedure) {
        return to.writeInt(xid)
                .writeInt(CALL)
                .writeInt(RPC_VERSION)
                .writeInt(NFS_PROGRAM)
                .writeInt(NFS_V3)
                .writeInt(procedure)
                .writeLong(0)
                .writeLong(0);
    }

    private static ByteBuf replyHeader(ByteBuf to, int xid) {
        return to.writeInt(xid).writeInt(REPLY).writeInt(0).writeLong(0).writeInt(0);
    }
}
