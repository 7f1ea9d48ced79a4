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
 * Table of one requester's calls without an outcome, by XID. Assigns the XIDs. Outcomes are notified at the end of the
 * event. Event loop only.
 */
final class PendingCallTable {

    private static final Comparator<CallWithReplyFuture<?>> OLDEST_FIRST =
            Comparator.comparingLong(call -> call.serial);

    private final CurrentRequesterChannel channel;
    private final DeferredNotifications outcomes;
    private final Consumer<CallWithReplyFuture<?>> ended;
    private final XidHashMap<CallWithReplyFuture<?>> calls = new XidHashMap<>();
    private final int xidStep;
    private int nextXid;
    private long nextSerial;

    /**
     * @param ended receives each call that has ended, for any reason
     * @param number of the requester among {@code 1 << log2}, which assign disjoint XIDs
     */
    PendingCallTable(
            CurrentRequesterChannel channel,
            DeferredNotifications outcomes,
            Consumer<CallWithReplyFuture<?>> ended,
            int number,
            int log2) {
        this.channel = channel;
        this.outcomes = outcomes;
        this.ended = ended;
        xidStep = 1 << log2;
        nextXid = (ThreadLocalRandom.current().nextInt() << log2) | number;
    }

    /** Numbers a call: calls are ordered by the calls of this method. */
    void number(CallWithReplyFuture<?> call) {
        call.serial = nextSerial++;
    }

    /**
     * Adds a call with a new XID, not used by a pending call or by a cancelled one that may still be answered.
     */
    void add(CallWithReplyFuture<?> call) {
        int xid;
        do {
            xid = nextXid;
            nextXid += xidStep;
        } while (calls.containsKey(xid) || channel.mayAnswer(xid));
        call.assign(xid);
        calls.put(xid, call);
    }

    /** Assigns another XID, so that the responder sees a new call. */
    void renew(CallWithReplyFuture<?> call) {
        calls.remove(call.xid);
        add(call);
    }

    // ------------------------------------------------------------------ the end of calls

    /** Completes a call with its reply, which is taken over. */
    void answer(CallWithReplyFuture<?> call, ReferenceCounted reply) {
        drop(call);
        call.answeredBy(reply);
        outcomes.add(call);
    }

    /** Fails a call, whether added or not. */
    void fail(CallWithReplyFuture<?> call, Throwable cause) {
        drop(call);
        call.failedBy(cause);
        outcomes.add(call);
    }

    /** Removes a call whose future is already complete. */
    void drop(CallWithReplyFuture<?> call) {
        if (contains(call)) {
            calls.remove(call.xid);
        }
        call.releaseMessage();
        ended.accept(call);
    }

    // ------------------------------------------------------------------ which there are

    boolean contains(CallWithReplyFuture<?> call) {
        return calls.get(call.xid) == call;
    }

    /** The call with the XID, or {@code null}. */
    CallWithReplyFuture<?> get(int xid) {
        return calls.get(xid);
    }

    boolean isEmpty() {
        return calls.isEmpty();
    }

    int size() {
        return calls.size();
    }

    /** All calls in any order. Do not modify the table while iterating. */
    Iterable<CallWithReplyFuture<?>> all() {
        return calls.values();
    }

    boolean anyMatch(Predicate<CallWithReplyFuture<?>> condition) {
        for (CallWithReplyFuture<?> call : calls.values()) {
            if (condition.test(call)) {
                return true;
            }
        }
        return false;
    }

    /** All calls, oldest first. A copy, so that the table may be modified while iterating. */
    List<CallWithReplyFuture<?>> inOrder() {
        List<CallWithReplyFuture<?>> copy = new ArrayList<>(calls.values());
        copy.sort(OLDEST_FIRST);
        return copy;
    }

    /** Calls past their deadline, oldest first. */
    List<CallWithReplyFuture<?>> late(long now) {
        List<CallWithReplyFuture<?>> late = List.of();
        for (CallWithReplyFuture<?> call : calls.values()) {
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
