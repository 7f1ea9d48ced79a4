// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.util.collection.IntObjectHashMap;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import org.rpcrdma.Experimental;
import org.rpcrdma.codec.internal.ArgumentChecks;

/**
 * Configuration of version 2 of the protocol (draft-cel-nfsv4-rpcrdma-version-two-01), which is off by default:
 * {@link RpcRdmaConfig.Builder#versionTwo}. Immutable and shared by any number of connections.
 *
 * <p>A connecting side proposes version 2 on each new connection with an RPC NULL call, and continues in version 1 on
 * the same connection if the responder does not speak it; calls wait meanwhile. If the responder does not answer at
 * all, the connection is closed, and later connections of the same bootstrap or client to this responder start in
 * version 1. An accepting side answers each call in the version of the call.
 *
 * <p><b>Experimental.</b> Later drafts have changed the protocol and kept the version number: this is draft -01,
 * incompatible with implementations of later drafts. It includes the reverse direction, so {@link
 * RpcRdmaConfig#reverseCredits} is at least 1.
 */
@Experimental
public final class VersionTwoConfig {

    private final long probeTimeoutNanos;
    private final IntObjectHashMap<OptionalOperationHandler> options;
    private final long memoryNanos;

    private VersionTwoConfig(Builder builder) {
        probeTimeoutNanos = TimeUnit.MILLISECONDS.toNanos(builder.probeTimeoutMillis);
        options = new IntObjectHashMap<>();
        options.putAll(builder.options);
        memoryNanos = TimeUnit.MILLISECONDS.toNanos(builder.memoryMillis);
    }

    /** {@return version 2 with the defaults, and without optional operations} */
    public static VersionTwoConfig defaults() {
        return builder().build();
    }

    /** {@return a builder with the defaults} */
    public static Builder builder() {
        return new Builder();
    }

    long probeTimeoutNanos() {
        return probeTimeoutNanos;
    }

    /** {@code null} for an operation without a handler. */
    OptionalOperationHandler option(int type) {
        return options.get(type);
    }

    /** Time for which a responder is assumed not to speak version 2. */
    long memoryNanos() {
        return memoryNanos;
    }

    /** Whether times and handlers are equal. */
    @Override
    public boolean equals(Object other) {
        return other instanceof VersionTwoConfig config
                && probeTimeoutNanos == config.probeTimeoutNanos
                && memoryNanos == config.memoryNanos
                && options.equals(config.options);
    }

    @Override
    public int hashCode() {
        return Objects.hash(probeTimeoutNanos, memoryNanos, options);
    }

    /** Immutable, so any thread. */
    @Override
    public String toString() {
        return "VersionTwoConfig(answered within "
                + TimeUnit.NANOSECONDS.toMillis(probeTimeoutNanos)
                + " ms, remembered for "
                + TimeUnit.NANOSECONDS.toMillis(memoryNanos)
                + " ms, "
                + options.size()
                + " optional operations)";
    }

    /** Builds a {@link VersionTwoConfig}. */
    public static final class Builder {

        private int probeTimeoutMillis = 2000;
        private int memoryMillis = (int) TimeUnit.MINUTES.toMillis(10);
        private final IntObjectHashMap<OptionalOperationHandler> options = new IntObjectHashMap<>();

        private Builder() {}

        /**
         * How long a responder may take to answer the first message of version 2, in milliseconds, from 1; default 2
         * seconds. After that the connection is closed, and the next connection to this responder starts in version 1.
         *
         * @param millis from 1
         * @return this builder
         */
        public Builder probeTimeoutMillis(int millis) {
            probeTimeoutMillis =
                    ArgumentChecks.inRange("probeTimeoutMillis", millis, 1, Integer.MAX_VALUE);
            return this;
        }

        /**
         * How long a bootstrap or client remembers a responder without version 2, in milliseconds, from 0; default
         * 10 minutes.
         *
         * @param millis from 0
         * @return this builder
         */
        public Builder memoryMillis(int millis) {
            memoryMillis = ArgumentChecks.inRange("memoryMillis", millis, 0, Integer.MAX_VALUE);
            return this;
        }

        /**
         * Adds an optional operation (draft, 3). Both sides must support it: the draft has no negotiation, but a
         * responder without it causes an {@link OptionalOperationUnsupportedByPeerException}.
         *
         * @param type its number, unsigned; one handler for each
         * @param handler answers the calls of the peer
         * @return this builder
         */
        public Builder option(int type, OptionalOperationHandler handler) {
            Objects.requireNonNull(handler, "handler");
            if (options.putIfAbsent(type, handler) != null) {
                throw new IllegalArgumentException(
                        "option type: 0x"
                                + Integer.toHexString(type)
                                + " (expected: one that has no handler yet)");
            }
            return this;
        }

        /** {@return settings that never change} */
        public VersionTwoConfig build() {
            return new VersionTwoConfig(this);
        }
    }
}
