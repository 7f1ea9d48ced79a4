// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufHolder;
import io.netty.buffer.Unpooled;
import io.netty.util.IllegalReferenceCountException;
import io.netty.util.internal.StringUtil;
import java.util.Objects;
import org.rpcrdma.channel.internal.DeviceMemory;
import org.rpcrdma.codec.binding.ItemInChunkPredicate;
import org.rpcrdma.codec.wire.OncRpcHeaderDecoder;
import org.rpcrdma.codec.wire.TransportHeader;

/**
 * An RPC message whose DDP-eligible XDR data items, such as the data of an NFS WRITE, have separate memory (RFC 8166,
 * 3.4), so that they are not copied between user and device. Written and read in the place of a plain {@link ByteBuf}.
 * An <i>item</i> is data that the user sends; a <i>sink</i> is memory of the user that receives one result.
 *
 * <p>{@link #content()} is the reduced payload stream, XID first: the whole message without the items and without their
 * round-up; their count words stay in it (3.4.4).
 *
 * <ul>
 *   <li>A <b>call</b> is written with its arguments as {@linkplain #addItem items}, with {@linkplain #addSink sinks}
 *       for the eligible results in their order, and with a {@linkplain #maximumReply(int) maximum reply}. Items and
 *       payload that fit one Send go inline; otherwise the memory of the items itself is exposed. Sinks are always
 *       offered, and the responder writes into them directly. Under RPCSEC_GSS with integrity or privacy nothing is
 *       reduced: items go with the payload, and results come in it (8.2.2).
 *   <li>Its <b>reply</b> is read as an {@code RpcMessage} with the same sinks: {@link #sinkLength} bytes were added to
 * each, {@link #sinkPosition} says where they belong, and so which result they are. The content of a sink after them is
 * undefined (4.3.2.2). The reply to a call without sinks is a whole message.
 * <li>A <b>received call</b> is read as an {@code RpcMessage} with {@link RpcRdmaConfig.Builder#annotatedCalls}: the
 *     items are the arguments from Read chunks, and {@link #resultChunks} gives the number of Write chunks.
 *   <li>A <b>reply</b> is written with eligible results as items. Those that have no Write chunk go with the payload.
 * </ul>
 *
 * <p><b>Reference counting.</b> The message has a count of its own, 1 when new. It owns one reference to the payload
 * and to each item and sink, and releases them when its count reaches 0. Writing the message transfers one reference to
 * the transport, which holds it until the memory is no longer exposed to the peer. Retain a sink to keep it beyond the
 * reply. Until the reply arrives or the references are released, do not access items and sinks.
 *
 * <p><b>Handles.</b> Each item and each sink needs its own handle; a handle stands for one memory range with one access
 * right. The responder's Send With Invalidate invalidates the handle of a call that has only one; with several, the
 * requester invalidates each. Verbs cannot register scattered pieces as one region, and one range around all pieces
 * would expose the memory between them (RFC 8166, 8.1.2).
 *
 * <p>Not thread-safe: one thread fills the message, then hands it over.
 */
public final class RpcMessage implements ByteBufHolder {

    /** No maximum reply was given: the upper-layer binding decides. */
    public static final int UNKNOWN = -1;

    /** Represents the parts of a plain message; never visible to users. */
    static final RpcMessage PLAIN = new RpcMessage(Unpooled.EMPTY_BUFFER);

    private final ByteBuf payload;
    private final SharedRpcMessageContent parts;

    /**
     * Takes over a payload stream.
     *
     * @param payload reduced, XID first
     */
    public RpcMessage(ByteBuf payload) {
        this(payload, new SharedRpcMessageContent(Objects.requireNonNull(payload, "payload")));
    }

    private RpcMessage(ByteBuf payload, SharedRpcMessageContent parts) {
        this.payload = payload;
        this.parts = parts;
    }

    // ------------------------------------------------------------------ items

    /**
     * Adds an item and takes over its memory. Add items in ascending order of position.
     *
     * @param position of its first byte in the whole message, a multiple of 4 (RFC 8166, 3.4.5)
     * @param data its readable bytes, without round-up; exposed as it is when direct and in one piece, otherwise a copy
     * @return this message
     */
    public RpcMessage addItem(int position, ByteBuf data) {
        if ((position & 3) != 0 || position < OncRpcHeaderDecoder.MINIMUM_REPLY_BYTES) {
            throw new IllegalArgumentException(
                    "position: " + position + " (expected: a multiple of 4, after the RPC header)");
        }
        Objects.requireNonNull(data, "data");
        parts.ownItems().add(position, data);
        return this;
    }

