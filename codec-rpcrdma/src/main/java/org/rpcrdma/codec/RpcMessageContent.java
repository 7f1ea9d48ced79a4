// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.buffer.ByteBuf;
import io.netty.util.AbstractReferenceCounted;

/**
 * Shared state of all duplicates of an {@link RpcMessage}: the memory with its reference count, and the chunks that a
 * requester offers.
 */
final class RpcMessageContent extends AbstractReferenceCounted {

    private static final long[] NO_CHUNKS = {};

    private final ByteBuf payload;
    private DdpDataItems items = DdpDataItems.NONE;
    private MessageSinks sinks = MessageSinks.NONE;

    int maximumReply = RpcMessage.UNKNOWN;

    /** How often the room for the reply is doubled. */
    int growth;

    /** No doubling offers more bytes than this for the reply. */
    long growthMaximum = Long.MAX_VALUE;

    /** The bytes of each Write chunk of a received call. */
    long[] resultChunks = NO_CHUNKS;

    long replyChunkLength;

    /**
     * Takes over a payload stream.
     *
     * @param payload released with the last reference
     */
    RpcMessageContent(ByteBuf payload) {
        this.payload = payload;
    }

    /** The same with another payload: one reference of each item and sink is added. */
    RpcMessageContent with(ByteBuf other) {
        RpcMessageContent copy = new RpcMessageContent(other);
        copy.items = items.retained();
        copy.sinks = sinks.retained();
        copy.maximumReply = maximumReply;
        copy.growth = growth;
        copy.growthMaximum = growthMaximum;
        copy.resultChunks = resultChunks;
        copy.replyChunkLength = replyChunkLength;
        return copy;
    }

    DdpDataItems items() {
        return items;
    }

    /** Those that items are added to. */
    DdpDataItems ownItems() {
        if (items == DdpDataItems.NONE) {
            items = new DdpDataItems();
        }
        return items;
    }

    MessageSinks sinks() {
        return sinks;
    }

    /** Those that sinks are added to. */
    MessageSinks ownSinks() {
        if (sinks == MessageSinks.NONE) {
            sinks = new MessageSinks();
        }
        return sinks;
    }

    @Override
    protected void deallocate() {
        payload.release();
        items.release();
        sinks.release();
    }

    @Override
    public RpcMessageContent touch(Object hint) {
        payload.touch(hint);
        return this;
    }
}
