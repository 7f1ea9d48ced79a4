// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelPipeline;
import io.netty.util.ReferenceCounted;
import io.netty.util.concurrent.DefaultPromise;
import io.netty.util.concurrent.Future;
import io.netty.util.concurrent.GlobalEventExecutor;
import io.netty.util.concurrent.Promise;
import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import java.util.Objects;
import java.util.function.Consumer;

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

    private static final InternalLogger LOGGER =
            InternalLoggerFactory.getInstance(RpcRdmaCallback.class);

    private final Consumer<? super State> listener;
    private final PendingCalls calls;
    private final Promise<Void> closed = new DefaultPromise<>(GlobalEventExecutor.INSTANCE);
    private volatile State state = State.DOWN;

    // ---- event loop only

    private boolean hasAnswered;

    /**
     * Attached, and not used yet: it is open whether the client survives the first calls on the channel before, or the
     * calls are on their way to its event loop, or its version is not settled.
     */
    private Channel next;

    private Throwable lastFailure;

    private RpcRdmaCallback(Builder builder, Channel first) {
        listener = builder.listener;
        CallSettings settings = builder.callSettings(builder.config);
        calls = new PendingCalls(new Owner(), settings, first.eventLoop(), 0, 0);
    }

    /**
     * Begins one.
     *
     * @param config of the accepting side
     */
    public static Builder builder(RpcRdmaConfig config) {
        return new Builder(config);
    }

    // ------------------------------------------------------------------ calls, any thread

    /**
     * Sends a call to the client.
     *
     * @param call a whole RPC call, taken over; its first word, the XID, is overwritten
     * @return the whole reply; the caller releases it
     */
    public Future<ByteBuf> call(ByteBuf call) {
        return call(call, CallOptions.DEFAULT);
    }

    /** As {@link #call(ByteBuf)}. */
    public Future<ByteBuf> call(ByteBuf call, CallOptions options) {
        return calls.intake().submit(call, call, options);
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

    /** As {@link #call(RpcMessage)}. */
    public Future<RpcMessage> call(RpcMessage call, CallOptions options) {
        return calls.intake().submit(call, call.content(), options);
    }

    /**
     * Sends a call whose message is made when its XID is known, again each time the call goes out.
     *
     * @param encoder gives a {@link ByteBuf} or an {@link RpcMessage}; it is asked on the event loop
     * @return the whole reply, of the same kind; the caller releases it
     */
    public <V extends ReferenceCounted> Future<V> call(CallEncoder<V> encoder) {
        return call(encoder, CallOptions.DEFAULT);
    }

    /** As {@link #call(CallEncoder)}. */
    public <V extends ReferenceCounted> Future<V> call(
            CallEncoder<V> encoder, CallOptions options) {
        return calls.intake().submit(encoder, options);
    }

    /** What is known of the way to the client now. */
    public State state() {
        return state;
    }

    /** The calls that have neither a reply nor an error yet. */
    public int outstandingCalls() {
        return calls.intake().outstanding();
    }

    /**
     * Lets go of the client: calls that are out fail with {@link ConnectionLostException}. The connection is the
     * client's and stays.
     *
     * @return completes when all calls have
     */
    public Future<Void> close() {
        if (!calls.run(this::closeNow)) {
            closed.trySuccess(null);
        }
        return closed;
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
        RpcRdmaConnection connection = RpcRdmaConnection.of(channel);
        if (connection == null) {
            throw new IllegalArgumentException(
                    "channel without RPC-over-RDMA: "
                            + channel
                            + " (expected: RpcRdmaCodec in it)");
        }
        if (isOver()) {
            return false;
        }
        ChannelPipeline pipeline = channel.pipeline();
        Replies present = pipeline.get(Replies.class);
        if (present != null && present.owner() != this && !present.owner().isOver()) {
            throw new IllegalStateException(
                    "another RpcRdmaCallback is attached to " + channel + " (expected: one)");
        }
        connection.allowReverseCalls();
        if (present != null && present.owner() != this) {
            pipeline.remove(present);
        }
        if (present == null || present.owner() != this) {
            String codec = pipeline.context(ChunkReducer.class).name();
            pipeline.addAfter(codec, null, new Replies());
        }
        calls.run(() -> attached(channel));
        return true;
    }

    private boolean isOver() {
        return state == State.REFUSED || state == State.CLOSED;
    }

    private void attached(Channel channel) {
        if (!isOver() && channel.isActive()) { // it may have been lost on its way here
            next = channel == calls.channel() ? null : channel;
            proceed();
        }
    }

    /** Brings the channel that was attached last a step nearer to its use. */
    private void proceed() {
        if (next == null || isFateOpen()) {
            return;
        }
        Channel channel = next;
        if (!channel.isActive()) {
            next = null;
            return;
        }
        leave();
        changeTo(State.DOWN);
        if (calls.loop() != channel.eventLoop()) {
            calls.moveTo(channel.eventLoop(), this::proceed);
        } else {
            // It is down until the version is settled, by the first reply on the channel.
            RpcRdmaConnection.of(channel)
                    .versions()
                    .whenSettled(() -> calls.run(() -> start(channel)));
        }
    }

    /** Whether nobody knows yet what the first calls do to the client. */
    private boolean isFateOpen() {
        Channel used = calls.channel();
        hasAnswered |= used != null && CallChannel.answers(used) > 0;
        return !hasAnswered && calls.areInDoubt();
    }

    /** Gives up the channel that there is. */
    private void leave() {
        Channel before = calls.channel();
        if (before != null) {
            if (before.pipeline().get(Replies.class) != null) {
                before.pipeline().remove(Replies.class);
            }
            calls.abandonChannel("the client has come back on another connection");
        }
    }

    /** Called on the channel's event loop, which may be another one than that of the calls. */
    private boolean isUsed(Channel channel) {
        return calls.loop().inEventLoop() && channel == calls.channel();
    }

    private void start(Channel channel) {
        // Otherwise another one was attached since, or this one waits for its turn again.
        if (channel == next && calls.channel() == null && channel.isActive()) {
            next = null;
            calls.connected(channel);
            changeTo(State.UP);
            calls.sendAll();
        }
    }

    private void lost() {
        boolean isRefused = isFateOpen();
        // First of all: the upper layer learns it from nobody else.
        changeTo(isRefused ? State.REFUSED : State.DOWN);
        if (isRefused) {
            next = null;
            calls.lost(
                    "the connection was lost by the first reverse calls", PendingCalls.Loss.DEADLY);
            calls.failAll("the client has lost its connection by reverse calls");
        } else {
            calls.lost("the connection was lost", PendingCalls.Loss.BROKEN);
            proceed();
        }
    }

    /** The listener learns it at the end of the event, before the calls that end by it. */
    private void changeTo(State changed) {
        if (state != changed) {
            state = changed;
            calls.atEnd(() -> tell(changed));
        }
    }

    private void tell(State changed) {
        try {
            listener.accept(changed);
        } catch (RuntimeException e) {
            LOGGER.warn("the listener of a callback has failed", e);
        }
    }

    private void closeNow() {
        if (state != State.CLOSED) {
            next = null;
            leave();
            changeTo(State.CLOSED);
            calls.stopTimer();
            calls.end();
        }
        calls.atEnd(() -> closed.trySuccess(null));
    }

    /** What the calls ask for. */
    private final class Owner implements PendingCalls.Owner {

        @Override
        public void callWaits() {
            // The client has to come back; until then nothing but the deadline counts (RFC 8167,
            // 5.4).
        }

        @Override
        public void firstSent(ClientCall<?> call) {
            // There is no other connection to try.
        }

        @Override
        public void wake(long now) {
            calls.expire(now);
        }

        @Override
        public void callEnded() {
            if (next != null) {
                calls.atEnd(RpcRdmaCallback.this::proceed);
            }
        }

        @Override
        public void silent() {
            // The connection is the client's, and its own calls may be well.
        }

        @Override
        public String end() {
            return switch (state) {
                case CLOSED -> "the callback was closed";
                case REFUSED -> "the client has lost its connection by reverse calls";
                default -> null;
            };
        }

        @Override
        public Throwable lastFailure() {
            return lastFailure;
        }

        @Override
        public void terminated() {
            synchronized (RpcRdmaCallback.this) {
                calls.event(
                        () -> {
                            next = null;
                            changeTo(State.CLOSED);
                            calls.end();
                        });
                closed.trySuccess(null);
            }
        }
    }

    /** Brings replies and their calls together, before the upper layer's handlers. */
    private final class Replies extends ChannelInboundHandlerAdapter {

        RpcRdmaCallback owner() {
            return RpcRdmaCallback.this;
        }

        @Override
        public void channelRead(ChannelHandlerContext ctx, Object message) {
            if (!isUsed(ctx.channel()) || !calls.received(message)) {
                ctx.fireChannelRead(message);
            }
        }

        @Override
        public void channelInactive(ChannelHandlerContext ctx) {
            if (isUsed(ctx.channel())) {
                calls.event(RpcRdmaCallback.this::lost);
            }
            ctx.fireChannelInactive();
        }

        @Override
        public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
            if (calls.loop().inEventLoop()) {
                lastFailure = cause;
            }
            ctx.fireExceptionCaught(cause);
        }
    }

    /** Builds an {@link RpcRdmaCallback}. */
    public static final class Builder extends CallerBuilder<Builder> {

        private final RpcRdmaConfig config;
        private Consumer<? super State> listener = state -> {};

        private Builder(RpcRdmaConfig config) {
            this.config = Objects.requireNonNull(config, "config");
        }

        @Override
        Builder self() {
            return this;
        }

        /** Is told each change of the state, on the event loop; before the calls that end by it. */
        public Builder onState(Consumer<? super State> listener) {
            this.listener = Objects.requireNonNull(listener, "listener");
            return this;
        }

        /**
         * Makes the object, attached to its first channel.
         *
         * @param channel as for {@link RpcRdmaCallback#attach}
         */
        public RpcRdmaCallback attachTo(Channel channel) {
            RpcRdmaCallback made = new RpcRdmaCallback(this, channel);
            try {
                made.attach(channel);
            } catch (RuntimeException e) {
                made.calls.end(); // the event loop must not remember it
                throw e;
            }
            return made;
        }
    }
}
