// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.client;

import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.EventLoop;
import io.netty.util.ReferenceCounted;
import java.nio.channels.ClosedChannelException;
import java.util.concurrent.CancellationException;
import org.rpcrdma.channel.WorkRequestFailedException;
import org.rpcrdma.codec.CallFailureMessage;
import org.rpcrdma.codec.ErrChunkReplyException;
import org.rpcrdma.codec.RpcRdmaCounter;
import org.rpcrdma.codec.RpcRdmaException;
import org.rpcrdma.codec.access.CodecAccess;
import org.rpcrdma.codec.internal.DeferredNotifications;
import org.rpcrdma.codec.wire.OncRpcHeaderDecoder;

/**
 * Calls of one requester without an outcome: sends, retransmits after the loss of a channel, and repeats after
 * ERR_CHUNK. Uses one channel at a time, which its owner provides; so it serves both directions of RFC 8167.
 *
 * <p>All state belongs to the event loop of the channel; {@link #intake}, {@link #cancelled} and {@link #tryExecute}
 * may be called from any thread. {@link #moveTo} hands all state over to another event loop. User code is called at the
 * end of an {@link #event}, the owner within one.
 */
final class CallRetransmissionController implements CallHandoverQueue.Starter {

    /** Provides the channels. Called on the event loop. */
    interface Owner {

        /** A call waits, and there is no channel. */
        void callWaits();

        /** A call is about to be sent on a channel without any answer and without other calls in flight. */
        void firstSent(CallWithReplyFuture<?> call);

        /** A deadline has passed: the owner calls {@link #expire}. */
        void wake(long now);

        /** A call has ended, for any reason. */
        void callEnded();

        /** The channel was silent during the whole time of late calls, and no other call needs it. */
        void silent();

        /** Why calls are rejected; {@code null} while calls are accepted. */
        String end();

        /** Why there is no channel, if known. */
        Throwable lastFailure();

        /** The event loop has terminated: the owner ends the calls. On any thread. */
        void terminated();
    }

    private final Owner owner;
    private final DefaultCallSettings settings;
    private final MovableRequesterEventLoop loop;
    private final CallHandoverQueue intake;

    // ---- event loop only

    private final DeferredNotifications outcomes;
    private final CurrentRequesterChannel channel;
    private final PendingCallTable table;
    private final CallDeadlineEnforcer deadlines;
    private final CallRetryPolicy retransmission;
    private final ErrChunkCallRetryQueue refusedCalls;

    /**
     * @param number of this requester among {@code 1 << log2}, which assign disjoint XIDs
     */
    CallRetransmissionController(
            Owner owner, DefaultCallSettings settings, EventLoop loop, int number, int log2) {
        this.owner = owner;
        this.settings = settings;
        this.loop = new MovableRequesterEventLoop(loop, owner::terminated);
        intake = new CallHandoverQueue(this, settings, this.loop);
        outcomes = this.loop.outcomes();
        channel = new CurrentRequesterChannel(settings.fencesCancelled());
        table = new PendingCallTable(channel, outcomes, this::ended, number, log2);
        Runnable due = () -> event(this::wake);
        deadlines = new CallDeadlineEnforcer(settings, this.loop, table, channel, due);
        retransmission = new CallRetryPolicy(settings);
        Runnable repeat = () -> event(this::repeatRefused);
        refusedCalls = new ErrChunkCallRetryQueue(settings.clock(), this.loop, repeat);
    }

    // ------------------------------------------------------------------ any thread

    /** The submission queue, with the number of calls without an outcome. */
    CallHandoverQueue intake() {
        return intake;
    }

    @Override
    public EventLoop loop() {
        return loop.current();
    }

    /** The user has cancelled a call, possibly within an event, so this is a separate event. */
    @Override
    public void cancelled(CallWithReplyFuture<?> call) {
        // After termination of the event loop the call has no resources left.
        tryExecute(() -> giveUp(call));
    }

    /** As {@link MovableRequesterEventLoop#tryExecute}. */
    boolean tryExecute(Runnable task) {
        return loop.tryExecute(task);
    }

    // ------------------------------------------------------------------ events

    /** As {@link MovableRequesterEventLoop#event}. */
    void event(Runnable what) {
        loop.event(what);
    }

    /** Runs an action at the end of the event, after the notifications already deferred. */
    void atEnd(Runnable what) {
        outcomes.add(what);
    }

    // ------------------------------------------------------------------ begin and end of calls

