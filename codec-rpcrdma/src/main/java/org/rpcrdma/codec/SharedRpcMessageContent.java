// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.buffer.ByteBuf;
import io.netty.util.AbstractReferenceCounted;

/**
 * Content that all duplicates share of an {@link RpcMessage}: the memory with its reference count, and the chunks that
 * a requester offers.
 */
final class SharedRpcMessageContent extends AbstractReferenceCounted {

    private static final long[] NO_CHUNKS = {};

    private final ByteBuf payload;
    RpcMessageItems items = RpcMessageItems.NONE;
    private RpcMessageResultSinks sinks = RpcMessageResultSinks.NONE;

    int maximumReply = RpcMessage.UNKNOWN;

    /** Number of times that the memory for the reply is doubled. */
    int growth;

    /** The most bytes that a doubling offers for the reply. */
    long growthMaximum = Long.MAX_VALUE;

    /** The bytes of each Write chunk of a received call. */
    long[] resultChunks = NO_CHUNKS;

    long replyChunkLength;

    /**
     * Takes over a payload stream.
     *
     * @param payload released with the last reference
     */
    SharedRpcMessageContent(ByteBuf payload) {
        this.payload = payload;
    }

    /** A copy with another payload; adds one reference to each item and sink. */
    SharedRpcMessageContent with(ByteBuf other) {
        SharedRpcMessageContent copy = new SharedRpcMessageContent(other);
        copy.items = items.retained();
        copy.sinks = sinks.retained();
        copy.maximumReply = maximumReply;
        copy.growth = growth;
        copy.growthMaximum = growthMaximum;
        copy.resultChunks = resultChunks;
        copy.replyChunkLength = replyChunkLength;
        return copy;
    }

    /** Sets the longest payload stream of the reply. */
    void limitReply(int bytes) {
        maximumReply = bytes;
    }

    /** Sets how often the memory for the reply is doubled, and the most bytes that a doubling offers. */
    void grow(int doublings, long maximum) {
        growth = doublings;
        growthMaximum = maximum;
    }

    /** Sets the bytes of each Write chunk and of the Reply chunk of a received call. */
    void offered(long[] writeChunks, long replyChunk) {
        resultChunks = writeChunks;
        replyChunkLength = replyChunk;
    }

    /** The list to add items to. */
    RpcMessageItems ownItems() {
        if (items == RpcMessageItems.NONE) {
            items = new RpcMessageItems();
        }
        return items;
    }

    RpcMessageResultSinks sinks() {
        return sinks;
    }

    /** The list to add sinks to. */
    RpcMessageResultSinks ownSinks() {
        if (sinks == RpcMessageResultSinks.NONE) {
            sinks = new RpcMessageResultSinks();
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
    public SharedRpcMessageContent touch(Object hint) {
        payload.touch(hint);
        return this;
    }
}
