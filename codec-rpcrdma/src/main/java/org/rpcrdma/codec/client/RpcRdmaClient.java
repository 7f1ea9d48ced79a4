// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.client;

import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandler;
import io.netty.channel.EventLoopGroup;
import io.netty.util.ReferenceCounted;
import io.netty.util.concurrent.DefaultPromise;
import io.netty.util.concurrent.Future;
import io.netty.util.concurrent.GlobalEventExecutor;
import io.netty.util.concurrent.Promise;
import java.net.SocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.rpcrdma.channel.RdmaEventLoopGroup;
import org.rpcrdma.codec.CallQueueFullException;
import org.rpcrdma.codec.CallTimeoutException;
import org.rpcrdma.codec.CallTooLongException;
import org.rpcrdma.codec.ConnectionLostException;
import org.rpcrdma.codec.EligibilityException;
import org.rpcrdma.codec.MalformedReplyException;
import org.rpcrdma.codec.MarshalException;
import org.rpcrdma.codec.RemoteChunkException;
import org.rpcrdma.codec.RpcMessage;
import org.rpcrdma.codec.RpcRdmaCancel;
import org.rpcrdma.codec.RpcRdmaConfig;
import org.rpcrdma.codec.RpcRdmaConnection;
import org.rpcrdma.codec.UnmarshalException;
import org.rpcrdma.codec.UnsupportedVersionException;
import org.rpcrdma.codec.internal.ArgumentChecks;

/**
 * A requester: sends RPC calls to one responder over one or several connections, and gives a future for each reply. It
 * connects when the first call needs it and again after a loss; calls that were out are sent again with the same XID
 * (RFC 8166, 4.5.5). Every future completes exactly once: with the reply, or with
 *
 * <ul>
 *   <li>{@link CallTimeoutException}: no answer in time,
 *   <li>{@link ConnectionLostException}: no connection, or not again; it says whether the call may be repeated,
 *   <li>{@link RemoteChunkException}: the responder has no room for the reply, even after the repetitions allowed,
 *   <li>{@link UnsupportedVersionException}, {@link EligibilityException}, {@link MalformedReplyException}: the
 *       responder does not keep to the protocol, or to this version of it,
 *   <li>{@link UnmarshalException}: the reply has come, and the upper-layer binding has failed to read it,
 *   <li>{@link CallTooLongException}, {@link MarshalException}, {@link CallQueueFullException}: nothing was sent.
 * </ul>
 *
 * <p>Any thread may call. Everything of one connection happens on its event loop, listeners of the futures included: do
 * not block there.
 *
 * <p><b>Cancelling</b> a future, and a time-out, leave the memory of the call with the transport until the late reply
 * or the end of the connection: the client's references go, the memory's own reference count says when it is free
 * ({@link RpcRdmaCancel}).
 */
public final class RpcRdmaClient {

    private final SocketAddress remoteAddress;
    private final ReconnectingClientConnection[] connections;
    private final Promise<Void> closed = new DefaultPromise<>(GlobalEventExecutor.INSTANCE);

    private RpcRdmaClient(Settings settings, EventLoopGroup group, int count) {
        remoteAddress = settings.remoteAddress();
        connections = new ReconnectingClientConnection[count];
        int log2 = 32 - Integer.numberOfLeadingZeros(count - 1);
        for (int i = 0; i < count; i++) {
            connections[i] = new ReconnectingClientConnection(settings, group.next(), i, log2);
        }
    }

    /**
     * Begins a client.
     *
     * @param group of RDMA event loops; it stays the caller's, and outlives the client
     * @param remoteAddress of the responder
     * @return a builder with the defaults
     */
    public static Builder builder(EventLoopGroup group, SocketAddress remoteAddress) {
        return new Builder(group, remoteAddress);
    }

    /**
     * Sends a call.
     *
     * @param call a whole RPC call, taken over; its first word, the XID, is overwritten, and a record mark in front of
     *     it is left out
     * @return the whole reply; the caller releases it
     */
    public Future<ByteBuf> call(ByteBuf call) {
        return call(call, CallOptions.DEFAULT);
    }

    /**
     * As {@link #call(ByteBuf)}.
     *
     * @param call as there
     * @param options for this call
     * @return as there
     */
    public Future<ByteBuf> call(ByteBuf call, CallOptions options) {
        return leastBusy().submit(call, options);
    }

