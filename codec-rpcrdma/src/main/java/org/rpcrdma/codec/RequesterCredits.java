// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

/** What a requester may send (RFC 8166, 3.3.1 and 3.3.3). Credit words are unsigned. */
final class RequesterCredits {

    private int requested;

    /** Exactly one on a new connection, whatever was known from an earlier one (3.3.3). */
    private long granted = 1;

    private int inFlight;

    RequesterCredits(int requested) {
        this.requested = requested;
    }

    int requested() {
        return requested;
    }

    /** The newest value counts at once; calls that are out stay out (3.3.1). */
    void request(int credits) {
        requested = credits;
    }

    long granted() {
        return granted;
    }

    int inFlight() {
        return inFlight;
    }

    /** How many more calls may be sent now. */
    int allowed() {
        return (int) Math.max(0, Math.min(requested, granted) - inFlight);
    }

    void sent() {
        inFlight++;
    }

    /** A call that was counted did not leave. */
    void notSent() {
        inFlight--;
    }

    /** A valid reply has come; returns {@code false} when its grant was 0, which is taken as 1. */
    boolean replied(int credit) {
        inFlight--;
        granted = Math.max(1, Integer.toUnsignedLong(credit));
        return credit != 0;
    }

    /** An RDMA_ERROR has come: it ends its call, but is not the valid reply that ends the one-credit start. */
    void failed(int credit) {
        inFlight--;
        granted = Math.min(granted, Math.max(1, Integer.toUnsignedLong(credit)));
    }
}
