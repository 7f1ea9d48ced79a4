// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.client;

import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.EventLoop;
import io.netty.util.concurrent.DefaultPromise;
import io.netty.util.concurrent.Future;
import io.netty.util.concurrent.GlobalEventExecutor;
import io.netty.util.concurrent.Promise;
import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import java.nio.channels.ClosedChannelException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.RejectedExecutionException;
import org.rpcrdma.codec.InternalCodec;
import org.rpcrdma.codec.RpcRdmaConnection;

/**
 * One of the connections of an {@link RpcRdmaClient}: one channel at a time, made when a call needs it, or kept up for
 * reverse calls. One event loop for all of its channels; {@link #connectNow} and {@link #close} are for any thread.
 */
final class ReconnectingClientConnection implements PendingCalls.Owner {

    private enum State {
        IDLE,
        CONNECTING,
        ACTIVE,
        CLOSED
    }

    private static final InternalLogger LOGGER =
            InternalLoggerFactory.getInstance(ReconnectingClientConnection.class);

    private final RpcRdmaClient.Settings settings;
    private final EventLoop loop;
    private final PendingCalls calls;
    private final Promise<Void> closed = new DefaultPromise<>(GlobalEventExecutor.INSTANCE);
    private volatile RpcRdmaConnection current;

    // ---- event loop only

    private final CallClock clock;
    private final ReconnectBackOff backOff;
    private final ClientChannelConnector connector;
    private final FirstReplyTimeout firstCall;
    private final ReverseCallLossCounter reverseLosses = new ReverseCallLossCounter();
    private State state = State.IDLE;
    private Channel channel;
    private Throwable lastFailure;

    /** Those who want to know whether there is a connection, and wait for it. */
    private final List<Promise<Void>> connectPromises = new ArrayList<>(1);

    /** The channel is being closed because another one may be better. */
    private boolean isLeft;

    /** From the first connection on, if it is to be kept. */
    private boolean isKept;

    /**
     * A connection that does nothing yet.
     *
     * @param number of this connection among {@code 1 << log2}: no two use the same XID
     */
    ReconnectingClientConnection(
            RpcRdmaClient.Settings settings, EventLoop loop, int number, int log2) {
        this.settings = settings;
        this.loop = loop;
        clock = settings.calls().clock();
        backOff =
                new ReconnectBackOff(clock, settings.minBackOffNanos(), settings.maxBackOffNanos());
        connector = new ClientChannelConnector(settings, loop, backOff, Replies::new);
        firstCall = new FirstReplyTimeout(settings.firstCallNanos());
        calls = new PendingCalls(this, settings.calls(), loop, number, log2);
    }

    // ------------------------------------------------------------------ any thread

    /** Where calls are handed in. */
    CallSubmissionQueue intake() {
        return calls.intake();
    }

    /** What is known of the connection that there is; {@code null} while there is none. */
    RpcRdmaConnection current() {
        return current;
    }

    /** Connects now, whatever the back-off says, and tries once. */
    Future<Void> connectNow() {
        Promise<Void> promise = new DefaultPromise<>(GlobalEventExecutor.INSTANCE);
        if (!calls.run(() -> connectFor(promise))) {
            promise.setFailure(new RejectedExecutionException("the event loop is shut down"));
        }
        return promise;
    }

    Future<Void> close() {
        if (!calls.run(this::closeNow)) {
            closed.trySuccess(null);
        }
        return closed;
    }

    // ------------------------------------------------------------------ for the calls

    @Override
    public void callWaits() {
        connectWhenAllowed();
    }

    @Override
    public void firstSent(CallReplyFuture<?> call) {
        firstCall.sent(call, clock.nanoTime());
        armFirstCall();
    }

    private void armFirstCall() {
        if (firstCall.isTimed()) {
            calls.arm(firstCall.deadline());
        }
    }

    @Override
    public void wake(long now) {
        if (firstCall.isOver(now) && isSilent()) {
            firstCall.silent();
            backOff.skip();
            leave("the responder does not answer the first call");
        }
        calls.expire(now);
        if (state == State.IDLE && wantsConnection()) {
            connectWhenAllowed();
        }
        armFirstCall();
    }

    /** Whether something is out and nothing was answered: a call that has failed here says nothing of the responder. */
    private boolean isSilent() {
        return CurrentRequesterChannel.answers(channel) == 0
                && !CurrentRequesterChannel.isIdle(channel);
    }

    @Override
    public void callEnded() {
        // The connection lives, and the others wait for their own replies.
    }

    /**
     * The responder, or the way to it, is gone. A fresh connection helps those that wait, and gives back the credits
     * and the memory of those that were given up.
     */
    @Override
    public void silent() {
        leave("the responder has not answered since a call that is late");
    }

    /** Tries another connection, which is no loss for the calls that were sent on this one. */
    private void leave(String why) {
        isLeft = true;
        InternalCodec.closeUnanswered(current, why);
    }

    @Override
    public String end() {
        return state == State.CLOSED ? "the client was closed" : null;
    }

    @Override
    public Throwable lastFailure() {
        return lastFailure;
    }

    @Override
    public synchronized void terminated() {
        state = State.CLOSED;
        endConnectPromises(new ClosedChannelException());
        calls.end();
        closed.trySuccess(null);
    }