    /** {@return the number of items} */
    public int items() {
        return parts.items.count();
    }

    /**
     * {@return the position of an item in the whole message}
     *
     * @param item its number, from 0 to {@link #items()} - 1
     */
    public int itemPosition(int item) {
        return parts.items.position(check(item, items()));
    }

    /**
     * {@return the memory of an item; borrowed}
     *
     * @param item its number, from 0 to {@link #items()} - 1
     */
    public ByteBuf item(int item) {
        return parts.items.data(check(item, items()));
    }

    // ------------------------------------------------------------------ sinks

    /**
     * Adds memory for the next eligible result and takes over the memory. Its writable bytes are offered, and must
     * suffice for the longest result, without round-up; with several sinks, also for all later results, because a
     * responder may leave the sink of an empty result to the next result. {@link #sinkPosition} tells which result is
     * in the sink. Memory without writable bytes acts as {@link #addInlineSink}.
     *
     * @param memory direct and in one piece
     * @return this message
     */
    public RpcMessage addSink(ByteBuf memory) {
        if (!DeviceMemory.isWritable(memory)) {
            throw new IllegalArgumentException(
                    "sink: " + memory + " (expected: direct, in one piece and writable)");
        }
        parts.ownSinks().offer(memory);
        return this;
    }

    /**
     * Lets the next eligible result come with the payload: its Write chunk is empty (RFC 8166, 4.3.2.3).
     *
     * @return this message
     */
    public RpcMessage addInlineSink() {
        parts.ownSinks().offer(null);
        return this;
    }

    /** {@return the number of sinks, inline ones among them} */
    public int sinks() {
        return parts.sinks().count();
    }

    /**
     * {@return the memory of a sink, borrowed; {@code null} for an inline one}
     *
     * @param sink its number, from 0 to {@link #sinks()} - 1
     */
    public ByteBuf sink(int sink) {
        return parts.sinks().memory(check(sink, sinks()));
    }

    /**
     * In a reply: position of the result in this sink.
     *
     * @param sink its number, from 0 to {@link #sinks()} - 1
     * @return the position in the whole message; -1 when the sink was not used
     */
    public int sinkPosition(int sink) {
        return parts.sinks().position(check(sink, sinks()));
    }

    /**
     * In a call: bytes offered. In a reply: bytes of the result.
     *
     * @param sink its number, from 0 to {@link #sinks()} - 1
     * @return bytes, without round-up
     */
    public int sinkLength(int sink) {
        return parts.sinks().length(check(sink, sinks()));
    }

    /** First index of the offered memory. */
    int sinkIndex(int sink) {
        return parts.sinks().index(check(sink, sinks()));
    }

    // ------------------------------------------------------------------ limits

    /**
     * Sets the longest payload stream of the reply in bytes, with RPC header and verifier, without the results in
     * sinks. If unset, the upper-layer binding or the configured default decides.
     *
     * @param bytes from 0
     * @return this message
     */
    public RpcMessage maximumReply(int bytes) {
        if (bytes < OncRpcHeaderDecoder.REPLY_HEADER_BYTES) {
            throw new IllegalArgumentException(
                    "maximumReply: "
                            + bytes
                            + " (expected: at least "
                            + OncRpcHeaderDecoder.REPLY_HEADER_BYTES
                            + ')');
        }
        parts.limitReply(bytes);
        return this;
    }

    /** {@return the longest payload stream of the reply, or {@link #UNKNOWN}} */
    public int maximumReply() {
        return parts.maximumReply;
    }

    /**
     * Sets the number of times that the memory for the reply is doubled, after the responder found it too small.
     *
     * @param maximum the most bytes to offer
     */
    RpcMessage growth(int doublings, long maximum) {
        parts.grow(doublings, maximum);
        return this;
    }

    int growth() {
        return parts.growth;
    }

    long growthMaximum() {
        return parts.growthMaximum;
    }

    // ------------------------------------------------------------------ what a requester offers

    /** {@return the number of Write chunks of a received call, empty ones among them} */
    public int resultChunks() {
        return parts.resultChunks.length;
    }

