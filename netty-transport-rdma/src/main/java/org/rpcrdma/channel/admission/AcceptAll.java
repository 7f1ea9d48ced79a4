// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel.admission;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/** Accepts every peer. */
final class AcceptAll implements AdmissionPolicy {

    static final AcceptAll POLICY = new AcceptAll();

    private AcceptAll() {}

    @Override
    public CompletionStage<AdmissionDecision> decide(AdmissionRequest request) {
        return CompletableFuture.completedStage(AdmissionDecision.accept());
    }

    @Override
    public String toString() {
        return "AdmissionPolicy.acceptAll()";
    }
}
