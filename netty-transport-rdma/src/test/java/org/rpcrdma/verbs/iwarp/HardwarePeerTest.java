// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.rpcrdma.verbs.iwarp.RawPeer.hex;
import static org.rpcrdma.verbs.iwarp.RawPeer.readRequest;
import static org.rpcrdma.verbs.iwarp.RawPeer.tagged;
import static org.rpcrdma.verbs.iwarp.RawPeer.untagged;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.rpcrdma.verbs.QueuePair;
import org.rpcrdma.verbs.QueuePairConfig;

/**
 * Peers that behave as the Linux drivers of iWARP hardware do: they always ask for the CRC, insist on the peer-to-peer
 * model with the ready-to-receive message that they know, and fall back to revision 1.
 */
class HardwarePeerTest {

    private static final byte[] NOTHING = {};
    private static final QueuePairConfig SIZE = new QueuePairConfig(16, 16, 8, 8);

    private final List<AutoCloseable> open = new ArrayList<>();

    @AfterEach
    void closeAll() throws Exception {
        for (AutoCloseable closeable : open) {
            closeable.close();
        }
    }

    private <T extends AutoCloseable> T closed(T closeable) {
        open.add(0, closeable);
        return closeable;
    }

    static Stream<Arguments> initiators() {
        byte[] read = readRequest(1, 0x77, 5, 0, 1, 0);
        byte[] write = tagged(0xc1, 0, 1, 0, NOTHING);
        return Stream.of(
                Arguments.of("cxgb4", "50 02 0004 8020 4020", "50 02 0004 8008 4008", read),
                Arguments.of("irdma, Write", "50 02 0004 8020 8020", "50 02 0004 8008 8008", write),
                Arguments.of("irdma, Read", "50 02 0004 8020 4001", "50 02 0004 8001 4008", read),
                // The depth is raised for the Read itself.
                Arguments.of(
                        "irdma, Read without a depth",
                        "50 02 0004 8020 4000",
                        "50 02 0004 8001 4008",
                        read),
                Arguments.of("cxgb4, revision 1", "40 01 0000", "40 01 0000", write));
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("initiators")
    void connectsToUs(String name, String request, String reply, byte[] rtr) throws IOException {
        Pair pair = closed(new Pair(IwarpConfig.defaults(), IwarpConfig.defaults()));
        pair.listen(InetAddress.getLoopbackAddress());
        IwarpContext context = pair.responderContext;
        RawPeer peer = closed(RawPeer.connect(pair.listener.localAddress(), context));
        peer.send(hex(RawPeer.REQUEST, request));
        Pair.until(() -> pair.request != null, context);
        Endpoint endpoint = new Endpoint(context, 4096);
        endpoint.queuePair = context.createQueuePair(pair.request, SIZE, endpoint);
        endpoint.receive(1, 0, 100);
        endpoint.queuePair.send(2, QueuePair.SIGNALED);
        endpoint.gather(0, 3);
        endpoint.queuePair.accept(NOTHING);
        endpoint.queuePair.doorbell();
        byte[] expected = hex(RawPeer.REPLY, reply);
        assertThat(peer.read(expected.length)).isEqualTo(expected);
        peer.sendUlpdu(rtr, true);
        if (rtr.length == 46) {
            byte[] response = RawPeer.fpdu(tagged(0xc1, 2, 0x77, 5, NOTHING), true);
            assertThat(peer.read(response.length)).isEqualTo(response);
        }
        byte[] send = RawPeer.fpdu(untagged(0x41, 3, 0, 0, 1, 0, new byte[3]), true);
        assertThat(peer.read(send.length)).isEqualTo(send);
        peer.sendUlpdu(untagged(0x41, 3, 0, 0, 1, 0, new byte[] {9}), true);
        Pair.until(() -> endpoint.completion(1) != null, context);
        assertThat(endpoint.get(0, 1)).containsExactly(9);
    }

    static Stream<Arguments> responders() {
        return Stream.of(
                Arguments.of("cxgb4", "50 02 0004 8008 4008", false),
                Arguments.of("irdma, Write", "50 02 0004 8008 8008", true),
                Arguments.of("irdma, Read", "50 02 0004 8001 4008", false));
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("responders")
    void takesOurConnection(String name, String reply, boolean write) throws IOException {
        IwarpContext context = closed(new IwarpContext(IwarpConfig.defaults()));
        ServerSocketChannel server = closed(ServerSocketChannel.open());
        server.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
        Endpoint endpoint = new Endpoint(context, 4096);
        endpoint.queuePair = context.createQueuePair(SIZE, endpoint);
        endpoint.queuePair.connect((InetSocketAddress) server.getLocalAddress(), null, NOTHING);
        endpoint.receive(1, 0, 100);
        RawPeer peer = closed(RawPeer.accept(server, context));
        // What these drivers refuse a Request without: A, and C or D with a depth.
        assertThat(peer.read(24)).isEqualTo(hex(RawPeer.REQUEST, "10 02 0004 8008 c008"));
        peer.send(hex(RawPeer.REPLY, reply));
        byte[] rtr = peer.read(write ? 20 : 52);
        byte[] ulpdu = Arrays.copyOfRange(rtr, 2, rtr.length - 4);
        assertThat(rtr).isEqualTo(RawPeer.fpdu(ulpdu, true));
        assertThat(ulpdu[1]).isEqualTo((byte) (write ? 0x40 : 0x41));
        // Only now the responder may speak.
        if (!write) {
            int sink = ByteBuffer.wrap(ulpdu).getInt(18);
            peer.sendUlpdu(tagged(0xc1, 2, sink, 0, NOTHING), true);
        }
        peer.sendUlpdu(untagged(0x41, 3, 0, 0, 1, 0, new byte[] {9}), true);
        Pair.until(() -> endpoint.completion(1) != null, context);
        assertThat(endpoint.get(0, 1)).containsExactly(9);
        assertThat(endpoint.isEnded()).isFalse();
    }
}
