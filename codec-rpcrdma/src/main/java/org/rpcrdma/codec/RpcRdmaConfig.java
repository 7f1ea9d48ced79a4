// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.ChannelOption;
import java.util.List;
import java.util.Objects;
import org.rpcrdma.channel.RdmaChannel;
import org.rpcrdma.channel.RdmaChannelOption;
import org.rpcrdma.codec.binding.BindingRegistry;
import org.rpcrdma.codec.binding.UpperLayerBinding;
import org.rpcrdma.codec.capture.RdmaPcapFile;
import org.rpcrdma.codec.internal.ArgumentChecks;

/**
 * Configuration of RPC-over-RDMA. A value: immutable, shared by any number of connections, and equal to any other with
 * the same options. What changes while they run belongs to others: the counters to {@link RpcRdmaMetrics}, facts about
 * peers to the bootstrap, replies to the {@link DuplicateRequestCache}. {@link #applyTo(Bootstrap)} and {@link
 * #applyTo(ServerBootstrap)} set the matching channel options; otherwise the options of the channel apply.
 */
public final class RpcRdmaConfig {

    /** Receives posted in addition to the credits, because receives are replenished in batches. */
    private static final int RECEIVE_BATCH = 8;

    /** Long Sends use at most one part in this number of the memory for long messages. */
    private static final int LONG_SHARE = 4;

    /** Private copy of the builder, whose fields are the only place of options and defaults. */
    private final Builder options;

    private final BindingRegistry bindings;
    private final PrivateData privateData;

    private RpcRdmaConfig(Builder builder) {
        options = builder.copy();
        options.minimumCredits = Math.min(options.minimumCredits, options.grantedCredits);
        bindings = options.bindings == null ? BindingRegistry.standard() : options.bindings;
        if (options.versionTwo != null) {
            // The reverse direction belongs to version 2 (draft, 4.2.2).
            options.reverseCredits = Math.max(options.reverseCredits, 1);
        }
        privateData =
                new PrivateData(
                        options.sendSize,
                        options.receiveSize,
                        options.remoteInvalidation,
                        options.announcesReadChunkReplies || options.readChunkReplies != null,
                        0); // reduced if the device does not support it
        int most = (int) Math.min(options.maxConnectionBytes, ChunkOptionsBuilder.MAX_MESSAGE);
        options.maxChunkBytes = options.maxChunkBytes == 0 ? most : options.maxChunkBytes;
        options.maxMessageBytes = options.maxMessageBytes == 0 ? most : options.maxMessageBytes;
    }

    /** {@return a builder with the defaults} */
    public static Builder builder() {
        return new Builder();
    }

    /** {@return the defaults} */
    public static RpcRdmaConfig defaults() {
        return builder().build();
    }

    /**
     * Sets receive size, receive depth and private data of a connecting channel. The bootstrap also keeps the facts
     * about peers that outlive a connection.
     *
     * @param bootstrap its options are set
     * @return the bootstrap
     */
    public Bootstrap applyTo(Bootstrap bootstrap) {
        setOptions(false, bootstrap::option);
        return bootstrap.attr(CrossConnectionPeerState.KEY, new CrossConnectionPeerState());
    }

    /**
     * As {@link #applyTo(Bootstrap)}, of the accepted channels.
     *
     * @param bootstrap its child options are set
     * @return the bootstrap
     */
    public ServerBootstrap applyTo(ServerBootstrap bootstrap) {
        setOptions(true, bootstrap::childOption);
        return bootstrap.childAttr(CrossConnectionPeerState.KEY, new CrossConnectionPeerState());
    }

    /** As {@link #applyTo(Bootstrap)}, of one channel that is not connected yet. */
    void applyTo(RdmaChannel channel) {
        setOptions(channel.parent() != null, channel.config()::setOption);
    }

    /** Target of channel options: a bootstrap or a channel. */
    private interface Options {
        <T> void set(ChannelOption<T> option, T value);
    }

    private void setOptions(boolean isServer, Options channel) {
        channel.set(RdmaChannelOption.RECEIVE_SIZE, privateData.receiveSize());
        channel.set(
                RdmaChannelOption.RECEIVE_DEPTH,
                isServer
                        ? receiveDepth(options.grantedCredits) + completions()
                        : receiveDepth(options.requestedCredits));
        channel.set(RdmaChannelOption.PRIVATE_DATA, privateData.encode());
        channel.set(RdmaChannelOption.PEER_PRIVATE_DATA, options.assumedPeer.encode());
    }

