// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.util.ReferenceCounted;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.Consumer;
import java.util.function.Predicate;

/**
 * The calls of one requester that are not over, by their XIDs, which it gives out. What has become of one is told at
 * the end of the event. Event loop only.
 */
final class CallTable {

    private static final Comparator<ClientCall<?>> OLDEST_FIRST =
            Comparator.comparingLong(call -> call.serial);

    private final CallChannel channel;
    private final Outcomes outcomes;
    private final Consumer<ClientCall<?>> ended;
    private final XidMap<ClientCall<?>> calls = new XidMap<>();
    private final int xidStep;
    private int nextXid;
    private long nextSerial;

    /**
     * @param ended is told of each call that is over, whatever has ended it
     * @param number of the requester among {@code 1 << log2}: no two give out the same XID
     */
    CallTable(
            CallChannel channel,
            Outcomes outcomes,
            Consumer<ClientCall<?>> ended,
            int number,
            int log2) {
        this.channel = channel;
        this.outcomes = outcomes;
        this.ended = ended;
        xidStep = 1 << log2;
        nextXid = (ThreadLocalRandom.current().nextInt() << log2) | number;
    }

    /** The order of the calls is that of this method. */
    void number(ClientCall<?> call) {
        call.serial = nextSerial++;
    }

    /**
     * Gives the call a fresh XID: not that of one that waits, nor of one that was given up and may still be answered.
     */
    void add(ClientCall<?> call) {
        int xid;
        do {
            xid = nextXid;
            nextXid += xidStep;
        } while (calls.containsKey(xid) || channel.mayAnswer(xid));
        call.xid = xid;
        calls.put(xid, call);
    }

    /** Makes it a new call, for the responder as well. */
    void renew(ClientCall<?> call) {
        calls.remove(call.xid);
        add(call);
    }

    // ------------------------------------------------------------------ the end of calls

    /** Takes a reply over, for the call with that XID. */
    void answer(int xid, ReferenceCounted reply) {
        ClientCall<?> call = calls.get(xid);
        if (call == null) {
            reply.release(); // the caller has just given it up
            return;
        }
        drop(call);
        call.answeredBy(reply);
        outcomes.add(call);
    }

    /** Ends a call, whether it was added or not. */
    void fail(ClientCall<?> call, Throwable cause) {
        drop(call);
        call.failedBy(cause);
        outcomes.add(call);
    }

    /** Forgets a call whose user knows already what has become of it. */
    void drop(ClientCall<?> call) {
        if (contains(call)) {
            calls.remove(call.xid);
        }
        call.releaseMessage();
        ended.accept(call);
    }

    // ------------------------------------------------------------------ which there are

    boolean contains(ClientCall<?> call) {
        return calls.get(call.xid) == call;
    }

    /** The call that has the XID, or {@code null}. */
    ClientCall<?> get(int xid) {
        return calls.get(xid);
    }

    boolean isEmpty() {
        return calls.isEmpty();
    }

    int size() {
        return calls.size();
    }

    /** In any order, and not to be changed meanwhile. */
    Iterable<ClientCall<?>> all() {
        return calls.values();
    }

    boolean anyMatch(Predicate<ClientCall<?>> condition) {
        for (ClientCall<?> call : calls.values()) {
            if (condition.test(call)) {
                return true;
            }
        }
        return false;
    }

    /** The oldest first: XIDs have no order. A copy, so that calls may be removed and added meanwhile. */
    List<ClientCall<?>> inOrder() {
        List<ClientCall<?>> copy = new ArrayList<>(calls.values());
        copy.sort(OLDEST_FIRST);
        return copy;
    }

    /** Those whose time is over, the oldest first. */
    List<ClientCall<?>> late(long now) {
        List<ClientCall<?>> late = List.of();
        for (ClientCall<?> call : calls.values()) {
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