    /**
     * {@return the bytes of a Write chunk of a received call; 0 when the result has to come with the payload}
     *
     * @param chunk its number, from 0 to {@link #resultChunks()} - 1
     */
    public long resultChunkLength(int chunk) {
        return parts.resultChunks[check(chunk, parts.resultChunks.length)];
    }

    /** {@return the bytes of the Reply chunk of a received call; 0 when there is none and the reply has to be short} */
    public long replyChunkLength() {
        return parts.replyChunkLength;
    }

    void offered(TransportHeader header) {
        long[] lengths = new long[header.writes().chunks()];
        for (int i = 0; i < lengths.length; i++) {
            lengths[i] = header.writes().chunkLength(i);
        }
        parts.offered(lengths, header.reply().chunkLength());
    }

    /** In a reply to be read: the result that came into this sink. */
    void addResult(ByteBuf memory, int position, int length) {
        parts.ownSinks().addResult(memory, position, length);
    }

    // ------------------------------------------------------------------ whole

    /** The payload of a message that a user writes or reads; {@code null} for other objects. */
    static ByteBuf payloadOf(Object message) {
        return message instanceof RpcMessage annotated
                ? annotated.content()
                : message instanceof ByteBuf buffer ? buffer : null;
    }

    /** The items and sinks of a message; empty if the message is plain. */
    static RpcMessage partsOf(Object message) {
        return message instanceof RpcMessage annotated ? annotated : PLAIN;
    }

    /** The memory of the item at that position; {@code null} when it is in the payload. */
    ByteBuf itemAt(long position) {
        return parts.items.at(position);
    }

    /** The items that are not part of the payload. */
    ItemInChunkPredicate reduction() {
        return parts.items;
    }

    /** Length of the whole message; may exceed {@code Integer.MAX_VALUE}. */
    long wholeLength() {
        return payload.readableBytes() + parts.items.bytes();
    }

    /** As {@link RpcMessageItems#payloadOffset}. */
    long payloadOffset(int item) {
        return parts.items.payloadOffset(item);
    }

    /** Error in the positions; {@code null} if they are valid. */
    String problem() {
        return parts.items.problem(payload);
    }

    /** Appends the whole message: payload and items merged, with round-up. */
    void writeWhole(ByteBuf out) {
        parts.items.writeWhole(payload, out);
    }

    /** The whole message without a copy, as long as none of its memory changes; the caller releases it. */
    ByteBuf view() {
        return parts.items.view(payload);
    }

    private static int check(int index, int count) {
        if (index < 0 || index >= count) {
            throw new IndexOutOfBoundsException(index + " (expected: 0 to " + (count - 1) + ')');
        }
        return index;
    }

    // ------------------------------------------------------------------ holder

    @Override
    public ByteBuf content() {
        if (refCnt() <= 0) {
            throw new IllegalReferenceCountException(refCnt());
        }
        return payload;
    }

    /** The payload is copied; items and sinks are shared, and one reference of each is added. */
    @Override
    public RpcMessage copy() {
        return replace(content().copy());
    }

    /** The same message with independent indexes; adds no reference. */
    @Override
    public RpcMessage duplicate() {
        return new RpcMessage(content().duplicate(), parts);
    }

    @Override
    public RpcMessage retainedDuplicate() {
        return duplicate().retain();
    }

    /** A message with another payload; items and sinks are shared, and one reference of each is added. */
    @Override
    public RpcMessage replace(ByteBuf content) {
        return new RpcMessage(content, parts.with(content));
    }

    @Override
    public int refCnt() {
        return parts.refCnt();
    }

    @Override
    public RpcMessage retain() {
        parts.retain();
        return this;
    }

    @Override
    public RpcMessage retain(int increment) {
        parts.retain(increment);
        return this;
    }

    @Override
    public RpcMessage touch() {
        parts.touch(null);
        return this;
    }

    @Override
    public RpcMessage touch(Object hint) {
        parts.touch(hint);
        return this;
    }

    @Override
    public boolean release() {
        return parts.release();
    }

    @Override
    public boolean release(int decrement) {
        return parts.release(decrement);
    }

    @Override
    public String toString() {
        return StringUtil.simpleClassName(this)
                + "(payload: "
                + payload
                + ", items: "
                + items()
                + ", sinks: "
                + sinks()
                + ')';
    }
}
