// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.disni;

import static org.assertj.core.api.Assertions.assertThat;

import com.ibm.disni.verbs.RdmaCmEvent.EventType;
import com.ibm.disni.verbs.RdmaCmId;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.rpcrdma.verbs.ConnectionRequest;
import org.rpcrdma.verbs.ListenerHandler;
import org.rpcrdma.verbs.disni.software.SoftwareDisniProvider;

/** Requests that reach a listener when it is too late. */
class DisniListenerTest {

    private static final ListenerHandler NOBODY =
            new ListenerHandler() {
                @Override
                public void connectionRequested(ConnectionRequest request) {
                    throw new AssertionError("nobody connects");
                }

                @Override
                public void acceptFailed(Throwable cause) {
                    throw new AssertionError(cause);
                }
            };

    /** Keeps the thread of the events. */
    private DisniContext other;

    private DisniContext context;
    private DisniListener listener;

    @BeforeEach
    void listen() throws Exception {
        other = open();
        context = open();
        listener =
                (DisniListener)
                        context.listen(
                                new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
                                1,
                                NOBODY);
    }

    private static DisniContext open() throws Exception {
        return (DisniContext) new SoftwareDisniProvider().open();
    }

    @AfterEach
    void close() {
        context.close();
        other.close();
    }

    private RdmaCmId request(int port) throws Exception {
        RdmaCmId id = other.events.newId();
        id.bindAddr(new InetSocketAddress(InetAddress.getLoopbackAddress(), port));
        return id;
    }

    private void awaitDestroyed(RdmaCmId id) {
        other.events.betweenEvents(() -> {});
        assertThat(id.isOpen()).isFalse();
    }

    @Test
    void aRequestAfterTheContextIsClosedIsRejected() throws Exception {
        RdmaCmId id = request(listener.localAddress().getPort());
        context.close();
        listener.happened(EventType.RDMA_CM_EVENT_CONNECT_REQUEST, id);
        awaitDestroyed(id);
    }

    /** Its listener is gone, and this one has got the same place in memory. */
    @Test
    void aRequestForAnotherPortIsRejected() throws Exception {
        RdmaCmId id = request(listener.localAddress().getPort() ^ 1);
        listener.happened(EventType.RDMA_CM_EVENT_CONNECT_REQUEST, id);
        awaitDestroyed(id);
    }

    /** The same, but what has got the place is no listener. */
    @Test
    void aRequestToSomethingElseIsRejected() throws Exception {
        RdmaCmId connection = request(0);
        RdmaCmId id = request(1);
        other.events.target(connection, (event, subject) -> {});
        other.events.dispatch(EventType.RDMA_CM_EVENT_CONNECT_REQUEST, connection, id);
        awaitDestroyed(id);
        other.events.destroy(connection);
    }
}
