// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.benchmarks;

import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import org.rpcrdma.codec.RpcRdmaConnection;

/**
 * The messages of one connection, in the memory that costs least there: on RPC-over-RDMA a buffer of the connection, on
 * record marking a pooled one of Netty's. Short data are copied behind their head; long ones stay where they are.
 */
public final class ConnectionMessages {

    /** From here on a copy costs more than another piece of memory in a message on record marking. */
    private static final int LONG_DATA = 16 << 10;

    /**
     * The same for arguments on RPC-over-RDMA, where the memory of another piece would have to be copied or registered.
     */
    private static final int LONG_ARGUMENT_RDMA = 128 << 10;

    /** The same for results, which are written into the requester's Write chunk from this length on. */
    private static final int LONG_RESULT_RDMA = 64 << 10;

    private final Channel channel;

    /** {@code null} on record marking. */
    private final RpcRdmaConnection connection;

    /**
     * @param channel with its framing in the pipeline
     */
    public ConnectionMessages(Channel channel) {
        this.channel = channel;
        connection = RpcRdmaConnection.of(channel);
    }

    public ByteBuf nullCall(int xid) {
        return Nfs3Messages.nullCall(buffer(Nfs3Messages.CALL_HEADER_LENGTH), xid);
    }

    public ByteBuf readCall(int xid, int count) {
        return Nfs3Messages.readCall(buffer(Nfs3Messages.READ_CALL_LENGTH), xid, count);
    }

    /**
     * @param data its readable bytes, a multiple of 4; stays the caller's
     */
    public ByteBuf writeCall(int xid, ByteBuf data) {
        int count = data.readableBytes();
        return isLong(count, LONG_ARGUMENT_RDMA)
                ? Nfs3Messages.writeCall(channel.alloc(), xid, data)
                : append(
                        Nfs3Messages.writeCallHead(
                                buffer(Nfs3Messages.WRITE_CALL_OVERHEAD + count), xid, count),
                        data);
    }

    public ByteBuf nullReply(int xid) {
        return Nfs3Messages.nullReply(buffer(Nfs3Messages.NULL_REPLY_LENGTH), xid);
    }

    /**
     * @param data its readable bytes, a multiple of 4; stays the caller's
     */
    public ByteBuf readReply(int xid, ByteBuf data) {
        int count = data.readableBytes();
        return isLong(count, LONG_RESULT_RDMA)
                ? readReplyInParts(xid, data)
                : append(
                        Nfs3Messages.readReplyHead(
                                buffer(Nfs3Messages.READ_REPLY_OVERHEAD + count), xid, count),
                        data);
    }

    /**
     * As {@link #readReply}, with the data where they are, however few.
     *
     * @param data its readable bytes, a multiple of 4; stays the caller's
     */
    public ByteBuf readReplyInParts(int xid, ByteBuf data) {
        return Nfs3Messages.readReply(channel.alloc(), xid, data);
    }

    public ByteBuf writeReply(int xid, int count) {
        return Nfs3Messages.writeReply(buffer(Nfs3Messages.WRITE_REPLY_LENGTH), xid, count);
    }

    private boolean isLong(int count, int longOnRdma) {
        return count >= (connection == null ? LONG_DATA : longOnRdma);
    }

    private ByteBuf buffer(int capacity) {
        return connection == null
                ? channel.alloc().directBuffer(capacity)
                : connection.messageBuffer(capacity);
    }

    private static ByteBuf append(ByteBuf head, ByteBuf data) {
        return head.writeBytes(data, data.readerIndex(), data.readableBytes());
    }
}
