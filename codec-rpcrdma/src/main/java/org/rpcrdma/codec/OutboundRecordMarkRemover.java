// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPromise;
import org.rpcrdma.codec.wire.RecordMark;
import org.rpcrdma.codec.wire.RpcHeaderDecoder;

/**
 * Removes the record marks (RFC 5531, 11) of handlers written for TCP, which RPC-over-RDMA does not use (RFC 8166,
 * 3.2). Bytes that are neither a message nor a record fail their write; if their XID is that of a call in progress, the
 * call is answered with SYSTEM_ERR, because its requester would wait for ever.
 */
final class OutboundRecordMarkRemover extends CodecStageHandler {

    private static final int SYSTEM_ERR = 5;

    private final RpcRdmaConnection connection;
    private final RpcHeaderDecoder start = new RpcHeaderDecoder();

    OutboundRecordMarkRemover(RpcRdmaConnection connection) {
        this.connection = connection;
    }

    @Override
    public void write(ChannelHandlerContext ctx, Object written, ChannelPromise promise) {
        if (!(written instanceof ByteBuf bytes) || isUnmarked(bytes)) {
            toNetwork(written, promise);
            return;
        }
        ByteBuf message = RecordMark.without(bytes, ctx.alloc());
        if (!RpcHeaderDecoder.isMessage(message) && connection.writeProblem() == null) {
            refuse(ctx, message);
        }
        toNetwork(message, promise); // fails there if it is no message
    }

    /** Whether the first two words are those of a message and cannot be those of a record. */
    private boolean isUnmarked(ByteBuf bytes) {
        return start.take(bytes)
                && RpcHeaderDecoder.isType(start.type())
                && !RecordMark.mayBe(start.xid(), bytes.readableBytes());
    }

    private void refuse(ChannelHandlerContext ctx, ByteBuf bytes) {
        boolean mayHaveMark = bytes.readableBytes() >= RecordMark.BYTES + 4;
        int xid = mayHaveMark ? bytes.getInt(bytes.readerIndex() + RecordMark.BYTES) : 0;
        boolean isAnswer = mayHaveMark && connection.responder().call(xid) != null;
        connection
                .link()
                .problem(
                        xid,
                        "the handlers wrote "
                                + bytes.readableBytes()
                                + " bytes that are neither an RPC message nor one record with its"
                                + " mark",
                        (isAnswer ? "the call is answered with SYSTEM_ERR; " : "not sent; ")
                                + "for bytes of a TCP stream put a RecordMarkingAdapter behind"
                                + " RpcRdmaCodec");
        if (isAnswer) {
            ByteBuf reply = ctx.alloc().buffer(RpcHeaderDecoder.REPLY_HEADER_BYTES).writeInt(xid);
            reply.writeInt(RpcHeaderDecoder.REPLY).writeInt(0).writeLong(0).writeInt(SYSTEM_ERR);
            ctx.write(reply);
        }
    }
}
