// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.rpcrdma.verbs.ConnectionRequest;
import org.rpcrdma.verbs.DirectMemoryBudget;
import org.rpcrdma.verbs.Listener;
import org.rpcrdma.verbs.ListenerHandler;
import org.rpcrdma.verbs.WorkStatus;

/** The memory that FPDUs are received into: half of one costs its own connection little, and no other one anything. */
class StagingTest {

    private static final int PAYLOAD = 30_000;

    /** With the CRC and with markers, FPDUs are staged whole. */
    private enum Framing {
        PLAIN,
        CRC,
        MARKERS
    }

    private final List<Served> connections = new ArrayList<>();
    private Framing framing;
    private DirectMemoryBudget budget;
    private IwarpContext context;
    private Listener listener;
    private ConnectionRequest request;

    /** A connection, the scripted peer of it, and what it sends next. */
    private record Served(RawPeer peer, Endpoint endpoint, UnaryOperator<byte[]> fpdus) {

        byte[] fpdu(int message, int bytes) {
            byte[] payload = new byte[bytes];
            Arrays.fill(payload, (byte) message);
            return fpdus.apply(RawPeer.untagged(0x41, 3, 0, 0, message, 0, payload));
        }
    }

    private void listen(Framing wanted, long memory) throws IOException {
        framing = wanted;
        budget = new DirectMemoryBudget(memory);
        context =
                new IwarpContext(
                        IwarpConfig.builder()
                                .peerToPeer(false)
                                .markers(framing == Framing.MARKERS)
                                .build(),
                        budget);
        listener =
                context.listen(
                        new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
                        16,
                        new ListenerHandler() {
                            @Override
                            public void connectionRequested(ConnectionRequest asked) {
                                request = asked;
                            }

                            @Override
                            public void acceptFailed(Throwable cause) {
                                throw new AssertionError(cause);
                            }
                        });
    }

    private Served connect() throws IOException {
        request = null;
        RawPeer peer = RawPeer.connect(listener.localAddress(), context);
        peer.send(RawPeer.request(framing != Framing.PLAIN));
        Pair.until(() -> request != null, context);
        Endpoint endpoint = new Endpoint(context, 2 * PAYLOAD);
        endpoint.queuePair = context.createQueuePair(request, Pair.SIZE, endpoint);
        endpoint.receive(1, 0, PAYLOAD);
        endpoint.receive(2, PAYLOAD, PAYLOAD);
        endpoint.queuePair.accept(new byte[0]);
        peer.read(24);
        MarkedStream marked = new MarkedStream(true);
        Served served =
                new Served(
                        peer,
                        endpoint,
                        switch (framing) {
                            case PLAIN -> ulpdu -> RawPeer.fpdu(ulpdu, false);
                            case CRC -> ulpdu -> RawPeer.fpdu(ulpdu, true);
                            case MARKERS -> marked::fpdu;
                        });
        connections.add(served);
        return served;
    }

    /** Who sees another connection come has seen all that came before. */
    private void awaitReceived() throws IOException {
        connect();
        connections.remove(connections.size() - 1).peer().close();
    }

    @AfterEach
    void close() {
        connections.forEach(served -> served.peer().close());
        context.close();
        assertThat(budget.used()).isZero();
    }

    private void checkDelivered(Served served, int message, int bytes) {
        Endpoint endpoint = served.endpoint();
        Pair.until(() -> endpoint.completion(message) != null || endpoint.isEnded(), context);
        assertThat(endpoint.ends).isEmpty();
        assertThat(endpoint.completion(message))
                .isEqualTo(new Endpoint.Completion(message, WorkStatus.SUCCESS, bytes, 0));
        byte[] expected = new byte[bytes];
        Arrays.fill(expected, (byte) message);
        assertThat(endpoint.get((message - 1) * PAYLOAD, bytes)).isEqualTo(expected);
    }

