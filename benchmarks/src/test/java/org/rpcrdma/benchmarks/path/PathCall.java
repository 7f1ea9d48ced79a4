// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.benchmarks.path;

import io.netty.buffer.ByteBuf;
import org.rpcrdma.benchmarks.ConnectionMessages;

/** The kinds of call whose path is counted. */
enum PathCall {
    NULL("NULL", 0),
    READ_4K("READ 4 KiB", 4 << 10),
    READ_64K("READ 64 KiB", 64 << 10),
    WRITE_4K("WRITE 4 KiB", 4 << 10),
    WRITE_64K("WRITE 64 KiB", 64 << 10);

    final String label;
    final int bytes;

    PathCall(String label, int bytes) {
        this.label = label;
        this.bytes = bytes;
    }

    /**
     * @param data of a WRITE; stays the caller's
     */
    ByteBuf call(ConnectionMessages messages, int xid, ByteBuf data) {
        return switch (this) {
            case NULL -> messages.nullCall(xid);
            case READ_4K, READ_64K -> messages.readCall(xid, bytes);
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
            case WRITE_4K, WRITE_64K -> messages.writeReply(xid, bytes);
        };
    }
}