    // ------------------------------------------------------------------ connection

    private boolean wantsConnection() {
        return calls.areWaiting() || isKept;
    }

    private void connectWhenAllowed() {
        if (state != State.IDLE) {
            return;
        }
        if (loop.isShuttingDown()) {
            calls.failAll("the event loop is shut down");
            return;
        }
        if (backOff.isOver()) {
            connect();
        } else {
            calls.arm(backOff.end());
        }
    }

    /** A channel that is closed and has not said so yet is none: those who ask wait for the next one. */
    private void connectFor(Promise<Void> promise) {
        if (state == State.ACTIVE && channel.isActive()) {
            promise.setSuccess(null);
        } else if (state == State.CLOSED) {
            promise.setFailure(new ClosedChannelException());
        } else {
            connectPromises.add(promise);
            if (state == State.IDLE) {
                connect();
            }
        }
    }

    private void endConnectPromises(Throwable cause) {
        for (Promise<Void> promise : connectPromises) {
            if (cause == null) {
                promise.setSuccess(null);
            } else {
                promise.setFailure(cause);
            }
        }
        connectPromises.clear();
    }

    private void connect() {
        state = State.CONNECTING;
        connector.connect((failed, cause) -> calls.event(() -> connectFailed(failed, cause)));
    }

    private void connectFailed(Channel failed, Throwable cause) {
        if (!connector.failed(failed)) {
            return;
        }
        lastFailure = cause;
        endConnectPromises(cause);
        if (state == State.CLOSED) {
            finishClose();
            return;
        }
        state = State.IDLE;
        calls.notConnected("no connection to " + settings.remoteAddress(), cause);
        if (wantsConnection()) {
            connectWhenAllowed();
        }
    }

    private void connected(Channel made) {
        if (state == State.CLOSED) {
            made.close();
            return;
        }
        RpcRdmaConnection connection = RpcRdmaConnection.of(made);
        if (settings.reverseProgram() != null) {
            try {
                connection.acceptReverseCalls(settings.calls().config().reverseCredits());
            } catch (IllegalStateException e) {
                connectFailed(made, e);
                made.close();
                return;
            }
        }
        state = State.ACTIVE;
        isKept = settings.isKept() && !reverseLosses.areTooMany();
        channel = made;
        isLeft = false;
        current = connection;
        calls.connected(made);
        connector.succeeded();
        endConnectPromises(null);
        if (settings.onConnection() != null) {
            calls.atEnd(() -> tell(connection));
        }
        calls.atEnd(calls::sendAll);
    }

    private void tell(RpcRdmaConnection made) {
        try {
            settings.onConnection()
                    .accept(new NewConnectionView(made, loop, calls.intake(), this::current));
        } catch (Throwable t) {
            channel.pipeline().fireExceptionCaught(t);
        }
    }

    /** The channel is gone, and with it every handle: calls go to the next one with the same XID, or fail. */
    private void lost(Channel gone) {
        if (gone != channel) {
            return;
        }
        channel = null;
        current = null;
        boolean hasAnswered = CurrentRequesterChannel.answers(gone) > 0;
        firstCall.ended(hasAnswered);
        if (state == State.CLOSED) {
            finishClose();
            return;
        }
        state = State.IDLE;
        boolean isByReverseCall = reverseLosses.lost(RpcRdmaConnection.of(gone));
        if (isKept && reverseLosses.areTooMany()) {
            stopKeeping();
        }
        if (hasAnswered && !isByReverseCall) {
            backOff.reset();
        }
        calls.lost(
                "the connection was lost",
                isLeft ? PendingCalls.Loss.LEFT : PendingCalls.Loss.BROKEN);
        if (!connectPromises.isEmpty()) {
            connect();
        } else if (wantsConnection()) {
            connectWhenAllowed();
        }
    }

    private void stopKeeping() {
        isKept = false;
        LOGGER.warn(
                "the last {} connections to {} were lost by reverse calls: the next one is made"
                        + " when a call needs it",
                reverseLosses.inARow(),
                settings.remoteAddress());
    }

    // ------------------------------------------------------------------ end

    private void closeNow() {
        if (state == State.CLOSED) {
            return;
        }
        State before = state;
        state = State.CLOSED;
        calls.stopTimer();
        if (before == State.ACTIVE) {
            channel.close();
        } else if (before == State.CONNECTING) {
            connector.abort();
        } else {
            finishClose();
        }
    }

    private void finishClose() {
        endConnectPromises(new ClosedChannelException());
        calls.end();
        calls.atEnd(() -> closed.trySuccess(null));
    }

    /** Brings replies and their calls together. */
    private final class Replies extends ChannelInboundHandlerAdapter {

        @Override
        public void channelActive(ChannelHandlerContext ctx) {
            calls.event(() -> connected(ctx.channel()));
            ctx.fireChannelActive();
        }

        @Override
        public void channelRead(ChannelHandlerContext ctx, Object message) {
            if (!calls.received(message)) {
                ctx.fireChannelRead(message);
            }
        }

        @Override
        public void channelInactive(ChannelHandlerContext ctx) {
            calls.event(() -> lost(ctx.channel()));
            ctx.fireChannelInactive();
        }

        @Override
        public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
            lastFailure = cause;
            ctx.close();
        }
    }
}
