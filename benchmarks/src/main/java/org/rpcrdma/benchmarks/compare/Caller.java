// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.benchmarks.compare;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.util.ReferenceCountUtil;
import org.rpcrdma.benchmarks.ConnectionMessages;
import org.rpcrdma.benchmarks.Nfs3Messages;
import org.rpcrdma.codec.RpcMessage;

/**
 * The client's RPC handler, the same on every transport. Results are copied into the caller's own memory, as one does
 * with them, or placed there, where the transport is one that does so; arguments are sent from it.
 */
final class Caller extends CallingHandler {

    private final ByteBuf memory;
    private final boolean isPlaced;
    private ConnectionMessages messages;
    private Work work;
    private ByteBuf argument;

    /**
     * @param memory for data, at least as long as the longest; stays the user's
     */
    Caller(ByteBuf memory, boolean isPlaced, Driver.Listener listener) {
        super(listener);
        this.memory = memory;
        this.isPlaced = isPlaced;
    }

    @Override
    void write(ChannelHandlerContext ctx, Work kind, int xid) {
        if (work != kind) {
            work = kind;
            argument = memory.slice(0, kind.bytes());
        }
        ctx.write(
                switch (kind.procedure()) {
                    case READ -> read(messages.readCall(xid, kind.bytes()));
                    case WRITE -> messages.writeCall(xid, argument);
                    default -> messages.nullCall(xid);
                },
                ctx.voidPromise());
    }

    private Object read(ByteBuf call) {
        return isPlaced
                ? new RpcMessage(call).addSink(argument.retainedDuplicate().writerIndex(0))
                : call;
    }

    @Override
    public void handlerAdded(ChannelHandlerContext added) {
        super.handlerAdded(added);
        messages = new ConnectionMessages(added.channel());
    }

    @Override
    public void channelRead(ChannelHandlerContext context, Object message) {
        try {
            if (message instanceof RpcMessage placed) {
                takePlaced(placed);
            } else {
                take((ByteBuf) message);
            }
        } finally {
            ReferenceCountUtil.release(message);
        }
    }

    private void takePlaced(RpcMessage reply) {
        if (reply.sinkLength(0) != work.bytes()) {
            throw new IllegalStateException(
                    reply.sinkLength(0) + " bytes were placed (expected: " + work.bytes() + ")");
        }
        driver().answered(reply.content().getInt(reply.content().readerIndex()));
    }

    private void take(ByteBuf reply) {
        int length =
                switch (work.procedure()) {
                    case READ -> Nfs3Messages.READ_REPLY_OVERHEAD + work.bytes();
                    case WRITE -> Nfs3Messages.WRITE_REPLY_LENGTH;
                    default -> Nfs3Messages.NULL_REPLY_LENGTH;
                };
        if (reply.readableBytes() != length) {
            throw new IllegalStateException(
                    "reply of " + reply.readableBytes() + " bytes (expected: " + length + ")");
        }
        if (work.procedure() == Work.Procedure.READ) {
            reply.getBytes(
                    reply.readerIndex() + Nfs3Messages.READ_REPLY_OVERHEAD,
                    memory,
                    0,
                    work.bytes());
        }
        driver().answered(reply.getInt(reply.readerIndex()));
    }
}
