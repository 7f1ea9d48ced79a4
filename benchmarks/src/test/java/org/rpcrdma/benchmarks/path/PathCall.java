// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.benchmarks.path;

import io.netty.buffer.ByteBuf;
import org.rpcrdma.benchmarks.ConnectionMessages;
import org.rpcrdma.codec.RpcMessage;

/** The kinds of call whose path is counted. */
enum PathCall {
    NULL("NULL", 0),
    READ_4K("READ 4 KiB", 4 << 10),
    /** Into memory that the caller lends, by a Write chunk, as a Linux client asks for it. */
    READ_4K_PLACED("READ 4 KiB placed", 4 << 10),
    READ_64K("READ 64 KiB", 64 << 10),
    WRITE_4K("WRITE 4 KiB", 4 << 10),
    WRITE_64K("WRITE 64 KiB", 64 << 10);

    final String label;
    final int bytes;

    PathCall(String label, int bytes) {
        this.label = label;
        this.bytes = bytes;
    }

    /** Whether it is a call over this transport: streams place nothing. */
    boolean isOver(PathTransport transport) {
        return this != READ_4K_PLACED || transport == PathTransport.RDMA;
    }

    /**
     * @param data of a WRITE, or memory for that of a READ; stays the caller's
     */
    Object call(ConnectionMessages messages, int xid, ByteBuf data) {
        return switch (this) {
            case NULL -> messages.nullCall(xid);
            case READ_4K, READ_64K -> messages.readCall(xid, bytes);
            case READ_4K_PLACED ->
                    new RpcMessage(messages.readCall(xid, bytes))
                            .addSink(data.retainedSlice(0, bytes).writerIndex(0));
            case WRITE_4K, WRITE_64K -> messages.writeCall(xid, data);
        };
    }

    /**
     * @param data that a READ returns; stays the caller's
     */
    ByteBuf reply(ConnectionMessages messages, int xid, ByteBuf data) {
        return switch (this) {
            case NULL -> messages.nullReply(xid);
            case READ_4K, READ_64K -> messages.readReply(xid, data);
            case READ_4K_PLACED -> messages.readReplyInParts(xid, data);
            case WRITE_4K, WRITE_64K -> messages.writeReply(xid, bytes);
        };
    }
}
