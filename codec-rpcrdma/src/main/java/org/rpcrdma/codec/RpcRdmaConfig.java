// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import java.util.List;
import java.util.Objects;
import org.rpcrdma.channel.RdmaChannelOption;
import org.rpcrdma.codec.binding.BindingRegistry;
import org.rpcrdma.codec.binding.UpperLayerBinding;

/**
 * How RPC-over-RDMA is spoken. Immutable and shared by any number of connections. {@link #applyTo(Bootstrap)} and {@link
 * #applyTo(ServerBootstrap)} set the channel options that go with it; without them the channel's own options hold.
 */
public final class RpcRdmaConfig {

    /** Receives are replenished in batches: so many more than credits are posted. */
    private static final int RECEIVE_BATCH = 8;

    private final int requestedCredits;
    private final int grantedCredits;
    private final int minimumCredits;
    private final CreditPolicy creditPolicy;
    private final PrivateData privateData;
    private final PrivateData assumedPeer;
    private final BindingRegistry bindings;
    private final int maxSegmentsPerChunk;
    private final int maxSegmentsPerMessage;
    private final int maxChunkBytes;
    private final int maxMessageBytes;
    private final long maxConnectionBytes;
    private final int defaultMaximumReply;
    private final int maxQueuedCalls;
    private final int maxChunkErrors;
    private final int reverseCredits;
    private final boolean reverseChunks;
    private final VersionTwo versionTwo;
    private final boolean annotatedCalls;
    private final RpcRdmaMetrics metrics;
    private final ReadChunkReplies readChunkReplies;
    private final DuplicateRequestCache duplicateRequestCache;
    private final int lateReplyMillis;
    private final FatalXids fatalXids = new FatalXids(System::nanoTime);
    private final LogLimit closeLog = new LogLimit(System::nanoTime);

    private RpcRdmaConfig(Builder builder) {
        requestedCredits = builder.requestedCredits;
        grantedCredits = builder.grantedCredits;
        minimumCredits = Math.min(builder.minimumCredits, grantedCredits);
        creditPolicy = builder.creditPolicy;
        privateData =
                new PrivateData(builder.sendSize, builder.receiveSize, builder.remoteInvalidation);
        assumedPeer = builder.assumedPeer;
        bindings = builder.bindings == null ? BindingRegistry.standard() : builder.bindings;
        maxSegmentsPerChunk = builder.maxSegmentsPerChunk;
        maxSegmentsPerMessage = builder.maxSegmentsPerMessage;
        maxChunkBytes = builder.maxChunkBytes;
        maxMessageBytes = builder.maxMessageBytes;
        maxConnectionBytes = builder.maxConnectionBytes;
        defaultMaximumReply = builder.defaultMaximumReply;
        maxQueuedCalls = builder.maxQueuedCalls;
        maxChunkErrors = builder.maxChunkErrors;
        reverseCredits = builder.reverseCredits;
        reverseChunks = builder.reverseChunks;
        versionTwo = builder.versionTwo;
        readChunkReplies = builder.readChunkReplies;
        duplicateRequestCache = builder.duplicateRequestCache;
        lateReplyMillis = builder.lateReplyMillis;
        annotatedCalls = builder.annotatedCalls;
        metrics = builder.metrics == null ? new RpcRdmaMetrics() : builder.metrics;
    }

    /** A builder with the defaults. */
    public static Builder builder() {
        return new Builder();
    }

    /** The defaults. */
    public static RpcRdmaConfig defaults() {
        return builder().build();
    }

    /** Sets receive size, receive depth and private data of a connecting channel. */
    public Bootstrap applyTo(Bootstrap bootstrap) {
        return bootstrap
                .option(RdmaChannelOption.RECEIVE_SIZE, privateData.receiveSize())
                .option(RdmaChannelOption.RECEIVE_DEPTH, receiveDepth(requestedCredits))
                .option(RdmaChannelOption.PRIVATE_DATA, privateData.encode())
                .option(RdmaChannelOption.PEER_PRIVATE_DATA, assumedPeer.encode());
    }

    /** Sets receive size, receive depth and private data of the accepted channels. */
    public ServerBootstrap applyTo(ServerBootstrap bootstrap) {
        return bootstrap
                .childOption(RdmaChannelOption.RECEIVE_SIZE, privateData.receiveSize())
                .childOption(
                        RdmaChannelOption.RECEIVE_DEPTH,
                        receiveDepth(grantedCredits) + completions())
                .childOption(RdmaChannelOption.PRIVATE_DATA, privateData.encode())
                .childOption(RdmaChannelOption.PEER_PRIVATE_DATA, assumedPeer.encode());
    }

