// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.benchmarks.soak;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandler.Sharable;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.SimpleChannelInboundHandler;
import org.rpcrdma.benchmarks.Nfs3Messages;

/** The program of the servers: READ gives the data of a number, WRITE has to bring them and is executed once. */
@Sharable
final class SoakProgram extends SimpleChannelInboundHandler<ByteBuf> {

    private final Ledger[] ledgers;
    private final SoakTally tally;

    SoakProgram(Ledger[] ledgers, SoakTally tally) {
        this.ledgers = ledgers;
        this.tally = tally;
    }

    @Override
    protected void channelRead0(ChannelHandlerContext ctx, ByteBuf call) {
        int start = call.readerIndex();
        int xid = call.getInt(start);
        int procedure = call.getInt(start + Nfs3Messages.PROCEDURE_OFFSET);
        ByteBuf reply =
                switch (procedure) {
                    case Nfs3Messages.PROCEDURE_READ -> read(ctx, xid, call);
                    case Nfs3Messages.PROCEDURE_WRITE -> write(ctx, xid, call);
                    default -> Nfs3Messages.nullReply(ctx.alloc(), xid);
                };
        ctx.writeAndFlush(reply, ctx.voidPromise());
    }

    private static ByteBuf read(ChannelHandlerContext ctx, int xid, ByteBuf call) {
        int bytes = call.getInt(call.readerIndex() + Nfs3Messages.COUNT_OFFSET);
        ByteBuf data = ctx.alloc().directBuffer(bytes);
        try {
            Pattern.write(data, SoakCalls.number(call), bytes);
            return Nfs3Messages.readReply(ctx.alloc(), xid, data);
        } finally {
            data.release();
        }
    }

    private ByteBuf write(ChannelHandlerContext ctx, int xid, ByteBuf call) {
        int bytes = call.getInt(call.readerIndex() + Nfs3Messages.COUNT_OFFSET);
        long number = SoakCalls.number(call);
        if (!Pattern.is(call, call.readerIndex() + SoakCalls.WRITE_DATA, number, bytes)) {
            tally.violation("the data of a WRITE of " + bytes + " bytes");
        }
        ledgers[SoakCalls.client(number)].execute(number);
        tally.executed.increment();
        return Nfs3Messages.writeReply(ctx.alloc(), xid, bytes);
    }

    @Override
    public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
        ctx.close(); // a connection that a fault has hit
    }
}