    @Override
    public void start(CallWithReplyFuture<?> call) {
        call.isStarted = true;
        table.number(call);
        String end = owner.end();
        if (call.isDone()) {
            table.drop(call);
        } else if (end != null) {
            table.fail(call, retransmission.lost(call, end, null));
        } else if (table.size() > settings.config().maxQueuedCalls()) {
            table.fail(call, CodecAccess.CODEC.queueFull(settings.config().maxQueuedCalls()));
        } else {
            table.add(call);
            arm(call.deadline);
            if (channel.isThere()) {
                send(call);
            } else {
                owner.callWaits();
            }
        }
    }

    private void send(CallWithReplyFuture<?> call) {
        if (!channel.isActive()) {
            return; // closed: the pending event of the loss treats the call as not sent
        }
        Exception problem = call.prepare();
        if (problem != null) {
            table.fail(call, retransmission.notSent(call, problem));
            return;
        }
        call.answersBefore = channel.answers();
        if (call.answersBefore == 0 && channel.isIdle()) {
            owner.firstSent(call);
        }
        channel.write(call);
    }

    @Override
    public void flush() {
        channel.flush();
    }

    /**
     * The write of a call has failed: either only this call fails, or the connection ends, which {@link #lost} handles.
     */
    @Override
    public void writeFailed(CallWithReplyFuture<?> call, Throwable cause) {
        if (!table.contains(call)) {
            return;
        }
        if (CodecAccess.CODEC.isNotSent(cause) || cause instanceof CancellationException) {
            call.notSent();
        } else if (cause instanceof ClosedChannelException
                || cause instanceof WorkRequestFailedException
                || CurrentRequesterChannel.isOut(call)) {
            call.channel.close();
        } else {
            boolean isNamed =
                    cause instanceof RpcRdmaException || cause instanceof IllegalArgumentException;
            Throwable named = isNamed ? cause : CodecAccess.CODEC.marshalFailure(cause);
            call.notSent();
            event(() -> table.fail(call, retransmission.notSent(call, named)));
        }
    }

    /**
     * Takes a message from the codec if it ends a call of this requester: other requesters may use the channel too.
     *
     * @return whether the message was taken; otherwise the caller still owns it
     */
    boolean tryReceive(Object message) {
        if (message instanceof CallFailureMessage failure) {
            CallWithReplyFuture<?> call = out(failure.xid());
            if (call != null) {
                event(() -> refused(call, failure));
            }
            return call != null;
        }
        ByteBuf payload = CodecAccess.CODEC.payloadOf(message);
        if (!OncRpcHeaderDecoder.isOfType(payload, OncRpcHeaderDecoder.REPLY)) {
            return false;
        }
        CallWithReplyFuture<?> call = out(payload.getInt(payload.readerIndex()));
        if (call == null) {
            return false;
        }
        outcomes.begin();
        try {
            table.answer(call, (ReferenceCounted) message);
        } finally {
            outcomes.end();
        }
        return true;
    }

    /** The call with that XID that was written to the channel; {@code null} if none. */
    private CallWithReplyFuture<?> out(int xid) {
        CallWithReplyFuture<?> call = table.get(xid);
        return call != null && channel.has(call) ? call : null;
    }

    private void refused(CallWithReplyFuture<?> call, CallFailureMessage failure) {
        if (failure.cause() instanceof ErrChunkReplyException chunk && mayGrow(call, chunk)) {
            retransmission.grow(call, chunk);
            table.renew(call);
            channel.count(RpcRdmaCounter.CALLS_REPEATED);
            send(call);
            flush();
        } else if (failure.cause() instanceof ErrChunkReplyException chunk
                && owner.end() == null
                && retransmission.mayRepeat(call, chunk)) {
            call.repeatUnchanged(chunk);
            table.renew(call);
            refusedCalls.add(call);
        } else {
            table.fail(call, failure.cause());
        }
    }

    /** Repeats refused calls after their pause, except those sent on another channel meanwhile. */
    private void repeatRefused() {
        for (CallWithReplyFuture<?> call = refusedCalls.poll();
                call != null;
                call = refusedCalls.poll()) {
            if (table.contains(call) && call.channel == null && channel.isThere()) {
                channel.count(RpcRdmaCounter.CALLS_REPEATED);
                send(call);
            }
        }
        flush();
    }

    private boolean mayGrow(CallWithReplyFuture<?> call, ErrChunkReplyException chunk) {
        return channel.mayGrow() && owner.end() == null && retransmission.mayGrow(call, chunk);
    }

    private void giveUp(CallWithReplyFuture<?> call) {
        // Otherwise the call has ended, or is still in the submission queue, and is dropped at its
        // start.
        if (call.isStarted && table.contains(call)) {
            table.drop(call);
            channel.cancel(call);
        }
    }

