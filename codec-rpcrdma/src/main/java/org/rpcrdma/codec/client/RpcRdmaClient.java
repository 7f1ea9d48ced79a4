// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.client;

import io.netty.bootstrap.Bootstrap;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.netty.util.ReferenceCounted;
import io.netty.util.concurrent.GlobalEventExecutor;
import io.netty.util.internal.ThreadExecutorMap;
import java.io.Closeable;
import java.net.SocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.rpcrdma.channel.RdmaChannel;
import org.rpcrdma.channel.RdmaChannelOption;
import org.rpcrdma.channel.RdmaEventLoopGroup;
import org.rpcrdma.channel.RdmaEventLoopGroupStatistics;
import org.rpcrdma.codec.CallQueueFullException;
import org.rpcrdma.codec.CallTimeoutException;
import org.rpcrdma.codec.CallTooLongException;
import org.rpcrdma.codec.ConnectionLostException;
import org.rpcrdma.codec.DdpEligibilityException;
import org.rpcrdma.codec.ErrChunkReplyException;
import org.rpcrdma.codec.ErrVersReplyException;
import org.rpcrdma.codec.LocalReplyDecodeException;
import org.rpcrdma.codec.MalformedReplyException;
import org.rpcrdma.codec.MarshalException;
import org.rpcrdma.codec.RpcRdmaCancel;
import org.rpcrdma.codec.RpcRdmaConfig;
import org.rpcrdma.codec.RpcRdmaConnection;
import org.rpcrdma.codec.RpcRdmaMetrics;
import org.rpcrdma.codec.internal.ArgumentChecks;
import org.rpcrdma.codec.rpc.CallMarshaller;
import org.rpcrdma.codec.rpc.CallOptions;
import org.rpcrdma.codec.rpc.ReplyOutcomeDecoder;
import org.rpcrdma.codec.rpc.RpcFuture;
import org.rpcrdma.codec.rpc.RpcPromise;
import org.rpcrdma.codec.rpc.RpcTransport;

/**
 * A requester: sends RPC calls to one responder over one or several connections, and returns a future for each reply.
 * Connects on demand and again after a loss; calls in flight are retransmitted with the same XID (RFC 8166, 4.5.5).
 * Every future completes exactly once: with the reply, or with
 *
 * <ul>
 *   <li>{@link CallTimeoutException}: no answer in time,
 * <li>{@link ConnectionLostException}: no connection, or no retransmission; tells whether the call may be repeated,
 * <li>{@link ErrChunkReplyException}: the reply exceeds the memory offered for it, also after the permitted
 * repetitions,
 * <li>{@link ErrVersReplyException}, {@link DdpEligibilityException}, {@link MalformedReplyException}: the
 * responder violates the protocol, or speaks another version,
 * <li>{@link LocalReplyDecodeException}: the reply has arrived, but the upper-layer binding failed to decode it,
 *   <li>{@link CallTooLongException}, {@link MarshalException}, {@link CallQueueFullException}: nothing was sent.
 * </ul>
 *
 * <p>Thread-safe. Each connection runs on its event loop, as do the listeners of its futures: do not block there.
 *
 * <p><b>Cancelling</b> a future, or a time-out, leaves the memory of the call with the transport until the late reply
 * or the end of the connection; its reference count tells when it is free ({@link RpcRdmaCancel}).
 */
public final class RpcRdmaClient implements RpcTransport, Closeable {

    private static final int CLOSE_SECONDS = 10;

    private final ResponderLocator responder;
    private final ReconnectingClientConnection[] connections;
    private final RpcRdmaConfig config;
    private final RpcRdmaMetrics metrics;
    private final RpcPromise<Void> closed = new RpcPromise<>(GlobalEventExecutor.INSTANCE);

    private RpcRdmaClient(Settings settings, EventLoopGroup group, int count) {
        config = settings.calls().config();
        metrics = settings.calls().metrics();
        responder = settings.responder();
        connections = new ReconnectingClientConnection[count];
        int log2 = 32 - Integer.numberOfLeadingZeros(count - 1);
        for (int i = 0; i < count; i++) {
            connections[i] = new ReconnectingClientConnection(settings, group.next(), i, log2);
        }
    }

    /**
     * Creates a builder.
     *
     * @param group of RDMA event loops; owned by the caller, and shut down after the client is closed
     * @param remoteAddress of the responder
     * @return a builder with the defaults
     */
    public static Builder builder(RdmaEventLoopGroup group, SocketAddress remoteAddress) {
        Objects.requireNonNull(remoteAddress, "remoteAddress");
        return new Builder(group, ResponderLocator.of(List.of(remoteAddress)));
    }

    /**
     * Creates a builder for a responder at several addresses, or found by rpcbind.
     *
     * @param group an {@link RdmaEventLoopGroup}, or a group of Netty 4.2 whose loops take RDMA channels; owned by the
     *     caller, and shut down after the client is closed
     * @param responder finds the addresses, which are tried in turn
     * @return a builder with the defaults; {@link Builder#build} refuses any other group
     */
    public static Builder builder(EventLoopGroup group, ResponderLocator responder) {
        return new Builder(group, responder);
    }

