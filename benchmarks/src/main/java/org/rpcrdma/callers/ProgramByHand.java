// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.callers;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;

/** Answers calls word by word; refuses what the typed layer refuses. */
public final class ProgramByHand extends ChannelInboundHandlerAdapter {

    private static final byte[] DATA = new byte[ReadProcedure.COUNT];

    @Override
    public void channelRead(ChannelHandlerContext ctx, Object message) {
        ByteBuf call = (ByteBuf) message;
        int xid = call.readInt();
        int status = execute(call);
        call.release();
        if (status < 0) {
            ctx.close();
            return;
        }
        ByteBuf reply = ctx.alloc().buffer(24 + 20 + ReadProcedure.COUNT);
        reply.writeInt(xid).writeInt(1).writeInt(0).writeInt(0).writeInt(0).writeInt(status);
        if (status == 0) {
            reply.writeInt(0).writeInt(0).writeInt(DATA.length).writeInt(1).writeInt(DATA.length);
            reply.writeBytes(DATA);
        }
        // To the channel, and told of a failure: as the typed layer does.
        ctx.channel()
                .writeAndFlush(reply)
                .addListener(
                        written -> {
                            if (written.cause() instanceof Error) {
                                ctx.fireExceptionCaught(written.cause());
                            }
                        });
    }

    /** {@code accept_stat}; negative for what is no call. */
    private static int execute(ByteBuf call) {
        if (call.readableBytes() < 36 || call.readInt() != 0 || call.readInt() != 2) {
            return -1;
        }
        if (call.readInt() != ReadProcedure.PROGRAM) {
            return 1;
        }
        if (call.readInt() != ReadProcedure.VERSION) {
            return 2;
        }
        if (call.readInt() != ReadProcedure.NUMBER) {
            return 3;
        }
        for (int i = 0; i < 2; i++) {
            int flavor = call.readInt();
            int length = call.readInt();
            if (flavor != 0 || length != 0) {
                return -1;
            }
        }
        boolean isRead =
                call.readableBytes() >= 24
                        && call.readInt() == ReadProcedure.HANDLE_BYTES
                        && call.readLong() == ReadProcedure.HANDLE
                        && call.readLong() == 0
                        && call.readInt() == DATA.length;
        return isRead ? 0 : 4;
    }
}