    private void ended(CallWithReplyFuture<?> call) {
        retransmission.ended(call);
        intake.ended();
        owner.callEnded();
    }

    // ------------------------------------------------------------------ channels

    /** {@code null} while there is none. */
    Channel channel() {
        return channel.channel();
    }

    /** Whether calls wait, for a channel or a reply. */
    boolean areWaiting() {
        return !table.isEmpty();
    }

    /** Whether the responder may have received a call on the current channel. */
    boolean areInDoubt() {
        return table.anyMatch(call -> call.isInDoubt);
    }

    /** Sets the channel. No call is sent on it before {@link #sendAll}. */
    void connected(Channel made) {
        channel.use(made);
    }

    /**
     * Sends all waiting calls; retransmissions keep their XID (RFC 8166, 4.5.5; RFC 8167, 5.4).
     */
    void sendAll() {
        for (CallWithReplyFuture<?> call : table.inOrder()) {
            if (call.channel == null) {
                if (call.wasSent) {
                    channel.count(RpcRdmaCounter.CALLS_RETRANSMITTED);
                }
                send(call);
            }
        }
        flush();
    }

    /** Cause of the end of a channel. */
    enum Loss {
        /** The connection failed, or the peer has closed it. */
        BROKEN,
        /** This side has left the channel, which does not count as a loss for any call. */
        LEFT,
        /** The calls themselves have broken the connection: they are not retransmitted. */
        DEADLY
    }

    /** The channel is lost, which invalidates all handles: calls are retransmitted on the next channel, or fail. */
    void lost(String why, Loss loss) {
        channel.use(null);
        refusedCalls.clear();
        for (CallWithReplyFuture<?> call : table.inOrder()) {
            boolean wasInDoubt = call.isInDoubt;
            call.lostChannel();
            boolean isRepeated = loss != Loss.DEADLY && call.options.isRetransmitted();
            if (call.isOfOneChannel || (wasInDoubt && !isRepeated)) {
                table.fail(call, retransmission.lost(call, why, owner.lastFailure()));
            } else if (wasInDoubt && loss == Loss.BROKEN) {
                loseOrKeep(call, why, owner.lastFailure());
            }
        }
    }

    /** A connection attempt has failed. */
    void notConnected(String why, Throwable cause) {
        for (CallWithReplyFuture<?> call : table.inOrder()) {
            loseOrKeep(call, why, cause);
        }
    }

    private void loseOrKeep(CallWithReplyFuture<?> call, String why, Throwable cause) {
        retransmission.recordLoss(call);
        if (!retransmission.mayRetransmit(call)) {
            table.fail(call, retransmission.lostOften(call, why, cause));
        }
    }

    /** Leaves a channel that stays open: its calls are cancelled there and treated as after a loss. */
    void abandonChannel(String why) {
        for (CallWithReplyFuture<?> call : table.inOrder()) {
            channel.leave(call);
        }
        lost(why, Loss.LEFT);
    }

    /**
     * Hands all state over to another event loop, if there is no channel by then: in a separate task, after all
     * notifications of this event loop, which does not access the state afterwards.
     *
     * @param then event on the event loop that is current by then
     */
    void moveTo(EventLoop next, Runnable then) {
        loop.execute(
                () -> {
                    if (loop.isHere() && !channel.isThere() && owner.end() == null) {
                        deadlines.stop();
                        loop.moveTo(next);
                        tryExecute(this::arrive);
                    }
                    tryExecute(then);
                });
    }

    /** Those too that the event loop before has refused while it was shutting down: nobody else starts them here. */
    private void arrive() {
        deadlines.armAll();
        intake.startSubmitted();
        flush();
    }

    // ------------------------------------------------------------------ time

    /** Arms the timer: wakes the owner at that time, or earlier. */
    void arm(long deadline) {
        deadlines.arm(deadline);
    }

    private void wake() {
        if (owner.end() == null) {
            owner.wake(settings.clock().nanoTime());
            deadlines.armAll();
        }
    }

    /** Fails late calls. */
    void expire(long now) {
        if (deadlines.expire(now, owner.lastFailure())) {
            owner.silent();
        }
    }

    // ------------------------------------------------------------------ end

    /** Fails all calls, including submitted ones, with the reason of {@link Owner#end}. */
    void end() {
        event(
                () -> {
                    intake.startSubmitted();
                    failAll(owner.end());
                });
        loop.removeListener();
    }

    /** Fails all current calls. */
    void failAll(String why) {
        for (CallWithReplyFuture<?> call : table.inOrder()) {
            table.fail(call, retransmission.lost(call, why, null));
        }
    }

    void stopTimer() {
        deadlines.stop();
        refusedCalls.clear();
    }
}
