// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.CompositeByteBuf;
import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPromise;
import io.netty.handler.codec.CorruptedFrameException;
import io.netty.util.ReferenceCountUtil;

/**
 * Lets codecs for record marking on TCP (RFC 5531, 11) stay in a pipeline: put it between {@link RpcRdmaCodec} and
 * them. Inbound messages get a record mark of one fragment; outbound bytes are collected until a record is whole, and
 * lose their marks.
 *
 * <p>The promise of a write completes with that of the last record that its bytes end; bytes that complete no record
 * are kept, and their promise succeeds at once. Copies only the rest of a write that ends within a record.
 */
public final class RecordMarkingAdapter extends ChannelDuplexHandler {

    private static final int MARK_BYTES = 4;
    private static final int LAST_FRAGMENT = 0x80000000;

    private final int maxRecordBytes;

    /** Written bytes of an incomplete record. */
    private CompositeByteBuf pending;

    /**
     * An adapter for one channel.
     *
     * @param maxRecordBytes the longest outbound record, from 1; a longer one fails its write
     */
    public RecordMarkingAdapter(int maxRecordBytes) {
        if (maxRecordBytes < 1) {
            throw new IllegalArgumentException(
                    "maxRecordBytes: " + maxRecordBytes + " (expected: from 1)");
        }
        this.maxRecordBytes = maxRecordBytes;
    }

    @Override
    public void channelRead(ChannelHandlerContext ctx, Object message) {
        if (!(message instanceof ByteBuf whole)) {
            ctx.fireChannelRead(message);
            return;
        }
        ByteBuf mark =
                ctx.alloc().buffer(MARK_BYTES).writeInt(LAST_FRAGMENT | whole.readableBytes());
        ctx.fireChannelRead(
                ctx.alloc().compositeBuffer(2).addComponent(true, mark).addComponent(true, whole));
    }

    @Override
    public void write(ChannelHandlerContext ctx, Object message, ChannelPromise promise) {
        if (!(message instanceof ByteBuf bytes)) {
            ctx.write(message, promise);
            return;
        }
        if (pending == null) {
            pending = ctx.alloc().compositeBuffer(Integer.MAX_VALUE);
        }
        pending.addFlattenedComponents(true, bytes);
        try {
            writeRecords(ctx, promise);
        } catch (CorruptedFrameException e) {
            release();
            promise.tryFailure(e);
        }
    }

    private void writeRecords(ChannelHandlerContext ctx, ChannelPromise promise) {
        boolean isUsed = false;
        for (int end = recordEnd(); end >= 0; end = recordEnd()) {
            ByteBuf record = takeRecord(ctx, end);
            boolean isLast = !pending.isReadable() || recordEnd() < 0;
            ctx.write(record, isLast ? promise : ctx.newPromise());
            isUsed |= isLast;
        }
        if (!pending.isReadable()) {
            release();
        } else if (pending.readerIndex() > 0) {
            // The records are views of the collected buffer: the rest goes to a new one.
            ByteBuf rest = ctx.alloc().buffer(pending.readableBytes()).writeBytes(pending);
            release();
            pending = ctx.alloc().compositeBuffer(Integer.MAX_VALUE).addComponent(true, rest);
        }
        if (!isUsed) {
            promise.trySuccess();
        }
    }

    /** The index after the first whole record; -1 when there is none. */
    private int recordEnd() {
        int index = pending.readerIndex();
        long length = 0;
        while (pending.writerIndex() - index >= MARK_BYTES) {
            int mark = pending.getInt(index);
            int fragment = mark & ~LAST_FRAGMENT;
            length += fragment;
            if (length > maxRecordBytes) {
                throw new CorruptedFrameException(
                        "record of "
                                + length
                                + " bytes or more (expected: at most "
                                + maxRecordBytes
                                + ')');
            }
            index += MARK_BYTES;
            if (pending.writerIndex() - index < fragment) {
                return -1;
            }
            index += fragment;
            if ((mark & LAST_FRAGMENT) != 0) {
                return index;
            }
        }
        return -1;
    }

    /** Returns the record without marks, as a view of the written buffers. */
    private ByteBuf takeRecord(ChannelHandlerContext ctx, int end) {
        CompositeByteBuf record = ctx.alloc().compositeBuffer(Integer.MAX_VALUE);
        while (pending.readerIndex() < end) {
            int fragment = pending.readInt() & ~LAST_FRAGMENT;
            for (ByteBuf part : pending.decompose(pending.readerIndex(), fragment)) {
                record.addComponent(true, part.retain());
            }
            pending.skipBytes(fragment);
        }
        return record;
    }

    @Override
    public void handlerRemoved(ChannelHandlerContext ctx) {
        release();
    }

    @Override
    public void channelInactive(ChannelHandlerContext ctx) {
        release();
        ctx.fireChannelInactive();
    }

    private void release() {
        ReferenceCountUtil.release(pending);
        pending = null;
    }
}
