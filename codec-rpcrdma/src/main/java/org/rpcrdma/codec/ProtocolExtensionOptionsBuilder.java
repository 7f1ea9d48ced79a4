// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import java.util.List;
import java.util.Objects;
import org.rpcrdma.codec.internal.ArgumentChecks;

/**
 * Options of protocol extensions: reverse direction, version 2, replies in Read chunks, retransmission. Base class of
 * {@link RpcRdmaConfig.Builder}.
 */
abstract class ProtocolExtensionOptionsBuilder<B extends ProtocolExtensionOptionsBuilder<B>>
        extends ChunkOptionsBuilder<B> {

    int reverseCredits;
    boolean reverseChunks;
    VersionTwoConfig versionTwo;
    ReadChunkReplyConfig readChunkReplies;
    boolean announcesReadChunkReplies = true;
    int lateReplyMillis = 30_000;

    ProtocolExtensionOptionsBuilder() {}

    @Override
    List<Object> values() {
        List<Object> values = super.values();
        values.add(reverseCredits);
        values.add(reverseChunks);
        values.add(versionTwo);
        values.add(readChunkReplies);
        values.add(announcesReadChunkReplies);
        values.add(lateReplyMillis);
        return values;
    }

    /**
     * Credits of the reverse direction, from the accepting to the connecting side (RFC 8167), 0 to 65535; default 0,
     * for none, and at least 1 with {@link #versionTwo}. The connecting side grants at most this many credits, and the
     * accepting side requests this many; both post as many receives in addition to those of the forward direction. This
     * only reserves resources: the upper layer opens the direction of each connection by {@link
     * RpcRdmaConnection#acceptReverseCalls} and {@link RpcRdmaConnection#allowReverseCalls}.
     *
     * @param credits 0 to 65535
     * @return this builder
     */
    public B reverseCredits(int credits) {
        reverseCredits = ArgumentChecks.inRange("reverseCredits", credits, 0, 65535);
        return self();
    }

    /**
     * Whether the reverse direction uses chunks (RFC 8167, 5.3); default {@code false}, as in other implementations:
     * then reverse calls and their replies must be short, and a reverse call with a chunk is answered with ERR_CHUNK.
     * Both sides must be configured alike.
     *
     * @param enabled {@code true} to use them
     * @return this builder
     */
    public B reverseChunks(boolean enabled) {
        reverseChunks = enabled;
        return self();
    }

    /**
     * Speaks version 2 of the protocol, by its experimental draft -01, with peers that support it, and version 1 with
     * others; default: version 1 only. The sizes of sends and receives have to be 4096 bytes at least.
     *
     * @param settings with the same optional operations at both ends
     * @return this builder
     */
    public B versionTwo(VersionTwoConfig settings) {
        versionTwo = Objects.requireNonNull(settings, "settings");
        return self();
    }

    /**
     * Sends and accepts replies in Read chunks (draft-cel-nfsv4-rpcrdma-reliable-reply-04); default: neither. The
     * protocol does not negotiate this: enable it only where both sides are configured for it.
     *
     * @param replies the settings of both roles
     * @return this builder
     */
    public B readChunkReplies(ReadChunkReplyConfig replies) {
        readChunkReplies = Objects.requireNonNull(replies, "replies");
        return self();
    }

    /**
     * Whether to announce support of replies in Read chunks to the peer; default {@code true}. Where both sides
     * announce it, and {@link #readChunkReplies} is not set, a reply that fits neither inline nor the Reply chunk stays
     * in the responder's memory until the requester has read it, bounded by {@link
     * RpcRdmaConfig.Builder#maxConnectionBytes}. Other implementations do not announce it. Without this and without a
     * {@link RpcRdmaConfig.Builder#longSize} the private data are the eight octets of RFC 8797.
     *
     * @param announce {@code false} not to announce it
     * @return this builder
     */
    public B announceReadChunkReplies(boolean announce) {
        announcesReadChunkReplies = announce;
        return self();
    }

    /**
     * Time that a handler may take to answer a call of the {@link DuplicateRequestCache} after its connection is lost,
     * in milliseconds; default 30 seconds. Until then a duplicate waits for the answer; after that it is executed. The
     * handler must write such an answer to the channel, not to its context: see {@link RpcRdmaCodec}.
     *
     * @param millis from 0
     * @return this builder
     */
    public B lateReplyMillis(int millis) {
        lateReplyMillis = ArgumentChecks.inRange("lateReplyMillis", millis, 0, Integer.MAX_VALUE);
        return self();
    }
}