    /**
     * Sends a call whose items and results have their own memory.
     *
     * @param call taken over; the first word of its payload, the XID, is overwritten
     * @return the reply with the sinks of the call; the caller releases it
     */
    public Future<RpcMessage> call(RpcMessage call) {
        return call(call, CallOptions.DEFAULT);
    }

    /**
     * As {@link #call(RpcMessage)}.
     *
     * @param call as there
     * @param options for this call
     * @return as there
     */
    public Future<RpcMessage> call(RpcMessage call, CallOptions options) {
        return leastBusy().submit(call, options);
    }

    /**
     * Sends a call whose message is made when its XID is known, again each time the call goes out.
     *
     * @param <V> {@link ByteBuf} or {@link RpcMessage}
     * @param encoder gives a {@link ByteBuf} or an {@link RpcMessage}; it is asked on the event loop
     * @return the whole reply, of the same kind; the caller releases it
     */
    public <V extends ReferenceCounted> Future<V> call(CallMarshaller<V> encoder) {
        return call(encoder, CallOptions.DEFAULT);
    }

    /**
     * As {@link #call(CallMarshaller)}.
     *
     * @param <V> {@link ByteBuf} or {@link RpcMessage}
     * @param encoder as there
     * @param options for this call
     * @return as there
     */
    public <V extends ReferenceCounted> Future<V> call(
            CallMarshaller<V> encoder, CallOptions options) {
        return leastBusy().submit(encoder, options);
    }

    /** Starts at a random one, so that an idle client does not use the first connection only. */
    private CallSubmissionQueue leastBusy() {
        int count = connections.length;
        if (count == 1) {
            return connections[0].intake();
        }
        int at = ThreadLocalRandom.current().nextInt(count);
        CallSubmissionQueue best = connections[at].intake();
        int least = best.outstanding();
        for (int i = 1; i < count && least > 0; i++) {
            at = at + 1 == count ? 0 : at + 1;
            CallSubmissionQueue next = connections[at].intake();
            int other = next.outstanding();
            if (other < least) {
                least = other;
                best = next;
            }
        }
        return best;
    }

    /**
     * Makes the connections now, each with one attempt. Calls do not need it: it is for those who want to know whether
     * there is anybody before they begin.
     *
     * @return completes when all are there; fails with the cause of the first failure, such as {@link
     *     java.net.ConnectException}
     */
    public Future<Void> connect() {
        Promise<Void> all = new DefaultPromise<>(GlobalEventExecutor.INSTANCE);
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

    /** {@return the connections that there are at this time: their thresholds, credits and counters} */
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
                + remoteAddress
                + ", "
                + openConnections().size()
                + " of "
                + connections.length
                + " connections, "
                + outstandingCalls()
                + " calls out"
                + (closed.isDone() ? ", closed)" : ")");
    }

