// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.disni;

import com.ibm.disni.verbs.RdmaCmEvent.EventType;
import com.ibm.disni.verbs.RdmaCmId;
import com.ibm.disni.verbs.RdmaConnParam;
import java.io.IOException;
import java.net.ConnectException;
import java.net.InetSocketAddress;
import java.net.NoRouteToHostException;
import org.rpcrdma.verbs.RejectedException;

/** The steps of the connection manager on the active side: each one is started by the event that ends the one before. */
final class ActiveConnect {

    /** Receives that are not posted in time are waited for, without a limit: credits see to it that they come. */
    private static final byte MOST_RETRIES = 7;

    private final RdmaCmId id;
    private final InetSocketAddress remote;
    private final int resolveMillis;

    ActiveConnect(RdmaCmId id, InetSocketAddress remote, int resolveMillis) {
        this.id = id;
        this.remote = remote;
        this.resolveMillis = resolveMillis;
    }

    void start() throws IOException {
        reach(() -> id.resolveAddr(null, remote, resolveMillis));
    }

    private void reach(NativeError.Call step) throws IOException {
        NativeError.explain(
                step,
                reason ->
                        new ConnectException(
                                "The peer "
                                        + remote
                                        + " cannot be reached over the RDMA device: "
                                        + reason));
    }

    /** What both sides tell the connection manager. */
    static RdmaConnParam parameters() throws IOException {
        RdmaConnParam parameters = new RdmaConnParam();
        parameters.setRetry_count(MOST_RETRIES);
        parameters.setRnr_retry_count(MOST_RETRIES);
        return parameters;
    }

    /**
     * Goes on after an event.
     *
     * @return whether the connection exists
     * @throws IOException when it cannot be made, with the reason
     */
    boolean proceed(EventType event) throws IOException {
        switch (event) {
            case RDMA_CM_EVENT_ADDR_RESOLVED -> reach(() -> id.resolveRoute(resolveMillis));
            case RDMA_CM_EVENT_ROUTE_RESOLVED -> reach(() -> id.connect(parameters()));
            case RDMA_CM_EVENT_ESTABLISHED -> {
                return true;
            }
            default -> {
                IOException failure = failure(event, remote);
                if (failure != null) {
                    throw failure;
                }
            }
        }
        return false;
    }

    /** Whether an event ends one of the first steps. Any other one is the peer's answer, or says that there will be none. */
    static boolean isStep(EventType event) {
        return event == EventType.RDMA_CM_EVENT_ADDR_RESOLVED
                || event == EventType.RDMA_CM_EVENT_ROUTE_RESOLVED;
    }

    /** What an event says about a connection that is being made, or {@code null} when it says nothing. */
    static IOException failure(EventType event, InetSocketAddress remote) {
        return switch (event) {
            // The reason, which DiSNI loses, may be that nobody listens or that the listener has
            // refused.
            case RDMA_CM_EVENT_REJECTED ->
                    new RejectedException(
                            "Connection refused: nobody listens at "
                                    + remote
                                    + ", or the peer has rejected the connection",
                            new byte[0]);
            case RDMA_CM_EVENT_ADDR_ERROR ->
                    new NoRouteToHostException(
                            "The address "
                                    + remote
                                    + " cannot be resolved from the RDMA device; see 'ping' and 'ip"
                                    + " neigh'");
            case RDMA_CM_EVENT_ROUTE_ERROR ->
                    new NoRouteToHostException("The RDMA device finds no route to " + remote);
            case RDMA_CM_EVENT_UNREACHABLE ->
                    new ConnectException("The peer " + remote + " does not answer");
            case RDMA_CM_EVENT_CONNECT_ERROR ->
                    new ConnectException("The connection with " + remote + " failed");
            case RDMA_CM_EVENT_DISCONNECTED ->
                    new ConnectException(
                            "The peer " + remote + " closed the connection before it was made");
            case RDMA_CM_EVENT_DEVICE_REMOVAL ->
                    new IOException(
                            "The RDMA device of the connection with " + remote + " is gone");
            default -> null;
        };
    }
}
