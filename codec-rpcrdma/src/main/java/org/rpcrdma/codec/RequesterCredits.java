// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

/** Credit accounting of a requester (RFC 8166, 3.3.1 and 3.3.3). Credit words are unsigned. */
final class RequesterCredits {

    final int requested;

    /** Exactly one on a new connection, regardless of earlier connections (3.3.3). */
    long granted = 1;

    int inFlight;

    private boolean isEnded;

    /** Replies whose Read chunks are being pulled: each reserves its credit for the pull completion. */
    private int completionsDue;

    // Pull completions are not answered. Messages arrive in order: the reply to a call proves the
    // arrival of all
    // completions sent before that call (reliable reply draft, 5.2.3).
    private long completionsSent;
    private long completionsReceived;

    RequesterCredits(int requested) {
        this.requested = requested;
    }

    /** Number of calls that may be sent now. */
    int allowed() {
        if (isEnded) {
            return 0;
        }
        long outstanding = completionsSent - completionsReceived;
        long left = Math.min(requested, granted) - inFlight - completionsDue - outstanding;
        if (left <= 0 && outstanding > 0 && inFlight == 0 && completionsDue == 0) {
            return 1; // only the reply to another call proves their arrival
        }
        return (int) Math.max(0, left);
    }

    /** No call is sent any more. */
    void end() {
        isEnded = true;
    }

    /** Counts a sent call; returns the number of pull completions sent before, for {@link #answered}. */
    long sent() {
        inFlight++;
        return completionsSent;
    }

    /** Counts any answer to a call that was sent after that many pull completions. */
    void answered(long completionsBefore) {
        completionsReceived = Math.max(completionsReceived, completionsBefore);
    }

    /** A reply has Read chunks: reserves the credit of its pull completion. */
    void completionDue() {
        completionsDue++;
    }

    void completionSent() {
        completionsDue--;
        completionsSent++;
    }

    /** A counted call was not sent. */
    void notSent() {
        inFlight--;
    }

    /** Takes the grant of a valid reply; returns {@code false} if it was 0, which counts as 1. */
    boolean updateGrant(int credit) {
        inFlight--;
        granted = Math.max(1, Integer.toUnsignedLong(credit));
        return credit != 0;
    }

    /** A reply has arrived whose credit word could belong to the other direction (RFC 8167, 4.1). */
    void repliedUndetermined() {
        inFlight--;
    }

    /**
     * An RDMA_ERROR has arrived: it ends its call, but does not end the start with one credit, as a valid reply does.
     */
    void failed(int credit) {
        inFlight--;
        granted = Math.min(granted, Math.max(1, Integer.toUnsignedLong(credit)));
    }
}
