// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.hardware;

import java.io.IOException;
import java.net.InetSocketAddress;

/** An identifier of the connection manager: of a connection, or of a listener. */
public interface NativeId {

    /** Sets who is told of what happens from now on, by {@link NativeDevice#deliverEvents}. */
    void target(CmTarget target);

    /**
     * Hands the identifier of a request to another event loop, which takes it; its events are delivered there from
     * now on.
     */
    void adopt(NativeDevice loop, CmTarget target) throws IOException;

    /** Whether it is bound to the same device. */
    boolean isOn(NativeDevice device) throws IOException;

    void bind(InetSocketAddress local) throws IOException;

    void listen(int backlog) throws IOException;

    void resolveAddress(InetSocketAddress remote, int millis) throws IOException;

    void resolveRoute(int millis) throws IOException;

    /**
     * Makes the queue pair, with the completion queue of an event loop. The identifier has to be bound to its device.
     *
     * @param sends depth of the send queue, at least 1
     * @param receives depth of the receive queue, at least 1
     * @param ranges the most ranges of a work request of the send queue
     */
    NativeQueuePair createQueuePair(NativeDevice loop, int sends, int receives, int ranges)
            throws IOException;

    void connect(ConnectionParameters parameters) throws IOException;

    void accept(ConnectionParameters parameters) throws IOException;

    /** Refuses a request. The identifier is still to be destroyed. */
    void reject(byte[] privateData) throws IOException;

    /** Breaks the queue pair, so that the device flushes it, and tells the peer. */
    void disconnect() throws IOException;

    InetSocketAddress localAddress() throws IOException;

    InetSocketAddress remoteAddress() throws IOException;

    /** Nobody is told of anything any more. The queue pair is destroyed before. */
    void destroy();
}
