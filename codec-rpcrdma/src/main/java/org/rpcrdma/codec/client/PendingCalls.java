// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.client;

import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.EventLoop;
import io.netty.util.ReferenceCounted;
import java.nio.channels.ClosedChannelException;
import java.util.concurrent.CancellationException;
import org.rpcrdma.channel.RdmaException;
import org.rpcrdma.codec.InternalCodec;
import org.rpcrdma.codec.RemoteChunkException;
import org.rpcrdma.codec.RpcRdmaCounter;
import org.rpcrdma.codec.RpcRdmaException;
import org.rpcrdma.codec.RpcRdmaFailure;
import org.rpcrdma.codec.internal.DeferredNotifications;
import org.rpcrdma.codec.wire.RpcCallHeader;

/**
 * The calls of one requester that have no reply yet, and what is done for them when a channel is lost or the responder
 * has no room for the reply. There is one channel at a time; where it comes from is its owner's business, and so are
 * the two directions of RFC 8167 the same here.
 *
 * <p>Everything belongs to one event loop, that of the channel; {@link #intake}, {@link #cancelled} and {@link #run}
 * are for any thread. {@link #moveTo} hands all of it over to another event loop. No user is called before the end of
 * an {@link #event}, and the owner is called within one.
 */
final class PendingCalls implements CallSubmissionQueue.Starter {

    /** Whoever makes the channels. Called on the event loop. */
    interface Owner {

        /** A call has begun to wait, and there is no channel. */
        void callWaits();

        /** A call is about to go out on a channel that has answered nothing, and has nothing else out. */
        void firstSent(CallReplyFuture<?> call);

        /** Some deadline is over: what is late is to be {@linkplain #expire ended}. */
        void wake(long now);

        /** A call is over, whatever has ended it. */
        void callEnded();

        /** Nothing has come on the channel in the time of calls that are over, and no other needs it. */
        void silent();

        /** Why no call is taken any more; {@code null} while calls are taken. */
        String end();

        /** Why there is no channel, if anybody knows. */
        Throwable lastFailure();

        /** The event loop is gone, and nobody else ends the calls. On whatever threads see it. */
        void terminated();
    }

    private final Owner owner;
    private final DefaultCallSettings settings;
    private final EventLoopAffinity loop;
    private final CallSubmissionQueue intake;

    // ---- event loop only

    private final DeferredNotifications outcomes;
    private final CurrentRequesterChannel channel;
    private final PendingCallTable table;
    private final CallDeadlines deadlines;
    private final RetransmissionPolicy retransmission;
    private final RefusedCalls refusedCalls;

    /**
     * @param number of this requester among {@code 1 << log2}: no two use the same XID
     */
    PendingCalls(Owner owner, DefaultCallSettings settings, EventLoop loop, int number, int log2) {
        this.owner = owner;
        this.settings = settings;
        this.loop = new EventLoopAffinity(loop, owner::terminated);
        intake = new CallSubmissionQueue(this, settings, this.loop);
        outcomes = this.loop.outcomes();
        channel = new CurrentRequesterChannel(settings.fencesCancelled());
        table = new PendingCallTable(channel, outcomes, this::ended, number, log2);
        Runnable due = () -> event(this::wake);
        deadlines = new CallDeadlines(settings, this.loop, table, channel, due);
        retransmission = new RetransmissionPolicy(settings);
        Runnable repeat = () -> event(this::repeatRefused);
        refusedCalls = new RefusedCalls(settings.clock(), this.loop, repeat);
    }

    // ------------------------------------------------------------------ any thread

    /** Where calls are handed in, and how many of them are not over. */
    CallSubmissionQueue intake() {
        return intake;
    }

    @Override
    public EventLoop loop() {
        return loop.current();
    }

    /** A user has given a call up: perhaps in the middle of an event, so it is one of its own. */
    @Override
    public void cancelled(CallReplyFuture<?> call) {
        // When the event loop is gone, so is everything that the call has.
        run(() -> giveUp(call));
    }

    /** As {@link EventLoopAffinity#run}. */
    boolean run(Runnable task) {
        return loop.run(task);
    }

    // ------------------------------------------------------------------ events