    /** Receives outside of the grant (reliable reply draft, 5.2.3). */
    private int completions() {
        return readChunkReplies == null ? 0 : readChunkReplies.maxWaiting();
    }

    /** Both directions share the receives (RFC 8167, 4.3). */
    private int receiveDepth(int forward) {
        return forward + reverseCredits + RECEIVE_BATCH;
    }

    public int requestedCredits() {
        return requestedCredits;
    }

    public int grantedCredits() {
        return grantedCredits;
    }

    /** The least that the credit policy may grant. */
    public int minimumCredits() {
        return minimumCredits;
    }

    public CreditPolicy creditPolicy() {
        return creditPolicy;
    }

    boolean hasConstantCredits() {
        return creditPolicy == Builder.CONSTANT_CREDITS;
    }

    /** What is announced to the peer when the connection is made. */
    public PrivateData privateData() {
        return privateData;
    }

    public BindingRegistry bindings() {
        return bindings;
    }

    public int maxSegmentsPerChunk() {
        return maxSegmentsPerChunk;
    }

    public int maxSegmentsPerMessage() {
        return maxSegmentsPerMessage;
    }

    public int maxChunkBytes() {
        return maxChunkBytes;
    }

    public int maxMessageBytes() {
        return maxMessageBytes;
    }

    public long maxConnectionBytes() {
        return maxConnectionBytes;
    }

    public int defaultMaximumReply() {
        return defaultMaximumReply;
    }

    public int maxQueuedCalls() {
        return maxQueuedCalls;
    }

    public int maxChunkErrors() {
        return maxChunkErrors;
    }

    /** The room for reverse calls; 0 for none. */
    public int reverseCredits() {
        return reverseCredits;
    }

    /** Whether reverse calls and their replies may have chunks. */
    public boolean reverseChunks() {
        return reverseChunks;
    }

    /** How version 2 is spoken besides version 1; {@code null} when it is not. */
    public VersionTwo versionTwo() {
        return versionTwo;
    }

    /** How replies in Read chunks are sent and taken; {@code null} when they are not. */
    public ReadChunkReplies readChunkReplies() {
        return readChunkReplies;
    }

    /** What answers calls that are sent again; {@code null} when nothing does. */
    public DuplicateRequestCache duplicateRequestCache() {
        return duplicateRequestCache;
    }

    /** How long a handler's answer is waited for after its connection is lost. */
    public int lateReplyMillis() {
        return lateReplyMillis;
    }

    /** Shared by all connections of this configuration. */
    FatalXids fatalXids() {
        return fatalXids;
    }

    /** Shared by all connections of this configuration. */
    LogLimit closeLog() {
        return closeLog;
    }

    /** Whether calls are read as {@link RpcMessage}. */
    public boolean annotatedCalls() {
        return annotatedCalls;
    }

    /** The counters of all connections of this configuration. */
    public RpcRdmaMetrics metrics() {
        return metrics;
    }

    static int check(String name, int value, int low, int high) {
        return (int) check(name, (long) value, low, high);
    }

    static long check(String name, long value, long low, long high) {
        if (value < low || value > high) {
            throw new IllegalArgumentException(
                    name + ": " + value + " (expected: " + low + " to " + high + ')');
        }
        return value;
    }

    /** Builds a {@link RpcRdmaConfig}. */
    public static final class Builder {

        private int requestedCredits = 128;
        private static final CreditPolicy CONSTANT_CREDITS = CreditPolicy.constant();

        private int grantedCredits = 64;
        private int minimumCredits = 1;
        private CreditPolicy creditPolicy = CONSTANT_CREDITS;
        private int sendSize = 4096;
        private int receiveSize = 4096;
        private boolean remoteInvalidation = true;
        private PrivateData assumedPeer = PrivateData.DEFAULT;
        private BindingRegistry bindings;
        private int maxSegmentsPerChunk = 256;
        private int maxSegmentsPerMessage = 512;
        private int maxChunkBytes = 4 << 20;
        private int maxMessageBytes = (4 << 20) + (64 << 10);
        private long maxConnectionBytes = 128L << 20;
        private int defaultMaximumReply = 64 << 10;
        private int maxQueuedCalls = 16384;
        private int maxChunkErrors = 1024;
        private int reverseCredits;
        private boolean reverseChunks;
        private VersionTwo versionTwo;
        private boolean annotatedCalls;
        private RpcRdmaMetrics metrics;
        private ReadChunkReplies readChunkReplies;
        private DuplicateRequestCache duplicateRequestCache;
        private int lateReplyMillis = 30_000;

