// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

/** Credit accounting of a requester (RFC 8166, 3.3.1 and 3.3.3). Credit words are unsigned. */
final class RequesterCredits {

    private final int requested;

    /** Exactly one on a new connection, whatever was known from an earlier one (3.3.3). */
    private long granted = 1;

    private int inFlight;

    /** Replies whose Read chunks are being pulled: the credit of each is kept for its pull completion. */
    private int completionsDue;

    // Pull completions are not answered. What is sent is received in order: the reply to a call
    // shows that all completions before that call have come (reliable reply draft, 5.2.3).
    private long completionsSent;
    private long completionsReceived;

    RequesterCredits(int requested) {
        this.requested = requested;
    }

    int requested() {
        return requested;
    }

    long granted() {
        return granted;
    }

    int inFlight() {
        return inFlight;
    }

    /** How many more calls may be sent now. */
    int allowed() {
        long outstanding = completionsSent - completionsReceived;
        long left = Math.min(requested, granted) - inFlight - completionsDue - outstanding;
        if (left <= 0 && outstanding > 0 && inFlight == 0 && completionsDue == 0) {
            return 1; // only the reply to another call can tell that they have come
        }
        return (int) Math.max(0, left);
    }

    /** Returns how many pull completions the call follows: for {@link #answered}. */
    long sent() {
        inFlight++;
        return completionsSent;
    }

    /** Any answer has come to a call that was sent after so many pull completions. */
    void answered(long completionsBefore) {
        completionsReceived = Math.max(completionsReceived, completionsBefore);
    }

    /** A reply has Read chunks, and will get a pull completion. */
    void completionDue() {
        completionsDue++;
    }

    void completionSent() {
        completionsDue--;
        completionsSent++;
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

    /** A reply has come whose credit word could not be told from one of the other direction (RFC 8167, 4.1). */
    void repliedUndetermined() {
        inFlight--;
    }

    /** An RDMA_ERROR has come: it ends its call, but is not the valid reply that ends the one-credit start. */
    void failed(int credit) {
        inFlight--;
        granted = Math.min(granted, Math.max(1, Integer.toUnsignedLong(credit)));
    }
}
