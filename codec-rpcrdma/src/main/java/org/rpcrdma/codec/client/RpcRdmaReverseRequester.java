// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.client;

import io.netty.channel.Channel;
import io.netty.util.ReferenceCounted;
import io.netty.util.concurrent.Future;
import java.util.Objects;
import java.util.function.Consumer;
import org.rpcrdma.codec.ConnectionLostException;
import org.rpcrdma.codec.RpcRdmaConfig;
import org.rpcrdma.codec.RpcRdmaMetrics;
import org.rpcrdma.codec.rpc.CallMarshaller;
import org.rpcrdma.codec.rpc.CallOptions;
import org.rpcrdma.codec.rpc.ReplyOutcomeDecoder;
import org.rpcrdma.codec.rpc.RpcFuture;
import org.rpcrdma.codec.rpc.RpcTransport;

/**
 * Requester of the accepting side: sends reverse calls to one client (RFC 8167), over the connections that the client
 * makes. The upper layer creates one for each client that accepts reverse calls, {@linkplain #tryAttach attaches} it to
 * the client's channel, and attaches it again after each reconnection of the client.
 *
 * <pre>{@code
 * // in the handler of the call by which a client announces that it is ready
 * RpcRdmaReverseRequester requester =
 *         RpcRdmaReverseRequester.builder(config).onState(this::stateChanged).attachTo(ctx.channel());
 * // later, from any thread
 * requester.call(recall).addListener(...);
 * }</pre>
 *
 * <p>Every future completes exactly once, with the reply or with the exceptions of {@link RpcRdmaClient}. This side
 * cannot connect: while the client is disconnected calls wait, at most until their time-out. Calls in flight at the
 * loss of a connection are retransmitted with the same XID on the next attached channel; calls that must not be
 * retransmitted, or to a client that has never answered any, fail at once.
 *
 * <p>Thread-safe, except {@link #tryAttach}, which is called on the event loop of the channel. Listeners run on the
 * event loop: do not block there.
 */
public final class RpcRdmaReverseRequester implements RpcTransport {

    /** State of the connection to the client. */
    public enum State {
        /** Connected, and the client accepts calls. */
        UP,
        /** Disconnected; calls wait until their time-outs. */
        DOWN,
        /**
         * The connection was lost after the first calls, before any was answered: the client may not support reverse
         * calls. No more calls are sent (RFC 8167, 6); create a new object to try again. This one need not be closed,
         * and is not told of the end of its event loop.
         */
        REFUSED,
        /** Closed by its owner, or with the event loop. */
        CLOSED
    }

    private final ReverseRequesterConnection connection;

    private RpcRdmaReverseRequester(Builder builder, RpcRdmaMetrics metrics, Channel first) {
        connection =
                new ReverseRequesterConnection(
                        builder.callSettings(builder.config, metrics),
                        first.eventLoop(),
                        builder.listener);
    }

    /**
     * Creates a builder.
     *
     * @param config of the accepting side
     * @return a builder with the defaults
     */
    public static Builder builder(RpcRdmaConfig config) {
        return new Builder(config);
    }

    // ------------------------------------------------------------------ calls, any thread

    /** Items and sinks need {@link RpcRdmaConfig.Builder#reverseChunks}; without it they go within the payload. */
    @Override
    public <V extends ReferenceCounted, T> RpcFuture<T> exchange(
            V call, CallOptions options, ReplyOutcomeDecoder<? super V, ? extends T> reader) {
        return connection.intake().submit(call, options, reader);
    }

    @Override
    public <V extends ReferenceCounted, T> RpcFuture<T> exchangeMarshalled(
            CallMarshaller<V> marshaller,
            CallOptions options,
            ReplyOutcomeDecoder<? super V, ? extends T> reader) {
        return connection.intake().submitMarshalled(marshaller, options, reader);
    }

    /** {@return the current state of the connection to the client} */
    public State state() {
        return connection.state();
    }

    /** {@return the calls that have neither a reply nor an error yet} */
    public int outstandingCalls() {
        return connection.intake().outstanding();
    }

    /**
     * Closes this requester: outstanding calls fail with {@link ConnectionLostException}. The connection belongs to the
     * client and stays open.
     *
     * @return completes after all calls have ended
     */
    public Future<Void> close() {
        return connection.close();
    }

    // ------------------------------------------------------------------ channels

    /**
     * Sends calls on this channel from now on, waiting ones at once, beginning with retransmissions. The upper layer
     * attaches a channel after the client has announced there that it is ready, never before (RFC 8167, 6). An earlier
     * channel that is still open is no longer used. Only the loss of the channel detaches it.
     *
     * @param channel accepted, active, with the codec, and on the current thread's event loop
     * @return {@code false} in the states {@code REFUSED} and {@code CLOSED}, in which no calls are sent
     * @throws IllegalStateException if another reverse requester is attached to the channel, or reverse calls are not
     * configured
     */
    public boolean tryAttach(Channel channel) {
        return connection.tryAttach(channel);
    }

    /** Any thread. */
    @Override
    public String toString() {
        return "RpcRdmaReverseRequester("
                + state()
                + ", "
                + outstandingCalls()
                + " calls outstanding)";
    }

    /** Builds an {@link RpcRdmaReverseRequester}. */
    public static final class Builder extends DefaultCallOptionsBuilder<Builder> {

        private final RpcRdmaConfig config;
        private Consumer<? super State> listener = state -> {};

        private Builder(RpcRdmaConfig config) {
            this.config = Objects.requireNonNull(config, "config");
        }

        @Override
        Builder self() {
            return this;
        }

        /**
         * Sets the listener of state changes, called on the event loop before the calls fail that end by the change.
         *
         * @param listener must not block or throw
         * @return this builder
         */
        public Builder onState(Consumer<? super State> listener) {
            this.listener = Objects.requireNonNull(listener, "listener");
            return this;
        }

        /**
         * Creates the reverse requester, attached to its first channel.
         *
         * @param channel as for {@link RpcRdmaReverseRequester#tryAttach}
         * @return the reverse requester; attach it to later channels by {@link RpcRdmaReverseRequester#tryAttach}
         */
        public RpcRdmaReverseRequester attachTo(Channel channel) {
            RpcRdmaMetrics metrics = ReverseRequesterConnection.of(channel).metrics();
            RpcRdmaReverseRequester made = new RpcRdmaReverseRequester(this, metrics, channel);
            try {
                made.tryAttach(channel);
            } catch (RuntimeException e) {
                made.connection.forget(); // removes the event loop's reference
                throw e;
            }
            return made;
        }
    }
}
