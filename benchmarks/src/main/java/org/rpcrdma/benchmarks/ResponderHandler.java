// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.benchmarks;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandler.Sharable;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.SimpleChannelInboundHandler;

/** The server's RPC handler, the same on every transport: whole calls come in, whole replies go out. */
@Sharable
final class ResponderHandler extends SimpleChannelInboundHandler<ByteBuf> {

    private final ByteBuf file;

    /**
     * @param file what every READ returns, at most 1 MiB; stays the caller's
     */
    ResponderHandler(ByteBuf file) {
        this.file = file;
    }

    @Override
    protected void channelRead0(ChannelHandlerContext ctx, ByteBuf call) {
        int xid = call.getInt(call.readerIndex() + Nfs3Messages.XID_OFFSET);
        int procedure = call.getInt(call.readerIndex() + Nfs3Messages.PROCEDURE_OFFSET);
        ByteBuf reply =
                procedure == Nfs3Messages.PROCEDURE_READ
                        ? Nfs3Messages.readReply(ctx.alloc(), xid, file)
                        : Nfs3Messages.nullReply(ctx.alloc(), xid);
        ctx.write(reply, ctx.voidPromise());
    }

    @Override
    public void channelReadComplete(ChannelHandlerContext ctx) {
        ctx.flush();
    }
}
