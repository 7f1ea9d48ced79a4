// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.buffer.ByteBuf;
import io.netty.util.ByteProcessor;
import io.netty.util.ReferenceCountUtil;
import org.rpcrdma.codec.wire.OncRpcHeaderDecoder;
import org.rpcrdma.codec.wire.ReassembledPayloadStreamLayout;

/**
 * Received part of an inbound call: an RPC message, inline or in Read chunks, or an optional operation. Other classes
 * read the fields; only this class writes them.
 */
final class InboundCallPayload {

    /** Time of receipt; 0 without listeners. */
    long startNanos;

    /** Payload stream came in a Position Zero Read chunk (RDMA_NOMSG). */
    boolean isLong;

    /** Pull of the Read chunks, until its memory is no longer counted; {@code null} without Read chunks. Owned. */
    CallOrReplyReadListPull pull;

    /** First the inline part, then the whole message; {@code null} once delivered to a handler. Owned. */
    ByteBuf message;

    /** Optional operation in the place of an RPC message; {@code null} without one. Owned. */
    OptionalOperationMessage option;

    /** Unknown until the call is delivered, and unless results may be reduced. */
    final UpperLayerBindingInvoker procedure = new UpperLayerBindingInvoker();

    /** Name of the procedure in its binding; {@code null} if unknown, or without listeners. */
    String procedureName;

    /** Begins with a message whose header is validated. */
    void begin(long received, boolean isNomsg, CallOrReplyReadListPull chunks) {
        startNanos = received;
        isLong = isNomsg;
        pull = chunks;
    }

    /** Takes over the inline payload. */
    void takeInline(ByteBuf payload) {
        message = payload;
    }

    /** Takes over the pulled message, which is contiguous. */
    void takePulled() {
        release();
        message = pull.take();
    }

    void takeOption(OptionalOperationMessage operation) {
        option = operation;
    }

    /** Whether Read chunks are yet to be pulled. */
    boolean isIncomplete() {
        return pull != null && !pull.isDone();
    }

    /** Whether arguments came in Read chunks of their own. */
    boolean hasItems() {
        return pull != null && pull.layout().chunks() > 0;
    }

    /** Whether the pulled items lie after the payload stream, and not at their positions in it. */
    private boolean isApart() {
        return hasItems() && pull.layout().isApart();
    }

    /** Whether the complete message is the call that the header has announced. */
    boolean isCall(int xid) {
        return message.getInt(message.readerIndex()) == xid
                && OncRpcHeaderDecoder.isOfType(message, OncRpcHeaderDecoder.CALL);
    }

    /** Length of the whole call. The message must not be delivered yet. */
    int wholeLength() {
        return isApart() ? pull.layout().total() : message.readableBytes();
    }

    /** Processes the first bytes of the whole call, wherever its items lie. The message must not be delivered yet. */
    void forEachByte(int length, ByteProcessor processor) {
        if (!isApart()) {
            message.forEachByte(message.readerIndex(), length, processor);
            return;
        }
        ReassembledPayloadStreamLayout layout = pull.layout();
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
