// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.client;

import org.rpcrdma.codec.CallTimeoutException;
import org.rpcrdma.codec.RpcRdmaCounter;
import org.rpcrdma.codec.access.CodecAccess;

/**
 * Fails calls past their deadline, and decides whether the responder's silence justifies closing their channel. Event
 * loop only.
 */
final class CallDeadlineEnforcer {

    private final DefaultCallSettings settings;
    private final PendingCallTable table;
    private final CurrentRequesterChannel channel;
    private final EarliestDeadlineTimer timer;

    /**
     * @param due runs when a deadline has passed; the caller must arm the deadlines again
     */
    CallDeadlineEnforcer(
            DefaultCallSettings settings,
            MovableRequesterEventLoop loop,
            PendingCallTable table,
            CurrentRequesterChannel channel,
            Runnable due) {
        this.settings = settings;
        this.table = table;
        this.channel = channel;
        timer = new EarliestDeadlineTimer(settings.clock(), loop, due);
    }

    /** Arms the timer for a deadline, unless it is armed for an earlier one. */
    void arm(long deadline) {
        timer.arm(deadline);
    }

    /** Arms the timer once, for the earliest deadline; iteration by XID has no order in time. */
    void armAll() {
        CallWithReplyFuture<?> first = null;
        for (CallWithReplyFuture<?> call : table.all()) {
            if (first == null || call.deadline - first.deadline < 0) {
                first = call;
            }
        }
        if (first != null) {
            arm(first.deadline);
        }
    }

    void stop() {
        timer.stop();
    }

    /**
     * Fails late calls.
     *
     * @param lastFailure why there is no channel, if known
     * @return whether the channel was silent during the whole time of the late calls, and no other call needs it
     */
    boolean expire(long now, Throwable lastFailure) {
        long patience = 0;
        for (CallWithReplyFuture<?> call : table.late(now)) {
            if (!table.contains(call)) {
                continue; // failed when the end of an earlier one made room for it
            }
            if (channel.isSilentSince(call)) {
                patience = Math.max(patience, settings.timeoutMillis(call.options));
            }
            channel.cancel(call);
            CodecAccess.CODEC.increment(settings.metrics(), RpcRdmaCounter.CALLS_TIMED_OUT);
            table.fail(call, timeout(call, lastFailure));
        }
        return patience > 0 && isNeededByNobody(patience);
    }

    private CallTimeoutException timeout(CallWithReplyFuture<?> call, Throwable lastFailure) {
        return CodecAccess.CODEC.timeout(
                settings.timeoutMillis(call.options),
                call.transmissions,
                channel.badReplies(),
                channel.isThere() ? null : lastFailure);
    }

    /**
     * Whether a channel that was silent for that time may be closed: no call would fail, and no call in flight has a
     * longer time-out. With such a call, a slow responder cannot be told from a dead one.
     */
    private boolean isNeededByNobody(long millis) {
        return !table.anyMatch(call -> call.isInDoubt && isNeededBy(call, millis));
    }

    private boolean isNeededBy(CallWithReplyFuture<?> call, long millis) {
        if (call.isOfOneChannel) {
            return false; // it cannot move to another channel
        }
        if (channel.isQueued(call.xid)) {
            return false; // it moves unharmed, and the credit that it waits for may never come back
        }
        return !call.options.isRetransmitted()
                || (settings.timeoutMillis(call.options) > millis && channel.isAwaited(call.xid));
    }
}
