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
 * Compares the grants of a responder on one connection with its receives (RFC 8166, 3.3.1). A pull completion needs a
 * receive and is not answered: one beside the grant for each reply that is to be pulled where completions are outside
 * of it. Where they are within it, a requester counts a completion until the reply to a later call proves that it has
 * come, and sends one call beside completions alone, whatever was granted (reliable reply draft, 4.1 and 5.2.3).
 */
final class WireReceives implements FaultQueuePair.ReceiveWatcher, FaultQueuePair.SendWatcher {

    private final FaultQueuePair queuePair;
    private final boolean areOutside;
    private final Consumer<String> wrong;

    /** XIDs of replies that the requester has to pull. */
    private final Set<Integer> pulled = new HashSet<>();

    private int completions;

    /** Completions that came before each call that is not answered, by its XID. */
    private final Map<Integer, Integer> before = new HashMap<>();

    /** Completions of which the requester knows by a reply that they have come. */
    private int proved;

    private WireReceives(FaultQueuePair queuePair, boolean areOutside, Consumer<String> wrong) {
        this.queuePair = queuePair;
        this.areOutside = areOutside;
        this.wrong = wrong;
    }

    /**
     * Watches a connection, on which nobody but the peer calls.
     *
     * @param areOutside whether pull completions are outside of the grant
     * @param wrong is told what is
     */
    static void watch(FaultQueuePair queuePair, boolean areOutside, Consumer<String> wrong) {
        WireReceives receives = new WireReceives(queuePair, areOutside, wrong);
        queuePair.watch(receives);
        queuePair.watchReceives(receives);
    }

    @Override
    public void received(int xid, int credits, int procedure, boolean hasReads) {
        if (procedure == TransportHeader.RDMA_DONE) {
            pulled.remove(xid);
            completions++;
        } else {
            before.put(xid, completions);
        }
    }

    @Override
    public void send(int length, int xid, int credits, int procedure, int covered) {
        if (procedure == TransportHeader.RDMA2_OPTIONAL || procedure == TransportHeader.RDMA_DONE) {
            return;
        }
        if (queuePair.hasReads()) {
            pulled.add(xid);
        }
        int most = pulled.isEmpty() ? credits : Math.max(credits, pulled.size() + 1);
        if (areOutside) {
            most = credits + pulled.size();
        }
        Integer provedNow = before.remove(xid);
        if (provedNow != null) {
            proved = Math.max(proved, provedNow);
        }
        // A completion that has come is not answered.
        int receives = covered - (areOutside ? completions : proved);
        if (most > receives) {
            wrong.accept(
                    "grants "
                            + credits
                            + ", has receives for "
                            + receives
                            + ", and "
                            + pulled.size()
                            + " replies to be pulled");
        }
    }
}