    @Override
    public <V extends ReferenceCounted, T> RpcFuture<T> exchange(
            V call, CallOptions options, ReplyOutcomeDecoder<? super V, ? extends T> reader) {
        return leastBusy().submit(call, options, reader);
    }

    @Override
    public <V extends ReferenceCounted, T> RpcFuture<T> exchangeMarshalled(
            CallMarshaller<V> marshaller,
            CallOptions options,
            ReplyOutcomeDecoder<? super V, ? extends T> reader) {
        return leastBusy().submitMarshalled(marshaller, options, reader);
    }

    /**
     * Selects the connection with the fewest calls. Starts at a random one, so that an idle client does not always use
     * the first.
     */
    private CallHandoverQueue leastBusy() {
        int count = connections.length;
        if (count == 1) {
            return connections[0].intake();
        }
        int at = ThreadLocalRandom.current().nextInt(count);
        CallHandoverQueue best = connections[at].intake();
        int least = best.outstanding();
        for (int i = 1; i < count && least > 0; i++) {
            at = at + 1 == count ? 0 : at + 1;
            CallHandoverQueue next = connections[at].intake();
            int other = next.outstanding();
            if (other < least) {
                least = other;
                best = next;
            }
        }
        return best;
    }

    /**
     * Connects all connections now, each with one attempt. Optional, because calls connect on demand: a check that the
     * responder is reachable.
     *
     * @return completes when all are connected; fails with the cause of the first failure, such as {@link
     *     java.net.ConnectException}
     */
    public RpcFuture<Void> connect() {
        RpcPromise<Void> all = new RpcPromise<>(GlobalEventExecutor.INSTANCE);
        AtomicInteger left = new AtomicInteger(connections.length);
        for (ReconnectingClientConnection connection : connections) {
            connection
                    .connectNow()
                    .addListener(
                            made -> {
                                if (!made.isSuccess()) {
                                    all.tryFailure(made.cause());
                                } else if (left.decrementAndGet() == 0) {
                                    all.trySuccess(null);
                                }
                            });
        }
        return all;
    }

    /** {@return the open connections, with their thresholds, credits and counters} */
    public List<RpcRdmaConnection> openConnections() {
        List<RpcRdmaConnection> open = new ArrayList<>(connections.length);
        for (ReconnectingClientConnection connection : connections) {
            RpcRdmaConnection current = connection.current();
            if (current != null) {
                open.add(current);
            }
        }
        return open;
    }

    /** {@return the calls that have neither a reply nor an error yet} */
    public int outstandingCalls() {
        int sum = 0;
        for (ReconnectingClientConnection connection : connections) {
            sum += connection.intake().outstanding();
        }
        return sum;
    }

    /** The responder, the connections and the calls. Any thread. */
    @Override
    public String toString() {
        return "RpcRdmaClient("
                + responder
                + ", "
                + openConnections().size()
                + " of "
                + connections.length
                + " connections, "
                + outstandingCalls()
                + " calls outstanding"
                + (closed.isDone() ? ", closed)" : ")");
    }

    /** {@return the configuration that the client was built with} */
    public RpcRdmaConfig config() {
        return config;
    }

    /** {@return the counters of this client, and of all others that were built with them} */
    public RpcRdmaMetrics metrics() {
        return metrics;
    }

