// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.buffer.ByteBuf;
import org.rpcrdma.codec.binding.MalformedXdrException;
import org.rpcrdma.codec.binding.ReplyLimits;
import org.rpcrdma.codec.binding.XdrCursor;

/** What the {@link ChunkReducer} does for messages whose items are apart from the payload already ({@link RpcMessage}). */
final class AnnotatedMessages {

    private AnnotatedMessages() {}

    // ------------------------------------------------------------------ requester

    /** Takes the sinks and the maximum reply of the caller, and what the binding says for the rest. */
    static void planReply(RpcRdmaExchange call, ReplyLimits limits, long headerBytes) {
        RpcMessage message = call.annotated;
        boolean hasSinks = call.isReducible && message.sinks() > 0;
        if (hasSinks) {
            call.clearSinks();
            for (int i = 0; i < message.sinks(); i++) {
                call.addSink(message.sinkLength(i));
            }
            call.replyMaximum = headerBytes + limits.fixedBytes();
            for (int i = 0; i < limits.sinks(); i++) {
                if (i >= message.sinks() || message.sink(i) == null) {
                    call.replyMaximum += (limits.sinkBytes(i) + 3) & ~3L;
                }
            }
        }
        if (message.maximumReply() != RpcMessage.UNKNOWN) {
            call.replyMaximum = message.maximumReply();
            call.isReplyBounded = true;
        }
        if (message.growth() > 0) {
            call.isReplyBounded = true; // by what is tried now
            grow(call, message, hasSinks);
        }
    }

    /** The responder has found the room for the reply too small: nobody knows which part of it, so all of it grows. */
    private static void grow(RpcRdmaExchange call, RpcMessage message, boolean hasSinks) {
        RpcRdmaConfig config = call.connection.config();
        int threshold = call.protocol.receiveThreshold();
        call.replyMaximum =
                Math.min(
                        Math.max(call.replyMaximum, threshold) << message.growth(),
                        config.maxMessageBytes());
        for (int i = 0; i < call.sinkCount() && !hasSinks; i++) {
            long grown = Math.max(call.sinkLength(i), 1L) << message.growth();
            call.sinkLength(i, (int) Math.min(grown, config.maxChunkBytes()));
        }
    }

    /**
     * Puts the items of a call into Read chunks, or into the payload when all of it is short or nothing may be reduced.
     *
     * @return why the call cannot be sent; {@code null} when it can
     */
    static Exception reduceArguments(RpcRdmaExchange call, XdrCursor in) {
        RpcRdmaConnection connection = call.connection;
        RpcMessage message = call.annotated;
        String problem = message.problem();
        if (problem != null) {
            return new IllegalArgumentException(problem);
        }
        long whole = message.wholeLength();
        boolean isShort =
                LongMessageHandler.callHeaderBytes(call) + whole <= call.protocol.sendThreshold();
        if (isShort || !call.isReducible || !connection.callsMayHaveChunks()) {
            if (whole > connection.config().maxMessageBytes()) {
                return new CallTooLongException(
                        "a call of " + whole + " bytes is above maxMessageBytes");
            }
            ByteBuf merged;
            try {
                merged = merge(connection, message);
            } catch (IllegalStateException e) {
                return new MarshalException(e); // the event loop has no more memory to register
            }
            call.releaseMessage();
            call.message = merged;
            return null;
        }
        boolean isComplete = true;
        try {
            call.binding.walkArguments(call.version, call.procedure, in);
        } catch (MalformedXdrException e) {
            isComplete = false;
        } finally {
            in.release();
        }
        for (int i = 0; i < message.items(); i++) {
            Exception wrong = check(message, i, in);
            if (wrong != null) {
                return wrong;
            }
            ByteBuf data = message.item(i);
            if (data.readableBytes() > connection.config().maxChunkBytes()) {
                return new CallTooLongException(
                        "an argument of " + data.readableBytes() + " bytes is above maxChunkBytes");
            }
            if (data.isReadable()) {
                int index = call.message.readerIndex() + (int) message.payloadOffset(i);
                call.items.addApart(message.itemPosition(i), index, i, data);
            }
        }
        return isComplete ? null : incomplete();
    }

