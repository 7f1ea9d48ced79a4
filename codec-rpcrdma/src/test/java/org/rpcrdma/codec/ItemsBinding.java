// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.util.ReferenceCounted;
import org.rpcrdma.codec.binding.MalformedMessageException;
import org.rpcrdma.codec.binding.ReplyLimits;
import org.rpcrdma.codec.binding.UpperLayerBinding;
import org.rpcrdma.codec.binding.XdrCursor;
import org.rpcrdma.codec.fault.UserMemory;

/**
 * A program for tests: arguments and results are a count, so many eligible items, then a tail that is not eligible. The
 * low bits of the procedure are the results that are expected; {@link #LONG_TAIL} is a tail that needs a Reply chunk.
 */
final class ItemsBinding implements UpperLayerBinding {

    static final int PROGRAM = 0x30000002;
    static final int LONG_TAIL = 4;
    static final int SINK = 8192;

    private static final int RPC_CALL_BYTES = 40;
    private static final int RPC_REPLY_BYTES = 24;
    private static final int TAIL = 6000;

    @Override
    public int program() {
        return PROGRAM;
    }

    @Override
    public boolean covers(int version) {
        return version == 1;
    }

    @Override
    public boolean isIdempotent(int version, int procedure, XdrCursor arguments) {
        return true;
    }

    @Override
    public void walkArguments(int version, int procedure, XdrCursor in)
            throws MalformedMessageException {
        for (long left = in.uint32(); left > 0; left--) {
            in.eligibleOpaque(1 << 20);
        }
        in.opaque(1 << 20);
    }

    @Override
    public void walkResults(int version, int procedure, XdrCursor in)
            throws MalformedMessageException {
        walkArguments(version, procedure, in);
    }

    @Override
    public void limitResults(int version, int procedure, XdrCursor arguments, ReplyLimits limits) {
        limits.results((procedure & LONG_TAIL) == 0 ? 100 : TAIL + 100);
        for (int i = procedure & (LONG_TAIL - 1); i > 0; i--) {
            limits.sink(SINK);
        }
    }

    private static ByteBuf body(ByteBuf header, int tail, int... lengths) {
        header.writeInt(lengths.length);
        for (int length : lengths) {
            Rpc.opaque(header, Rpc.random(length));
        }
        return Rpc.opaque(header, Rpc.random(tail));
    }

    private static int tail(int procedure) {
        return (procedure & LONG_TAIL) == 0 ? 8 : TAIL;
    }

    static ByteBuf call(int xid, int procedure, int tail, int... lengths) {
        return body(Rpc.call(xid, PROGRAM, 1, procedure), tail, lengths);
    }

    static ByteBuf reply(int xid, int procedure, int... lengths) {
        return body(Rpc.reply(xid), tail(procedure), lengths);
    }

    /** As {@link #call} with the items in memory of their own, and as many sinks as results are expected. */
    static RpcMessage callApart(int xid, int procedure, int tail, int... lengths) {
        RpcMessage call =
                apart(Rpc.call(xid, PROGRAM, 1, procedure), RPC_CALL_BYTES, tail, lengths);
        for (int i = procedure & (LONG_TAIL - 1); i > 0; i--) {
            call.addSink(new UserMemory(SINK));
        }
        return call;
    }

    static RpcMessage replyApart(int xid, int procedure, int... lengths) {
        return apart(Rpc.reply(xid), RPC_REPLY_BYTES, tail(procedure), lengths);
    }

    private static RpcMessage apart(ByteBuf header, int headerBytes, int tail, int... lengths) {
        header.writeInt(lengths.length);
        for (int length : lengths) {
            header.writeInt(length);
        }
        Rpc.opaque(header, Rpc.random(tail));
        ByteBuf payload = Unpooled.directBuffer(header.readableBytes()).writeBytes(header);
        header.release();
        RpcMessage message = new RpcMessage(payload);
        int position = headerBytes + 4;
        for (int length : lengths) {
            position += 4;
            message.addItem(position, new UserMemory(Rpc.random(length)));
            position += (length + 3) & ~3;
        }
        return message;
    }

    /** A message with everything in its place. */
    static ByteBuf whole(ReferenceCounted message) {
        if (!(message instanceof RpcMessage apart)) {
            return ((ByteBuf) message).retainedSlice();
        }
        ByteBuf whole = Unpooled.buffer();
        ByteBuf payload = apart.content().duplicate();
        for (int i = 0; i < apart.sinks(); i++) {
            if (apart.sinkPosition(i) >= 0) {
                int length = apart.sinkLength(i);
                ByteBuf sink = apart.sink(i);
                payload.readBytes(whole, apart.sinkPosition(i) - whole.readableBytes());
                whole.writeBytes(sink, sink.writerIndex() - length, length);
                whole.writeZero(-length & 3);
            }
        }
        return whole.writeBytes(payload);
    }
}
