// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.rpcrdma.verbs.iwarp.RawPeer.hex;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HexFormat;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.rpcrdma.verbs.QueuePair;
import org.rpcrdma.verbs.WorkStatus;
import org.rpcrdma.verbs.iwarp.mpa.StreamException;

/** Connections with markers (RFC 5044, 4.3) against a scripted peer; the RFC's own figures among them. */
class MarkerConnectionTest {

    private static final byte[] NOTHING = {};
    private static final IwarpConfig ASKS =
            IwarpConfig.builder().peerToPeer(false).markers(true).build();

    /** A figure of RFC 5044, 4.4, from the golden frames. */
    private static byte[] figure(int number) throws IOException {
        try (InputStream in =
                MarkerConnectionTest.class.getResourceAsStream("/iwarp-vectors.txt")) {
            String name = "rfc5044_fig" + number + "_with_marker|";
            return new String(in.readAllBytes(), StandardCharsets.US_ASCII)
                    .lines()
                    .filter(line -> line.startsWith(name))
                    .map(line -> hex(line.substring(line.lastIndexOf('|') + 1)))
                    .findFirst()
                    .orElseThrow();
        }
    }

    private record Peer(Pair pair, RawPeer raw, Endpoint endpoint) implements AutoCloseable {

        static Peer of(IwarpConfig config, String request, String reply) throws IOException {
            Pair pair = new Pair(config, config);
            pair.listen(InetAddress.getLoopbackAddress());
            RawPeer raw = RawPeer.connect(pair.listener.localAddress(), pair.responderContext);
            raw.send(hex(RawPeer.REQUEST, request));
            Pair.until(() -> pair.request != null, pair.responderContext);
            Endpoint endpoint = new Endpoint(pair.responderContext, 1 << 16);
            endpoint.queuePair =
                    pair.responderContext.createQueuePair(pair.request, Pair.SIZE, endpoint);
            for (int i = 1; i <= 4; i++) {
                endpoint.receive(i, 0, 1000);
            }
            endpoint.queuePair.accept(NOTHING);
            assertThat(raw.read(24)).isEqualTo(hex(RawPeer.REPLY, reply));
            return new Peer(pair, raw, endpoint);
        }

        void until(java.util.function.BooleanSupplier condition) {
            Pair.until(condition, pair.responderContext);
        }

        @Override
        public void close() {
            raw.close();
            pair.close();
        }
    }

    /** Figures 5 and 6 are the first and the last FPDU of a stream whose second one is 440 bytes long. */
    @Test
    void understandsTheFiguresOfTheRfc() throws IOException {
        try (Peer peer = Peer.of(ASKS, "50 02 0004 0008 0008", "d0 02 0004 0008 0008")) {
            Endpoint endpoint = peer.endpoint();
            int key = endpoint.expose(8192, 420, QueuePair.REMOTE_WRITE);
            byte[] data = new byte[420];
            Arrays.fill(data, (byte) 0x55);
            MarkedStream stream = new MarkedStream(true);
            byte[] send1 = RawPeer.untagged(0x41, 3, 0, 0, 1, 0, new byte[24]);
            assertThat(stream.fpdu(send1)).isEqualTo(figure(5));
            byte[] write =
                    stream.fpdu(
                            RawPeer.tagged(
                                    0xc1, 0, key, endpoint.queuePair.exposedOffset(key), data));
            endpoint.put(0, new byte[] {1, 1, 1});
            peer.raw().send(figure(5));
            peer.raw().send(write);
            peer.raw().send(figure(6));
            peer.until(() -> endpoint.completion(2) != null);
            assertThat(endpoint.completions)
                    .containsExactly(
                            new Endpoint.Completion(1, WorkStatus.SUCCESS, 24, 0),
                            new Endpoint.Completion(2, WorkStatus.SUCCESS, 24, 0));
            assertThat(endpoint.get(0, 3)).containsExactly(0, 0, 0);
            assertThat(endpoint.get(8192, 420)).isEqualTo(data);
        }
    }

