// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.benchmarks.compare;

/**
 * What is done during one window of time.
 *
 * @param procedure which call
 * @param bytes of data in each call, 0 to 1 MiB, a multiple of 4
 * @param outstanding calls kept out on each busy connection, 1 to {@link Caller#MAX_OUTSTANDING}
 * @param connections that are busy
 * @param idle connections beside them that do nothing
 */
record Work(Procedure procedure, int bytes, int outstanding, int connections, int idle) {

    enum Procedure {
        NULL,
        READ,
        WRITE
    }

    static Work of(Procedure procedure, int bytes, int outstanding) {
        return new Work(procedure, bytes, outstanding, 1, 0);
    }

    /** One call at a time on one connection: its time is what counts. */
    boolean isRoundTrip() {
        return outstanding == 1 && connections == 1;
    }

    /** Many calls at a time: their number is what counts. */
    boolean isPipelined() {
        return !isRoundTrip();
    }

    /** As it stands in tables. */
    String label() {
        StringBuilder label = new StringBuilder(procedure.name());
        if (procedure != Procedure.NULL) {
            label.append(' ')
                    .append(bytes >= 1 << 20 ? (bytes >> 20) + " MiB" : (bytes >> 10) + " KiB");
        }
        label.append(", ").append(outstanding).append(" out");
        if (connections > 1) {
            label.append(", ").append(connections).append(" connections");
        }
        if (idle > 0) {
            label.append(", ").append(idle).append(" idle ones");
        }
        return label.toString();
    }
}
