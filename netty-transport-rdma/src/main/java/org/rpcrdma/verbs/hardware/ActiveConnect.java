// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.hardware;

import java.io.IOException;
import java.net.ConnectException;
import java.net.InetSocketAddress;
import java.net.NoRouteToHostException;
import org.rpcrdma.verbs.RejectedException;

/**
 * The steps of the connection manager on the active side: each one is started by the event that ends the one before.
 */
final class ActiveConnect {

    private final NativeCmId id;
    private final InetSocketAddress remote;
    private final int resolveMillis;
    private final ConnectionParameters parameters;

    ActiveConnect(
            NativeCmId id,
            InetSocketAddress remote,
            int resolveMillis,
            ConnectionParameters parameters) {
        this.id = id;
        this.remote = remote;
        this.resolveMillis = resolveMillis;
        this.parameters = parameters;
    }

    void start() throws IOException {
        reach(() -> id.resolveAddress(remote, resolveMillis));
    }

    private void reach(NativeErrorMessages.Call step) throws IOException {
        NativeErrorMessages.explain(
                step,
                reason ->
                        new ConnectException(
                                "The peer "
                                        + remote
                                        + " cannot be reached over the RDMA device: "
                                        + reason));
    }

    /**
     * Goes on after an event.
     *
     * @return whether the connection exists
     * @throws IOException when the connection fails, with the reason
     */
    boolean proceed(CmEvent event) throws IOException {
        switch (event.type()) {
            case ADDR_RESOLVED -> reach(() -> id.resolveRoute(resolveMillis));
            case ROUTE_RESOLVED -> reach(() -> id.connect(parameters));
            case ESTABLISHED -> {
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

    /** Outcome of an event for a connection in progress, or {@code null} if the event has none. */
    static IOException failure(CmEvent event, InetSocketAddress remote) {
        return switch (event.type()) {
            case REJECTED -> rejected(event, remote);
            case ADDR_ERROR ->
                    new NoRouteToHostException(
                            "The address "
                                    + remote
                                    + " cannot be resolved from the RDMA device; see 'ping' and 'ip"
                                    + " neigh'");
            case ROUTE_ERROR ->
                    new NoRouteToHostException("The RDMA device finds no route to " + remote);
            case UNREACHABLE -> new ConnectException("The peer " + remote + " does not answer");
            case CONNECT_ERROR -> new ConnectException("The connection with " + remote + " failed");
            case DISCONNECTED ->
                    new ConnectException(
                            "The peer " + remote + " closed the connection before it was made");
            case DEVICE_REMOVAL ->
                    new IOException(
                            "The RDMA device of the connection with " + remote + " is gone");
            default -> null;
        };
    }

    /** Not all libraries report whether a listener has rejected the connection. */
    private static IOException rejected(CmEvent event, InetSocketAddress remote) {
        return event.isRefused()
                ? new ConnectException("Connection refused: nobody listens at " + remote)
                : new RejectedException(
                        "Connection refused: nobody listens at "
                                + remote
                                + ", or the peer has rejected the connection",
                        event.privateData());
    }
}
