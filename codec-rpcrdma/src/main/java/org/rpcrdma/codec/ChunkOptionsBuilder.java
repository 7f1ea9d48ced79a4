// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import java.util.List;
import org.rpcrdma.codec.binding.UpperLayerBinding;
import org.rpcrdma.codec.internal.ArgumentChecks;

/**
 * Limits of chunks, segments and messages, in both directions. Base class of {@link RpcRdmaConfig.Builder}.
 */
abstract class ChunkOptionsBuilder<B extends ChunkOptionsBuilder<B>>
        extends CreditAndInlineThresholdOptionsBuilder<B> {

    /** The longest message of any configuration. */
    static final int MAX_MESSAGE = 1 << 29;

    int maxSegmentsPerChunk = 256;
    int maxSegmentsPerMessage = 512;
    int maxChunkBytes;
    int maxMessageBytes;
    long maxConnectionBytes = 128L << 20;
    int defaultMaximumReply = 64 << 10;
    int maxChunkErrors = 1024;
    int chunksPerCall;
    boolean clearsSinks;

    ChunkOptionsBuilder() {}

    @Override
    List<Object> values() {
        List<Object> values = super.values();
        values.add(maxSegmentsPerChunk);
        values.add(maxSegmentsPerMessage);
        values.add(maxChunkBytes);
        values.add(maxMessageBytes);
        values.add(maxConnectionBytes);
        values.add(defaultMaximumReply);
        values.add(maxChunkErrors);
        values.add(chunksPerCall);
        values.add(clearsSinks);
        return values;
    }

    /**
     * The most segments accepted in one chunk of a peer, from 1; default 256.
     *
     * @param segments 1 to 16384
     * @return this builder
     */
    public B maxSegmentsPerChunk(int segments) {
        maxSegmentsPerChunk = ArgumentChecks.inRange("maxSegmentsPerChunk", segments, 1, 16384);
        return self();
    }

    /**
     * The most segments accepted in one message of a peer, from 1; default 512.
     *
     * @param segments 1 to 16384
     * @return this builder
     */
    public B maxSegmentsPerMessage(int segments) {
        maxSegmentsPerMessage = ArgumentChecks.inRange("maxSegmentsPerMessage", segments, 1, 16384);
        return self();
    }

    /**
     * The most bytes of one Read chunk that are pulled, and of one chunk that is offered; default as {@link
     * #maxConnectionBytes}.
     *
     * @param bytes 1024 to 2^29
     * @return this builder
     */
    public B maxChunkBytes(int bytes) {
        maxChunkBytes = ArgumentChecks.inRange("maxChunkBytes", bytes, 1024, MAX_MESSAGE);
        return self();
    }

    /**
     * The most bytes of one RPC message; default as {@link #maxConnectionBytes}.
     *
     * @param bytes 1024 to 2^29
     * @return this builder
     */
    public B maxMessageBytes(int bytes) {
        maxMessageBytes = ArgumentChecks.inRange("maxMessageBytes", bytes, 1024, MAX_MESSAGE);
        return self();
    }

    /**
     * The memory for long messages, per connection; default 128 MiB: it bounds, each on its own, the bytes of calls
     * pulled by RDMA Read and not yet answered, the bytes of replies pulled and not yet delivered, the bytes of replies
     * that wait to be pulled, the library's own memory that calls offer for their replies, and the memory that the
     * repeated calls of an {@link org.rpcrdma.codec.client.RpcRdmaClient} offer after ERR_CHUNK. A message that exceeds
     * the remaining memory waits: inbound calls within their credits, outbound calls and replies alike. A single
     * message above the limit, or above 512 MiB, is refused.
     *
     * @param bytes 1024 or more
     * @return this builder
     */
    public B maxConnectionBytes(long bytes) {
        if (bytes < 1024) {
            throw new IllegalArgumentException(
                    "maxConnectionBytes: " + bytes + " (expected: from 1024)");
        }
        maxConnectionBytes = bytes;
        return self();
    }

    /**
     * The bytes of the Reply chunk of a call whose results have no bound in its binding, or whose program has no
     * binding; default 64 KiB. The requester pulls a longer reply where both sides have announced that ({@link
     * RpcRdmaConfig.Builder#announceReadChunkReplies}), as two ends of this project do, and speak version 1; elsewhere,
     * such as in version 2 without {@link ReadChunkReplyConfig#withOptionType}, it fails with {@link
     * ErrChunkReplyException}. Has no effect on a requester whose {@link RpcRdmaConfig.Builder#readChunkReplies}
     * settings offer no Reply chunk for such calls.
     *
     * @param bytes 0 to 2^29
     * @return this builder
     */
    public B defaultMaximumReply(int bytes) {
        defaultMaximumReply = ArgumentChecks.inRange("defaultMaximumReply", bytes, 0, 1 << 29);
        return self();
    }

    /**
     * The responder closes the connection after answering this many consecutive calls with ERR_CHUNK (RFC 8166, 8.1.4).
     * 0 for never; default 1024, which a requester does not reach by repeating each of its calls several times with
     * more room.
     *
     * @param calls from 0
     * @return this builder
     */
    public B maxChunkErrors(int calls) {
        maxChunkErrors = ArgumentChecks.inRange("maxChunkErrors", calls, 0, Integer.MAX_VALUE);
        return self();
    }

    /**
     * The most Write chunks, and the most Read chunks beside one at position zero, that a call has; from 1.
     * Eligible items beyond that stay in the payload stream. If unset, {@link UpperLayerBinding#chunksPerCall} decides:
     * one of each for NFSv4, because a client cannot learn the limits of a server (RFC 8267, 6.4.2), any number for
     * other programs. Sinks that the user has put into an {@link RpcMessage} are not counted.
     *
     * @param chunks from 1
     * @return this builder
     */
    public B chunksPerCall(int chunks) {
        chunksPerCall = ArgumentChecks.inRange("chunksPerCall", chunks, 1, Integer.MAX_VALUE);
        return self();
    }

    /**
     * Whether the library zeroes the memory that a call offers for its results; default {@code false}. A responder that
     * claims to have written a result but has not leaves the old content of the memory, which may come from another
     * responder of this process. Set this where results are forwarded to a party that must not see those of others.
     * Sinks that the user has added to an {@link RpcMessage} are not zeroed.
     *
     * @param clear {@code true} to fill it
     * @return this builder
     */
    public B clearSinks(boolean clear) {
        clearsSinks = clear;
        return self();
    }
}
