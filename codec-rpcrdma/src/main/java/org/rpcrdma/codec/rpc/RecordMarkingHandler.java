// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.rpc;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.CompositeByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelOutboundHandlerAdapter;
import io.netty.channel.ChannelPromise;
import io.netty.channel.CombinedChannelDuplexHandler;
import io.netty.channel.socket.DuplexChannel;
import io.netty.handler.codec.ByteToMessageDecoder;
import io.netty.handler.codec.TooLongFrameException;
import io.netty.util.ReferenceCountUtil;
import java.util.List;
import org.rpcrdma.codec.RpcMessage;
import org.rpcrdma.codec.internal.ArgumentChecks;
import org.rpcrdma.codec.internal.ReusableWritePromise;

/**
 * Record marking of RPC messages on a byte stream (RFC 5531, 11), such as TCP or a {@link
 * org.rpcrdma.channel.RdmaStreamChannel}: what its pipeline has where one over {@link org.rpcrdma.channel.RdmaChannel}
 * has the {@link org.rpcrdma.codec.RpcRdmaCodec}. Whole messages are read as one {@link ByteBuf}, and written as {@link
 * ByteBuf} or {@link RpcMessage}, in one fragment.
 *
 * <p>A record that is longer than allowed, or has more than 1024 fragments, closes the channel: {@link
 * TooLongFrameException}. So does the write of a record that fails: its mark may be in the stream, and what follows
 * would be taken for the record. For this reason a write cannot be cancelled once it has come here.
 */