    /** The memory is that of one staging buffer, or there is none at all. */
    @ParameterizedTest(name = "{0}, half an FPDU is {1} bytes, memory for {2} bytes")
    @CsvSource({"PLAIN, 12, 73728", "PLAIN, 1, 73728", "PLAIN, 19, 0", "CRC, 12, 140000"})
    void halfAnFpduCostsNoOtherConnection(Framing wanted, int half, int memory) throws IOException {
        listen(wanted, memory);
        Served hostile = connect();
        byte[] fpdu = hostile.fpdu(1, 100);
        hostile.peer().send(Arrays.copyOf(fpdu, half));
        Served idle = connect();
        Served healthy = connect();
        for (int message = 1; message <= 2; message++) {
            healthy.peer().send(healthy.fpdu(message, 100));
            checkDelivered(healthy, message, 100);
        }
        idle.peer().send(idle.fpdu(1, 100));
        checkDelivered(idle, 1, 100);
        hostile.peer().send(Arrays.copyOfRange(fpdu, half, fpdu.length));
        checkDelivered(hostile, 1, 100);
    }

    /** All of them stand inside an FPDU, more than there is staging memory for, and go on. */
    @ParameterizedTest(name = "{0}, half an FPDU is {1} bytes, memory for {2} bytes")
    @CsvSource({"CRC, 1000, 1000000", "CRC, 29000, 400000", "CRC, 50, 140000", "CRC, 29000, 0"})
    @CsvSource({"MARKERS, 1000, 1000000", "MARKERS, 50, 140000", "MARKERS, 29000, 0"})
    void connectionsInsideAnFpduGoOn(Framing wanted, int half, int memory) throws IOException {
        listen(wanted, memory);
        for (int i = 0; i < 10; i++) {
            connect();
        }
        List<byte[]> fpdus = new ArrayList<>();
        for (Served served : connections) {
            byte[] fpdu = served.fpdu(1, PAYLOAD);
            fpdus.add(fpdu);
            served.peer().send(Arrays.copyOf(fpdu, half));
        }
        awaitReceived();
        for (Served served : connections) {
            byte[] fpdu = fpdus.remove(0);
            served.peer().send(Arrays.copyOfRange(fpdu, half, fpdu.length));
            checkDelivered(served, 1, PAYLOAD);
            served.peer().send(served.fpdu(2, PAYLOAD));
            checkDelivered(served, 2, PAYLOAD);
        }
    }

    /** However many stand inside an FPDU: beyond some, each holds what it was sent. */
    @ParameterizedTest
    @EnumSource(names = {"CRC", "MARKERS"})
    void whatHalfFpdusHoldIsBounded(Framing wanted) throws IOException {
        listen(wanted, 100 << 20);
        List<byte[]> fpdus = new ArrayList<>();
        for (int i = 0; i < ReceiveStagingPool.KEPT + 8; i++) {
            Served served = connect();
            byte[] fpdu = served.fpdu(1, PAYLOAD);
            fpdus.add(fpdu);
            served.peer().send(Arrays.copyOf(fpdu, 1000));
        }
        awaitReceived();
        assertThat(budget.used())
                .isLessThan((ReceiveStagingPool.KEPT + 2L) * ReceiveStagingPool.WHOLE_BYTES);
        for (Served served : connections) {
            byte[] fpdu = fpdus.remove(0);
            served.peer().send(Arrays.copyOfRange(fpdu, 1000, fpdu.length));
            checkDelivered(served, 1, PAYLOAD);
        }
    }

    /** What is between two FPDUs costs nothing, however many connections there are. */
    @ParameterizedTest
    @EnumSource
    void idleConnectionsHoldOneBufferTogether(Framing wanted) throws IOException {
        listen(wanted, 100 << 20);
        for (int i = 0; i < 5; i++) {
            Served served = connect();
            served.peer().send(served.fpdu(1, 100));
            checkDelivered(served, 1, 100);
        }
        assertThat(budget.used()).isLessThan(2L * ReceiveStagingPool.WHOLE_BYTES);
    }
}