        private Builder() {}

        /** Credits asked for as requester, 1 to 65535; default 128. */
        public Builder requestedCredits(int credits) {
            requestedCredits = check("requestedCredits", credits, 1, 65535);
            return this;
        }

        /** Credits granted as responder, 1 to 65535; default 64. Each is backed by a receive. */
        public Builder grantedCredits(int credits) {
            grantedCredits = check("grantedCredits", credits, 1, 65535);
            return this;
        }

        /** The least that the credit policy may grant, 1 to 65535; default 1. */
        public Builder minimumCredits(int credits) {
            minimumCredits = check("minimumCredits", credits, 1, 65535);
            return this;
        }

        /**
         * How many credits are granted at a time, between {@link #minimumCredits} and {@link #grantedCredits}; default {@link
         * CreditPolicy#constant()}, which is the latter.
         */
        public Builder creditPolicy(CreditPolicy policy) {
            creditPolicy = Objects.requireNonNull(policy, "policy");
            return this;
        }

        /** The longest Send in bytes: a multiple of 1024, 1024 to 262144; default 4096. */
        public Builder sendSize(int bytes) {
            PrivateData.checkSize("sendSize", bytes);
            sendSize = bytes;
            return this;
        }

        /**
         * The size of each receive in bytes: a multiple of 1024, 1024 to 262144; default 4096. A Linux server may send 4096
         * bytes whatever is announced.
         */
        public Builder receiveSize(int bytes) {
            PrivateData.checkSize("receiveSize", bytes);
            receiveSize = bytes;
            return this;
        }

        /** Whether the peer is told that it may use Send With Invalidate; default {@code true}. */
        public Builder remoteInvalidation(boolean announce) {
            remoteInvalidation = announce;
            return this;
        }

        /**
         * What a peer is taken to have announced where the device carries no private data, as with DiSNI; default {@link
         * PrivateData#DEFAULT}, 1024 bytes both ways, which is what any peer takes. Elsewhere it means nothing. Both ends have
         * to be set alike: a Send that is longer than the receives of the peer costs the connection.
         */
        public Builder assumedPeer(PrivateData data) {
            assumedPeer = Objects.requireNonNull(data, "data");
            return this;
        }

        /** Takes these bindings instead of those of the service loader and the built-in ones. */
        public Builder bindings(List<? extends UpperLayerBinding> bindings) {
            return bindings(BindingRegistry.of(bindings));
        }

        /** Takes the bindings of this registry; default {@link BindingRegistry#standard()}. */
        public Builder bindings(BindingRegistry bindings) {
            this.bindings = Objects.requireNonNull(bindings, "bindings");
            return this;
        }

        /** The most segments taken in one chunk of a peer, from 1; default 256. */
        public Builder maxSegmentsPerChunk(int segments) {
            maxSegmentsPerChunk = check("maxSegmentsPerChunk", segments, 1, 16384);
            return this;
        }

        /** The most segments taken in one message of a peer, from 1; default 512. */
        public Builder maxSegmentsPerMessage(int segments) {
            maxSegmentsPerMessage = check("maxSegmentsPerMessage", segments, 1, 16384);
            return this;
        }

        /** The most bytes of one Read chunk that are pulled, and of one chunk that is offered; default 4 MiB. */
        public Builder maxChunkBytes(int bytes) {
            maxChunkBytes = check("maxChunkBytes", bytes, 1024, 1 << 29);
            return this;
        }

        /** The most bytes of one RPC message; default 4 MiB + 64 KiB. */
        public Builder maxMessageBytes(int bytes) {
            maxMessageBytes = check("maxMessageBytes", bytes, 1024, 1 << 29);
            return this;
        }

        /** The most bytes pulled by RDMA Read and not answered yet, per connection; default 128 MiB. */
        public Builder maxConnectionBytes(long bytes) {
            if (bytes < 1024) {
                throw new IllegalArgumentException(
                        "maxConnectionBytes: " + bytes + " (expected: from 1024)");
            }
            maxConnectionBytes = bytes;
            return this;
        }

