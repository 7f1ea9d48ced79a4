// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.hardware;

import java.io.IOException;
import java.net.InetSocketAddress;

/** An identifier of the connection manager: of a connection, or of a listener. */
public interface NativeCmId {

    /** Sets the target of later events, delivered by {@link NativeEventLoopDevice#deliverEvents}. */
    void target(CmEventHandler target);

    /**
     * Hands the identifier of a request to another event loop, which takes it; its events are delivered there from
     * now on.
     */
    void adopt(NativeEventLoopDevice loop, CmEventHandler target) throws IOException;

    /** Whether the identifier is bound to the same device. */
    boolean isOn(NativeEventLoopDevice device) throws IOException;

    void bind(InetSocketAddress local) throws IOException;

    void listen(int backlog) throws IOException;

    void resolveAddress(InetSocketAddress remote, int millis) throws IOException;

    void resolveRoute(int millis) throws IOException;

    /**
     * Sets the octet of the IP header with DSCP and ECN. Effective for what is connected or accepted afterwards.
     *
     * @param octet 0 to 255
     * @throws UnsupportedOperationException if the library has no such setting
     */
    default void trafficClass(int octet) throws IOException {
        throw new UnsupportedOperationException("the library has no option for a traffic class");
    }

    /**
     * Makes the queue pair, with the completion queue of an event loop. The identifier has to be bound to its device.
     *
     * @param sends depth of the send queue, at least 1
     * @param receives depth of the receive queue, at least 1
     * @param ranges the most ranges of a work request of the send queue
     */
    NativeQueuePair createQueuePair(NativeEventLoopDevice loop, int sends, int receives, int ranges)
            throws IOException;

    void connect(ConnectionParameters parameters) throws IOException;

    void accept(ConnectionParameters parameters) throws IOException;

    /** Refuses a request. The identifier is still to be destroyed. */
    void reject(byte[] privateData) throws IOException;

    /** Breaks the queue pair, so that the device flushes it, and tells the peer. */
    void disconnect() throws IOException;

    InetSocketAddress localAddress() throws IOException;

    InetSocketAddress remoteAddress() throws IOException;

    /** Destroys the identifier; no more events are delivered. The queue pair must be destroyed before. */
    void destroy();
}
