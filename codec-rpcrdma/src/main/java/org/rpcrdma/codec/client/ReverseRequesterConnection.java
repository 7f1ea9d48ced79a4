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
import org.rpcrdma.codec.InternalCodec;
import org.rpcrdma.codec.RpcRdmaConnection;

/**
 * The connection of an {@link RpcRdmaCallback}: one channel of the client at a time, and the one that was attached last
 * and comes after it. It belongs to the event loop of its channel, and moves with the client from one to the next.
 * {@link #state} and {@link #close} are for any thread, {@link #attach} is for the event loop of the channel.
 */
final class ReverseRequesterConnection implements PendingCalls.Owner {

    private static final InternalLogger LOGGER =
            InternalLoggerFactory.getInstance(RpcRdmaCallback.class);

    private final Consumer<? super RpcRdmaCallback.State> listener;
    private final PendingCalls calls;
    private final Promise<Void> closed = new DefaultPromise<>(GlobalEventExecutor.INSTANCE);
    private volatile RpcRdmaCallback.State state = RpcRdmaCallback.State.DOWN;

    // ---- event loop only

    private boolean hasAnswered;

    /**
     * Attached, and not used yet: it is open whether the client survives the first calls on the channel before, or the
     * calls are on their way to its event loop, or its version is not settled.
     */
    private Channel next;

    private Throwable lastFailure;

    /**
     * A connection without a channel.
     *
     * @param listener is told each change of the state, on the event loop
     */
    ReverseRequesterConnection(
            DefaultCallSettings settings,
            EventLoop loop,
            Consumer<? super RpcRdmaCallback.State> listener) {
        this.listener = listener;
        calls = new PendingCalls(this, settings, loop, 0, 0);
    }

    // ------------------------------------------------------------------ any thread

    /** Where calls are handed in. */
    CallSubmissionQueue intake() {
        return calls.intake();
    }

    RpcRdmaCallback.State state() {
        return state;
    }

    private boolean isOver() {
        return state == RpcRdmaCallback.State.REFUSED || state == RpcRdmaCallback.State.CLOSED;
    }

    Future<Void> close() {
        if (!calls.run(this::closeNow)) {
            closed.trySuccess(null);
        }
        return closed;
    }

    // ------------------------------------------------------------------ channels

    /** As {@link RpcRdmaCallback#attach}. */
    boolean attach(Channel channel) {
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
        boolean isOthers = present != null && present.owner() != this;
        if (isOthers && !present.owner().isOver()) {
            throw new IllegalStateException(
                    "another RpcRdmaCallback is attached to " + channel + " (expected: one)");
        }
        connection.allowReverseCalls();
        if (isOthers) {
            pipeline.remove(present);
        }
        if (isOthers || present == null) {
            InternalCodec.addAfterCodec(pipeline, new Replies());
        }
        calls.run(() -> attached(channel));
        return true;
    }

    /** The first channel was refused, and nobody will know of this object. */
    void forget() {
        calls.end();
    }

    private void attached(Channel channel) {
        if (!isOver() && channel.isActive()) { // it may have been lost on its way here
            next = channel == calls.channel() ? null : channel;
            proceed();
        }
    }

    /** Brings the channel that was attached last a step nearer to its use. */
    private void proceed() {
        if (next == null || refreshFate()) {
            return;
        }
        Channel channel = next;
        if (!channel.isActive()) {
            next = null;
            return;
        }
        leave();
        changeTo(RpcRdmaCallback.State.DOWN);
        if (calls.loop() != channel.eventLoop()) {
            calls.moveTo(channel.eventLoop(), this::proceed);
        } else {
            // It is down until the version is settled, by the first reply on the channel.
            InternalCodec.whenVersionSettled(channel, () -> calls.run(() -> start(channel)));
        }
    }

    /**
     * Takes note of the first answer.
     *
     * @return whether it is still unknown what the first calls do to the client
     */
    private boolean refreshFate() {
        Channel used = calls.channel();
        hasAnswered |= used != null && CurrentRequesterChannel.answers(used) > 0;
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
            changeTo(RpcRdmaCallback.State.UP);
            calls.sendAll();
        }
    }

    private void lost() {
        boolean isRefused = refreshFate();
        // First of all: the upper layer learns it from nobody else.
        changeTo(isRefused ? RpcRdmaCallback.State.REFUSED : RpcRdmaCallback.State.DOWN);
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
    private void changeTo(RpcRdmaCallback.State changed) {
        if (state != changed) {
            state = changed;
            calls.atEnd(() -> tell(changed));
        }
    }

    private void tell(RpcRdmaCallback.State changed) {
        try {
            listener.accept(changed);
        } catch (Throwable t) {
            LOGGER.warn("the listener of a callback has failed", t);
        }
    }

    // ------------------------------------------------------------------ for the calls

    @Override
    public void callWaits() {
        // The client has to come back; until then nothing but the deadline counts (RFC 8167,
        // 5.4).
    }

    @Override
    public void firstSent(CallReplyFuture<?> call) {
        // There is no other connection to try.
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
    public synchronized void terminated() {
        calls.event(
                () -> {
                    next = null;
                    changeTo(RpcRdmaCallback.State.CLOSED);
                    calls.end();
                });
        closed.trySuccess(null);
    }

    // ------------------------------------------------------------------ end

    private void closeNow() {
        if (state != RpcRdmaCallback.State.CLOSED) {
            next = null;
            leave();
            changeTo(RpcRdmaCallback.State.CLOSED);
            calls.stopTimer();
            calls.end();
        }
        calls.atEnd(() -> closed.trySuccess(null));
    }

    /** Brings replies and their calls together, before the upper layer's handlers. */
    private final class Replies extends ChannelInboundHandlerAdapter {

        ReverseRequesterConnection owner() {
            return ReverseRequesterConnection.this;
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
