// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import java.util.Objects;
import org.rpcrdma.codec.internal.ArgumentChecks;

/**
 * Options of protocol extensions: reverse direction, version 2, replies in Read chunks, retransmission. Base class of
 * {@link RpcRdmaConfig.Builder}.
 */
abstract class ProtocolExtensionOptions<B extends ProtocolExtensionOptions<B>>
        extends ChunkOptions<B> {

    int reverseCredits;
    boolean reverseChunks;
    VersionTwo versionTwo;
    ReadChunkReplyConfig readChunkReplies;
    boolean announcesReadChunkReplies = true;
    DuplicateRequestCache duplicateRequestCache;
    int lateReplyMillis = 30_000;

    ProtocolExtensionOptions() {}

    /**
     * Room for reverse calls, from the accepting to the connecting side (RFC 8167), 0 to 65535; default 0, for
     * none, and at least 1 with {@link #versionTwo}. The connecting side grants at most so many credits for them,
     * and the accepting side asks for so many: as many receives come on top of those for the forward direction. It
     * is room and nothing else: the upper layer opens the direction, for each connection, by
     * {@link RpcRdmaConnection#acceptReverseCalls} and {@link RpcRdmaConnection#allowReverseCalls}.
     *
     * @param credits 0 to 65535
     * @return this builder
     */
    public B reverseCredits(int credits) {
        reverseCredits = ArgumentChecks.inRange("reverseCredits", credits, 0, 65535);
        return self();
    }

    /**
     * Whether chunks are used in the reverse direction as in the forward one (RFC 8167, 5.3); default
     * {@code false}, which is what other implementations understand: then reverse calls and their replies have to
     * be short, and one that comes with a chunk is answered with ERR_CHUNK. Both sides have to agree.
     *
     * @param enabled {@code true} to use them
     * @return this builder
     */
    public B reverseChunks(boolean enabled) {
        reverseChunks = enabled;
        return self();
    }

    /**
     * Speaks version 2 of the protocol, as its experimental draft -01 has it, with peers that have it, and version
     * 1 with others; default: version 1 alone. The sizes of sends and receives have to be 4096 bytes at least.
     *
     * @param settings the same at both ends, where they name optional operations
     * @return this builder
     */
    public B versionTwo(VersionTwo settings) {
        versionTwo = Objects.requireNonNull(settings, "settings");
        return self();
    }

    /**
     * Sends and takes replies in Read chunks (draft-cel-nfsv4-rpcrdma-reliable-reply-04); default: neither. Nothing
     * on the wire says whether the peer does: switch it on only where both sides are configured for it.
     *
     * @param replies the settings of both roles
     * @return this builder
     */
    public B readChunkReplies(ReadChunkReplyConfig replies) {
        readChunkReplies = Objects.requireNonNull(replies, "replies");
        return self();
    }

    /**
     * Whether the peer is told that replies in Read chunks are spoken here; default {@code true}. Where both sides
     * say so, and {@link #readChunkReplies} is not set, a reply that fits neither inline nor its Reply chunk stays
     * where it is until the requester has read it; {@link RpcRdmaConfig.Builder#maxConnectionBytes} is the bound.
     * Other implementations do not say so. Without this and without a {@link RpcRdmaConfig.Builder#longSize} the
     * private data are the eight octets of RFC 8797.
     *
     * @param announce {@code false} to keep it from the peer
     * @return this builder
     */
    public B announceReadChunkReplies(boolean announce) {
        announcesReadChunkReplies = announce;
        return self();
    }

    /**
     * Answers calls that a client sends again after it has lost its connection from a cache, in the place of
     * executing them twice. Default: none.
     *
     * @param cache may be shared by servers
     * @return this builder
     */
    public B duplicateRequestCache(DuplicateRequestCache cache) {
        duplicateRequestCache = Objects.requireNonNull(cache, "cache");
        return self();
    }

    /**
     * How long a handler may take to answer a call of the duplicate request cache after the connection of the call
     * is lost, in milliseconds; default 30 seconds. Until then a duplicate waits for that answer; after that it is
     * executed. Such an answer has to be written to the channel, not to a handler's context: see
     * {@link RpcRdmaCodec}.
     *
     * @param millis from 0
     * @return this builder
     */
    public B lateReplyMillis(int millis) {
        lateReplyMillis = ArgumentChecks.inRange("lateReplyMillis", millis, 0, Integer.MAX_VALUE);
        return self();
    }
}