    /** As {@link EventLoopAffinity#event}. */
    void event(Runnable what) {
        loop.event(what);
    }

    /** Has it done at the end of the event, behind what is to be told by now. */
    void atEnd(Runnable what) {
        outcomes.add(what);
    }

    // ------------------------------------------------------------------ begin and end of calls

    @Override
    public void start(CallReplyFuture<?> call) {
        call.isStarted = true;
        table.number(call);
        String end = owner.end();
        if (call.isDone()) {
            table.drop(call);
        } else if (end != null) {
            table.fail(call, retransmission.lost(call, end, null));
        } else if (table.size() > settings.config().maxQueuedCalls()) {
            table.fail(call, InternalCodec.queueFull(settings.config().maxQueuedCalls()));
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

    private void send(CallReplyFuture<?> call) {
        if (!channel.isActive()) {
            return; // closed already: the loss is on its way, and sees a call that was not sent
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

    /** The write of a call has failed: either it alone is bad, or the connection ends, which {@link #lost} sees to. */
    @Override
    public void writeFailed(CallReplyFuture<?> call, Throwable cause) {
        if (!table.contains(call)) {
            return;
        }
        if (InternalCodec.isNotSent(cause) || cause instanceof CancellationException) {
            call.notSent();
        } else if (cause instanceof ClosedChannelException
                || cause instanceof RdmaException
                || CurrentRequesterChannel.isOut(call)) {
            call.channel.close();
        } else {
            boolean isNamed =
                    cause instanceof RpcRdmaException || cause instanceof IllegalArgumentException;
            Throwable named = isNamed ? cause : InternalCodec.marshalFailure(cause);
            call.notSent();
            event(() -> table.fail(call, retransmission.notSent(call, named)));
        }
    }

    /**
     * Takes what the codec of the channel has delivered, if it ends a call from here: others may call on the channel
     * too.
     *
     * @return whether it was taken; otherwise it is still the caller's
     */
    boolean received(Object message) {
        if (message instanceof RpcRdmaFailure failure) {
            CallReplyFuture<?> call = out(failure.xid());
            if (call != null) {
                event(() -> refused(call, failure));
            }
            return call != null;
        }
        ByteBuf payload = InternalCodec.payloadOf(message);
        if (!RpcCallHeader.isOfType(payload, RpcCallHeader.REPLY)) {
            return false;
        }
        CallReplyFuture<?> call = out(payload.getInt(payload.readerIndex()));
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

    /** The call with that XID that was written to the channel; {@code null} when there is none. */
    private CallReplyFuture<?> out(int xid) {
        CallReplyFuture<?> call = table.get(xid);
        return call != null && channel.has(call) ? call : null;
    }

    private void refused(CallReplyFuture<?> call, RpcRdmaFailure failure) {
        if (failure.cause() instanceof RemoteChunkException chunk && mayGrow(call, chunk)) {
            retransmission.grow(call, chunk);
            table.renew(call);
            channel.count(RpcRdmaCounter.CALLS_REPEATED);
            send(call);
            flush();
        } else if (failure.cause() instanceof RemoteChunkException chunk
                && owner.end() == null
                && retransmission.mayRepeat(call, chunk)) {
            call.isRepeated = true;
            call.refusal = chunk;
            call.refused();
            table.renew(call);
            refusedCalls.add(call);
        } else {
            table.fail(call, failure.cause());
        }
    }

    /** The pause of calls that were refused is over; what was sent on another channel meanwhile is not sent again. */
    private void repeatRefused() {
        for (CallReplyFuture<?> call = refusedCalls.poll();
                call != null;
                call = refusedCalls.poll()) {
            if (table.contains(call) && call.channel == null && channel.isThere()) {
                channel.count(RpcRdmaCounter.CALLS_REPEATED);
                send(call);
            }
        }
        flush();
    }

    private boolean mayGrow(CallReplyFuture<?> call, RemoteChunkException chunk) {
        return channel.mayGrow() && owner.end() == null && retransmission.mayGrow(call, chunk);
    }

    private void giveUp(CallReplyFuture<?> call) {
        // Otherwise it is over, or still handed in, and found done when it is to start.
        if (call.isStarted && table.contains(call)) {
            table.drop(call);
            channel.cancel(call);
        }
    }

    private void ended(CallReplyFuture<?> call) {
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

    /** Whether the responder may have a call from the channel that there is. */
    boolean areInDoubt() {
        return table.anyMatch(call -> call.isInDoubt);
    }

    /** There is a channel: nothing is sent on it before {@link #sendAll}. */
    void connected(Channel made) {
        channel.use(made);
    }

    /**
     * Sends what waits; what was sent on an earlier channel goes with the same XID (RFC 8166, 4.5.5; RFC 8167, 5.4).
     */
    void sendAll() {
        for (CallReplyFuture<?> call : table.inOrder()) {
            if (call.channel == null) {
                if (call.wasSent) {
                    channel.count(RpcRdmaCounter.CALLS_RETRANSMITTED);
                }
                send(call);
            }
        }
        flush();
    }

    /** How a channel has ended. */
    enum Loss {
        /** It broke, or the peer has closed it. */
        BROKEN,
        /** It is not used any more because that was decided here, which costs no call anything. */
        LEFT,
        /** It broke by the calls themselves: they go to no other one. */
        DEADLY
    }

    /** The channel is gone, and with it every handle: calls go to the next one, or fail. */
    void lost(String why, Loss loss) {
        channel.use(null);
        refusedCalls.clear();
        for (CallReplyFuture<?> call : table.inOrder()) {
            boolean wasInDoubt = call.isInDoubt;
            call.channel = null;
            call.isInDoubt = false;
            call.wasSent |= wasInDoubt;
            boolean isRepeated = loss != Loss.DEADLY && call.options.isRetransmitted();
            if (call.isOfOneChannel || (wasInDoubt && !isRepeated)) {
                table.fail(call, retransmission.lost(call, why, owner.lastFailure()));
            } else if (wasInDoubt && loss == Loss.BROKEN) {
                loseOrKeep(call, why, owner.lastFailure());
            }
        }
    }

    /** There was to be a channel, and there is none. */
    void notConnected(String why, Throwable cause) {
        for (CallReplyFuture<?> call : table.inOrder()) {
            loseOrKeep(call, why, cause);
        }
    }

    private void loseOrKeep(CallReplyFuture<?> call, String why, Throwable cause) {
        if (!retransmission.recordLoss(call)) {
            table.fail(call, retransmission.lostOften(call, why, cause));
        }
    }

    /** The channel is not used any more though it lives: its calls are given up there, as if it were lost. */
    void abandonChannel(String why) {
        for (CallReplyFuture<?> call : table.inOrder()) {
            channel.leave(call);
        }
        lost(why, Loss.LEFT);
    }

    /**
     * Hands everything over to another event loop, if there is no channel by then: in a turn of its own, when all is
     * told here. This one touches nothing afterwards.
     *
     * @param then an event on whichever event loop it is then
     */
    void moveTo(EventLoop next, Runnable then) {
        loop.execute(
                () -> {
                    if (loop.isHere() && !channel.isThere() && owner.end() == null) {
                        deadlines.stop();
                        loop.moveTo(next);
                        run(deadlines::armAll);
                    }
                    run(then);
                });
    }

    // ------------------------------------------------------------------ time

    /** Has the owner woken at that time, or earlier. */
    void arm(long deadline) {
        deadlines.arm(deadline);
    }

    private void wake() {
        if (owner.end() == null) {
            owner.wake(settings.clock().nanoTime());
            deadlines.armAll();
        }
    }

    /** Fails what is late. */
    void expire(long now) {
        if (deadlines.expire(now, owner.lastFailure())) {
            owner.silent();
        }
    }

    // ------------------------------------------------------------------ end

    /** Ends all calls, those that were just submitted included; {@link Owner#end} says why already. */
    void end() {
        event(
                () -> {
                    intake.startSubmitted();
                    failAll(owner.end());
                });
        loop.removeListener();
    }

    /** Ends the calls that there are. */
    void failAll(String why) {
        for (CallReplyFuture<?> call : table.inOrder()) {
            table.fail(call, retransmission.lost(call, why, null));
        }
    }

    void stopTimer() {
        deadlines.stop();
        refusedCalls.clear();
    }
}