        /**
         * The longest results in bytes for calls whose binding has no bound, and of programs without a binding; default 64
         * KiB. A call offers memory for a reply of that size; a longer reply fails with {@link RemoteChunkException}.
         * Without meaning for a requester of {@link #readChunkReplies} that offers no Reply chunk for them.
         */
        public Builder defaultMaximumReply(int bytes) {
            defaultMaximumReply = check("defaultMaximumReply", bytes, 0, 1 << 29);
            return this;
        }

        /** The most calls that wait for a credit; more fail with {@link CallQueueFullException}. Default 16384. */
        public Builder maxQueuedCalls(int calls) {
            maxQueuedCalls = check("maxQueuedCalls", calls, 0, Integer.MAX_VALUE);
            return this;
        }

        /**
         * A connection ends when so many calls in a row were answered with ERR_CHUNK, and none with a reply between them (RFC
         * 8166, 8.1.4); the last one is answered too. 0 for never; default 1024: a requester that offers more room for each
         * of its calls, several times, stays below.
         */
        public Builder maxChunkErrors(int calls) {
            maxChunkErrors = check("maxChunkErrors", calls, 0, Integer.MAX_VALUE);
            return this;
        }

        /**
         * Room for reverse calls, from the accepting to the connecting side (RFC 8167), 0 to 65535; default 0, for none. The
         * connecting side grants at most so many credits for them, and the accepting side asks for so many: as many receives
         * come on top of those for the forward direction. It is room and nothing else: the upper layer opens the direction,
         * for each connection, by {@link RpcRdmaConnection#acceptReverseCalls} and {@link
         * RpcRdmaConnection#allowReverseCalls}.
         */
        public Builder reverseCredits(int credits) {
            reverseCredits = check("reverseCredits", credits, 0, 65535);
            return this;
        }

        /**
         * Whether chunks are used in the reverse direction as in the forward one (RFC 8167, 5.3); default {@code false},
         * which is what other implementations understand: then reverse calls and their replies have to be short, and one
         * that comes with a chunk is answered with ERR_CHUNK. Both sides have to agree.
         */
        public Builder reverseChunks(boolean enabled) {
            reverseChunks = enabled;
            return this;
        }

        /**
         * Sends and takes replies in Read chunks (draft-cel-nfsv4-rpcrdma-reliable-reply-04); default: neither. Nothing on the
         * wire says whether the peer does: switch it on only where both sides are configured for it.
         */
        public Builder readChunkReplies(ReadChunkReplies replies) {
            readChunkReplies = Objects.requireNonNull(replies, "replies");
            return this;
        }

        /**
         * Answers calls that a client sends again after it has lost its connection from a cache, in the place of executing
         * them twice. Default: none.
         */
        public Builder duplicateRequestCache(DuplicateRequestCache cache) {
            duplicateRequestCache = Objects.requireNonNull(cache, "cache");
            return this;
        }

        /**
         * How long a handler may take to answer a call of the duplicate request cache after the connection of the call is
         * lost, in milliseconds; default 30 seconds. Until then a duplicate waits for that answer; after that it is executed.
         * Such an answer has to be written to the channel, not to a handler's context: see {@link RpcRdmaCodec}.
         */
        public Builder lateReplyMillis(int millis) {
            lateReplyMillis = check("lateReplyMillis", millis, 0, Integer.MAX_VALUE);
            return this;
        }

        /**
         * Whether the RPC handler reads each call as an {@link RpcMessage}, with the arguments that came in Read chunks apart
         * from the payload; default {@code false}: it reads whole messages.
         */
        public Builder annotatedCalls(boolean enabled) {
            annotatedCalls = enabled;
            return this;
        }

        /** Shares counters with other configurations. */
        public Builder metrics(RpcRdmaMetrics metrics) {
            this.metrics = Objects.requireNonNull(metrics, "metrics");
            return this;
        }

        /**
         * Speaks version 2 of the protocol with peers that have it, and version 1 with others; default: version 1 alone. The
         * sizes of sends and receives have to be 4096 bytes at least.
         */
        public Builder versionTwo(VersionTwo settings) {
            versionTwo = Objects.requireNonNull(settings, "settings");
            return this;
        }

        public RpcRdmaConfig build() {
            if (versionTwo != null) {
                // The default threshold, which nobody announces (draft, 2.3).
                int least = ProtocolVersion.VERSION_TWO_THRESHOLD;
                check("sendSize with version 2", sendSize, least, Integer.MAX_VALUE);
                check("receiveSize with version 2", receiveSize, least, Integer.MAX_VALUE);
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
