// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp;

import java.util.concurrent.TimeUnit;

/** The keep-alive of one end of a simulated TCP connection (RFC 9293, 3.8.4), with the options of Linux. */
final class SimulatedKeepAlive {

    private boolean isOn;
    private int idleSeconds = 7200;
    private int intervalSeconds = 75;
    private int probes = 9;

    /** Sets an option by its name; ignores all others. */
    void set(String option, Object value) {
        switch (option) {
            case "SO_KEEPALIVE" -> isOn = (Boolean) value;
            case "TCP_KEEPIDLE" -> idleSeconds = (Integer) value;
            case "TCP_KEEPINTERVAL" -> intervalSeconds = (Integer) value;
            case "TCP_KEEPCOUNT" -> probes = (Integer) value;
            default -> {}
        }
    }

    /** When the last probe was left without an answer, if nothing has arrived since a time. */
    long givesUpAt(long lastArrival) {
        return isOn
                ? lastArrival
                        + TimeUnit.SECONDS.toNanos(idleSeconds + (long) probes * intervalSeconds)
                : Long.MAX_VALUE;
    }
}
