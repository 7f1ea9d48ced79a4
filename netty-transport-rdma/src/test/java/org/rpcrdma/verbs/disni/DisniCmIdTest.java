// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.disni;

import static org.assertj.core.api.Assertions.assertThat;

import com.ibm.disni.verbs.RdmaCmEvent.EventType;
import com.ibm.disni.verbs.RdmaCmId;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.rpcrdma.verbs.disni.software.SoftwareRdmaProvider;

/** Requests that reach an identifier when it is too late. */
class DisniCmIdTest {

    /** Keeps the thread of the events. */
    private DisniEventLoopDevice other;

    private DisniEventLoopDevice device;
    private DisniCmId listener;

    @BeforeEach
    void listen() throws Exception {
        SoftwareRdmaProvider.install();
        other = open();
        device = open();
        listener = (DisniCmId) device.newId();
        listener.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
        listener.listen(1);
    }

    private static DisniEventLoopDevice open() throws Exception {
        return new DisniEventLoopDevice(
                new DisniConfig(InetAddress.getLoopbackAddress(), 64, 0, 2000));
    }

    @AfterEach
    void close() {
        listener.destroy();
        device.close();
        other.close();
    }

    private RdmaCmId request(int port) throws Exception {
        RdmaCmId id = other.events().newId();
        id.bindAddr(new InetSocketAddress(InetAddress.getLoopbackAddress(), port));
        return id;
    }

    private void awaitDestroyed(RdmaCmId id) {
        other.events().betweenEvents(() -> {});
        assertThat(id.isOpen()).isFalse();
    }

    /** Nobody polls any more, and its peer must not wait for ever. */
    @Test
    void aRequestAfterTheDeviceIsClosedIsToldAtOnce() throws Exception {
        RdmaCmId id = request(listener.localAddress().getPort());
        listener.target(event -> event.connection().destroy());
        device.close();
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
        DisniCmId connection = (DisniCmId) other.newId();
        RdmaCmId id = request(1);
        RdmaCmId subject = request(0);
        other.events().target(subject, connection);
        other.events().dispatch(EventType.RDMA_CM_EVENT_CONNECT_REQUEST, subject, id);
        awaitDestroyed(id);
        other.events().destroy(subject);
        connection.destroy();
    }

    /** Who has adopted it expects no other thread. */
    @Test
    void anEventFromBeforeAnAdoptionIsToldByTheAdopter() throws Exception {
        AtomicInteger told = new AtomicInteger();
        DisniCmId id = (DisniCmId) other.newId();
        try {
            id.happened(EventType.RDMA_CM_EVENT_DISCONNECTED, null);
            id.adopt(device, event -> told.incrementAndGet());
            other.deliverEvents(Integer.MAX_VALUE);
            assertThat(told).hasValue(0);
            device.deliverEvents(Integer.MAX_VALUE);
            assertThat(told).hasValue(1);
        } finally {
            id.destroy();
        }
    }

    /** Who ends a connection does not wait for ever, and nothing is done twice. */
    @Test
    void whatIsDoneBetweenEventsIsDoneAlthoughTheirThreadIsStuck() throws Exception {
        CountDownLatch stuck = new CountDownLatch(1);
        CountDownLatch release = new CountDownLatch(1);
        AtomicInteger done = new AtomicInteger();
        Thread first =
                new Thread(
                        () ->
                                other.events()
                                        .betweenEvents(
                                                () -> {
                                                    stuck.countDown();
                                                    awaitUninterruptibly(release);
                                                }));
        first.start();
        try {
            stuck.await();
            other.events().betweenEvents(done::incrementAndGet, 1);
            assertThat(done).hasValue(1);
        } finally {
            release.countDown();
        }
        first.join();
        other.events().betweenEvents(() -> {});
        assertThat(done).hasValue(1);
    }

    /** An error in what is done there, a lack of memory perhaps, does not end the thread of all connections. */
    @Test
    void theThreadOfEventsOutlivesErrors() {
        AtomicReference<Thread> before = new AtomicReference<>();
        AtomicReference<Thread> after = new AtomicReference<>();
        other.events()
                .betweenEvents(
                        () -> {
                            before.set(Thread.currentThread());
                            throw new OutOfMemoryError("as it may come");
                        });
        other.events().betweenEvents(() -> after.set(Thread.currentThread()));
        assertThat(after.get()).isSameAs(before.get()).isNotSameAs(Thread.currentThread());
    }

    private static void awaitUninterruptibly(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
