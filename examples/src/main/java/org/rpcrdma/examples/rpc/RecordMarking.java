// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.rpc;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.CompositeByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.CombinedChannelDuplexHandler;
import io.netty.handler.codec.ByteToMessageDecoder;
import io.netty.handler.codec.MessageToMessageEncoder;
import io.netty.handler.codec.TooLongFrameException;
import java.util.List;

/**
 * Record marking of RPC messages on a byte stream (RFC 5531, 11): what a TCP pipeline has where one over RDMA has its
 * codec. Unlike Hadoop's frame decoder it joins the fragments of a record and bounds its length.
 */
public final class RecordMarking
        extends CombinedChannelDuplexHandler<RecordMarking.Decoder, RecordMarking.Encoder> {

    /** Enough for 1 MiB of file data and all that goes with it. */
    public static final int RECORD_MAX = (1 << 20) + (64 << 10);

    private static final int MARK_LENGTH = 4;
    private static final int LAST_FRAGMENT = 0x80000000;

    public RecordMarking() {
        this(ByteToMessageDecoder.MERGE_CUMULATOR);
    }

    /**
     * @param cumulator how what has come of a record is kept until the rest is there
     */
    public RecordMarking(ByteToMessageDecoder.Cumulator cumulator) {
        super(new Decoder(cumulator), new Encoder());
    }

    /** Bytes to whole RPC messages. */
    static final class Decoder extends ByteToMessageDecoder {

        private static final int FRAGMENTS_MAX = 1024;

        private CompositeByteBuf fragments;

        Decoder(Cumulator cumulator) {
            setCumulator(cumulator);
        }

        @Override
        protected void decode(ChannelHandlerContext ctx, ByteBuf in, List<Object> out) {
            if (in.readableBytes() < MARK_LENGTH) {
                return;
            }
            int mark = in.getInt(in.readerIndex());
            int length = mark & ~LAST_FRAGMENT;
            int before = fragments == null ? 0 : fragments.readableBytes();
            if (length > RECORD_MAX - before) {
                in.skipBytes(in.readableBytes());
                ctx.close();
                throw new TooLongFrameException(
                        "record of "
                                + ((long) before + length)
                                + " bytes or more (expected: at most "
                                + RECORD_MAX
                                + ")");
            }
            if (in.readableBytes() - MARK_LENGTH < length) {
                return;
            }
            ByteBuf fragment = in.skipBytes(MARK_LENGTH).readRetainedSlice(length);
            boolean last = (mark & LAST_FRAGMENT) != 0;
            if (last && fragments == null) {
                out.add(fragment);
                return;
            }
            if (fragments == null) {
                fragments = ctx.alloc().compositeBuffer(FRAGMENTS_MAX);
            }
            if (fragments.numComponents() == FRAGMENTS_MAX) {
                fragment.release();
                in.skipBytes(in.readableBytes());
                ctx.close();
                throw new TooLongFrameException(
                        "record of more than " + FRAGMENTS_MAX + " fragments");
            }
            fragments.addComponent(true, fragment);
            if (last) {
                out.add(fragments);
                fragments = null;
            }
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
    static final class Encoder extends MessageToMessageEncoder<ByteBuf> {

        @Override
        protected void encode(ChannelHandlerContext ctx, ByteBuf message, List<Object> out) {
            out.add(
                    ctx.alloc()
                            .buffer(MARK_LENGTH)
                            .writeInt(message.readableBytes() | LAST_FRAGMENT));
            out.add(message.retain());
        }
    }
}
