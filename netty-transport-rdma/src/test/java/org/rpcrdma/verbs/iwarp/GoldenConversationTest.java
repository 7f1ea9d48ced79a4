// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.function.BooleanSupplier;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.rpcrdma.verbs.QueuePair;
import org.rpcrdma.verbs.QueuePairConfig;
import org.rpcrdma.verbs.RejectedException;
import org.rpcrdma.verbs.WorkStatus;
import org.rpcrdma.verbs.iwarp.mpa.CrcPolicy;
import org.rpcrdma.verbs.iwarp.rdmap.TerminatedException;
import org.rpcrdma.verbs.iwarp.rdmap.Vector;

/**
 * The golden frames in conversations over a socket: each one is acted upon, and where it could be ours the same bytes
 * go out. (The figures with markers are in {@link MarkerConnectionTest}.)
 *
 * <p>What a peer learns from us first, STags, offsets and the count of messages before, is put into a frame; the rest
 * is as it was captured.
 */
class GoldenConversationTest {

    private static final byte[] NOTHING = {};
    private static final int ROOM = 8192;
    private static final int TARGET = 16_384;
    private static final int BYTES = 1 << 20;
    private static final QueuePairConfig SIZE = new QueuePairConfig(64, 64, 128, 128);

    private final List<AutoCloseable> open = new ArrayList<>();
    private IwarpContext context;
    private Endpoint endpoint;
    private RawPeer peer;
    private boolean crc;

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

    private static Vector vector(String name) {
        return Stream.of("request", "reply", "fpdu")
                .flatMap(Vector::all)
                .filter(vector -> vector.name.equals(name))
                .findFirst()
                .orElseThrow();
    }

    private static byte[] bytes(String name) {
        return vector(name).bytes;
    }

    private void until(BooleanSupplier condition) {
        Pair.until(condition, context);
    }

    /** A scripted initiator, connected by a Request of its own or a golden one. */
    private byte[] accept(byte[] request, QueuePairConfig size, byte[] privateData, int maxUlpdu)
            throws IOException {
        IwarpConfig config = IwarpConfig.builder().maxUlpdu(maxUlpdu).build();
        Pair pair = closed(new Pair(config, config));
        context = pair.responderContext;
        pair.listen(InetAddress.getLoopbackAddress());
        peer = closed(RawPeer.connect(pair.listener.localAddress(), context));
        peer.send(request);
        until(() -> pair.request != null);
        endpoint = new Endpoint(context, BYTES);
        endpoint.queuePair = context.createQueuePair(pair.request, size, endpoint);
        for (int i = 1; i <= 3; i++) {
            endpoint.receive(i, (i - 1) * 4096, 4096);
        }
        endpoint.queuePair.accept(privateData);
        return peer.read(20 + privateData.length + ((request[16] & 0x10) != 0 ? 4 : 0));
    }

    private void accept(boolean withCrc) throws IOException {
        crc = withCrc;
        accept(RawPeer.request(withCrc), SIZE, NOTHING, 0);
    }

    static Stream<Arguments> startups() {
        return Stream.of(
                Arguments.of("mpa_request_v2_nfs_client", "mpa_reply_v2_nfs_server", 0, 128),
                Arguments.of("crc_mpa_request_C1", "crc_mpa_reply_C1", 0, 128),
                Arguments.of("rping_mpa_request", "rping_mpa_reply", 1, 1));
    }

    /** The kernel's NFS client is answered as by the kernel's NFS server. */
    @ParameterizedTest(name = "{0}")
    @MethodSource("startups")
    void answersLikeTheKernel(String request, String reply, int ird, int ord) throws IOException {
        byte[] expected = bytes(reply);
        byte[] answer =
                accept(
                        bytes(request),
                        new QueuePairConfig(64, 64, ird, ord),
                        vector(reply).data("ulp_private_data"),
                        0);
        assertThat(answer).isEqualTo(expected);
        assertThat(endpoint.queuePair.outboundReads()).isEqualTo(ord);
    }

