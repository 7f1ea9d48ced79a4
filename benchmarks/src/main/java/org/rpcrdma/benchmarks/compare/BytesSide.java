// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.benchmarks.compare;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelPipeline;
import org.rpcrdma.benchmarks.Transport;
import org.rpcrdma.benchmarks.compare.Work.Procedure;

/**
 * Bytes there and back. Each message begins with how many bytes follow and how many are wanted back, 32 bits each; what
 * comes is counted, and not looked at.
 */
final class BytesSide extends ByteStreamSide {

    private static final int HEAD = 8;
    private static final int WORD = 4;

    BytesSide(Transport transport, Tools tools) {
        super(transport, tools);
    }

    @Override
    void addServerHandlers(ChannelPipeline pipeline) {
        pipeline.addLast(new Counting(tools().memory()));
    }

    @Override
    Driver open(String address, Driver.Listener listener) throws Exception {
        Sending sending = new Sending(tools().memory(), listener);
        connect(address, sending);
        return sending.driver();
    }

    /** The server's handler. */
    private static final class Counting extends ChannelInboundHandlerAdapter {

        private final ByteBuf memory;
        private int missingOfHead = HEAD;
        private long head;
        private int missing;

        Counting(ByteBuf memory) {
            this.memory = memory;
        }

        @Override
        public void channelRead(ChannelHandlerContext ctx, Object message) {
            ByteBuf in = (ByteBuf) message;
            try {
                while (in.isReadable()) {
                    count(ctx, in);
                }
            } finally {
                in.release();
            }
        }

        private void count(ChannelHandlerContext ctx, ByteBuf in) {
            if (missingOfHead > 0) {
                head = head << Byte.SIZE | in.readUnsignedByte();
                missingOfHead--;
                missing = (int) (head >>> Integer.SIZE);
            } else {
                int some = Math.min(missing, in.readableBytes());
                in.skipBytes(some);
                missing -= some;
            }
            if (missingOfHead == 0 && missing == 0) {
                missingOfHead = HEAD;
                ctx.write(memory.retainedSlice(0, (int) head), ctx.voidPromise());
            }
        }

        @Override
        public void channelReadComplete(ChannelHandlerContext ctx) {
            ctx.flush();
        }
    }

    private static final class Sending extends AnswersInOrder {

        private final ByteBuf memory;
        private int wanted;
        private int received;

        Sending(ByteBuf memory, Driver.Listener listener) {
            super(listener);
            this.memory = memory;
        }

        @Override
        void write(ChannelHandlerContext ctx, Work work, int id) {
            wanted = work.procedure() == Procedure.ECHO ? work.bytes() : WORD;
            ctx.write(
                    ctx.alloc().directBuffer(HEAD).writeInt(work.bytes()).writeInt(wanted),
                    ctx.voidPromise());
            ctx.write(memory.retainedSlice(0, work.bytes()), ctx.voidPromise());
        }

        @Override
        public void channelRead(ChannelHandlerContext context, Object message) {
            ByteBuf in = (ByteBuf) message;
            received += in.readableBytes();
            in.release();
            for (; received > 0 && received >= wanted; received -= wanted) {
                answered();
            }
        }
    }
}