    /**
     * Closes all connections; calls that are out fail with {@link ConnectionLostException}.
     *
     * @return completes when no connection is left
     */
    public Future<Void> close() {
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

    /**
     * Settings of all connections of one client.
     *
     * @param bootstrap copied by each for its channels, so that they remember the same of the responder
     */
    record Settings(
            SocketAddress remoteAddress,
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

    /** A connection that was just made, for {@link Builder#onConnection}. Event loop only. */
    public interface NewConnection {

        /** {@return what was negotiated} */
        RpcRdmaConnection connection();

        /**
         * Sends a call on this connection, before all calls that wait for one. It ends with the connection: it is never
         * sent again on another one, because what it says holds for this one.
         *
         * @param call a whole RPC call, taken over; its first word, the XID, is overwritten
         * @return the whole reply; the receiver releases it
         */
        default Future<ByteBuf> call(ByteBuf call) {
            return call(call, CallOptions.DEFAULT);
        }

        /**
         * As {@link #call(ByteBuf)}.
         *
         * @param call as there
         * @param options for this call
         * @return as there
         */
        Future<ByteBuf> call(ByteBuf call, CallOptions options);

        /**
         * As {@link #call(ByteBuf)}, with a message that is made when its XID is known.
         *
         * @param <V> {@link ByteBuf} or {@link RpcMessage}
         * @param encoder as there
         * @param options for this call
         * @return as there
         */
        <V extends ReferenceCounted> Future<V> call(CallMarshaller<V> encoder, CallOptions options);
    }

    /** Builds an {@link RpcRdmaClient}. */
    public static final class Builder extends ConnectBuilder<Builder> {

        private final EventLoopGroup group;
        private final SocketAddress remoteAddress;
        private RpcRdmaConfig config;
        private int connections = 1;
        private Supplier<? extends ChannelHandler> handler;
        private Supplier<? extends ChannelHandler> reverseProgram;
        private Consumer<? super NewConnection> onConnection;
        private boolean keepsConnected;

        private Builder(EventLoopGroup group, SocketAddress remoteAddress) {
            this.group = Objects.requireNonNull(group, "group");
            this.remoteAddress = Objects.requireNonNull(remoteAddress, "remoteAddress");
        }

        @Override
        Builder self() {
            return this;
        }

        /**
         * How RPC-over-RDMA is spoken; default {@link RpcRdmaConfig#defaults()}.
         *
         * @param config may be shared by clients and servers
         * @return this builder
         */
        public Builder config(RpcRdmaConfig config) {
            this.config = Objects.requireNonNull(config, "config");
            return this;
        }

        /**
         * How many connections are made at most, 1 to 64; default 1. A call takes the one with the fewest calls out.
         *
         * @param count 1 to 64
         * @return this builder
         */
        public Builder connections(int count) {
            connections = ArgumentChecks.inRange("connections", count, 1, 64);
            return this;
        }

        /**
         * Adds a handler to each channel, after the client's.
         *
         * @param factory gives a new handler, or one that is sharable, for each channel
         * @return this builder
         */
        public Builder handler(Supplier<? extends ChannelHandler> factory) {
            handler = Objects.requireNonNull(factory, "factory");
            return this;
        }

        /**
         * Answers calls of the responder (RFC 8167): each channel gets a handler that reads whole RPC calls and writes
         * whole replies. The reverse direction is open on each connection, with
         * {@link RpcRdmaConfig.Builder#reverseCredits} credits, before the first call leaves on it;
         * {@link #onConnection} tells the responder.
         *
         * @param factory gives a new handler, or one that is sharable, for each channel
         * @return this builder
         */
        public Builder reverseProgram(Supplier<? extends ChannelHandler> factory) {
            reverseProgram = Objects.requireNonNull(factory, "factory");
            return this;
        }

        /**
         * Is told of each connection that is made, again after each loss, and may send the first calls on it: to tell
         * the responder that it may send reverse calls there, for example. Runs on the event loop.
         *
         * @param hook has to be quick, and not to throw
         * @return this builder
         */
        public Builder onConnection(Consumer<? super NewConnection> hook) {
            onConnection = Objects.requireNonNull(hook, "hook");
            return this;
        }

        /**
         * Whether a connection that was made is made again when it is lost, although no call needs it: as long as the
         * responder may send reverse calls (RFC 8167, 5.4); default {@code false}. The back-off holds. After three
         * connections in a row that were lost by a reverse call, with none answered, it takes a call to make the next
         * one (RFC 8167, 6).
         *
         * @param keeps {@code true} to connect again without a call
         * @return this builder
         */
        public Builder keepConnected(boolean keeps) {
            keepsConnected = keeps;
            return this;
        }

        /**
         * A client that connects when it is needed.
         *
         * @return a client that connects when it is needed; the caller closes it
         */
        public RpcRdmaClient build() {
            RpcRdmaConfig used = config == null ? RpcRdmaConfig.defaults() : config;
            if (reverseProgram != null && used.reverseCredits() == 0) {
                throw new IllegalArgumentException(
                        "reverseProgram without room for its calls: RpcRdmaConfig.reverseCredits is"
                                + " 0 (expected: as many as may be out at a time)");
            }
            if (!(group.next().parent() instanceof RdmaEventLoopGroup)) {
                throw new IllegalArgumentException(
                        "group: "
                                + group
                                + " has event loops of another transport (expected: an"
                                + " RdmaEventLoopGroup)");
            }
            Settings settings =
                    new Settings(
                            remoteAddress,
                            used.applyTo(new Bootstrap()),
                            callSettings(used),
                            TimeUnit.MILLISECONDS.toNanos(minBackOffMillis),
                            TimeUnit.MILLISECONDS.toNanos(maxBackOffMillis),
                            connectTimeoutMillis,
                            TimeUnit.MILLISECONDS.toNanos(firstCallTimeoutMillis),
                            handler,
                            reverseProgram,
                            onConnection,
                            keepsConnected);
            return new RpcRdmaClient(settings, group, connections);
        }
    }
}