    /** The same stream, made here, to the byte. */
    @Test
    void makesTheFiguresOfTheRfc() throws IOException {
        IwarpConfig config = IwarpConfig.builder().peerToPeer(false).build();
        try (Peer peer = Peer.of(config, "d0 02 0004 0008 0008", "50 02 0004 0008 0008")) {
            Endpoint endpoint = peer.endpoint();
            peer.raw().sendUlpdu(RawPeer.tagged(0xc1, 0, 1, 0, NOTHING), true);
            endpoint.queuePair.send(11, 0);
            endpoint.gather(2000, 24);
            endpoint.queuePair.write(12, 0, 0x1234, 0x77);
            endpoint.gather(2000, 420);
            endpoint.queuePair.send(13, QueuePair.SIGNALED);
            endpoint.gather(2000, 24);
            endpoint.queuePair.doorbell();
            peer.until(() -> endpoint.completion(13) != null);
            assertThat(peer.raw().read(52)).isEqualTo(figure(5));
            peer.raw().read(440);
            assertThat(peer.raw().read(52)).isEqualTo(figure(6));
        }
    }

    /** The Terminate keeps to the markers, also when it follows an FPDU of which a part was sent. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void terminatesWithMarkers(boolean crc) throws IOException {
        String flags = crc ? "d0" : "90";
        try (Peer peer = Peer.of(ASKS, flags + "02 0004 0008 0008", flags + "02 0004 0008 0008")) {
            Endpoint endpoint = peer.endpoint();
            MarkedStream out = new MarkedStream(crc);
            MarkedStream in = new MarkedStream(crc);
            peer.raw().send(out.fpdu(RawPeer.tagged(0xc1, 0, 1, 0, NOTHING)));
            endpoint.queuePair.send(11, QueuePair.SIGNALED);
            endpoint.gather(0, 700);
            endpoint.queuePair.doorbell();
            peer.until(() -> endpoint.completion(11) != null);
            byte[] send = in.fpdu(RawPeer.untagged(0x41, 3, 0, 0, 1, 0, new byte[700]));
            byte[] wrong = RawPeer.untagged(0x41, 3, 0, 0, 7, 0, NOTHING);
            peer.raw().send(out.fpdu(wrong));
            byte[] terminate =
                    in.fpdu(
                            RawPeer.untagged(
                                    0x41,
                                    7,
                                    0,
                                    2,
                                    1,
                                    0,
                                    hex("1203c000 0012", HexFormat.of().formatHex(wrong))));
            ByteArrayOutputStream expected = new ByteArrayOutputStream();
            expected.writeBytes(send);
            expected.writeBytes(terminate);
            assertThat(peer.raw().readToEnd()).isEqualTo(expected.toByteArray());
            assertThat(peer.raw().wasReset()).isFalse();
        }
    }

    @Test
    void aMarkerThatPointsElsewhereTerminates() throws IOException {
        try (Peer peer = Peer.of(ASKS, "10 02 0004 0008 0008", "90 02 0004 0008 0008")) {
            Endpoint endpoint = peer.endpoint();
            byte[] fpdu =
                    new MarkedStream(false)
                            .fpdu(RawPeer.untagged(0x41, 3, 0, 0, 1, 0, new byte[] {9}));
            fpdu[3] = 4;
            peer.raw().send(fpdu);
            assertThat(peer.raw().readToEnd())
                    .isEqualTo(
                            hex(
                                    "00164147 00000000 00000002 00000001 00000000 20030000",
                                    "00000000"));
            peer.until(endpoint::isEnded);
            assertThat(endpoint.ends.get(0)).isInstanceOf(StreamException.class);
            assertThat(endpoint.memory.get(0)).isZero();
            assertThat(peer.pair().responderContext.counters().terminatesSent(2)).isEqualTo(1);
        }
    }

    @Test
    void anEndInsideAnFpduIsALoss() throws IOException {
        try (Peer peer = Peer.of(ASKS, "10 02 0004 0008 0008", "90 02 0004 0008 0008")) {
            peer.raw().send(new byte[] {0, 0, 0, 0, 0});
            peer.raw().shutdownOutput();
            peer.until(peer.endpoint()::isEnded);
            assertThat(peer.endpoint().ends.get(0)).hasMessageContaining("inside an FPDU");
            assertThat(peer.pair().responderContext.counters().connectionsLost()).isEqualTo(1);
        }
    }
}