    /** Receives outside of the grant (reliable reply draft, 5.2.3). */
    private int completions() {
        if (options.readChunkReplies != null) {
            return options.readChunkReplies.maxWaiting();
        }
        // A requester whose credits all wait for pull completions may send one call more.
        return privateData.readChunkReplies() ? 1 : 0;
    }

    /** Both directions share the receives (RFC 8167, 4.3). */
    private int receiveDepth(int forward) {
        return forward + options.reverseCredits + RECEIVE_BATCH;
    }

    /** {@return the credits requested as requester} */
    public int requestedCredits() {
        return options.requestedCredits;
    }

    /** {@return the most credits granted as responder} */
    public int grantedCredits() {
        return options.grantedCredits;
    }

    /** The least that the credit policy may grant. */
    int minimumCredits() {
        return options.minimumCredits;
    }

    /** {@return the policy that decides the grants} */
    public CreditPolicy creditPolicy() {
        return options.creditPolicy;
    }

    boolean hasConstantCredits() {
        return options.creditPolicy == CreditAndInlineThresholdOptionsBuilder.CONSTANT_CREDITS;
    }

    /** {@return the private data announced to the peer in connection establishment} */
    public PrivateData privateData() {
        return privateData;
    }

    /**
     * {@return the longest Send in bytes to and from a peer that also announces a long size, before other limits; 0 for
     * none}
     */
    public int longSize() {
        return options.longSize;
    }

    /** The long size for a connection with so many receives; 0 for none. */
    int longSizeFor(int receives) {
        long shareOfReceive = options.maxConnectionBytes / LONG_SHARE / receives;
        int fitting =
                PrivateData.roundDown(
                        Math.min(
                                Math.min(options.longSize, options.maxMessageBytes),
                                shareOfReceive));
        return fitting > Math.min(options.sendSize, options.receiveSize) ? fitting : 0;
    }

    /** {@return the longest Send of a call without chunks, in bytes, where the long size allows it} */
    public int inlineArguments() {
        return options.inlineArguments;
    }

    /**
     * {@return the longest Send of a reply without chunks to request, in bytes, where the long size allows it}
     */
    public int inlineResults() {
        return options.inlineResults;
    }

    /** {@return the upper-layer bindings} */
    public BindingRegistry bindings() {
        return bindings;
    }

    /** {@return the most segments taken in one chunk of a peer} */
    public int maxSegmentsPerChunk() {
        return options.maxSegmentsPerChunk;
    }

    /** {@return the most segments taken in one message of a peer} */
    public int maxSegmentsPerMessage() {
        return options.maxSegmentsPerMessage;
    }

    /** {@return the most bytes of one Read chunk that are pulled, and of one chunk that is offered} */
    public int maxChunkBytes() {
        return options.maxChunkBytes;
    }

    /** {@return the most bytes of one RPC message} */
    public int maxMessageBytes() {
        return options.maxMessageBytes;
    }

    /** {@return the most bytes for long messages, for each connection} */
    public long maxConnectionBytes() {
        return options.maxConnectionBytes;
    }

    /** {@return the bytes offered for a reply without a bound} */
    public int defaultMaximumReply() {
        return options.defaultMaximumReply;
    }

    /** {@return the most calls that wait for a credit, for each connection} */
    public int maxQueuedCalls() {
        return options.maxQueuedCalls;
    }

    /** {@return the number of consecutive ERR_CHUNK that ends a connection; 0 for never} */
    public int maxChunkErrors() {
        return options.maxChunkErrors;
    }

    /** The most Read chunks, and the most Write chunks, in a call of this program. */
    int chunksPerCall(UpperLayerBinding binding) {
        return options.chunksPerCall == 0 ? binding.chunksPerCall() : options.chunksPerCall;
    }

    /** Whether the library zeroes memory for results before offering it. */
    boolean clearsSinks() {
        return options.clearsSinks;
    }

    /** {@return the room for reverse calls; 0 for none} */
    public int reverseCredits() {
        return options.reverseCredits;
    }

    /** {@return whether reverse calls and their replies may have chunks} */
    public boolean reverseChunks() {
        return options.reverseChunks;
    }

    /** {@return the settings of version 2; {@code null} for version 1 only} */
    public VersionTwoConfig versionTwo() {
        return options.versionTwo;
    }

