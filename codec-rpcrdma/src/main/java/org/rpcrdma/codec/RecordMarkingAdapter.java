// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.CompositeByteBuf;
import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPromise;
import io.netty.handler.codec.CorruptedFrameException;
import io.netty.util.ReferenceCountUtil;
import java.nio.channels.ClosedChannelException;
import java.util.ArrayDeque;
import org.rpcrdma.codec.internal.MessageJoin;

/**
 * Lets codecs for record marking on TCP (RFC 5531, 11) stay in a pipeline: put it between {@link RpcRdmaCodec} and
 * them. Inbound messages get a record mark of one fragment; outbound bytes are collected until a record is whole, and
 * lose their marks.
 *
 * <p>The promise of a write completes with that of the last record that its bytes end; bytes that complete no record
 * are kept, and their promise succeeds at once. Copies only the rest of a write that ends within a record.
 *
 * <p>A write that fails here, for a record that is too long or for lack of memory, closes the channel: what follows
 * would be taken for the beginning of a record.
 */
public final class RecordMarkingAdapter extends ChannelDuplexHandler {

    private static final int MARK_BYTES = 4;
    private static final int LAST_FRAGMENT = 0x80000000;

    private final int maxRecordBytes;

    /** Written bytes of an incomplete record. */
    private CompositeByteBuf pending;

    /**
     * Whole records to be written, each followed by its promise. A handler may write within the write of a record: it
     * finds here what is in front of its own records, and in {@link #pending} what is not whole.
     */
    private final ArrayDeque<Object> records = new ArrayDeque<>();

    /** Whether a write has failed: nothing is written until the channel is closed. */
    private boolean hasFailed;

    /**
     * An adapter for one channel.
     *
     * @param maxRecordBytes the longest outbound record, from 1; a longer one fails its write and closes the channel
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
        ByteBuf record;
        try {
            ByteBuf mark = ctx.alloc().buffer(MARK_BYTES);
            mark.writeInt(LAST_FRAGMENT | whole.readableBytes());
            record = MessageJoin.join(mark, whole, false);
        } finally {
            whole.release();
        }
        ctx.fireChannelRead(record);
    }

    @Override
    public void write(ChannelHandlerContext ctx, Object message, ChannelPromise promise) {
        if (hasFailed) {
            ReferenceCountUtil.release(message);
            promise.tryFailure(new ClosedChannelException());
            return;
        }
        try {
            if (message instanceof ByteBuf bytes) {
                collect(ctx, bytes);
                takeRecords(ctx, promise);
            } else {
                records.add(message);
                records.add(promise);
            }
            writeRecords(ctx);
        } catch (Throwable t) {
            hasFailed = true;
            ctx.close();
            release();
            failRecords(t);
            throw t;
        }
    }

    /** The bytes are taken over. */
    private void collect(ChannelHandlerContext ctx, ByteBuf bytes) {
        boolean isLeft = true;
        try {
            if (pending == null) {
                pending = ctx.alloc().compositeBuffer(Integer.MAX_VALUE);
            }
            // What Netty cannot add it releases by itself, unless it is composite.
            isLeft = bytes instanceof CompositeByteBuf;
            pending.addFlattenedComponents(true, bytes);
            isLeft = false;
        } finally {
            if (isLeft) {
                bytes.release();
            }
        }
    }

    private void takeRecords(ChannelHandlerContext ctx, ChannelPromise promise) {
        int end = recordEnd();
        if (end < 0) {
            promise.trySuccess();
            return;
        }
        records.add(takeRecord(ctx, end));
        for (end = recordEnd(); end >= 0; end = recordEnd()) {
            records.add(ctx.newPromise());
            records.add(takeRecord(ctx, end));
        }
        keepRest(ctx);
        records.add(promise);
    }

    private void writeRecords(ChannelHandlerContext ctx) {
        while (!records.isEmpty()) {
            ctx.write(records.remove(), (ChannelPromise) records.remove());
        }
    }

    private void failRecords(Throwable cause) {
        for (Object left = records.poll(); left != null; left = records.poll()) {
            ReferenceCountUtil.release(left);
            if (left instanceof ChannelPromise promise) {
                promise.tryFailure(cause);
            }
        }
    }

    /** The records are views of the collected buffer: the rest goes to a new one. */
    private void keepRest(ChannelHandlerContext ctx) {
        if (!pending.isReadable()) {
            release();
            return;
        }
        ByteBuf rest = ctx.alloc().buffer(pending.readableBytes());
        try {
            rest.writeBytes(pending);
            release();
            pending = ctx.alloc().compositeBuffer(Integer.MAX_VALUE);
        } catch (Throwable t) {
            rest.release();
            throw t;
        }
        pending.addComponent(true, rest);
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
        try {
            while (pending.readerIndex() < end) {
                int fragment = pending.readInt() & ~LAST_FRAGMENT;
                for (ByteBuf part : pending.decompose(pending.readerIndex(), fragment)) {
                    record.addComponent(true, part.retain());
                }
                pending.skipBytes(fragment);
            }
            return record;
        } catch (Throwable t) {
            record.release();
            throw t;
        }
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
