// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.client;

import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelPipeline;
import io.netty.channel.EventLoop;
import io.netty.util.concurrent.DefaultPromise;
import io.netty.util.concurrent.Future;
import io.netty.util.concurrent.GlobalEventExecutor;
import io.netty.util.concurrent.Promise;
import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import java.util.function.Consumer;
import org.rpcrdma.codec.RpcRdmaConnection;
import org.rpcrdma.codec.access.CodecAccess;

/**
 * The connection of an {@link RpcRdmaReverseRequester}: the current channel of the client, and the channel attached
 * last, which replaces it. Belongs to the event loop of the current channel, and moves to that of the next one.
 * {@link #state} and {@link #close} may be called from any thread, {@link #tryAttach} on the event loop of its channel.
 */
final class ReverseRequesterConnection implements CallRetransmissionController.Owner {

    private static final InternalLogger LOGGER =
            InternalLoggerFactory.getInstance(RpcRdmaReverseRequester.class);

    private final Consumer<? super RpcRdmaReverseRequester.State> listener;
    private final CallRetransmissionController calls;
    private final Promise<Void> closed = new DefaultPromise<>(GlobalEventExecutor.INSTANCE);
    private volatile RpcRdmaReverseRequester.State state = RpcRdmaReverseRequester.State.DOWN;

    // ---- event loop only

    private boolean hasAnswered;

    /**
     * Channel attached but not yet used: the effect of the first calls on the previous channel is still unknown, the
     * calls are moving to its event loop, or its version is not settled.
     */
    private Channel next;

    /** Of the channel used last; {@code null} while it has not failed. */
    private Throwable lastFailure;

    /**
     * A connection without a channel.
     *
     * @param listener receives each change of the state, on the event loop
     */
    ReverseRequesterConnection(
            DefaultCallSettings settings,
            EventLoop loop,
            Consumer<? super RpcRdmaReverseRequester.State> listener) {
        this.listener = listener;
        calls = new CallRetransmissionController(this, settings, loop, 0, 0);
    }

    // ------------------------------------------------------------------ any thread

    /** The submission queue of this connection. */
    CallHandoverQueue intake() {
        return calls.intake();
    }

    RpcRdmaReverseRequester.State state() {
        return state;
    }

    private boolean isOver() {
        return state == RpcRdmaReverseRequester.State.REFUSED
                || state == RpcRdmaReverseRequester.State.CLOSED;
    }

    Future<Void> close() {
        if (!calls.tryExecute(this::closeNow)) {
            closed.trySuccess(null);
        }
        return closed;
    }

    // ------------------------------------------------------------------ channels

    /**
     * The connection of a channel.
     *
     * @throws IllegalArgumentException if the channel has no codec
     */
    static RpcRdmaConnection of(Channel channel) {
        RpcRdmaConnection connection = RpcRdmaConnection.of(channel);
        if (connection == null) {
            throw new IllegalArgumentException(
                    "channel without RPC-over-RDMA: "
                            + channel
                            + " (expected: RpcRdmaCodec in it)");
        }
        return connection;
    }

    /** As {@link RpcRdmaReverseRequester#tryAttach}. */
    boolean tryAttach(Channel channel) {
        RpcRdmaConnection connection = of(channel);
        if (isOver()) {
            return false;
        }
        ChannelPipeline pipeline = channel.pipeline();
        Replies present = pipeline.get(Replies.class);
        boolean isOthers = present != null && present.owner() != this;
        if (isOthers && !present.owner().isOver()) {
            throw new IllegalStateException(
                    "another RpcRdmaReverseRequester is attached to "
                            + channel
                            + " (expected: one)");
        }
        connection.allowReverseCalls();
        if (isOthers) {
            pipeline.remove(present);
        }
        if (isOthers || present == null) {
            CodecAccess.CODEC.addAfterCodec(pipeline, new Replies());
        }
        calls.tryExecute(() -> attached(channel));
        return true;
    }

    /** The first channel was refused: this object is not used. */
    void forget() {
        calls.end();
    }

    private void attached(Channel channel) {
        if (!isOver() && channel.isActive()) { // the channel may have been lost before this task
            next = channel == calls.channel() ? null : channel;
            proceed();
        }
    }

    /** Advances the channel attached last to its next state. */
    private void proceed() {
        recordAnswers();
        if (next == null || isFateUnknown()) {
            return;
        }
        Channel channel = next;
        if (!channel.isActive()) {
            next = null;
            return;
        }
        leave();
        changeTo(RpcRdmaReverseRequester.State.DOWN);
        if (calls.loop() != channel.eventLoop()) {
            calls.moveTo(channel.eventLoop(), this::proceed);
        } else {
            // DOWN until the first reply on the channel settles the version.
            CodecAccess.CODEC.whenVersionSettled(
                    channel, () -> calls.tryExecute(() -> start(channel)));
        }
    }