    /**
     * Closes all connections, and waits until none is left, {@value #CLOSE_SECONDS} seconds at most; outstanding calls
     * fail with {@link ConnectionLostException}. On the thread of an event loop, any, it does not wait. The event
     * loops stay open.
     */
    @Override
    public void close() {
        RpcFuture<Void> end = closeAsync();
        if (ThreadExecutorMap.currentExecutor() != null) {
            return; // a close may need this event loop
        }
        try {
            end.await(CLOSE_SECONDS, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /**
     * As {@link #close}, without waiting.
     *
     * @return completes when no connection is left
     */
    public RpcFuture<Void> closeAsync() {
        AtomicInteger left = new AtomicInteger(connections.length);
        for (ReconnectingClientConnection connection : connections) {
            connection
                    .close()
                    .addListener(
                            done -> {
                                if (left.decrementAndGet() == 0) {
                                    closed.trySuccess(null);
                                }
                            });
        }
        return closed;
    }

    /** Settings of all connections of one client, which share the facts about responders in {@code bootstrap}. */
    record Settings(
            ResponderLocator responder,
            Bootstrap bootstrap,
            DefaultCallSettings calls,
            long minBackOffNanos,
            long maxBackOffNanos,
            int connectTimeoutMillis,
            long firstCallNanos,
            Supplier<? extends ChannelHandler> handler,
            Supplier<? extends ChannelHandler> reverseProgram,
            Consumer<? super NewConnection> onConnection,
            boolean isKept) {}

    /**
     * A new connection, for {@link Builder#onConnection}. Calls are sent on this connection, before all waiting calls,
     * and never again on another one, because they concern this one. Event loop only.
     */
    public interface NewConnection extends RpcTransport {

        /** {@return the connection with its negotiated values} */
        RpcRdmaConnection connection();
    }

    /** Builds an {@link RpcRdmaClient}. */
    public static final class Builder extends ClientConnectionOptionsBuilder<Builder> {

        private final EventLoopGroup group;
        private final ResponderLocator responder;
        private RpcRdmaConfig config;
        private RpcRdmaMetrics metrics;
        private int connections = 1;
        private Supplier<? extends ChannelHandler> handler;
        private Supplier<? extends ChannelHandler> reverseProgram;
        private Consumer<? super NewConnection> onConnection;
        private final Bootstrap options = new Bootstrap();
        private boolean keepsConnected;

        private Builder(EventLoopGroup group, ResponderLocator responder) {
            this.group = Objects.requireNonNull(group, "group");
            this.responder = Objects.requireNonNull(responder, "responder");
        }

        @Override
        Builder self() {
            return this;
        }

        /**
         * The configuration of RPC-over-RDMA; default {@link RpcRdmaConfig#defaults()}.
         *
         * @param config may be shared by clients and servers
         * @return this builder
         */
        public Builder config(RpcRdmaConfig config) {
            this.config = Objects.requireNonNull(config, "config");
            return this;
        }

        /**
         * Adds the counters of the client to these; default new ones, which {@link RpcRdmaClient#metrics} tells.
         *
         * @param metrics may be shared with other clients and servers
         * @return this builder
         */
        public Builder metrics(RpcRdmaMetrics metrics) {
            this.metrics = Objects.requireNonNull(metrics, "metrics");
            return this;
        }

        /**
         * The most connections, 1 to 64; default 1. A call uses the connection with the fewest outstanding calls.
         *
         * @param count 1 to 64
         * @return this builder
         */
        public Builder connections(int count) {
            connections = ArgumentChecks.inRange("connections", count, 1, 64);
            return this;
        }

        /**
         * Sets an option of each channel, {@link RdmaChannelOption#KEEP_ALIVE_SECONDS} for example. What {@link
         * RpcRdmaConfig} and the connect time-out set stays.
         *
         * @param option one of {@link RdmaChannelOption}, or of Netty's that an {@link RdmaChannel} takes
         * @param value {@code null} takes it back
         * @param <T> the type of the value
         * @return this builder
         */
        public <T> Builder option(ChannelOption<T> option, T value) {
            options.option(option, value);
            return this;
        }

        /**
         * Adds a handler to each channel, after the client's.
         *
         * @param factory returns a new or a sharable handler for each channel
         * @return this builder
         */
        public Builder handler(Supplier<? extends ChannelHandler> factory) {
            handler = Objects.requireNonNull(factory, "factory");
            return this;
        }

        /**
         * Answers calls of the responder (RFC 8167): each channel gets a handler that reads whole RPC calls and writes
         * whole replies. The reverse direction is opened on each connection, with {@link
         * RpcRdmaConfig.Builder#reverseCredits} credits, before the first call is sent on it; use {@link #onConnection}
         * to tell the responder.
         *
         * @param factory returns a new or a sharable handler for each channel
         * @return this builder
         */
        public Builder reverseProgram(Supplier<? extends ChannelHandler> factory) {
            reverseProgram = Objects.requireNonNull(factory, "factory");
            return this;
        }

        /**
         * Sets a hook that is called for each new connection, also after a loss, and may send the first calls on it:
         * for example, to tell the responder that it may send reverse calls there. Runs on the event loop.
         *
         * @param hook must not block or throw
         * @return this builder
         */
        public Builder onConnection(Consumer<? super NewConnection> hook) {
            onConnection = Objects.requireNonNull(hook, "hook");
            return this;
        }

        /**
         * Whether to reconnect after a loss although no call needs the connection, because the responder may send
         * reverse calls (RFC 8167, 5.4); default {@code false}. The back-off applies. After three consecutive
         * connections that reverse calls have broken before any was answered, only a call makes the next connection
         * (RFC 8167, 6).
         *
         * @param keeps {@code true} to reconnect without a call
         * @return this builder
         */
        public Builder keepConnected(boolean keeps) {
            keepsConnected = keeps;
            return this;
        }

        /**
         * Creates a client, which connects on demand.
         *
         * @return the client; the caller closes it
         */
        public RpcRdmaClient build() {
            RpcRdmaConfig used = config == null ? RpcRdmaConfig.defaults() : config;
            if (reverseProgram != null && used.reverseCredits() == 0) {
                throw new IllegalArgumentException(
                        "reverseProgram without room for its calls: RpcRdmaConfig.reverseCredits is"
                                + " 0 (expected: as many as may be out at a time)");
            }
            RdmaEventLoopGroupStatistics.of(group); // refuses a group that takes no RDMA channels
            Settings settings =
                    new Settings(
                            responder,
                            used.applyTo(options.clone()),
                            callSettings(used, metrics == null ? new RpcRdmaMetrics() : metrics),
                            minBackOff.toNanos(),
                            maxBackOff.toNanos(),
                            (int) connectTimeout.toMillis(),
                            firstCallTimeout.toNanos(),
                            handler,
                            reverseProgram,
                            onConnection,
                            keepsConnected);
            return new RpcRdmaClient(settings, group, connections);
        }
    }
}
