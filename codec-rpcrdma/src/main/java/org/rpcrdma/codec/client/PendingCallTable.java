// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.client;

import io.netty.util.ReferenceCounted;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.Consumer;
import java.util.function.Predicate;
import org.rpcrdma.codec.internal.DeferredNotifications;
import org.rpcrdma.codec.internal.XidHashMap;

/**
 * The calls of one requester that are not over, by their XIDs, which it gives out. What has become of one is told at
 * the end of the event. Event loop only.
 */
final class PendingCallTable {

    private static final Comparator<CallReplyFuture<?>> OLDEST_FIRST =
            Comparator.comparingLong(call -> call.serial);

    private final CurrentRequesterChannel channel;
    private final DeferredNotifications outcomes;
    private final Consumer<CallReplyFuture<?>> ended;
    private final XidHashMap<CallReplyFuture<?>> calls = new XidHashMap<>();
    private final int xidStep;
    private int nextXid;
    private long nextSerial;

    /**
     * @param ended is told of each call that is over, whatever has ended it
     * @param number of the requester among {@code 1 << log2}: no two give out the same XID
     */
    PendingCallTable(
            CurrentRequesterChannel channel,
            DeferredNotifications outcomes,
            Consumer<CallReplyFuture<?>> ended,
            int number,
            int log2) {
        this.channel = channel;
        this.outcomes = outcomes;
        this.ended = ended;
        xidStep = 1 << log2;
        nextXid = (ThreadLocalRandom.current().nextInt() << log2) | number;
    }

    /** The order of the calls is that of this method. */
    void number(CallReplyFuture<?> call) {
        call.serial = nextSerial++;
    }

    /**
     * Gives the call a fresh XID: not that of one that waits, nor of one that was given up and may still be answered.
     */
    void add(CallReplyFuture<?> call) {
        int xid;
        do {
            xid = nextXid;
            nextXid += xidStep;
        } while (calls.containsKey(xid) || channel.mayAnswer(xid));
        call.xid = xid;
        calls.put(xid, call);
    }

    /** Makes it a new call, for the responder as well. */
    void renew(CallReplyFuture<?> call) {
        calls.remove(call.xid);
        add(call);
    }

    // ------------------------------------------------------------------ the end of calls

    /** Takes the reply to a call over. */
    void answer(CallReplyFuture<?> call, ReferenceCounted reply) {
        drop(call);
        call.answeredBy(reply);
        outcomes.add(call);
    }

    /** Ends a call, whether it was added or not. */
    void fail(CallReplyFuture<?> call, Throwable cause) {
        drop(call);
        call.failedBy(cause);
        outcomes.add(call);
    }

    /** Forgets a call whose user knows already what has become of it. */
    void drop(CallReplyFuture<?> call) {
        if (contains(call)) {
            calls.remove(call.xid);
        }
        call.releaseMessage();
        ended.accept(call);
    }

    // ------------------------------------------------------------------ which there are

    boolean contains(CallReplyFuture<?> call) {
        return calls.get(call.xid) == call;
    }

    /** The call that has the XID, or {@code null}. */
    CallReplyFuture<?> get(int xid) {
        return calls.get(xid);
    }

    boolean isEmpty() {
        return calls.isEmpty();
    }

    int size() {
        return calls.size();
    }

    /** In any order, and not to be changed meanwhile. */
    Iterable<CallReplyFuture<?>> all() {
        return calls.values();
    }

    boolean anyMatch(Predicate<CallReplyFuture<?>> condition) {
        for (CallReplyFuture<?> call : calls.values()) {
            if (condition.test(call)) {
                return true;
            }
        }
        return false;
    }

    /** The oldest first: XIDs have no order. A copy, so that calls may be removed and added meanwhile. */
    List<CallReplyFuture<?>> inOrder() {
        List<CallReplyFuture<?>> copy = new ArrayList<>(calls.values());
        copy.sort(OLDEST_FIRST);
        return copy;
    }

    /** Those whose time is over, the oldest first. */
    List<CallReplyFuture<?>> late(long now) {
        List<CallReplyFuture<?>> late = List.of();
        for (CallReplyFuture<?> call : calls.values()) {
            if (call.deadline - now <= 0) {
                late = late.isEmpty() ? new ArrayList<>() : late;
                late.add(call);
            }
        }
        if (!late.isEmpty()) {
            late.sort(OLDEST_FIRST);
        }
        return late;
    }
}
