// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import java.util.Objects;
import java.util.concurrent.TimeUnit;
import org.rpcrdma.codec.internal.ArgumentChecks;
import org.rpcrdma.codec.wire.TransportHeader;

/**
 * Settings of replies in Read chunks, of any length (draft-cel-nfsv4-rpcrdma-reliable-reply-04): the responder exposes
 * a reply that fits neither the inline threshold nor the Reply chunk as a Read chunk. The requester reads it and sends
 * an RDMA_DONE, the pull completion, upon which the responder releases the memory. RFC 5666 calls this the Read-Read
 * transfer model.
 *
 * <p>Version 1 of the protocol cannot negotiate it (draft, 6). Two ends of this project announce it in their connection
 * private data ({@link PrivateData}), and then use it for replies that fit nowhere else. With other peers, on devices
 * without private data, or for wider use, <b>both sides have to be configured</b>, by {@link
 * RpcRdmaConfig.Builder#readChunkReplies}: a requester without this setting drops such a reply, and its call times out;
 * a responder without it answers ERR_CHUNK. Applies to calls of the connecting side. Version 2 has no procedure for the
 * pull completion: there both sides must be configured with the same {@link #withOptionType option type}.
 *
 * <p>Immutable.
 */
public final class ReadChunkReplyConfig {

    /** Cases in which a requester still offers a Reply chunk (draft, 5.3.1). */
    public enum ReplyChunks {
        /** Whenever the longest reply may not fit inline, as without Read chunk replies. */
        IF_NEEDED,
        /**
         * When the longest reply may not fit inline, but the upper-layer binding or the call bounds it, at most by the
         * share that one of {@link RpcRdmaConfig.Builder#requestedCredits} calls has in {@link
         * RpcRdmaConfig.Builder#maxConnectionBytes}, 1 MiB with the defaults. After an ERR_CHUNK an {@link
         * org.rpcrdma.codec.client.RpcRdmaClient} offers one too.
         */
        IF_BOUNDED,
        /**
         * Never. Then a call exposes only Write chunks for its reply: a call without those can be cancelled at no cost
         * ({@link RpcRdmaCancel}), and no reply needs a bound.
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
     * Settings of two sides that have announced it. As many replies may wait as calls are granted, because such a
     * requester keeps the credit of a call until it sends the pull completion. A reply beyond these limits is held
     * back.
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
     * Responder: the most replies of one connection that wait for their pull completion, 1 to 65535. Each uses one
     * receive and lowers the grant by one. A call whose reply exceeds the limit is answered with ERR_CHUNK.
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
     * Responder: time that a reply waits for its pull completion, in milliseconds, from 1. After that its memory is
     * invalidated; a requester that still reads it loses the connection (draft, 4.1.3).
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
     * Requester: when to offer a Reply chunk.
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
     * Version 2: the optional operation in the place of RDMA_DONE. Configure the same number at both sides.
     *
     * @param type its number, unsigned; {@link VersionTwoConfig} has no handler for it
     * @return a copy that differs in this; this one is left alone
     */
    public ReadChunkReplyConfig withOptionType(int type) {
        return new ReadChunkReplyConfig(
                maxWaiting, maxWaitingBytes, completionTimeoutMillis, replyChunks, type);
    }

    /** Whether these settings come from the announcement of both sides, not from the configuration. */
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

    /** Whether the version has a pull completion, without which no reply may be sent in Read chunks. */
    boolean arePartOf(int version) {
        return version == TransportHeader.VERSION_ONE || optionType() != null;
    }

    /** Whether all settings are equal. */
    @Override
    public boolean equals(Object other) {
        return other instanceof ReadChunkReplyConfig config
                && maxWaiting == config.maxWaiting
                && maxWaitingBytes == config.maxWaitingBytes
                && completionTimeoutMillis == config.completionTimeoutMillis
                && replyChunks == config.replyChunks
                && Objects.equals(optionType, config.optionType);
    }

    @Override
    public int hashCode() {
        return Objects.hash(
                maxWaiting, maxWaitingBytes, completionTimeoutMillis, replyChunks, optionType);
    }

    /** Any thread. */
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
