// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.rpcrdma.verbs.iwarp.RawPeer.hex;
import static org.rpcrdma.verbs.iwarp.RawPeer.tagged;
import static org.rpcrdma.verbs.iwarp.RawPeer.untagged;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.time.Duration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.rpcrdma.verbs.QueuePair;
import org.rpcrdma.verbs.QueuePairConfig;

/** A peer that has overlooked what came right after its Reply is woken by something that has no effect. */
class ZeroLengthWritePeerWakeupTest {

    private static final byte[] NOTHING = {};
    private static final byte[] SEND = untagged(0x41, 3, 0, 0, 1, 0, new byte[3]);

    /** The STag of a zero-length Write is not looked at (RFC 5040, 5.2.1); this one is soft-iWARP's own. */
    private static final byte[] EMPTY_WRITE = tagged(0xc1, 0, 1, 0, NOTHING);

    private IwarpContext context;
    private Endpoint endpoint;
    private RawPeer peer;

    @BeforeEach
    void connect() throws IOException {
        context =
                new IwarpContext(
                        IwarpConfig.builder()
                                .peerToPeer(false)
                                .wakeAfter(Duration.ofMillis(1))
                                .build());
        endpoint = new Endpoint(context, 4096);
        try (ServerSocketChannel server = ServerSocketChannel.open()) {
            server.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
            endpoint.queuePair =
                    context.createQueuePair(new QueuePairConfig(16, 16, 8, 8), endpoint);
            endpoint.queuePair.connect((InetSocketAddress) server.getLocalAddress(), null, NOTHING);
            endpoint.receive(1, 0, 100);
            peer = RawPeer.accept(server, context);
        }
        peer.read(24);
        peer.send(hex(RawPeer.REPLY, "10 02 0004 0008 0008"));
        Pair.until(endpoint::isConnected, context);
    }

    @AfterEach
    void close() throws Exception {
        peer.close();
        context.close();
    }

    private void send() {
        endpoint.queuePair.send(2, QueuePair.SIGNALED);
        endpoint.gather(200, 3);
        endpoint.queuePair.doorbell();
    }

    private void expect(byte[] ulpdu) throws IOException {
        byte[] fpdu = RawPeer.fpdu(ulpdu, false);
        assertThat(peer.read(fpdu.length)).isEqualTo(fpdu);
    }

    @Test
    void whoDoesNotAnswerIsNudgedThreeTimes() throws IOException {
        send();
        expect(SEND);
        expect(EMPTY_WRITE);
        expect(EMPTY_WRITE);
        expect(EMPTY_WRITE);
        Pair.until(context.loop.timers::isEmpty, context);
        // It was slow, not deaf: the connection is as it was.
        peer.sendUlpdu(untagged(0x41, 3, 0, 0, 1, 0, new byte[] {9}), false);
        Pair.until(() -> endpoint.completion(1) != null, context);
        send();
        expect(untagged(0x41, 3, 0, 0, 2, 0, new byte[3]));
        assertThat(endpoint.isEnded()).isFalse();
    }

    @Test
    void whoWasToldNothingIsNotNudged() throws IOException {
        Pair.until(context.loop.timers::isEmpty, context);
        assertThat(context.counters().fpdusOut()).isZero();
        send();
        expect(SEND);
    }

    @Test
    void whoAnswersIsNotNudged() throws IOException {
        peer.sendUlpdu(untagged(0x41, 3, 0, 0, 1, 0, new byte[] {9}), false);
        Pair.until(() -> endpoint.completion(1) != null, context);
        assertThat(context.loop.timers.isEmpty()).isTrue();
    }

    @Test
    void theEndOfTheConnectionEndsIt() {
        endpoint.queuePair.close();
        peer.close();
        Pair.until(() -> !context.isLingering(), context);
        assertThat(context.loop.timers.isEmpty()).isTrue();
    }
}
