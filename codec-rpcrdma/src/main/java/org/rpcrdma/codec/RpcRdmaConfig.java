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
 * Configuration of RPC-over-RDMA. Immutable and shared by any number of connections. {@link #applyTo(Bootstrap)} and
 * {@link #applyTo(ServerBootstrap)} set the channel options that go with it; without them the channel's own options
 * hold.
 */
public final class RpcRdmaConfig {

    /** Receives are replenished in batches: so many more than credits are posted. */
    private static final int RECEIVE_BATCH = 8;

    /** Long Sends take at most this part of what long messages may take. */
    private static final int LONG_SHARE = 4;

    /** The longest message of any configuration. */
    private static final int MAX_MESSAGE = 1 << 29;

    /** A copy that nobody else has: each option, with its default, is a field of the builder and nowhere else. */
    private final Builder options;

    private final PrivateData privateData;

    private RpcRdmaConfig(Builder builder) {
        options = builder.copy();
        options.minimumCredits = Math.min(options.minimumCredits, options.grantedCredits);
        if (options.bindings == null) {
            options.bindings = BindingRegistry.standard();
        }
        if (options.metrics == null) {
            options.metrics = new RpcRdmaMetrics();
        }
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
                        0); // where the device can do it
        int most = (int) Math.min(options.maxConnectionBytes, MAX_MESSAGE);
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
     * Sets receive size, receive depth and private data of a connecting channel. What is remembered of peers from one
     * connection to the next belongs to the bootstrap.
     *
     * @param bootstrap its options are set
     * @return the bootstrap
     */
    public Bootstrap applyTo(Bootstrap bootstrap) {
        setOptions(false, bootstrap::option);
        return bootstrap.attr(PeerCache.KEY, new PeerCache());
    }

    /**
     * As {@link #applyTo(Bootstrap)}, of the accepted channels.
     *
     * @param bootstrap its child options are set
     * @return the bootstrap
     */
    public ServerBootstrap applyTo(ServerBootstrap bootstrap) {
        setOptions(true, bootstrap::childOption);
        return bootstrap.childAttr(PeerCache.KEY, new PeerCache());
    }

    /** As {@link #applyTo(Bootstrap)}, of one channel that is not connected yet. */
    void applyTo(RdmaChannel channel) {
        setOptions(channel.parent() != null, channel.config()::setOption);
    }

    /** Where a channel's options are set. */
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
        // A requester whose credits all wait for pull completions sends one call more.
        return privateData.readChunkReplies() ? 1 : 0;
    }

    /** Both directions share the receives (RFC 8167, 4.3). */
    private int receiveDepth(int forward) {
        return forward + options.reverseCredits + RECEIVE_BATCH;
    }

    /** {@return the credits asked for as requester} */
    public int requestedCredits() {
        return options.requestedCredits;
    }

    /** {@return the most credits granted as responder} */
    public int grantedCredits() {
        return options.grantedCredits;
    }

    /** {@return the least that the credit policy may grant} */
    public int minimumCredits() {
        return options.minimumCredits;
    }

    /** {@return how many credits are granted at a time} */
    public CreditPolicy creditPolicy() {
        return options.creditPolicy;
    }

    boolean hasConstantCredits() {
        return options.creditPolicy == Builder.CONSTANT_CREDITS;
    }

    /** {@return what is announced to the peer when the connection is made} */
    public PrivateData privateData() {
        return privateData;
    }

    /** {@return the longest Send in bytes to and from a peer that has one too, before other limits; 0 for none} */
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
     * {@return the longest Send of a reply without chunks that is asked for, in bytes, where the long size allows it}
     */
    public int inlineResults() {
        return options.inlineResults;
    }

    /** {@return the upper-layer bindings} */
    public BindingRegistry bindings() {
        return options.bindings;
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

    /** {@return the bytes offered for a reply whose length nobody knows} */
    public int defaultMaximumReply() {
        return options.defaultMaximumReply;
    }

    /** {@return the most calls that wait for a credit, for each connection} */
    public int maxQueuedCalls() {
        return options.maxQueuedCalls;
    }

    /** {@return after how many ERR_CHUNK in a row a connection ends; 0 for never} */
    public int maxChunkErrors() {
        return options.maxChunkErrors;
    }

    /** The most Read chunks, and the most Write chunks, in a call of this program. */
    int chunksPerCall(UpperLayerBinding binding) {
        return options.chunksPerCall == 0 ? binding.chunksPerCall() : options.chunksPerCall;
    }

    /** Whether memory for results holds zeros when it is offered. */
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

    /** {@return how version 2 is spoken besides version 1; {@code null} when it is not} */
    public VersionTwo versionTwo() {
        return options.versionTwo;
    }

    /** {@return how replies in Read chunks are sent and taken; {@code null} when they are not} */
    public ReadChunkReplies readChunkReplies() {
        return options.readChunkReplies;
    }

    /** {@return what answers calls that are sent again; {@code null} when nothing does} */
    public DuplicateRequestCache duplicateRequestCache() {
        return options.duplicateRequestCache;
    }

    /**
     * How long a handler's answer is waited for after its connection is lost.
     *
     * @return how long a handler's answer is waited for after its connection is lost, in milliseconds
     */
    public int lateReplyMillis() {
        return options.lateReplyMillis;
    }

    /** {@return whether calls are read as {@link RpcMessage}} */
    public boolean annotatedCalls() {
        return options.annotatedCalls;
    }

    /** {@return the counters of all connections of this configuration} */
    public RpcRdmaMetrics metrics() {
        return options.metrics;
    }

    /** {@return what connections are captured to; {@code null} when they are not} */
    public RdmaPcapFile capture() {
        return options.capture;
    }

    /** The options that an operator asks for first. */
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
    public static final class Builder implements Cloneable {

        private static final CreditPolicy CONSTANT_CREDITS = CreditPolicy.constant();

        private int requestedCredits = 128;
        private int grantedCredits = 64;
        private int minimumCredits = 1;
        private CreditPolicy creditPolicy = CONSTANT_CREDITS;
        private int sendSize = 4096;
        private int receiveSize = 4096;
        private int longSize = 128 << 10;
        private int inlineArguments = 68 << 10;
        private int inlineResults = 52 << 10;
        private boolean remoteInvalidation = true;
        private PrivateData assumedPeer = PrivateData.DEFAULT;
        private BindingRegistry bindings;
        private int maxSegmentsPerChunk = 256;
        private int maxSegmentsPerMessage = 512;
        private int maxChunkBytes;
        private int maxMessageBytes;
        private long maxConnectionBytes = 128L << 20;
        private int defaultMaximumReply = 64 << 10;
        private int maxQueuedCalls = 16384;
        private int maxChunkErrors = 1024;
        private int chunksPerCall;
        private boolean clearsSinks;
        private int reverseCredits;
        private boolean reverseChunks;
        private VersionTwo versionTwo;
        private boolean annotatedCalls;
        private RpcRdmaMetrics metrics;
        private ReadChunkReplies readChunkReplies;
        private boolean announcesReadChunkReplies = true;
        private DuplicateRequestCache duplicateRequestCache;
        private int lateReplyMillis = 30_000;
        private RdmaPcapFile capture;

        private Builder() {}

        private Builder copy() {
            try {
                return (Builder) super.clone();
            } catch (CloneNotSupportedException e) {
                throw new AssertionError(e);
            }
        }

        /**
         * Credits asked for as requester, 1 to 65535; default 128.
         *
         * @param credits 1 to 65535
         * @return this builder
         */
        public Builder requestedCredits(int credits) {
            requestedCredits = ArgumentChecks.inRange("requestedCredits", credits, 1, 65535);
            return this;
        }

        /**
         * Credits granted as responder, 1 to 65535; default 64. Each is backed by a receive.
         *
         * @param credits 1 to 65535
         * @return this builder
         */
        public Builder grantedCredits(int credits) {
            grantedCredits = ArgumentChecks.inRange("grantedCredits", credits, 1, 65535);
            return this;
        }

        /**
         * The least that the credit policy may grant, 1 to 65535; default 1.
         *
         * @param credits 1 to 65535
         * @return this builder
         */
        public Builder minimumCredits(int credits) {
            minimumCredits = ArgumentChecks.inRange("minimumCredits", credits, 1, 65535);
            return this;
        }

        /**
         * How many credits are granted at a time, between {@link #minimumCredits} and {@link #grantedCredits}; default
         * {@link CreditPolicy#constant()}, which is the latter.
         *
         * @param policy asked on the event loop of each connection
         * @return this builder
         */
        public Builder creditPolicy(CreditPolicy policy) {
            creditPolicy = Objects.requireNonNull(policy, "policy");
            return this;
        }

        /**
         * The longest Send in bytes: a multiple of 1024, 1024 to 262144; default 4096.
         *
         * @param bytes a multiple of 1024, 1024 to 262144
         * @return this builder
         */
        public Builder sendSize(int bytes) {
            PrivateData.checkSize("sendSize", bytes);
            sendSize = bytes;
            return this;
        }

        /**
         * The size of each receive in bytes: a multiple of 1024, 1024 to 262144; default 4096. A Linux server may send
         * 4096 bytes whatever is announced.
         *
         * @param bytes a multiple of 1024, 1024 to 262144
         * @return this builder
         */
        public Builder receiveSize(int bytes) {
            PrivateData.checkSize("receiveSize", bytes);
            receiveSize = bytes;
            return this;
        }

        /**
         * The longest Send in bytes to and from a peer that announces a long size too, as another end of this project
         * does: a multiple of 1024, 1024 to 262144, or 0 for none; default 131072. The smaller one of both sides holds,
         * and other peers go by {@link #sendSize} and {@link #receiveSize} as ever. It holds for version 1, and where
         * the device takes the memory of a receive when its message comes, as the software RNIC does: elsewhere there
         * is none. So an idle connection pays nothing for it; a peer that fills all receives makes this side hold as
         * many long Sends. That is a quarter of {@link #maxConnectionBytes} at most, which comes on top of it: the long
         * size is smaller where there are too many receives, and never above {@link #maxMessageBytes}.
         *
         * @param bytes a multiple of 1024, 1024 to 262144, or 0 for none
         * @return this builder
         */
        public Builder longSize(int bytes) {
            if (bytes != 0) {
                PrivateData.checkSize("longSize", bytes);
            }
            longSize = bytes;
            return this;
        }

        /**
         * Where there is a {@link #longSize}: the longest Send of a call that has no chunk for its arguments, in bytes,
         * 0 to 262144; default 69632, which is a WRITE of 64 KiB. A longer call goes by Read chunks, which cost a round
         * trip and spare a copy. Less than the usual threshold means that.
         *
         * @param bytes 0 to 262144
         * @return this builder
         */
        public Builder inlineArguments(int bytes) {
            inlineArguments = ArgumentChecks.inRange("inlineArguments", bytes, 0, 256 << 10);
            return this;
        }

        /**
         * Where there is a {@link #longSize}: the longest reply whose results are wanted without Write chunks, as one
         * Send in bytes, 0 to 262144; default 53248, which is a READ of 48 KiB. Results that may be longer get Write
         * chunks, which spare a copy. Less than the usual threshold means that.
         *
         * @param bytes 0 to 262144
         * @return this builder
         */
        public Builder inlineResults(int bytes) {
            inlineResults = ArgumentChecks.inRange("inlineResults", bytes, 0, 256 << 10);
            return this;
        }

        /**
         * Whether Send With Invalidate is announced, and so used where the peer announces it too (RFC 8797, 4.1);
         * default {@code true}.
         *
         * @param announce {@code false} to keep it from the peer
         * @return this builder
         */
        public Builder remoteInvalidation(boolean announce) {
            remoteInvalidation = announce;
            return this;
        }

        /**
         * What a peer is taken to have announced where the device carries no private data, as with DiSNI; default
         * {@link PrivateData#DEFAULT}, 1024 bytes both ways, which is what any peer takes. Elsewhere it means nothing.
         * Both ends have to be set alike: a Send that is longer than the receives of the peer costs the connection.
         *
         * @param data the sizes that the other end is configured with
         * @return this builder
         */
        public Builder assumedPeer(PrivateData data) {
            assumedPeer = Objects.requireNonNull(data, "data");
            return this;
        }

        /**
         * Takes these bindings instead of those of the service loader and the built-in ones.
         *
         * @param bindings in the order in which they are asked for
         * @return this builder
         */
        public Builder bindings(List<? extends UpperLayerBinding> bindings) {
            return bindings(BindingRegistry.of(bindings));
        }

        /**
         * Takes the bindings of this registry; default {@link BindingRegistry#standard()}.
         *
         * @param bindings the registry
         * @return this builder
         */
        public Builder bindings(BindingRegistry bindings) {
            this.bindings = Objects.requireNonNull(bindings, "bindings");
            return this;
        }

        /**
         * The most segments taken in one chunk of a peer, from 1; default 256.
         *
         * @param segments 1 to 16384
         * @return this builder
         */
        public Builder maxSegmentsPerChunk(int segments) {
            maxSegmentsPerChunk = ArgumentChecks.inRange("maxSegmentsPerChunk", segments, 1, 16384);
            return this;
        }

        /**
         * The most segments taken in one message of a peer, from 1; default 512.
         *
         * @param segments 1 to 16384
         * @return this builder
         */
        public Builder maxSegmentsPerMessage(int segments) {
            maxSegmentsPerMessage =
                    ArgumentChecks.inRange("maxSegmentsPerMessage", segments, 1, 16384);
            return this;
        }

        /**
         * The most bytes of one Read chunk that are pulled, and of one chunk that is offered; default as {@link
         * #maxConnectionBytes}.
         *
         * @param bytes 1024 to 2^29
         * @return this builder
         */
        public Builder maxChunkBytes(int bytes) {
            maxChunkBytes = ArgumentChecks.inRange("maxChunkBytes", bytes, 1024, MAX_MESSAGE);
            return this;
        }

        /**
         * The most bytes of one RPC message; default as {@link #maxConnectionBytes}.
         *
         * @param bytes 1024 to 2^29
         * @return this builder
         */
        public Builder maxMessageBytes(int bytes) {
            maxMessageBytes = ArgumentChecks.inRange("maxMessageBytes", bytes, 1024, MAX_MESSAGE);
            return this;
        }

        /**
         * The memory for long messages, per connection; default 128 MiB: the most bytes pulled by RDMA Read and not
         * answered yet, the most bytes of replies that wait to be pulled, the most that calls offer for their replies
         * in memory of this library, and the most that all calls of an {@link org.rpcrdma.codec.client.RpcRdmaClient} offer that it has repeated
         * after ERR_CHUNK. What finds no room waits, calls of the peer within their credits as own calls and replies.
         * A single message is bounded too, up to 512 MiB: a longer one is refused.
         *
         * @param bytes 1024 or more
         * @return this builder
         */
        public Builder maxConnectionBytes(long bytes) {
            if (bytes < 1024) {
                throw new IllegalArgumentException(
                        "maxConnectionBytes: " + bytes + " (expected: from 1024)");
            }
            maxConnectionBytes = bytes;
            return this;
        }

        /**
         * Whether the peer is told that replies in Read chunks are spoken here; default {@code true}. Where both sides
         * say so, and {@link #readChunkReplies} is not set, a reply that fits neither inline nor its Reply chunk stays
         * where it is until the requester has read it; {@link #maxConnectionBytes} is the bound. Other implementations
         * do not say so. Without this and without a {@link #longSize} the private data are the eight octets of RFC
         * 8797.
         *
         * @param announce {@code false} to keep it from the peer
         * @return this builder
         */
        public Builder announceReadChunkReplies(boolean announce) {
            announcesReadChunkReplies = announce;
            return this;
        }

        /**
         * What a call offers as a Reply chunk when its binding has no bound for its results, and for programs without a
         * binding; default 64 KiB. A longer reply is read by the requester where both sides have announced that
         * ({@link #announceReadChunkReplies}), as two ends of this project do; elsewhere it fails with
         * {@link RemoteChunkException}. Without meaning for a requester of {@link #readChunkReplies} that offers no
         * Reply chunk for them.
         *
         * @param bytes 0 to 2^29
         * @return this builder
         */
        public Builder defaultMaximumReply(int bytes) {
            defaultMaximumReply = ArgumentChecks.inRange("defaultMaximumReply", bytes, 0, 1 << 29);
            return this;
        }

        /**
         * The most calls that wait for a credit; more fail with {@link CallQueueFullException}. Default 16384.
         *
         * @param calls from 0
         * @return this builder
         */
        public Builder maxQueuedCalls(int calls) {
            maxQueuedCalls = ArgumentChecks.inRange("maxQueuedCalls", calls, 0, Integer.MAX_VALUE);
            return this;
        }

        /**
         * A connection ends when so many calls in a row were answered with ERR_CHUNK, and none with a reply between
         * them (RFC 8166, 8.1.4); the last one is answered too. 0 for never; default 1024: a requester that offers more
         * room for each of its calls, several times, stays below.
         *
         * @param calls from 0
         * @return this builder
         */
        public Builder maxChunkErrors(int calls) {
            maxChunkErrors = ArgumentChecks.inRange("maxChunkErrors", calls, 0, Integer.MAX_VALUE);
            return this;
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
        public Builder chunksPerCall(int chunks) {
            chunksPerCall = ArgumentChecks.inRange("chunksPerCall", chunks, 1, Integer.MAX_VALUE);
            return this;
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
        public Builder clearSinks(boolean clear) {
            clearsSinks = clear;
            return this;
        }

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
        public Builder reverseCredits(int credits) {
            reverseCredits = ArgumentChecks.inRange("reverseCredits", credits, 0, 65535);
            return this;
        }

        /**
         * Whether chunks are used in the reverse direction as in the forward one (RFC 8167, 5.3); default
         * {@code false}, which is what other implementations understand: then reverse calls and their replies have to
         * be short, and one that comes with a chunk is answered with ERR_CHUNK. Both sides have to agree.
         *
         * @param enabled {@code true} to use them
         * @return this builder
         */
        public Builder reverseChunks(boolean enabled) {
            reverseChunks = enabled;
            return this;
        }

        /**
         * Sends and takes replies in Read chunks (draft-cel-nfsv4-rpcrdma-reliable-reply-04); default: neither. Nothing
         * on the wire says whether the peer does: switch it on only where both sides are configured for it.
         *
         * @param replies the settings of both roles
         * @return this builder
         */
        public Builder readChunkReplies(ReadChunkReplies replies) {
            readChunkReplies = Objects.requireNonNull(replies, "replies");
            return this;
        }

        /**
         * Answers calls that a client sends again after it has lost its connection from a cache, in the place of
         * executing them twice. Default: none.
         *
         * @param cache may be shared by servers
         * @return this builder
         */
        public Builder duplicateRequestCache(DuplicateRequestCache cache) {
            duplicateRequestCache = Objects.requireNonNull(cache, "cache");
            return this;
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
        public Builder lateReplyMillis(int millis) {
            lateReplyMillis =
                    ArgumentChecks.inRange("lateReplyMillis", millis, 0, Integer.MAX_VALUE);
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
         * Writes what all connections send and receive to a file, which the caller closes; default none. It costs much,
         * see {@link RdmaPcapFile}.
         *
         * @param file open until the last connection is closed
         * @return this builder
         */
        public Builder capture(RdmaPcapFile file) {
            capture = Objects.requireNonNull(file, "file");
            return this;
        }

        /**
         * Shares counters with other configurations.
         *
         * @param metrics those of another configuration, or new ones
         * @return this builder
         */
        public Builder metrics(RpcRdmaMetrics metrics) {
            this.metrics = Objects.requireNonNull(metrics, "metrics");
            return this;
        }

        /**
         * Speaks version 2 of the protocol, as its experimental draft -01 has it, with peers that have it, and version
         * 1 with others; default: version 1 alone. The sizes of sends and receives have to be 4096 bytes at least.
         *
         * @param settings the same at both ends, where they name optional operations
         * @return this builder
         */
        public Builder versionTwo(VersionTwo settings) {
            versionTwo = Objects.requireNonNull(settings, "settings");
            return this;
        }

        /** {@return a configuration with these settings, which never changes} */
        public RpcRdmaConfig build() {
            if (versionTwo != null) {
                // The default threshold, which nobody announces (draft, 2.3).
                int least = ProtocolVersion.VERSION_TWO_THRESHOLD;
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