    /** {@return the settings of replies in Read chunks; {@code null} if they are off} */
    public ReadChunkReplyConfig readChunkReplies() {
        return options.readChunkReplies;
    }

    /**
     * Time that a handler may take to answer after its connection is lost.
     *
     * @return time that a handler may take to answer after its connection is lost, in milliseconds
     */
    public int lateReplyMillis() {
        return options.lateReplyMillis;
    }

    /** {@return whether calls are read as {@link RpcMessage}} */
    public boolean annotatedCalls() {
        return options.annotatedCalls;
    }

    /** {@return the file to which connections are captured; {@code null} for none} */
    public RdmaPcapFile capture() {
        return options.capture;
    }

    /** Whether all options are equal; user code, as bindings and policies, by its own {@code equals}. */
    @Override
    public boolean equals(Object other) {
        return other instanceof RpcRdmaConfig config
                && options.values().equals(config.options.values());
    }

    @Override
    public int hashCode() {
        return options.values().hashCode();
    }

    /** The most important options, for logs. */
    @Override
    public String toString() {
        return "RpcRdmaConfig(asks for "
                + requestedCredits()
                + " and grants "
                + grantedCredits()
                + " credits, "
                + privateData
                + ", "
                + maxConnectionBytes()
                + " bytes of long messages per connection, "
                + reverseCredits()
                + " reverse credits, versions up to "
                + (versionTwo() == null ? 1 : 2)
                + (capture() == null ? ")" : ", captured to " + capture() + ')');
    }

    /** Builds a {@link RpcRdmaConfig}. */
    public static final class Builder extends ProtocolExtensionOptionsBuilder<Builder>
            implements Cloneable {

        private BindingRegistry bindings;
        private boolean annotatedCalls;
        private RdmaPcapFile capture;

        private Builder() {}

        @Override
        Builder self() {
            return this;
        }

        @Override
        List<Object> values() {
            List<Object> values = super.values();
            values.add(bindings);
            values.add(annotatedCalls);
            values.add(capture);
            return values;
        }

        private Builder copy() {
            try {
                return (Builder) super.clone();
            } catch (CloneNotSupportedException e) {
                throw new AssertionError(e);
            }
        }

        /**
         * Uses these bindings instead of those of the service loader and the built-in ones.
         *
         * @param bindings in order of precedence
         * @return this builder
         */
        public Builder bindings(List<? extends UpperLayerBinding> bindings) {
            return bindings(BindingRegistry.of(bindings));
        }

        /**
         * Uses the bindings of this registry; default {@link BindingRegistry#standard()}.
         *
         * @param bindings the registry
         * @return this builder
         */
        public Builder bindings(BindingRegistry bindings) {
            this.bindings = Objects.requireNonNull(bindings, "bindings");
            return this;
        }

        /**
         * Whether the RPC handler reads each call as an {@link RpcMessage}, with the arguments that came in Read chunks
         * apart from the payload; default {@code false}: it reads whole messages.
         *
         * @param enabled {@code true} for {@link RpcMessage}
         * @return this builder
         */
        public Builder annotatedCalls(boolean enabled) {
            annotatedCalls = enabled;
            return this;
        }

        /**
         * Captures all messages of all connections to a file, which the caller closes; default none. Slow: see {@link
         * RdmaPcapFile}.
         *
         * @param file open until the last connection is closed
         * @return this builder
         */
        public Builder capture(RdmaPcapFile file) {
            capture = Objects.requireNonNull(file, "file");
            return this;
        }

        /** {@return a configuration with these settings, which never changes} */
        public RpcRdmaConfig build() {
            if (versionTwo != null) {
                // The default threshold, which is never announced (draft, 2.3).
                int least = VersionInlineThresholds.VERSION_TWO_THRESHOLD;
                ArgumentChecks.inRange(
                        "sendSize with version 2", sendSize, least, Integer.MAX_VALUE);
                ArgumentChecks.inRange(
                        "receiveSize with version 2", receiveSize, least, Integer.MAX_VALUE);
                if (readChunkReplies != null
                        && readChunkReplies.optionType() != null
                        && versionTwo.option(readChunkReplies.optionType()) != null) {
                    throw new IllegalArgumentException(
                            "option type of readChunkReplies: 0x"
                                    + Integer.toHexString(readChunkReplies.optionType())
                                    + " (expected: one without a handler in versionTwo)");
                }
            }
            return new RpcRdmaConfig(this);
        }
    }
}
