// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.hardware;

/**
 * Event of a connection manager identifier ({@code rdma_cm_event}).
 *
 * @param connection of a request the identifier that it made, which is the target's from now on; otherwise {@code null}
 * @param isRefused of REJECTED: nobody listens, as far as that is known
 * @param privateData what the peer has sent with it; empty when nothing, or when the library does not tell
 * @param inboundReads of CONNECT_REQUEST and ESTABLISHED: the most Reads that the peer can have outstanding here, as
 *     it says
 * @param outboundReads the most Reads that the peer takes from here; {@link #UNKNOWN_READS} where the library does
 *     not tell
 */
@SuppressWarnings("ArrayRecordComponent") // passed on, never compared
public record CmEvent(
        Type type,
        NativeCmId connection,
        boolean isRefused,
        byte[] privateData,
        int inboundReads,
        int outboundReads) {

    /** More than any device has. */
    public static final int UNKNOWN_READS = 255;

    private static final byte[] NO_DATA = {};

    /** In the order of {@code rdma_cm_event_type}. */
    public enum Type {
        ADDR_RESOLVED,
        ADDR_ERROR,
        ROUTE_RESOLVED,
        ROUTE_ERROR,
        CONNECT_REQUEST,
        CONNECT_RESPONSE,
        CONNECT_ERROR,
        UNREACHABLE,
        REJECTED,
        ESTABLISHED,
        DISCONNECTED,
        DEVICE_REMOVAL,
        MULTICAST_JOIN,
        MULTICAST_ERROR,
        ADDR_CHANGE,
        TIMEWAIT_EXIT;

        private static final Type[] ALL = values();

        /** The type of that number, or {@code null}. */
        public static Type of(int number) {
            return number >= 0 && number < ALL.length ? ALL[number] : null;
        }
    }

    /** An event without further data. */
    public static CmEvent of(Type type, NativeCmId connection) {
        return new CmEvent(type, connection, false, NO_DATA, UNKNOWN_READS, UNKNOWN_READS);
    }
}