    /** Records whether the client has answered any call of the current channel. */
    private void recordAnswers() {
        Channel used = calls.channel();
        hasAnswered |= used != null && CurrentRequesterChannel.answers(used) > 0;
    }

    /** Whether the effect of the first calls on the client is still unknown. */
    private boolean isFateUnknown() {
        return !hasAnswered && calls.areInDoubt();
    }

    /** Leaves the current channel. */
    private void leave() {
        Channel before = calls.channel();
        if (before != null) {
            if (before.pipeline().get(Replies.class) != null) {
                before.pipeline().remove(Replies.class);
            }
            calls.abandonChannel("the client has come back on another connection");
        }
    }

    /**
     * Uses the channel if it is still the one attached last. Called on the channel's event loop, which may differ from
     * that of the calls.
     */
    private boolean isUsed(Channel channel) {
        return calls.loop().inEventLoop() && channel == calls.channel();
    }

    private void start(Channel channel) {
        // Otherwise another channel was attached meanwhile, this one has to wait again, or the
        // calls are still on their way to its event loop.
        boolean isHere = calls.loop() == channel.eventLoop();
        if (isHere && channel == next && calls.channel() == null && channel.isActive()) {
            next = null;
            lastFailure = null;
            calls.connected(channel);
            changeTo(RpcRdmaReverseRequester.State.UP);
            calls.sendAll();
        }
    }

    private void lost() {
        recordAnswers();
        boolean isRefused = isFateUnknown();
        // First: the upper layer has no other source of this state.
        changeTo(
                isRefused
                        ? RpcRdmaReverseRequester.State.REFUSED
                        : RpcRdmaReverseRequester.State.DOWN);
        if (isRefused) {
            next = null;
            calls.lost(
                    "the connection was lost by the first reverse calls",
                    CallRetransmissionController.Loss.DEADLY);
            // The upper layer drops this object without a close: the event loop must not keep it.
            calls.stopTimer();
            calls.end();
        } else {
            calls.lost("the connection was lost", CallRetransmissionController.Loss.BROKEN);
            proceed();
        }
    }

    /** Changes the state; the listener is notified at the end of the event, before the calls that fail. */
    private void changeTo(RpcRdmaReverseRequester.State changed) {
        if (state != changed) {
            state = changed;
            calls.atEnd(() -> tell(changed));
        }
    }

    private void tell(RpcRdmaReverseRequester.State changed) {
        try {
            listener.accept(changed);
        } catch (Throwable t) {
            LOGGER.warn("the listener of a reverse requester has failed", t);
        }
    }

    // ------------------------------------------------------------------ for the calls

    @Override
    public void callWaits() {
        // Only the client can reconnect; until then only deadlines end calls (RFC 8167, 5.4).
    }

    @Override
    public void firstSent(CallWithReplyFuture<?> call) {
        // This side cannot try another connection.
    }

    @Override
    public void wake(long now) {
        calls.expire(now);
    }

    @Override
    public void callEnded() {
        if (next != null) {
            calls.atEnd(this::proceed);
        }
    }

    @Override
    public void silent() {
        // The connection belongs to the client, whose own calls may be unaffected.
    }

    @Override
    public String end() {
        return switch (state) {
            case CLOSED -> "the reverse requester was closed";
            case REFUSED -> "the client has lost its connection by reverse calls";
            default -> null;
        };
    }

    @Override
    public Throwable lastFailure() {
        return lastFailure;
    }

    @Override
    public synchronized void terminated() {
        calls.event(
                () -> {
                    next = null;
                    changeTo(RpcRdmaReverseRequester.State.CLOSED);
                    calls.end();
                });
        closed.trySuccess(null);
    }

    // ------------------------------------------------------------------ end

    private void closeNow() {
        if (state != RpcRdmaReverseRequester.State.CLOSED) {
            next = null;
            leave();
            changeTo(RpcRdmaReverseRequester.State.CLOSED);
            calls.stopTimer();
            calls.end();
        }
        calls.atEnd(() -> closed.trySuccess(null));
    }

    /** Passes replies to their calls, before the upper layer's handlers. */
    private final class Replies extends ChannelInboundHandlerAdapter {

        ReverseRequesterConnection owner() {
            return ReverseRequesterConnection.this;
        }

        @Override
        public void channelRead(ChannelHandlerContext ctx, Object message) {
            if (!isUsed(ctx.channel()) || !calls.tryReceive(message)) {
                ctx.fireChannelRead(message);
            }
        }

        @Override
        public void channelInactive(ChannelHandlerContext ctx) {
            if (isUsed(ctx.channel())) {
                calls.event(ReverseRequesterConnection.this::lost);
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
}
