// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.buffer.ByteBuf;
import io.netty.util.ByteProcessor;
import io.netty.util.ReferenceCountUtil;
import org.rpcrdma.codec.wire.ReadLayout;
import org.rpcrdma.codec.wire.RpcCallHeader;

/**
 * Received part of an inbound call: an RPC message, inline or in Read chunks, or an optional operation. Others read the
 * fields; only this class writes them.
 */
final class InboundCallMessage {

    /** When it was received; 0 when nobody measures. */
    long startNanos;

    /** Payload stream came in a Position Zero Read chunk (RDMA_NOMSG). */
    boolean isLong;

    /** Read of its Read chunks, as long as their memory counts; {@code null} without any. Owned. */
    InboundReadListPull pull;

    /** First what came inline, then the whole message; {@code null} once a handler has it. Owned. */
    ByteBuf message;

    /** Optional operation in the place of an RPC message; {@code null} without one. Owned. */
    RpcRdmaOption option;

    /** Unknown until the call is delivered, and unless results may be reduced. */
    final Procedure procedure = new Procedure();

    /** What its binding calls it; {@code null} when it does not, or nobody measures. */
    String procedureName;

    /** Begins with a message whose header is validated. */
    void begin(long received, boolean isNomsg, InboundReadListPull chunks) {
        startNanos = received;
        isLong = isNomsg;
        pull = chunks;
    }

    /** Takes over the payload that came inline. */
    void takeInline(ByteBuf payload) {
        message = payload;
    }

    /** Takes over the message that was pulled: it is contiguous now. */
    void takePulled() {
        release();
        message = pull.take();
    }

    void takeOption(RpcRdmaOption operation) {
        option = operation;
    }

    /** Whether its Read chunks have to be pulled before the message is complete. */
    boolean isIncomplete() {
        return pull != null && !pull.isDone();
    }

    /** Whether arguments came in Read chunks of their own. */
    boolean hasItems() {
        return pull != null && pull.layout().chunks() > 0;
    }

    /** Whether the items that were pulled are behind the payload stream, and not in their places in it. */
    private boolean isApart() {
        return hasItems() && pull.layout().isApart();
    }

    /** Whether the complete message is the call that the header has announced. */
    boolean isCall(int xid) {
        return message.getInt(message.readerIndex()) == xid
                && RpcCallHeader.isOfType(message, RpcCallHeader.CALL);
    }

    /** The bytes of the whole call, as long as it has its message. */
    int wholeLength() {
        return isApart() ? pull.layout().total() : message.readableBytes();
    }

    /** Shows the first bytes of the whole call, wherever its items are; it has its message. */
    void forEachByte(int length, ByteProcessor processor) {
        if (!isApart()) {
            message.forEachByte(message.readerIndex(), length, processor);
            return;
        }
        ReadLayout layout = pull.layout();
        int left = length;
        for (int piece = 0; piece < layout.pieces(); piece++) {
            int bytes = Math.min(left, layout.pieceLength(piece));
            message.forEachByte(layout.pieceStart(piece), bytes, processor);
            left -= bytes;
            if (piece < layout.chunks()) {
                bytes = Math.min(left, layout.length(piece) + layout.pad(piece));
                message.forEachByte(layout.chunkStart(piece), bytes, processor);
                left -= bytes;
            }
        }
    }

    void name(String name) {
        procedureName = name;
    }

    /** Hands the message over. */
    ByteBuf handOver() {
        ByteBuf taken = message;
        message = null;
        return taken;
    }

    /** Releases the message, if it is still here. */
    void release() {
        ReferenceCountUtil.release(message);
        message = null;
    }

    /** Releases all that was received. */
    void reset() {
        startNanos = 0;
        isLong = false;
        if (pull != null) {
            pull.free();
            pull = null;
        }
        if (message != null) {
            release();
        }
        if (option != null) {
            option.release();
            option = null;
        }
        procedure.clear();
        procedureName = null;
    }
}
