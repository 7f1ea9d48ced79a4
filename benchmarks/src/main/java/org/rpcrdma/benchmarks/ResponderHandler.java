// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.benchmarks;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.SimpleChannelInboundHandler;

/** The server's RPC handler of a connection, the same on every transport: whole calls come in, whole replies go out. */
public final class ResponderHandler extends SimpleChannelInboundHandler<ByteBuf> {

    private final ByteBuf file;
    private ConnectionMessages messages;

    /**
     * @param file what READ returns and WRITE writes to, at most 1 MiB, all of it readable; stays the caller's
     */
    public ResponderHandler(ByteBuf file) {
        this.file = file;
    }

    @Override
    public void handlerAdded(ChannelHandlerContext ctx) {
        messages = new ConnectionMessages(ctx.channel());
    }

    @Override
    protected void channelRead0(ChannelHandlerContext ctx, ByteBuf call) {
        int xid = call.getInt(call.readerIndex() + Nfs3Messages.XID_OFFSET);
        int procedure = call.getInt(call.readerIndex() + Nfs3Messages.PROCEDURE_OFFSET);
        ByteBuf reply =
                switch (procedure) {
                    case Nfs3Messages.PROCEDURE_READ -> messages.readReply(xid, data(count(call)));
                    case Nfs3Messages.PROCEDURE_WRITE -> written(xid, call);
                    default -> messages.nullReply(xid);
                };
        ctx.write(reply, ctx.voidPromise());
    }

    /** The beginning of the file; without an object for it when that is all of the file. */
    private ByteBuf data(int count) {
        return count == file.readableBytes() ? file : file.slice(file.readerIndex(), count);
    }

    /** Copies the data into the file, as a server's page cache would. */
    private ByteBuf written(int xid, ByteBuf call) {
        int count = count(call);
        call.getBytes(
                call.readerIndex() + Nfs3Messages.WRITE_CALL_OVERHEAD,
                file,
                file.readerIndex(),
                count);
        return messages.writeReply(xid, count);
    }

    private static int count(ByteBuf call) {
        return call.getInt(call.readerIndex() + Nfs3Messages.COUNT_OFFSET);
    }

    @Override
    public void channelReadComplete(ChannelHandlerContext ctx) {
        ctx.flush();
    }
}
