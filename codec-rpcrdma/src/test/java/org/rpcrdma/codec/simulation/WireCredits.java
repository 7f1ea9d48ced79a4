// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.simulation;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
import org.rpcrdma.codec.fault.FaultQueuePair;
import org.rpcrdma.codec.wire.TransportHeader;

/**
 * Counts on the wire what a requester has out on one connection: calls without a reply, pull completions that are due,
 * and those that no reply has proved to have arrived (RFC 8166, 3.3.1; reliable reply draft, 5.2.3). It knows what has
 * come before the requester does, so it is never stricter than the grants that the requester knows. A reply whose pull
 * completion is due takes the place of its call.
 */
final class WireCredits implements FaultQueuePair.ReceiveWatcher, FaultQueuePair.SendWatcher {

    private record Answer(int xid, int credits, int procedure, boolean isPulled) {}

    private final Consumer<String> wrong;

    /** Whether the peer answers calls twice, and calls that nobody has sent, which is no fault of this side. */
    private final boolean isDeceived;

    /** XIDs of replies whose pull completion is due. */
    private final Set<Integer> pulling = new HashSet<>();

    /** Calls by XID, each with the pull completions that were sent before it. */
    private final Map<Integer, Integer> out = new HashMap<>();

    /**
     * What has come since a reply to no call whose completion is not sent. It is sent as soon as the requester knows of
     * the reply, so all that is sent before was written without knowing any of these.
     */
    private final Deque<Answer> unknown = new ArrayDeque<>();

    /** The highest so far; one before the first reply (RFC 8166, 3.3.3). */
    private long granted = 1;

    /** By the last answer. */
    private long last = 1;

    private int completions;
    private int proved;

    private WireCredits(boolean isDeceived, Consumer<String> wrong) {
        this.isDeceived = isDeceived;
        this.wrong = wrong;
    }

    /**
     * Watches a connection, on which nobody but this side calls.
     *
     * @param wrong is told what is
     */
    static WireCredits watch(FaultQueuePair queuePair, Consumer<String> wrong) {
        return watch(queuePair, false, wrong);
    }

    /** {@return what the requester may have out when nothing is, by the last answer} */
    long granted() {
        return last;
    }

    /** As {@link #watch(FaultQueuePair, Consumer)}, where the peer also answers twice, and what nobody has called. */
    static void watchDeceived(FaultQueuePair queuePair, Consumer<String> wrong) {
        watch(queuePair, true, wrong);
    }

    private static WireCredits watch(
            FaultQueuePair queuePair, boolean isDeceived, Consumer<String> wrong) {
        WireCredits credits = new WireCredits(isDeceived, wrong);
        queuePair.watch(credits);
        queuePair.watchReceives(credits);
        return credits;
    }

    @Override
    public void send(int length, int xid, int credits, int procedure, int covered) {
        if (procedure == TransportHeader.RDMA_DONE) {
            complete(xid);
            return;
        }
        int calls = out.size();
        int due = pulling.size();
        int unproved = completions - proved;
        long left = Math.min(Integer.toUnsignedLong(credits), granted) - calls - due - unproved;
        // With nothing else out, the reply to one more call proves that the completions have come.
        boolean mayProve = calls == 0 && due == 0;
        if (left <= 0 && !mayProve) {
            wrong.accept(
                    "sends a call beside "
                            + calls
                            + " calls, "
                            + due
                            + " completions that are due and "
                            + unproved
                            + " that may not have come, was granted "
                            + granted
                            + " and has asked for "
                            + credits);
        }
        out.put(xid, completions);
    }

    private void complete(int xid) {
        completions++;
        if (!unknown.isEmpty() && unknown.peek().xid == xid && !pulling.contains(xid)) {
            unknown.poll();
            while (!unknown.isEmpty() && !mustComplete(unknown.peek())) {
                take(unknown.poll());
            }
        } else if (!pulling.remove(xid) && !isDeceived) {
            wrong.accept("completes a reply that it has not to read");
        }
    }

    @Override
    public void received(int xid, int credits, int procedure, boolean hasReads) {
        boolean isReply =
                procedure == TransportHeader.RDMA_MSG || procedure == TransportHeader.RDMA_NOMSG;
        Answer answer = new Answer(xid, credits, procedure, isReply && hasReads);
        if (unknown.isEmpty() && !mustComplete(answer)) {
            take(answer);
        } else {
            unknown.add(answer);
        }
    }

    /** Whether it is a reply to no call, for whose completion a peer waits, and no second one that is being read. */
    private boolean mustComplete(Answer answer) {
        return isDeceived
                && answer.isPulled
                && !out.containsKey(answer.xid)
                && !pulling.contains(answer.xid);
    }

    private void take(Answer answer) {
        Integer sentBefore = out.remove(answer.xid);
        if (sentBefore == null && isDeceived) {
            return;
        }
        if (sentBefore == null) {
            wrong.accept("gets an answer to no call, or a second one");
        } else {
            proved = Math.max(proved, sentBefore);
            long now = Math.max(1, Integer.toUnsignedLong(answer.credits));
            boolean isError = answer.procedure == TransportHeader.RDMA_ERROR;
            last = isError ? Math.min(last, now) : now;
            if (!isError) {
                granted = Math.max(granted, Integer.toUnsignedLong(answer.credits));
            }
        }
        if (answer.isPulled) {
            pulling.add(answer.xid);
        }
    }
}
