// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPromise;
import org.rpcrdma.codec.wire.RecordMark;
import org.rpcrdma.codec.wire.RpcCallHeader;

/**
 * Takes handlers as they are: one that answers as on TCP writes record marks (RFC 5531, 11), which do not belong on
 * RDMA (RFC 8166, 3.2). What cannot be read in either form is not sent, and the call that it was to answer gets an
 * answer nevertheless, because its requester would wait for ever.
 */
final class RecordMarkRemover extends CodecStageHandler {

    private static final int SYSTEM_ERR = 5;

    private final RpcRdmaConnection connection;

    RecordMarkRemover(RpcRdmaConnection connection) {
        this.connection = connection;
    }

    @Override
    public void write(ChannelHandlerContext ctx, Object written, ChannelPromise promise) {
        if (!(written instanceof ByteBuf bytes)) {
            toNetwork(written, promise);
            return;
        }
        ByteBuf message = RecordMark.without(bytes, ctx.alloc());
        if (!RpcCallHeader.isMessage(message) && connection.writeProblem() == null) {
            refuse(ctx, message);
        }
        toNetwork(message, promise); // what is no message fails there
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
            ByteBuf reply = ctx.alloc().buffer(RpcCallHeader.REPLY_HEADER_BYTES).writeInt(xid);
            reply.writeInt(RpcCallHeader.REPLY).writeInt(0).writeLong(0).writeInt(SYSTEM_ERR);
            ctx.write(reply);
        }
    }
}
