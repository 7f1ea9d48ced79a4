// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.client;

import org.rpcrdma.codec.CallTimeoutException;
import org.rpcrdma.codec.InternalCodec;
import org.rpcrdma.codec.RpcRdmaCounter;

/**
 * Finds calls that are past their deadline, and decides what their silence means for the channel that they are
 * outstanding on. Event loop only.
 */
final class CallDeadlines {

    private final DefaultCallSettings settings;
    private final PendingCallTable table;
    private final CurrentRequesterChannel channel;
    private final EarliestDeadlineTimer timer;

    /**
     * @param due is run when a deadline is over; they are to be armed again then
     */
    CallDeadlines(
            DefaultCallSettings settings,
            EventLoopAffinity loop,
            PendingCallTable table,
            CurrentRequesterChannel channel,
            Runnable due) {
        this.settings = settings;
        this.table = table;
        this.channel = channel;
        timer = new EarliestDeadlineTimer(settings.clock(), loop, due);
    }

    /** Has it run at that time, or earlier. */
    void arm(long deadline) {
        timer.arm(deadline);
    }

    /** The timer is set once, whatever the order of the calls: their XIDs begin at random. */
    void armAll() {
        CallReplyFuture<?> first = null;
        for (CallReplyFuture<?> call : table.all()) {
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
     * Fails what is late.
     *
     * @param lastFailure why there is no channel, if that is so and anybody knows
     * @return whether nothing has come on the channel in the time of calls that are over, and no other needs it
     */
    boolean expire(long now, Throwable lastFailure) {
        long patience = 0;
        for (CallReplyFuture<?> call : table.late(now)) {
            if (channel.isSilentSince(call)) {
                patience = Math.max(patience, settings.timeoutMillis(call.options));
            }
            channel.cancel(call);
            InternalCodec.increment(settings.config().metrics(), RpcRdmaCounter.CALLS_TIMED_OUT);
            table.fail(call, timeout(call, lastFailure));
        }
        return patience > 0 && isNeededByNobody(patience);
    }

    private CallTimeoutException timeout(CallReplyFuture<?> call, Throwable lastFailure) {
        return InternalCodec.timeout(
                settings.timeoutMillis(call.options),
                call.transmissions,
                channel.badReplies(),
                channel.isThere() ? null : lastFailure);
    }

    /**
     * Whether the channel, which has been silent for so long, may be closed: no call would fail by that, and none is
     * out that was given more time. As long as one is, nobody can tell a slow responder from a dead one.
     */
    private boolean isNeededByNobody(long millis) {
        return !table.anyMatch(call -> call.isInDoubt && isNeededBy(call, millis));
    }

    private boolean isNeededBy(CallReplyFuture<?> call, long millis) {
        if (call.isOfOneChannel) {
            return false; // it ends with the channel whatever happens
        }
        return !call.options.isRetransmitted()
                || (settings.timeoutMillis(call.options) > millis && channel.isAwaited(call.xid));
    }
}