    private static Exception incomplete() {
        return new IllegalArgumentException(
                "the payload ends too early (expected: all of the message but the items)");
    }

    /** An item has to be one that the binding knows, with the length that its count word says (RFC 8166, 6.1). */
    private static Exception check(RpcMessage message, int item, XdrCursor in) {
        int found = find(in, message.itemPosition(item));
        if (found < 0) {
            return new EligibilityException(
                    "the item at position "
                            + message.itemPosition(item)
                            + " is not DDP-eligible (expected: one that the upper-layer binding"
                            + " names)");
        }
        int length = message.item(item).readableBytes();
        return in.itemLength(found) == length
                ? null
                : new IllegalArgumentException(
                        "the item at position "
                                + message.itemPosition(item)
                                + " has "
                                + length
                                + " bytes (expected: the "
                                + in.itemLength(found)
                                + " of its count word)");
    }

    private static int find(XdrCursor in, long position) {
        for (int i = 0; i < in.items(); i++) {
            if (in.itemPosition(i) == position) {
                return i;
            }
        }
        return -1;
    }

    /** The reply with the sinks that the caller gave; the payload is taken over. */
    static RpcMessage reply(
            RpcRdmaExchange call, ByteBuf payload, WriteList returned, XdrCursor results) {
        RpcMessage offered = call.annotated;
        RpcMessage reply = new RpcMessage(payload);
        for (int i = 0; i < offered.sinks(); i++) {
            ByteBuf memory = offered.sink(i);
            boolean isPlaced =
                    i < results.items()
                            && i < returned.chunks()
                            && !returned.isEmptyChunk(i)
                            && (results.isItemReduced(i) || results.itemLength(i) == 0);
            int length = isPlaced ? results.itemLength(i) : 0;
            if (memory != null) {
                memory.retain();
                memory.setIndex(memory.readerIndex(), offered.sinkIndex(i) + length);
            }
            reply.addResult(memory, isPlaced ? (int) results.itemPosition(i) : -1, length);
        }
        return reply;
    }

    // ------------------------------------------------------------------ responder

    /** The call that was rebuilt with its items apart; takes the memory over. */
    static RpcMessage call(RpcRdmaExchange call, ByteBuf memory, boolean hasItems) {
        RpcMessage message = new RpcMessage(memory);
        if (hasItems) {
            ReadLayout layout = call.layout;
            for (int i = 0; i < layout.chunks(); i++) {
                message.addItem(
                        layout.position(i),
                        memory.retainedSlice(layout.chunkStart(i), layout.length(i)));
            }
        }
        message.offered(call.header);
        return message;
    }

    /**
     * Compares the items of a reply with the results that the binding has walked.
     *
     * @return what is wrong with the items; {@code null} when nothing is
     */
    static Exception checkResults(RpcMessage message, XdrCursor in, boolean isComplete) {
        for (int i = 0; i < message.items(); i++) {
            Exception wrong = check(message, i, in);
            if (wrong != null) {
                return wrong;
            }
        }
        return isComplete ? null : incomplete();
    }

    /** Whether each item of a reply has a Write chunk. */
    static boolean allHaveChunks(RpcMessage message, WriteList writes, XdrCursor in) {
        for (int i = 0; i < message.items(); i++) {
            int ordinal = find(in, message.itemPosition(i));
            if (ordinal >= writes.chunks() || writes.isEmptyChunk(ordinal)) {
                return false;
            }
        }
        return true;
    }

    /** The memory of the item at that position; {@code null} when it is in the payload. */
    static ByteBuf memory(RpcMessage message, long position) {
        for (int i = 0; i < message.items(); i++) {
            if (message.itemPosition(i) == position) {
                return message.item(i);
            }
        }
        return null;
    }

    /** The whole message in registered memory. */
    static ByteBuf merge(RpcRdmaConnection connection, RpcMessage message) {
        ByteBuf whole = connection.buffer(Math.toIntExact(message.wholeLength()));
        message.writeWhole(whole);
        return whole;
    }
}
