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
import org.rpcrdma.codec.RpcRdmaConnection;
import org.rpcrdma.codec.access.CodecAccess;

/**
 * One of the connections of an {@link RpcRdmaClient}: one channel at a time, connected when a call needs it, or kept
 * connected for reverse calls. All channels use one event loop; {@link #connectNow} and {@link #close} may be called
 * from any thread.
 */
final class ReconnectingClientConnection implements CallRetransmissionController.Owner {

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
    private final CallRetransmissionController calls;
    private final Promise<Void> closed = new DefaultPromise<>(GlobalEventExecutor.INSTANCE);
    private volatile RpcRdmaConnection current;

    // ---- event loop only

    private final RequesterClockAndTimers clock;
    private final ReconnectBackOff backOff;
    private final ClientChannelConnector connector;
    private final FirstReplyTimeout firstCall;
    private final ConnectionsLostToReverseCallsCounter reverseLosses =
            new ConnectionsLostToReverseCallsCounter();
    private State state = State.IDLE;
    private Channel channel;

    /** Of the last attempt, or of the current channel; {@code null} while there is none. */
    private Throwable lastFailure;

    /** Promises of {@link #connectNow} that wait for the connection. */
    private final List<Promise<Void>> connectPromises = new ArrayList<>(1);

    /** Whether this side is closing the channel in order to try another. */
    private boolean isLeft;

    /** Whether to reconnect without a call: after the first connection, if configured. */
    private boolean isKept;

    /**
     * A connection without a channel.
     *
     * @param number of this connection among {@code 1 << log2}, which assign disjoint XIDs
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
        calls = new CallRetransmissionController(this, settings.calls(), loop, number, log2);
    }

    // ------------------------------------------------------------------ any thread

    /** The submission queue of this connection. */
    CallHandoverQueue intake() {
        return calls.intake();
    }

    /** The current connection; {@code null} while there is none. Any thread. */
    RpcRdmaConnection current() {
        return current;
    }

    /** Makes one connection attempt now, without back-off. */
    Future<Void> connectNow() {
        Promise<Void> promise = new DefaultPromise<>(GlobalEventExecutor.INSTANCE);
        if (!calls.tryExecute(() -> connectFor(promise))) {
            promise.setFailure(new RejectedExecutionException("the event loop is shut down"));
        }
        return promise;
    }

    Future<Void> close() {
        if (!calls.tryExecute(this::closeNow)) {
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
    public void firstSent(CallWithReplyFuture<?> call) {
        firstCall.sent(call, clock.nanoTime());
        armFirstCall();
    }

    private void leaveIfSilent() {
        if (isSilent()) {
            firstCall.silent();
            backOff.skip();
            leave("the responder does not answer the first call");
        }
    }

    private void armFirstCall() {
        if (firstCall.isTimed()) {
            calls.arm(firstCall.deadline());
        }
    }

    @Override
    public void wake(long now) {
        if (firstCall.isOver(now)) {
            firstCall.expired();
            leaveIfSilent();
        }
        calls.expire(now);
        if (state == State.IDLE && wantsConnection()) {
            connectWhenAllowed();
        }
        armFirstCall();
    }

    /** Whether calls are in flight without any answer; calls that failed on this side do not count. */
    private boolean isSilent() {
        return CurrentRequesterChannel.answers(channel) == 0
                && !CurrentRequesterChannel.isIdle(channel);
    }

    @Override
    public void callEnded() {
        // The connection is open, and other calls still wait for their replies.
    }

    /**
     * The responder or the network path has failed. A new connection serves the waiting calls, and recovers credits and
     * memory of cancelled ones.
     */
    @Override
    public void silent() {
        leave("the responder has not answered since a call that is late");
    }

    /** Leaves the channel for another one, which does not count as a loss for its calls. */
    private void leave(String why) {
        isLeft = true;
        CodecAccess.CODEC.closeUnanswered(current, why);
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

    /** Waits for the next channel if the current one is closed although its channelInactive is still pending. */
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
        if (!connector.recordFailure(failed)) {
            return;
        }
        lastFailure = cause;
        endConnectPromises(cause);
        if (state == State.CLOSED) {
            finishClose();
            return;
        }
        state = State.IDLE;
        calls.notConnected("no connection to " + connector.address(), cause);
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
        lastFailure = null;
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

    /** The channel is lost, which invalidates all handles: calls are retransmitted with the same XID, or fail. */
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
        RpcRdmaConnection connection = RpcRdmaConnection.of(gone);
        boolean isByReverseCall = ConnectionsLostToReverseCallsCounter.mayHaveBroken(connection);
        reverseLosses.lost(connection);
        if (isKept && reverseLosses.areTooMany()) {
            stopKeeping();
        }
        if (hasAnswered && !isByReverseCall) {
            backOff.reset();
        }
        calls.lost(
                "the connection was lost",
                isLeft
                        ? CallRetransmissionController.Loss.LEFT
                        : CallRetransmissionController.Loss.BROKEN);
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
                connector.address());
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

    /** Passes replies to their calls. */
    private final class Replies extends ChannelInboundHandlerAdapter {

        @Override
        public void channelActive(ChannelHandlerContext ctx) {
            calls.event(() -> connected(ctx.channel()));
            ctx.fireChannelActive();
        }

        @Override
        public void channelRead(ChannelHandlerContext ctx, Object message) {
            if (!calls.tryReceive(message)) {
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
