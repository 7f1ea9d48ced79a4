// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.benchmarks.compare;

import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.EventLoop;
import org.rpcrdma.benchmarks.Transport;
import org.rpcrdma.benchmarks.compare.Work.Procedure;

/**
 * Bytes there and back. Each message begins with how many bytes follow and how many are wanted back, 32 bits each; what
 * comes is counted, and not looked at.
 */
final class BytesSide extends NettySide {

    private static final int HEAD = 8;
    private static final int WORD = 4;

    private final Transport transport;
    private final Tools tools;

    BytesSide(Transport transport, Tools tools) {
        this.transport = transport;
        this.tools = tools;
    }

    @Override
    public String listen() throws Exception {
        ByteBuf memory = tools.memory();
        return transport.toText(
                transport
                        .bareServer(
                                tools.group(),
                                new ChannelInitializer<Channel>() {
                                    @Override
                                    protected void initChannel(Channel channel) {
                                        channel.pipeline().addLast(new Counting(memory));
                                    }
                                })
                        .bind(transport.serverAddress(tools.directory()))
                        .sync()
                        .channel()
                        .localAddress());
    }

    @Override
    Driver open(String address, Driver.Listener listener) throws Exception {
        Sending handler = new Sending(tools.memory(), listener);
        transport.bareClient(tools.group(), handler).connect(transport.fromText(address)).sync();
        return handler.driver;
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

    /** The client's. Answers come in the order of the messages. */
    private static final class Sending extends ChannelInboundHandlerAdapter {

        private final ByteBuf memory;
        private final Driver driver;
        private ChannelHandlerContext ctx;
        private int wanted;
        private int received;
        private int answered;

        Sending(ByteBuf memory, Driver.Listener listener) {
            this.memory = memory;
            driver =
                    new Driver(listener) {
                        @Override
                        EventLoop loop() {
                            return ctx.channel().eventLoop();
                        }

                        @Override
                        void call(Work kind, int id) {
                            send(kind);
                        }

                        @Override
                        void flush() {
                            ctx.flush();
                        }
                    };
        }

        @Override
        public void handlerAdded(ChannelHandlerContext added) {
            ctx = added;
        }

        private void send(Work work) {
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
                driver.answered(++answered);
            }
        }

        @Override
        public void channelReadComplete(ChannelHandlerContext context) {
            context.flush();
        }

        @Override
        public void channelInactive(ChannelHandlerContext context) {
            driver.closed();
        }

        @Override
        public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
            driver.failed(cause);
            context.close();
        }
    }
}
