// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import java.util.Objects;
import java.util.concurrent.TimeUnit;
import org.rpcrdma.codec.internal.ArgumentChecks;
import org.rpcrdma.codec.wire.TransportHeader;

/**
 * Settings of replies in Read chunks, of any length (draft-cel-nfsv4-rpcrdma-reliable-reply-04): the responder leaves a
 * reply that fits neither the inline threshold nor the Reply chunk where it is, and offers it as a Read chunk. The
 * requester reads it and says with an RDMA_DONE, the pull completion, that the memory may go. RFC 5666 calls it the
 * Read-Read transfer model.
 *
 * <p>Version 1 of the protocol cannot negotiate it (draft, 6). Two ends of this project tell each other in their
 * connection private data ({@link PrivateData}), and use it then for what fits nowhere else. Towards other peers,
 * where a device carries no private data, or to use it for more, <b>both sides have to be configured</b>, by {@link
 * RpcRdmaConfig.Builder#readChunkReplies}: a requester that is not drops such a reply, and its call ends by its
 * time-out; a responder that is not answers ERR_CHUNK. It holds for calls of the connecting side. Version 2 has no
 * procedure for the pull completion: there it is off unless both sides are configured with the same {@link
 * #withOptionType option type} for it.
 *
 * <p>Immutable.
 */
public final class ReadChunkReplyConfig {

    /** When a requester offers a Reply chunk all the same (draft, 5.3.1). */
    public enum ReplyChunks {
        /** Whenever the longest reply may not fit inline, as without Read chunk replies. */
        IF_NEEDED,
        /**
         * When the longest reply may not fit inline, and the upper-layer binding, or the call, says how long it can be:
         * not longer than the share that one of {@link RpcRdmaConfig.Builder#requestedCredits} calls has in
         * {@link RpcRdmaConfig.Builder#maxConnectionBytes}, 1 MiB with the defaults. After an ERR_CHUNK an
         * {@link org.rpcrdma.codec.client.RpcRdmaClient} offers one too.
         */
        IF_BOUNDED,
        /**
         * Never. Then a call exposes no memory for its reply but that of its Write chunks, so that giving it up costs
         * nothing ({@link RpcRdmaCancel}), and nobody has to know how long a reply can be.
         */
        NEVER
    }

    /**
     * 64 waiting replies of 64 MiB in all for each connection, 30 seconds until the pull completion, Reply chunks
     * {@link ReplyChunks#IF_BOUNDED}.
     */
    public static final ReadChunkReplyConfig DEFAULT =
            new ReadChunkReplyConfig(64, 64L << 20, 30_000, ReplyChunks.IF_BOUNDED, null);

    /**
     * What two sides use that have announced it: as many replies wait as calls are granted, because such a requester
     * keeps the credit of a call until its pull completion is sent. A reply that finds too many of them, or too many
     * bytes, is held back until they are gone.
     */
    static ReadChunkReplyConfig announced(long maxBytes) {
        return new ReadChunkReplyConfig(
                Integer.MAX_VALUE, maxBytes, 30_000, ReplyChunks.IF_NEEDED, null);
    }

    private final int maxWaiting;
    private final long maxWaitingBytes;
    private final int completionTimeoutMillis;
    private final ReplyChunks replyChunks;
    private final Integer optionType;

    private ReadChunkReplyConfig(
            int maxWaiting,
            long maxWaitingBytes,
            int completionTimeoutMillis,
            ReplyChunks replyChunks,
            Integer optionType) {
        this.maxWaiting = maxWaiting;
        this.maxWaitingBytes = maxWaitingBytes;
        this.completionTimeoutMillis = completionTimeoutMillis;
        this.replyChunks = replyChunks;
        this.optionType = optionType;
    }

