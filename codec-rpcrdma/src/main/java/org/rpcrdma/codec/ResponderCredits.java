// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

/** What a responder grants (RFC 8166, 3.3.1): an absolute limit, never 0, and never more than the receives behind it. */
final class ResponderCredits {

    private final int granted;
    private int unanswered;

    ResponderCredits(int configured, int receives) {
        granted = Math.max(1, Math.min(configured, receives));
    }

    int granted() {
        return granted;
    }

    int unanswered() {
        return unanswered;
    }

    /** Returns {@code false} when the requester has no credit for this call. */
    boolean received() {
        return ++unanswered <= granted;
    }

    void answered() {
        unanswered--;
    }
}
