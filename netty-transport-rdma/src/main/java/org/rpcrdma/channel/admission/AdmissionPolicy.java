// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel.admission;

import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/**
 * Decides which peers may connect to a server channel. Set it as {@code RdmaChannelOption.ADMISSION_POLICY}.
 *
 * <p>RDMA does not authenticate peers: a policy has the address of the peer, which is as reliable as the network, and
 * the private data, which anybody can copy.
 */
@FunctionalInterface
public interface AdmissionPolicy {

    /**
     * Decides on one connection request. The server channel calls this on its event loop, which an implementation must
     * not block: one that has to wait returns a stage that completes later.
     *
     * <p>An exception, a {@code null} stage, a stage that completes with an exception or with {@code null}, and one
     * that does not complete within {@code RdmaChannelOption.ADMISSION_TIMEOUT_MILLIS} refuse the peer. A decision
     * that comes after that time-out, or after the server channel was closed, has no effect.
     *
     * @param request addresses and private data
     * @return completes with the decision, on any thread
     */
    CompletionStage<AdmissionDecision> decide(AdmissionRequest request);

    /** {@return the policy that accepts every peer} */
    static AdmissionPolicy acceptAll() {
        return AcceptAll.POLICY;
    }

    /**
     * {@return the policy that accepts what both accept}
     *
     * @param next decides on those that this one has accepted, on the event loop too
     */
    default AdmissionPolicy and(AdmissionPolicy next) {
        Objects.requireNonNull(next, "next");
        return request ->
                decide(request)
                        .thenComposeAsync(
                                decision ->
                                        decision.isAccepted()
                                                ? next.decide(request)
                                                : CompletableFuture.completedStage(decision),
                                request.executor());
    }
}
