// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import org.rpcrdma.codec.binding.UpperLayerBinding;
import org.rpcrdma.codec.internal.ArgumentChecks;

/**
 * Limits of chunks, segments and messages, in both directions. Base class of {@link RpcRdmaConfig.Builder}.
 */
abstract class ChunkOptions<B extends ChunkOptions<B>> extends FlowOptions<B> {

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

    ChunkOptions() {}

    /**
     * The most segments taken in one chunk of a peer, from 1; default 256.
     *
     * @param segments 1 to 16384
     * @return this builder
     */
    public B maxSegmentsPerChunk(int segments) {
        maxSegmentsPerChunk = ArgumentChecks.inRange("maxSegmentsPerChunk", segments, 1, 16384);
        return self();
    }

    /**
     * The most segments taken in one message of a peer, from 1; default 512.
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
     * The memory for long messages, per connection; default 128 MiB: the most bytes pulled by RDMA Read and not
     * answered yet, the most bytes of replies that wait to be pulled, the most that calls offer for their replies
     * in memory of this library, and the most that all calls of an {@link org.rpcrdma.codec.client.RpcRdmaClient}
     * offer that it has repeated
     * after ERR_CHUNK. What finds no room waits, calls of the peer within their credits as own calls and replies.
     * A single message is bounded too, up to 512 MiB: a longer one is refused.
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
     * What a call offers as a Reply chunk when its binding has no bound for its results, and for programs without a
     * binding; default 64 KiB. A longer reply is read by the requester where both sides have announced that
     * ({@link RpcRdmaConfig.Builder#announceReadChunkReplies}), as two ends of this project do; elsewhere it fails with
     * {@link RemoteChunkException}. Without meaning for a requester of {@link RpcRdmaConfig.Builder#readChunkReplies}
     * that offers no Reply chunk for them.
     *
     * @param bytes 0 to 2^29
     * @return this builder
     */
    public B defaultMaximumReply(int bytes) {
        defaultMaximumReply = ArgumentChecks.inRange("defaultMaximumReply", bytes, 0, 1 << 29);
        return self();
    }

    /**
     * A connection ends when so many calls in a row were answered with ERR_CHUNK, and none with a reply between
     * them (RFC 8166, 8.1.4); the last one is answered too. 0 for never; default 1024: a requester that offers more
     * room for each of its calls, several times, stays below.
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
     * Eligible items beyond that stay in the payload stream. What is unset is said by
     * {@link UpperLayerBinding#chunksPerCall}: one of each for NFSv4, whose servers have limits that nothing tells
     * a client of (RFC 8267, 6.4.2), any number for other programs. Sinks that the user has put into an
     * {@link RpcMessage} are not counted.
     *
     * @param chunks from 1
     * @return this builder
     */
    public B chunksPerCall(int chunks) {
        chunksPerCall = ArgumentChecks.inRange("chunksPerCall", chunks, 1, Integer.MAX_VALUE);
        return self();
    }

    /**
     * Whether the memory that a call offers for its results is filled with zeros before; default {@code false}. A
     * responder that says it has written a result and has not leaves what was in the memory, which may be from
     * another responder of this process. That matters where results are passed on to somebody who may not see those
     * of others. Sinks that the user has put into an {@link RpcMessage} are left as they are.
     *
     * @param clear {@code true} to fill it
     * @return this builder
     */
    public B clearSinks(boolean clear) {
        clearsSinks = clear;
        return self();
    }
}