public final class RecordMarkingHandler
        extends CombinedChannelDuplexHandler<
                RecordMarkingHandler.Decoder, RecordMarkingHandler.Encoder> {

    /** The longest record unless told otherwise, in bytes: enough for 1 MiB of data and all that goes with it. */
    public static final int DEFAULT_RECORD_BYTES = (1 << 20) + (64 << 10);

    private static final int MARK_BYTES = 4;
    private static final int LAST_FRAGMENT = 0x80000000;

    /** A handler of one channel, for records of up to {@link #DEFAULT_RECORD_BYTES}. */
    public RecordMarkingHandler() {
        this(DEFAULT_RECORD_BYTES, ByteToMessageDecoder.MERGE_CUMULATOR);
    }

    /**
     * A handler of one channel.
     *
     * @param maxRecordBytes the longest inbound record, from 1
     * @param cumulator keeps what has come of a record until the rest is there
     */
    public RecordMarkingHandler(int maxRecordBytes, ByteToMessageDecoder.Cumulator cumulator) {
        super(new Decoder(maxRecordBytes, cumulator), new Encoder());
    }

    /** Bytes to whole RPC messages. */
    static final class Decoder extends ByteToMessageDecoder {

        private static final int MAXIMUM_FRAGMENTS = 1024;

        private final int maxRecordBytes;
        private CompositeByteBuf fragments;

        Decoder(int maxRecordBytes, Cumulator cumulator) {
            this.maxRecordBytes =
                    ArgumentChecks.inRange("maxRecordBytes", maxRecordBytes, 1, Integer.MAX_VALUE);
            setCumulator(cumulator);
        }

        @Override
        protected void decode(ChannelHandlerContext ctx, ByteBuf in, List<Object> records) {
            if (in.readableBytes() < MARK_BYTES) {
                return;
            }
            int mark = in.getInt(in.readerIndex());
            int length = mark & ~LAST_FRAGMENT;
            int before = fragments == null ? 0 : fragments.readableBytes();
            if (length > maxRecordBytes - before) {
                throw tooLong(
                        ctx,
                        in,
                        "record of "
                                + ((long) before + length)
                                + " bytes or more (expected: at most "
                                + maxRecordBytes
                                + ')');
            }
            if (in.readableBytes() - MARK_BYTES < length) {
                return;
            }
            if (fragments != null && fragments.numComponents() == MAXIMUM_FRAGMENTS) {
                throw tooLong(ctx, in, "record of more than " + MAXIMUM_FRAGMENTS + " fragments");
            }
            boolean isLast = (mark & LAST_FRAGMENT) != 0;
            if (!isLast && fragments == null) {
                fragments = ctx.alloc().compositeBuffer(MAXIMUM_FRAGMENTS);
            }
            ByteBuf fragment = in.retainedSlice(in.readerIndex() + MARK_BYTES, length);
            if (fragments == null) {
                records.add(fragment);
            } else {
                fragments.addComponent(true, fragment);
            }
            // Only now: the rest of a record whose fragment was lost for lack of memory would be
            // taken for a record.
            in.skipBytes(MARK_BYTES + length);
            if (isLast && fragments != null) {
                records.add(fragments);
                fragments = null;
            }
        }

        private static TooLongFrameException tooLong(
                ChannelHandlerContext ctx, ByteBuf in, String why) {
            in.skipBytes(in.readableBytes());
            ctx.close();
            return new TooLongFrameException(why);
        }

        @Override
        protected void handlerRemoved0(ChannelHandlerContext ctx) {
            if (fragments != null) {
                fragments.release();
                fragments = null;
            }
        }
    }

    /** Whole RPC messages to records of one fragment. */
    static final class Encoder extends ChannelOutboundHandlerAdapter {

        private static final ChannelFutureListener CLOSE_IF_FAILED =
                written -> {
                    if (!written.isSuccess() && mayWrite(written.channel())) {
                        written.channel().close();
                    }
                };

        /** Of all marks, and of the records with a void promise: nothing is allocated for one. */
        private ReusableWritePromise part;

        @Override
        public void handlerAdded(ChannelHandlerContext ctx) {
            part =
                    new ReusableWritePromise(ctx.channel()) {
                        @Override
                        public void ended(Throwable cause) {
                            if (cause != null && mayWrite(ctx.channel())) {
                                ctx.pipeline().fireExceptionCaught(cause);
                                ctx.close();
                            }
                        }
                    };
        }

        /** Behind a mark whose record failed nothing may follow; where the output is over, nothing does. */
        private static boolean mayWrite(Channel channel) {
            return channel.isActive()
                    && !(channel instanceof DuplexChannel duplex && duplex.isOutputShutdown());
        }

        @Override
        public void write(ChannelHandlerContext ctx, Object message, ChannelPromise promise) {
            if (message instanceof RpcMessage parts) {
                if (tryTake(message, promise)) {
                    writeRecord(ctx, whole(ctx, parts), promise);
                }
            } else if (message instanceof ByteBuf record) {
                if (tryTake(message, promise)) {
                    writeRecord(ctx, record, promise);
                }
            } else {
                ctx.write(message, promise);
            }
        }

        /** Netty leaves out what is cancelled before it is flushed, but not the mark in front of it. */
        private static boolean tryTake(Object message, ChannelPromise promise) {
            boolean isTaken = promise.setUncancellable();
            if (!isTaken) {
                ReferenceCountUtil.release(message);
            }
            return isTaken;
        }

        private void writeRecord(
                ChannelHandlerContext ctx, ByteBuf record, ChannelPromise promise) {
            ByteBuf mark = null;
            ChannelPromise end = part;
            try {
                mark = ctx.alloc().buffer(MARK_BYTES);
                if (promise != ctx.voidPromise()) {
                    // Before the mark is written: nothing may fail between it and its record.
                    end = promise.unvoid().addListener(CLOSE_IF_FAILED);
                }
            } catch (Throwable t) {
                ReferenceCountUtil.release(mark);
                record.release();
                throw t;
            }
            ctx.write(mark.writeInt(record.readableBytes() | LAST_FRAGMENT), part);
            ctx.write(record, end);
        }

        /** Payload and items in their order, each with its round-up, without a copy. The message is taken over. */
        private static ByteBuf whole(ChannelHandlerContext ctx, RpcMessage message) {
            try {
                ByteBuf payload = message.content();
                return message.items() == 0 ? payload.retain() : joined(ctx, payload, message);
            } finally {
                message.release();
            }
        }

        private static ByteBuf joined(
                ChannelHandlerContext ctx, ByteBuf payload, RpcMessage message) {
            CompositeByteBuf whole =
                    ctx.alloc().compositeBuffer(Math.max(2, 3 * message.items() + 1));
            try {
                int taken = payload.readerIndex();
                for (int i = 0; i < message.items(); i++) {
                    int length = message.itemPosition(i) - whole.readableBytes();
                    whole.addComponent(true, payload.retainedSlice(taken, length));
                    taken += length;
                    ByteBuf item = message.item(i);
                    whole.addComponent(true, item.retainedSlice());
                    int padding = -item.readableBytes() & 3;
                    if (padding > 0) {
                        whole.addComponent(true, Unpooled.wrappedBuffer(new byte[padding]));
                    }
                }
                return whole.addComponent(
                        true, payload.retainedSlice(taken, payload.writerIndex() - taken));
            } catch (Throwable t) {
                whole.release();
                throw t;
            }
        }
    }
}
