// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.simulation;

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
 * come before the requester does, so it is never stricter than the grants that the requester knows.
 */
final class WireCredits implements FaultQueuePair.ReceiveWatcher, FaultQueuePair.SendWatcher {

    private final Consumer<String> wrong;

    /** Whether the peer answers calls twice, and calls that nobody has sent, which is no fault of this side. */
    private final boolean isDeceived;

    /** XIDs of replies whose pull completion is due. */
    private final Set<Integer> pulling = new HashSet<>();

    /** Calls by XID, each with the pull completions that were sent before it. */
    private final Map<Integer, Integer> out = new HashMap<>();

    /** The highest so far; one before the first reply (RFC 8166, 3.3.3). */
    private long granted = 1;

    /** By the last answer. */
    private long last = 1;

    private int due;
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
            // A call that its reply fails is over: a second reply is completed for itself.
            due -= isDeceived && due == 0 ? 0 : 1;
            completions++;
            pulling.remove(xid);
            return;
        }
        int calls = out.size();
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

    @Override
    public void received(int xid, int credits, int procedure, boolean hasReads) {
        Integer sentBefore = out.remove(xid);
        boolean isReply =
                procedure == TransportHeader.RDMA_MSG || procedure == TransportHeader.RDMA_NOMSG;
        if (sentBefore == null && isDeceived) {
            // A second one says nothing while the first one is being read.
            due += isReply && hasReads && pulling.add(xid) ? 1 : 0;
            return;
        }
        if (sentBefore == null) {
            wrong.accept("gets an answer to no call, or a second one");
        } else {
            proved = Math.max(proved, sentBefore);
            long now = Math.max(1, Integer.toUnsignedLong(credits));
            last = procedure == TransportHeader.RDMA_ERROR ? Math.min(last, now) : now;
            if (procedure != TransportHeader.RDMA_ERROR) {
                granted = Math.max(granted, Integer.toUnsignedLong(credits));
            }
        }
        if (isReply && hasReads) {
            due++;
            pulling.add(xid);
        }
    }
}
