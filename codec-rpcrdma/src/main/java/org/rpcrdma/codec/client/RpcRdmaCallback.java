// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.client;

import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.util.ReferenceCounted;
import io.netty.util.concurrent.Future;
import java.util.Objects;
import java.util.function.Consumer;
import org.rpcrdma.codec.ConnectionLostException;
import org.rpcrdma.codec.RpcMessage;
import org.rpcrdma.codec.RpcRdmaConfig;

/**
 * The accepting side's way to call one client (RFC 8167): what an {@link RpcRdmaClient} is to a responder, over the
 * connections that the client makes. The upper layer makes one for each client that says it takes reverse calls, and
 * {@linkplain #attach attaches} it to the client's channel, and again to the next one when the client has come back.
 *
 * <pre>{@code
 * // in the handler of the call by which a client announces that it is ready
 * RpcRdmaCallback callback = RpcRdmaCallback.builder(config).onState(this::stateChanged).attachTo(ctx.channel());
 * // from any thread, later
 * callback.call(recall).addListener(...);
 * }</pre>
 *
 * <p>Every future completes exactly once, with the reply or with the exceptions of {@link RpcRdmaClient}. Nobody here
 * can connect: while the client is gone calls wait, at most until their time-out. Calls that were out when the
 * connection was lost are sent again, with the same XID, on the next channel that is attached; those that must not be,
 * or whose client has never answered any, fail at once.
 *
 * <p>Any thread may call; {@link #attach} is for the event loop of the channel. Listeners run on the event loop: do not
 * block there.
 */
public final class RpcRdmaCallback {

    /** What can be known of the way to the client. */
    public enum State {
        /** There is a connection on which the client takes calls. */
        UP,
        /** There is none; calls wait until their time-outs. */
        DOWN,
        /**
         * The connection was lost by the first calls, before any was ever answered: the client is perhaps not made for
         * them. Nothing is sent to it any more (RFC 8167, 6); it takes a new object to try again.
         */
        REFUSED,
        /** Closed by its owner, or with the event loop. */
        CLOSED
    }

    private final ReverseRequesterConnection connection;

    private RpcRdmaCallback(Builder builder, Channel first) {
        connection =
                new ReverseRequesterConnection(
                        builder.callSettings(builder.config), first.eventLoop(), builder.listener);
    }

    /**
     * Begins one.
     *
     * @param config of the accepting side
     * @return a builder with the defaults
     */
    public static Builder builder(RpcRdmaConfig config) {
        return new Builder(config);
    }

    // ------------------------------------------------------------------ calls, any thread

    /**
     * Sends a call to the client.
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
        return connection.intake().submit(call, options);
    }

    /**
     * Sends a call whose items and results have their own memory; without {@link RpcRdmaConfig.Builder#reverseChunks}
     * they go, and come, with the payload.
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
        return connection.intake().submit(call, options);
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
        return connection.intake().submit(encoder, options);
    }

    /** {@return what is known of the way to the client now} */
    public State state() {
        return connection.state();
    }

    /** {@return the calls that have neither a reply nor an error yet} */
    public int outstandingCalls() {
        return connection.intake().outstanding();
    }

    /**
     * Lets go of the client: calls that are out fail with {@link ConnectionLostException}. The connection is the
     * client's and stays.
     *
     * @return completes when all calls have
     */
    public Future<Void> close() {
        return connection.close();
    }

    // ------------------------------------------------------------------ channels

    /**
     * Sends calls on this channel from now on; calls that wait go out, those in doubt first. The upper layer attaches a
     * channel when the client has said there that it is ready, never before (RFC 8167, 6). An earlier channel that
     * still lives is not used any more. The way back is its loss; there is no other.
     *
     * @param channel accepted, active, with the codec, and on the current thread's event loop
     * @return {@code false} when nothing is sent any more, in the states {@code REFUSED} and {@code CLOSED}
     * @throws IllegalStateException when another one is attached to the channel, or there is no room for reverse calls
     */
    public boolean attach(Channel channel) {
        return connection.attach(channel);
    }

    /** Any thread. */
    @Override
    public String toString() {
        return "RpcRdmaCallback(" + state() + ", " + outstandingCalls() + " calls out)";
    }

    /** Builds an {@link RpcRdmaCallback}. */
    public static final class Builder extends AbstractRequesterBuilder<Builder> {

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
         * Is told each change of the state, on the event loop; before the calls that end by it.
         *
         * @param listener has to be quick, and not to throw
         * @return this builder
         */
        public Builder onState(Consumer<? super State> listener) {
            this.listener = Objects.requireNonNull(listener, "listener");
            return this;
        }

        /**
         * Makes the object, attached to its first channel.
         *
         * @param channel as for {@link RpcRdmaCallback#attach}
         * @return the object; it is attached to more channels by {@link RpcRdmaCallback#attach}
         */
        public RpcRdmaCallback attachTo(Channel channel) {
            RpcRdmaCallback made = new RpcRdmaCallback(this, channel);
            try {
                made.attach(channel);
            } catch (RuntimeException e) {
                made.connection.forget(); // the event loop must not remember it
                throw e;
            }
            return made;
        }
    }
}