    private void connect(IwarpConfig config, QueuePairConfig size, byte[] privateData)
            throws IOException {
        context = closed(new IwarpContext(config));
        ServerSocketChannel server = closed(ServerSocketChannel.open());
        server.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
        endpoint = new Endpoint(context, 4096);
        endpoint.queuePair = context.createQueuePair(size, endpoint);
        endpoint.queuePair.connect((InetSocketAddress) server.getLocalAddress(), null, privateData);
        peer = closed(RawPeer.accept(server, context));
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("startups")
    void asksLikeTheKernel(String request, String reply, int ird, int ord) throws IOException {
        Vector golden = vector(request);
        IwarpConfig config =
                IwarpConfig.builder()
                        .peerToPeer(false)
                        .crc(golden.flag("C") ? CrcPolicy.REQUIRE : CrcPolicy.ACCEPT)
                        .build();
        connect(
                config,
                new QueuePairConfig(64, 64, golden.integer("IRD"), golden.integer("ORD")),
                golden.data("ulp_private_data"));
        assertThat(peer.read(golden.bytes.length)).isEqualTo(golden.bytes);
        peer.send(bytes(reply));
        until(endpoint::isConnected);
        assertThat(endpoint.connectedWith).isEqualTo(vector(reply).data("ulp_private_data"));
    }

    static Stream<Vector> replies() {
        return Vector.all("reply");
    }

    /** Each Reply to an initiator that offers everything. */
    @ParameterizedTest
    @MethodSource("replies")
    void replyIsActedUpon(Vector reply) throws IOException {
        connect(IwarpConfig.defaults(), SIZE, NOTHING);
        peer.read(24);
        peer.send(reply.bytes);
        until(() -> endpoint.isConnected() || endpoint.connectFailure != null);
        if (reply.flag("R")) {
            assertThat(endpoint.connectFailure).isInstanceOf(RejectedException.class);
            return;
        }
        assertThat(endpoint.connectFailure).isNull();
        assertThat(endpoint.connectedWith).isEqualTo(reply.data("ulp_private_data"));
        assertThat(endpoint.queuePair.outboundReads()).isEqualTo(reply.integer("IRD"));
        if (reply.flag("A")) {
            byte[] first = peer.readUlpdu();
            assertThat(first)
                    .hasSize(reply.flag("C_rtr_write") ? 14 : reply.flag("D_rtr_read") ? 46 : 18);
        } else {
            assertThat(context.counters().fpdusOut()).isZero();
        }
    }

    static Stream<Vector> fpdus() {
        return Vector.all("fpdu");
    }

    @ParameterizedTest
    @MethodSource("fpdus")
    void fpduIsActedUpon(Vector vector) throws IOException {
        accept(vector.validCrc);
        int length = vector.integer("payload_len");
        boolean last = vector.flag("L");
        byte[] ulpdu =
                Arrays.copyOfRange(vector.bytes, 2, 2 + (vector.flag("T") ? 14 : 18) + length);
        byte[] payload = Arrays.copyOfRange(ulpdu, ulpdu.length - length, ulpdu.length);
        switch (vector.integer("opcode")) {
            case 0 -> write(ulpdu, payload);
            case 1 -> readRequest(vector, ulpdu);
            case 2 -> readResponse(ulpdu, payload, last);
            case 7 -> terminate(vector);
            default -> send(vector, ulpdu, payload);
        }
    }

    private void deliver(byte[] ulpdu) {
        peer.sendUlpdu(ulpdu, crc);
    }

    private void write(byte[] ulpdu, byte[] payload) {
        int key = endpoint.expose(TARGET, ROOM, QueuePair.REMOTE_WRITE);
        ByteBuffer.wrap(ulpdu).putInt(2, key).putLong(6, endpoint.queuePair.exposedOffset(key) + 1);
        deliver(ulpdu);
        until(() -> context.counters().fpdusIn() == 1);
        byte[] expected = new byte[ROOM];
        System.arraycopy(payload, 0, expected, 1, payload.length);
        assertThat(endpoint.get(TARGET, ROOM)).isEqualTo(expected);
    }

    private void readRequest(Vector vector, byte[] ulpdu) {
        int size = vector.integer("RDMARDSZ");
        byte[] data = new byte[size];
        new Random(size).nextBytes(data);
        endpoint.put(TARGET, data);
        int key = endpoint.expose(TARGET, size, QueuePair.REMOTE_READ);
        ByteBuffer.wrap(ulpdu).putInt(34, key).putLong(38, endpoint.queuePair.exposedOffset(key));
        deliver(ulpdu);
        byte[] received = new byte[size];
        int done = 0;
        boolean last = false;
        while (!last) {
            ByteBuffer segment = ByteBuffer.wrap(peer.readUlpdu());
            last = segment.get() == (byte) 0xc1;
            assertThat(segment.get()).isEqualTo((byte) 0x42);
            assertThat(segment.getInt()).isEqualTo(vector.integer("SinkSTag"));
            assertThat(segment.getLong()).isEqualTo(vector.number("SinkTO") + done);
            int bytes = segment.remaining();
            segment.get(received, done, bytes);
            done += bytes;
        }
        assertThat(received).isEqualTo(data);
        assertThat(done).isEqualTo(size);
    }

    private void readResponse(byte[] ulpdu, byte[] payload, boolean last) {
        deliver(RawPeer.tagged(0xc1, 0, 1, 0, NOTHING));
        endpoint.queuePair.read(20, QueuePair.SIGNALED, 0, 7);
        endpoint.gather(TARGET, payload.length + (last ? 0 : 100));
        endpoint.queuePair.doorbell();
        int sink = ByteBuffer.wrap(peer.readUlpdu()).getInt(18);
        ByteBuffer.wrap(ulpdu).putInt(2, sink).putLong(6, 0);
        deliver(ulpdu);
        until(() -> context.counters().fpdusIn() == 2);
        assertThat(endpoint.get(TARGET, payload.length)).isEqualTo(payload);
        until(() -> !last || endpoint.completion(20) != null);
        assertThat(endpoint.completion(20) != null).isEqualTo(last);
        assertThat(endpoint.isEnded()).isFalse();
    }

    private void terminate(Vector vector) {
        boolean starting = vector.name.startsWith("terminate_mpa");
        if (!starting) {
            // Two codes mean something else before the first FPDU.
            deliver(RawPeer.tagged(0xc1, 0, 1, 0, NOTHING));
        }
        peer.send(vector.bytes);
        assertThat(peer.readToEnd()).isEmpty();
        until(endpoint::isEnded);
        assertThat(endpoint.ends.get(0))
                .isInstanceOfSatisfying(
                        TerminatedException.class,
                        e -> {
                            assertThat(e.terminate().layer()).isEqualTo(vector.integer("layer"));
                            assertThat(e.terminate().type()).isEqualTo(vector.integer("type"));
                            assertThat(e.terminate().code()).isEqualTo(vector.integer("code"));
                        });
        assertThat(context.counters().terminatesReceived(vector.integer("layer"))).isEqualTo(1);
        assertThat(endpoint.completions).hasSize(3).allMatch(c -> c.status() == WorkStatus.FLUSHED);
    }

    private void send(Vector vector, byte[] ulpdu, byte[] payload) {
        int before = vector.integer("MO");
        if (before > 0) {
            deliver(RawPeer.untagged(0x01, 3, 0, 0, 1, 0, new byte[before]));
        }
        int key =
                vector.integer("opcode") == 4
                        ? endpoint.expose(TARGET, 1, QueuePair.REMOTE_READ)
                        : 0;
        ByteBuffer.wrap(ulpdu).putInt(2, key).putInt(10, 1);
        deliver(ulpdu);
        until(() -> context.counters().fpdusIn() == (before > 0 ? 2 : 1));
        assertThat(endpoint.get(before, payload.length)).isEqualTo(payload);
        if (vector.flag("L")) {
            until(() -> endpoint.completion(1) != null);
            assertThat(endpoint.completion(1))
                    .isEqualTo(
                            new Endpoint.Completion(
                                    1, WorkStatus.SUCCESS, before + payload.length, key));
        }
        assertThat(endpoint.isEnded()).isFalse();
    }

    /** A conversation of captured frames, not one byte changed: start-up, both RTRs, NFS NULL call and reply. */
    @Test
    void conversationWithAnNfsClient() throws IOException {
        byte[] reply =
                accept(
                        bytes("mpa_request_p2p"),
                        SIZE,
                        vector("mpa_request_p2p").data("ulp_private_data"),
                        0);
        assertThat(reply[20] & 0x80).isEqualTo(0x80);
        peer.send(bytes("rtr_zero_length_write"));
        peer.send(bytes("rtr_zero_length_read_request"));
        assertThat(peer.read(20)).isEqualTo(bytes("zero_length_read_response"));
        peer.send(bytes("send_rdma_msg_nfs3_null_call"));
        until(() -> endpoint.completion(1) != null);
        Vector answer = vector("send_rdma_msg_nfs3_null_reply");
        endpoint.put(TARGET, Arrays.copyOfRange(answer.bytes, 20, 72));
        endpoint.queuePair.send(11, QueuePair.SIGNALED);
        endpoint.gather(TARGET, 52);
        endpoint.queuePair.doorbell();
        assertThat(peer.read(76)).isEqualTo(answer.bytes);
        peer.send(bytes("send_rdma_msg_nfs3_fsinfo_call"));
        until(() -> endpoint.completion(2) != null);
        assertThat(endpoint.completion(2).length()).isEqualTo(128);
    }

    @Test
    void conversationWithCrc() throws IOException {
        Vector reply = vector("crc_mpa_reply_C1");
        assertThat(
                        accept(
                                bytes("crc_mpa_request_C1"),
                                new QueuePairConfig(64, 64, 0, 128),
                                reply.data("ulp_private_data"),
                                0))
                .isEqualTo(reply.bytes);
        peer.send(bytes("crc_send_null_call"));
        until(() -> endpoint.completion(1) != null);
        Vector answer = vector("crc_send_null_reply");
        endpoint.put(TARGET, Arrays.copyOfRange(answer.bytes, 20, 72));
        endpoint.queuePair.send(11, QueuePair.SIGNALED);
        endpoint.gather(TARGET, 52);
        endpoint.queuePair.doorbell();
        assertThat(peer.read(76)).isEqualTo(answer.bytes);
    }

    /** A message of 4001 bytes in three segments: understood, and made again to the byte. */
    @Test
    void messageInThreeSegments() throws IOException {
        accept(RawPeer.request(true), SIZE, NOTHING, 1442);
        List<String> segments =
                List.of(
                        "crc_send_multi_segment_first_MO0",
                        "crc_send_multi_segment_second",
                        "crc_send_multi_segment_last_pad3");
        segments.forEach(name -> peer.send(bytes(name)));
        until(() -> endpoint.completion(1) != null);
        assertThat(endpoint.completion(1).length()).isEqualTo(4001);
        endpoint.queuePair.send(11, QueuePair.SIGNALED);
        endpoint.gather(0, 4001);
        endpoint.queuePair.doorbell();
        for (String name : segments) {
            assertThat(peer.read(bytes(name).length)).isEqualTo(bytes(name));
        }
    }

    /** 10240 bytes at an MTU of 1500 are cut as the kernel cuts them, as a Write and as a Read Response. */
    @Test
    void segmentsLikeTheKernel() throws IOException {
        accept(RawPeer.request(false), SIZE, NOTHING, 1442);
        byte[] data = new byte[10_240];
        for (String name :
                List.of(
                        "write_multi_segment_first_L0",
                        "write_multi_segment_second_L0",
                        "write_multi_segment_last_L1")) {
            fill(data, vector(name), 0x05c451a4cefc9000L);
        }
        deliver(RawPeer.tagged(0xc1, 0, 1, 0, NOTHING));
        endpoint.put(TARGET, data);
        endpoint.queuePair.write(11, QueuePair.SIGNALED, 0x05c451a4cefc9000L, 0x7f3b1401);
        endpoint.gather(TARGET, data.length);
        endpoint.queuePair.doorbell();
        assertSegments("write_multi_segment_");

        Arrays.fill(data, (byte) 0);
        for (String name :
                List.of(
                        "read_response_multi_segment_first_L0",
                        "read_response_multi_segment_second_L0",
                        "read_response_multi_segment_last_L1")) {
            fill(data, vector(name), 0xff328981c3094000L);
        }
        endpoint.put(TARGET, data);
        int key = endpoint.expose(TARGET, data.length, QueuePair.REMOTE_READ);
        byte[] request = Arrays.copyOfRange(bytes("read_request_10240"), 2, 48);
        ByteBuffer.wrap(request).putInt(34, key).putLong(38, endpoint.queuePair.exposedOffset(key));
        deliver(request);
        assertSegments("read_response_multi_segment_");
    }

    private static void fill(byte[] data, Vector segment, long base) {
        System.arraycopy(
                segment.bytes,
                16,
                data,
                (int) (segment.number("TO") - base),
                segment.integer("payload_len"));
    }

    /** Eight segments, of which the first two and the last were captured. */
    private void assertSegments(String name) {
        assertThat(peer.read(1448)).isEqualTo(bytes(name + "first_L0"));
        assertThat(peer.read(1448)).isEqualTo(bytes(name + "second_L0"));
        peer.read(5 * 1448);
        assertThat(peer.read(264)).isEqualTo(bytes(name + "last_L1"));
    }

    /** The figure without its marker, in both directions. */
    @Test
    void figureWithoutMarker() throws IOException {
        accept(true);
        byte[] figure = bytes("rfc5044_fig5_without_leading_marker");
        peer.send(figure);
        until(() -> endpoint.completion(1) != null);
        endpoint.queuePair.send(11, QueuePair.SIGNALED);
        endpoint.gather(TARGET, 24);
        endpoint.queuePair.doorbell();
        assertThat(peer.read(figure.length)).isEqualTo(figure);
        assertThat(endpoint.completion(1).length()).isEqualTo(24);
    }
}
