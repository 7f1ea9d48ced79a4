// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel.admission;

import java.nio.charset.StandardCharsets;
import java.util.Objects;

/** Answer of an {@link AdmissionPolicy} to one connection request. Immutable. */
public final class AdmissionDecision {

    private static final byte[] NO_DATA = {};

    private static final AdmissionDecision ACCEPT = new AdmissionDecision(true, "", NO_DATA);

    private final boolean accepted;
    private final String reason;
    private final byte[] privateData;

    private AdmissionDecision(boolean accepted, String reason, byte[] privateData) {
        this.accepted = accepted;
        this.reason = reason;
        this.privateData = privateData;
    }

    /** {@return the decision that the peer may connect} */
    public static AdmissionDecision accept() {
        return ACCEPT;
    }

    /**
     * {@return the decision that the peer may not connect, with the reason as its private data}
     *
     * @param reason for the log of this end and for the peer, in ASCII
     */
    public static AdmissionDecision reject(String reason) {
        Objects.requireNonNull(reason, "reason");
        return new AdmissionDecision(false, reason, reason.getBytes(StandardCharsets.US_ASCII));
    }

    /**
     * {@return the decision that the peer may not connect}
     *
     * @param reason for the log of this end
     * @param privateData for the peer, empty for none; copied. Cut off where the device carries less, and not sent
     *     where it carries none with a rejection
     */
    public static AdmissionDecision reject(String reason, byte[] privateData) {
        return new AdmissionDecision(
                false, Objects.requireNonNull(reason, "reason"), privateData.clone());
    }

    /** {@return whether the peer may connect} */
    public boolean isAccepted() {
        return accepted;
    }

    /** {@return why the peer may not connect; empty if it may} */
    public String reason() {
        return reason;
    }

    /** {@return the private data of the rejection; empty for none} */
    public byte[] privateData() {
        return privateData.clone();
    }

    @Override
    public String toString() {
        return accepted ? "accept" : "reject: " + reason;
    }
}
