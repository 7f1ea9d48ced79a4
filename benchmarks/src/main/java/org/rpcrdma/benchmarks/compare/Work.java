// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.benchmarks.compare;

/**
 * What is done during one window of time.
 *
 * @param procedure which call
 * @param bytes of data in each call, 0 to 1 MiB, a multiple of 4
 * @param outstanding calls kept out on each busy connection, 1 to {@link Driver#MAX_OUTSTANDING}; at a rate, at most
 * @param connections that are busy
 * @param idle connections beside them that do nothing
 * @param load percent of what the slowest of those that are compared can do; 0 for as much as each can
 * @param rate calls a second of all connections, for a load
 */
record Work(
        Procedure procedure,
        int bytes,
        int outstanding,
        int connections,
        int idle,
        int load,
        long rate) {

    enum Procedure {
        NULL("NULL", Application.RPC),
        READ("READ", Application.RPC),
        WRITE("WRITE", Application.RPC),
        /** As many bytes come back. */
        ECHO("bytes, echo", Application.BYTES),
        /** A word comes back. */
        BULK("bytes, one way", Application.BYTES),
        HTTP1_GET("HTTP/1.1 GET", Application.HTTP1),
        GET("HTTP/2 GET", Application.HTTP2),
        /** A call for each message, which comes back. */
        UNARY("gRPC unary", Application.GRPC),
        /** One call for all messages, which come back. */
        MESSAGES("gRPC stream", Application.GRPC);

        private final String label;
        private final Application application;

        Procedure(String label, Application application) {
            this.label = label;
            this.application = application;
        }
    }

    static Work of(Procedure procedure, int bytes, int outstanding) {
        return new Work(procedure, bytes, outstanding, 1, 0, 0, 0);
    }

    static Work on(int connections, Procedure procedure, int bytes, int outstanding) {
        return new Work(procedure, bytes, outstanding, connections, 0, 0, 0);
    }

    Work beside(int idleOnes) {
        return new Work(procedure, bytes, outstanding, connections, idleOnes, load, rate);
    }

    /** The same at a part of the calls that {@code most} a second are. */
    Work at(int percent, double most) {
        return new Work(
                procedure,
                bytes,
                Driver.MAX_OUTSTANDING,
                connections,
                idle,
                percent,
                (long) (most * percent / 100));
    }

    Application application() {
        return procedure.application;
    }

    /** One call at a time on one connection: its time is what counts. */
    boolean isRoundTrip() {
        return outstanding == 1 && connections == 1;
    }

    /** Many calls at a time: their number is what counts. */
    boolean isPipelined() {
        return !isRoundTrip() && load == 0;
    }

    /** As it stands in tables. */
    String label() {
        StringBuilder label = new StringBuilder(procedure.label);
        if (bytes > 0) {
            label.append(' ').append(amount());
        }
        if (load > 0) {
            return label.append(", ").append(load).append(" % load").toString();
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

    private String amount() {
        if (bytes >= 1 << 20) {
            return (bytes >> 20) + " MiB";
        }
        return bytes >= 1 << 10 ? (bytes >> 10) + " KiB" : bytes + " B";
    }
}
