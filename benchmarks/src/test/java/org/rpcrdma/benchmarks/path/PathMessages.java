// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.benchmarks.path;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import org.rpcrdma.benchmarks.Nfs3Messages;
import org.rpcrdma.codec.RpcRdmaConnection;

/**
 * The messages of one end, in the memory that takes the fewest method entries there: on RDMA a message is written into
 * one buffer of the connection, on TCP into a pooled one of Netty's, but for data that are too long to be copied.
 */
final class PathMessages {

    /** From here on the messages on TCP have their data in memory of their own. */
    private static final int LONG_DATA = 16 << 10;

    private final ChannelHandlerContext ctx;

    /** {@code null} on TCP. */
    private final RpcRdmaConnection connection;

    private final PathCall call;
    private final ByteBuf data;

    /**
     * @param data of a WRITE or of the reply to a READ; stays the caller's
     */
    PathMessages(ChannelHandlerContext ctx, PathCall call, ByteBuf data) {
        this.ctx = ctx;
        this.call = call;
        this.data = data;
        connection = RpcRdmaConnection.of(ctx.channel());
    }

    ByteBuf call(int xid) {
        return switch (call) {
            case NULL -> Nfs3Messages.nullCall(buffer(Nfs3Messages.CALL_HEADER_LENGTH), xid);
            case READ_4K ->
                    Nfs3Messages.readCall(buffer(Nfs3Messages.READ_CALL_LENGTH), xid, call.bytes);
            case WRITE_4K, WRITE_64K ->
                    connection == null && call.bytes >= LONG_DATA
                            ? Nfs3Messages.writeCall(ctx.alloc(), xid, data)
                            : withData(
                                    Nfs3Messages.writeCallHead(
                                            buffer(Nfs3Messages.WRITE_CALL_OVERHEAD + call.bytes),
                                            xid,
                                            call.bytes));
        };
    }

    ByteBuf reply(int xid) {
        return switch (call) {
            case NULL -> Nfs3Messages.nullReply(buffer(Nfs3Messages.NULL_REPLY_LENGTH), xid);
            case READ_4K ->
                    withData(
                            Nfs3Messages.readReplyHead(
                                    buffer(Nfs3Messages.READ_REPLY_OVERHEAD + call.bytes),
                                    xid,
                                    call.bytes));
            case WRITE_4K, WRITE_64K ->
                    Nfs3Messages.writeReply(
                            buffer(Nfs3Messages.WRITE_REPLY_LENGTH), xid, call.bytes);
        };
    }

    private ByteBuf buffer(int capacity) {
        return connection == null
                ? ctx.alloc().directBuffer(capacity)
                : connection.messageBuffer(capacity);
    }

    private ByteBuf withData(ByteBuf head) {
        return head.writeBytes(data, data.readerIndex(), call.bytes);
    }
}
