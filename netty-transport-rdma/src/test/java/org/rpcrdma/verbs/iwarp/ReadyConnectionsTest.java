// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.InetAddress;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.rpcrdma.verbs.QueuePair;

/** Connections that a selection has found ready, and that the poll has left to the next one. */
class ReadyConnectionsTest {

    /** More than are read without a selection. */
    private static final int CONNECTIONS = BusyTcpPollSet.MAX + 2;

    private static final int DEPTH = 60;
    private static final long ANSWER = 1000;

    private final List<Endpoint> initiators = new ArrayList<>();
    private final List<Endpoint> responders = new ArrayList<>();
    private Pair pair;

    @BeforeEach
    void leaveSome() throws IOException {
        IwarpConfig config = IwarpConfig.builder().sharedMemory(false).build();
        pair = new Pair(config, config);
        pair.listen(InetAddress.getLoopbackAddress());
        for (int i = 0; i < CONNECTIONS; i++) {
            pair.connect(Pair.SIZE, Pair.SIZE, DEPTH);
            initiators.add(pair.initiator);
            responders.add(pair.responder);
            for (int id = 0; id < DEPTH; id++) {
                pair.responder.receive(id, id, 1);
            }
        }
        for (int id = 0; id < DEPTH && !pair.responderContext.hasReadyConnections(); id++) {
            for (Endpoint initiator : initiators) {
                send(initiator, id);
            }
            pair.initiatorContext.poll(256);
            pair.responderContext.poll(256);
        }
        assertThat(pair.responderContext.hasReadyConnections()).isTrue();
    }

    @AfterEach
    void close() {
        pair.close();
    }

    /** Events that are queued say nothing of what is known to be ready, and it costs no system call to find out. */
    @Test
    void areReadByThePollThatDeliversQueuedEvents() {
        Endpoint one = responders.get(0);
        answer(one);
        long received = received();
        pair.responderContext.poll(256);
        assertThat(one.completion(ANSWER)).isNotNull();
        assertThat(received()).isGreaterThan(received);
    }

    @Test
    void waitWhileQueuedEventsAreDelivered() {
        Endpoint one = responders.get(0);
        answer(one);
        long received = received();
        assertThat(pair.responderContext.deliverQueued()).isEqualTo(1);
        assertThat(one.completion(ANSWER)).isNotNull();
        assertThat(received()).isEqualTo(received);
        assertThat(pair.responderContext.hasReadyConnections()).isTrue();
    }

    /** A handler that posts again whenever it is told would hold up all others. */
    @Test
    void doNotWaitForEventsThatHandlersAdd() {
        Endpoint one = responders.get(0);
        one.onCompletion = () -> answer(one);
        answer(one);
        assertThat(pair.responderContext.deliverQueued()).isEqualTo(1);
        assertThat(pair.responderContext.deliverQueued()).isEqualTo(1);
        one.onCompletion = () -> {};
        assertThat(pair.responderContext.deliverQueued()).isEqualTo(1);
        assertThat(pair.responderContext.deliverQueued()).isZero();
    }

    private long received() {
        return responders.stream()
                .flatMap(responder -> responder.completions.stream())
                .filter(completion -> completion.id() != ANSWER)
                .count();
    }

    private static void send(Endpoint sender, long id) {
        sender.queuePair.send(id, QueuePair.SIGNALED);
        sender.gather(0, 1);
        sender.queuePair.doorbell();
    }

    /** Writes no bytes, which needs no receive of the peer. */
    private static void answer(Endpoint responder) {
        responder.queuePair.write(ANSWER, QueuePair.SIGNALED, 0, 1);
        responder.queuePair.doorbell();
    }
}