    /**
     * Responder: the most replies of one connection that wait for their pull completion, 1 to 65535. Each has
     * a receive of its own, and is taken off the grant. A call whose reply would be one too many is answered
     * with ERR_CHUNK.
     *
     * @param replies 1 to 65535
     * @return a copy that differs in this; this one is left alone
     */
    public ReadChunkReplyConfig withMaxWaiting(int replies) {
        ArgumentChecks.inRange("maxWaiting", replies, 1, 65535);
        return new ReadChunkReplyConfig(
                replies, maxWaitingBytes, completionTimeoutMillis, replyChunks, optionType);
    }

    /**
     * Responder: the most bytes of such replies, per connection, from 1024.
     *
     * @param bytes from 1024
     * @return a copy that differs in this; this one is left alone
     */
    public ReadChunkReplyConfig withMaxWaitingBytes(long bytes) {
        ArgumentChecks.inRange("maxWaitingBytes", bytes, 1024, Long.MAX_VALUE);
        return new ReadChunkReplyConfig(
                maxWaiting, bytes, completionTimeoutMillis, replyChunks, optionType);
    }

    /**
     * Responder: how long a reply waits for its pull completion, in milliseconds, from 1. After that its memory is
     * taken away; a requester that still reads it loses the connection (draft, 4.1.3).
     *
     * @param millis from 1
     * @return a copy that differs in this; this one is left alone
     */
    public ReadChunkReplyConfig withCompletionTimeoutMillis(int millis) {
        ArgumentChecks.inRange("completionTimeoutMillis", millis, 1, Integer.MAX_VALUE);
        return new ReadChunkReplyConfig(
                maxWaiting, maxWaitingBytes, millis, replyChunks, optionType);
    }

    /**
     * Requester: when a Reply chunk is offered.
     *
     * @param when in which cases
     * @return a copy that differs in this; this one is left alone
     */
    public ReadChunkReplyConfig withReplyChunks(ReplyChunks when) {
        Objects.requireNonNull(when, "when");
        return new ReadChunkReplyConfig(
                maxWaiting, maxWaitingBytes, completionTimeoutMillis, when, optionType);
    }

    /**
     * Version 2: the optional operation that stands for RDMA_DONE there. It is private to the two sides, which have
     * to be configured with the same one.
     *
     * @param type its number, unsigned; {@link VersionTwo} has no handler for it
     * @return a copy that differs in this; this one is left alone
     */
    public ReadChunkReplyConfig withOptionType(int type) {
        return new ReadChunkReplyConfig(
                maxWaiting, maxWaitingBytes, completionTimeoutMillis, replyChunks, type);
    }

    /** Whether nothing but the announcement says that the other side does it. */
    boolean areAnnounced() {
        return maxWaiting == Integer.MAX_VALUE;
    }

    /** {@return the most replies of one connection that wait for their pull completion} */
    public int maxWaiting() {
        return maxWaiting;
    }

    /** {@return the most bytes of such replies, for each connection} */
    public long maxWaitingBytes() {
        return maxWaitingBytes;
    }

    /** {@return how long a reply waits for its pull completion, in milliseconds} */
    public int completionTimeoutMillis() {
        return completionTimeoutMillis;
    }

    long completionTimeoutNanos() {
        return TimeUnit.MILLISECONDS.toNanos(completionTimeoutMillis);
    }

    /** {@return when a Reply chunk is offered} */
    public ReplyChunks replyChunks() {
        return replyChunks;
    }

    /**
     * {@return the optional operation of version 2; {@code null} when there is none, and no Read chunk replies in
     * version 2}
     */
    public Integer optionType() {
        return optionType;
    }

    /** Whether the version has a pull completion; without one nobody may send a reply in Read chunks. */
    boolean arePartOf(int version) {
        return version == TransportHeader.VERSION_ONE || optionType() != null;
    }

    /** Immutable, so any thread. */
    @Override
    public String toString() {
        return "ReadChunkReplyConfig("
                + (areAnnounced() ? "as many as are granted" : maxWaiting)
                + " and "
                + maxWaitingBytes
                + " bytes may wait, for "
                + completionTimeoutMillis
                + " ms, Reply chunks "
                + replyChunks
                + (optionType == null ? ")" : ", optional operation " + optionType + ')');
    }
}
