// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.rpcrdma.verbs.iwarp.RawPeer.hex;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.ServiceLoader;
import java.util.Set;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.rpcrdma.verbs.ConnectionRequest;
import org.rpcrdma.verbs.Listener;
import org.rpcrdma.verbs.ListenerHandler;
import org.rpcrdma.verbs.QueuePair;
import org.rpcrdma.verbs.QueuePairConfig;
import org.rpcrdma.verbs.RejectedException;
import org.rpcrdma.verbs.VerbsProvider;
import org.rpcrdma.verbs.WorkStatus;
import org.rpcrdma.verbs.iwarp.mpa.CrcPolicy;
import org.rpcrdma.verbs.iwarp.mpa.MpaNegotiation;
import org.rpcrdma.verbs.iwarp.mpa.MpaStartupFrame;
import org.rpcrdma.verbs.iwarp.mpa.Rtr;

/** How connections begin: RFC 5044, 7.1 and RFC 6581, against scripted peers on both sides. */
class StartupTest {

    private static final int PATIENCE_SECONDS = 120;

    private static final IwarpConfig PLAIN = IwarpConfig.builder().peerToPeer(false).build();
    private static final IwarpConfig HASTY =
            PLAIN.toBuilder()
                    .responderTimeout(Duration.ofMillis(50))
                    .initiatorTimeout(Duration.ofMillis(50))
                    .drainTimeout(Duration.ofMillis(50))
                    .build();
    private static final byte[] NOTHING = {};

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

    private Pair listening(IwarpConfig config) throws IOException {
        Pair pair = closed(new Pair(config, config));
        pair.listen(InetAddress.getLoopbackAddress());
        return pair;
    }

    private RawPeer peerOf(Pair pair) throws IOException {
        return closed(RawPeer.connect(pair.listener.localAddress(), pair.responderContext));
    }

    private static Endpoint accept(Pair pair, QueuePairConfig size, byte[] privateData)
            throws IOException {
        Pair.until(() -> pair.request != null, pair.responderContext);
        Endpoint endpoint = new Endpoint(pair.responderContext, 4096);
        endpoint.queuePair = pair.responderContext.createQueuePair(pair.request, size, endpoint);
        endpoint.queuePair.accept(privateData);
        return endpoint;
    }

    static Stream<Arguments> answers() {
        return Stream.of(
                Arguments.of(
                        "like an NFS client",
                        "10 02 000c 0080 0000 f6ab0e1801010303",
                        "10 02 0005 0000 0010 aa",
                        16),
                Arguments.of(
                        "depths both ways", "10 02 0004 0004 0006", "10 02 0005 0006 0004 aa", 4),
                Arguments.of(
                        "more Reads than we admit",
                        "10 02 0004 0004 0080",
                        "10 02 0005 0008 0004 aa",
                        4),
                Arguments.of(
                        "depths not negotiated",
                        "10 02 0004 3fff 3fff",
                        "10 02 0005 3fff 3fff aa",
                        16),
                Arguments.of(
                        "inbound depth not negotiated",
                        "10 02 0004 3fff 0001",
                        "10 02 0005 0001 3fff aa",
                        16),
                Arguments.of(
                        "like Chelsio hardware",
                        "50 02 0004 8020 4020",
                        "50 02 0005 8008 4010 aa",
                        16),
                Arguments.of(
                        "like Intel hardware",
                        "50 02 0004 8020 8020",
                        "50 02 0005 8008 8010 aa",
                        16),
                Arguments.of(
                        "asks for the CRC", "50 02 0004 0001 0001", "50 02 0005 0001 0001 aa", 1),
                Arguments.of(
                        "peer to peer, all RTRs",
                        "10 02 0004 c001 c001",
                        "10 02 0005 8001 c001 aa",
                        1),
                Arguments.of(
                        "peer to peer, Write",
                        "10 02 0004 8001 8001",
                        "10 02 0005 8001 8001 aa",
                        1),
                Arguments.of(
                        "peer to peer, Read without a depth",
                        "10 02 0004 8001 4000",
                        "10 02 0005 8001 4001 aa",
                        1),
                Arguments.of(
                        "peer to peer, Send only",
                        "10 02 0004 c001 0001",
                        "10 02 0005 c001 0001 aa",
                        1),
                Arguments.of(
                        "peer to peer, Send or Read",
                        "10 02 0004 c001 4001",
                        "10 02 0005 8001 4001 aa",
                        1),
                Arguments.of(
                        "peer to peer, nothing offered",
                        "10 02 0004 8001 0001",
                        "10 02 0005 8001 8001 aa",
                        1),
                Arguments.of(
                        "asks for markers", "90 02 0004 0001 0001", "10 02 0005 0001 0001 aa", 1),
                Arguments.of("reserved bits", "1f 02 0004 0001 0001", "10 02 0005 0001 0001 aa", 1),
                Arguments.of(
                        "RTR flags without peer to peer",
                        "10 02 0004 4001 c001",
                        "10 02 0005 0001 0001 aa",
                        1),
                Arguments.of("revision 2, not enhanced", "00 02 0000", "00 02 0001 aa", 1),
                Arguments.of("revision 1", "00 01 0003 112233", "00 01 0001 aa", 1),
                Arguments.of("revision 1 with CRC", "40 01 0000", "40 01 0001 aa", 1));
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("answers")
    void responderAnswers(String name, String request, String reply, int ord) throws IOException {
        Pair pair = listening(PLAIN);
        RawPeer peer = peerOf(pair);
        byte[] frame = hex(RawPeer.REQUEST, request);
        for (byte b : frame) {
            peer.send(new byte[] {b});
        }
        Endpoint endpoint =
                accept(pair, new QueuePairConfig(1, 1, 8, 16), new byte[] {(byte) 0xaa});
        byte[] expected = hex(RawPeer.REPLY, reply);
        assertThat(HexFormat.of().formatHex(peer.read(expected.length)))
                .isEqualTo(HexFormat.of().formatHex(expected));
        assertThat(endpoint.queuePair.outboundReads()).isEqualTo(ord);
        Pair.until(endpoint::isConnected, pair.responderContext);
        boolean enhanced = (frame[16] & 0x10) != 0 && frame[17] == 2;
        assertThat(endpoint.connectedWith).hasSize(frame.length - (enhanced ? 24 : 20));
    }

    static Stream<Arguments> garbage() {
        return Stream.of(
                Arguments.of("a web client", "474554202f20485454502f312e310d0a0d0a0d0a"),
                Arguments.of("a Reply", RawPeer.REPLY + "10 02 0004 0001 0001"),
                Arguments.of("revision 0", RawPeer.REQUEST + "00 00 0000"),
                Arguments.of("revision 3", RawPeer.REQUEST + "10 03 0004 0001 0001"),
                Arguments.of("PD_Length 513", RawPeer.REQUEST + "10 02 0201"),
                Arguments.of("PD_Length 65535", RawPeer.REQUEST + "10 02 ffff"),
                Arguments.of("enhanced without its data", RawPeer.REQUEST + "10 02 0002 0000"));
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("garbage")
    void responderClosesOnGarbage(String name, String bytes) throws IOException {
        Pair pair = listening(PLAIN);
        RawPeer peer = peerOf(pair);
        peer.send(hex(bytes));
        assertThat(peer.readToEnd()).isEmpty();
        assertThat(pair.responderContext.counters().startupsRefused()).isEqualTo(1);
        assertThat(pair.request).isNull();
        pair.connect(Pair.SIZE, Pair.SIZE, 64);
    }

    @Test
    void responderRejectsTheCrcWhenItIsOff() throws IOException {
        RawPeer peer = peerOf(listening(PLAIN.toBuilder().crc(CrcPolicy.OFF).build()));
        peer.send(RawPeer.request(true));
        assertThat(peer.readToEnd()).isEqualTo(hex(RawPeer.REPLY, "70 02 0004 0000 0000"));
    }

    static Stream<Arguments> longestPrivateData() {
        return Stream.of(
                Arguments.of("enhanced", "10 02 0200 0001 0001", 508, "10 02 0200 0001 0001"),
                Arguments.of("not enhanced", "00 02 0200", 512, "00 02 0200"),
                Arguments.of("revision 1", "00 01 0200", 512, "00 01 0200"));
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("longestPrivateData")
    void carriesTheLongestPrivateData(String name, String request, int most, String reply)
            throws IOException {
        Pair pair = listening(PLAIN.toBuilder().maxPrivateData(512).build());
        RawPeer peer = peerOf(pair);
        peer.send(hex(RawPeer.REQUEST, request, "ab".repeat(most)));
        Pair.until(() -> pair.request != null, pair.responderContext);
        assertThat(pair.request.privateData()).isEqualTo(hex("ab".repeat(most)));
        Endpoint endpoint = new Endpoint(pair.responderContext, 64);
        endpoint.queuePair =
                pair.responderContext.createQueuePair(pair.request, Pair.SIZE, endpoint);
        assertThatThrownBy(() -> endpoint.queuePair.accept(new byte[most + 1]))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage(
                        "Private data has %d bytes, expected at most %d; see"
                                + " IwarpConfig.maxPrivateData",
                        most + 1, most);
        byte[] data = hex("cd".repeat(most));
        endpoint.queuePair.accept(data);
        assertThat(peer.read(20 + 512)).isEqualTo(hex(RawPeer.REPLY, reply, "cd".repeat(most)));
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("longestPrivateData")
    void rejectsWithTheLongestPrivateData(String name, String request, int most, String reply)
            throws IOException {
        Pair pair = listening(PLAIN.toBuilder().maxPrivateData(512).build());
        RawPeer peer = peerOf(pair);
        peer.send(hex(RawPeer.REQUEST, request, "ab".repeat(most)));
        Pair.until(() -> pair.request != null, pair.responderContext);
        assertThatThrownBy(() -> pair.request.reject(new byte[most + 1]))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("expected at most " + most);
        pair.request.reject(hex("cd".repeat(most)));
        byte[] rejection = hex(RawPeer.REPLY, reply, "cd".repeat(most));
        rejection[16] |= 0x20;
        Arrays.fill(rejection, 20, 20 + 512 - most, (byte) 0);
        assertThat(peer.readToEnd()).isEqualTo(rejection);
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2})
    void bothEndsCarryTheLongestPrivateData(int revision) throws IOException {
        IwarpConfig config = PLAIN.toBuilder().mpaRevision(revision).maxPrivateData(512).build();
        Pair pair = listening(config);
        int most = pair.initiatorContext.capabilities().maxPrivateData();
        assertThat(most).isEqualTo(revision == 1 ? 512 : 508);
        Endpoint initiator = new Endpoint(pair.initiatorContext, 64);
        initiator.queuePair = pair.initiatorContext.createQueuePair(Pair.SIZE, initiator);
        initiator.queuePair.connect(pair.listener.localAddress(), null, hex("12".repeat(most)));
        pair.until(() -> pair.request != null);
        assertThat(pair.request.privateData()).isEqualTo(hex("12".repeat(most)));
        Endpoint responder = new Endpoint(pair.responderContext, 64);
        responder.queuePair =
                pair.responderContext.createQueuePair(pair.request, Pair.SIZE, responder);
        responder.queuePair.accept(hex("34".repeat(most)));
        pair.until(() -> initiator.isConnected() && responder.isConnected());
        assertThat(initiator.connectedWith).isEqualTo(hex("34".repeat(most)));
    }

    @Test
    void refusesToSendPrivateDataThatCrashesPeers() throws IOException {
        Pair pair = listening(PLAIN);
        assertThat(pair.initiatorContext.capabilities().maxPrivateData()).isEqualTo(251);
        Endpoint endpoint = new Endpoint(pair.initiatorContext, 64);
        endpoint.queuePair = pair.initiatorContext.createQueuePair(Pair.SIZE, endpoint);
        assertThatThrownBy(
                        () ->
                                endpoint.queuePair.connect(
                                        pair.listener.localAddress(), null, new byte[252]))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage(
                        "Private data has 252 bytes, expected at most 251; see"
                                + " IwarpConfig.maxPrivateData");
        endpoint.queuePair.connect(pair.listener.localAddress(), null, new byte[251]);
        pair.until(() -> pair.request != null);
    }

    @Test
    void aPeerThatSendsBeforeTheReplyIsCutOff() throws IOException {
        Pair pair = listening(PLAIN);
        RawPeer peer = peerOf(pair);
        peer.send(RawPeer.request(false));
        peer.send(new byte[] {1});
        Pair.until(() -> pair.request != null, pair.responderContext);
        assertThatThrownBy(
                        () ->
                                pair.responderContext.createQueuePair(
                                        pair.request,
                                        Pair.SIZE,
                                        new Endpoint(pair.responderContext, 64)))
                .isInstanceOf(IOException.class)
                .hasMessageContaining("before the Reply");
        assertThat(peer.readToEnd()).isEmpty();
    }

    @Test
    void aRequestIsAnsweredOnce() throws IOException {
        Pair pair = listening(PLAIN);
        RawPeer peer = peerOf(pair);
        peer.send(RawPeer.request(false));
        Pair.until(() -> pair.request != null, pair.responderContext);
        pair.request.reject(new byte[] {1, 2});
        pair.request.reject(NOTHING);
        assertThat(peer.readToEnd()).isEqualTo(hex(RawPeer.REPLY, "30 02 0006 0000 0000 0102"));
        assertThatThrownBy(
                        () ->
                                pair.responderContext.createQueuePair(
                                        pair.request,
                                        Pair.SIZE,
                                        new Endpoint(pair.responderContext, 64)))
                .isInstanceOf(IOException.class);
    }

    @Test
    void slowRequestTimesOut() throws IOException {
        Pair pair = listening(HASTY);
        RawPeer peer = peerOf(pair);
        peer.send(hex(RawPeer.REQUEST));
        assertThat(peer.readToEnd()).isEmpty();
        assertThat(pair.responderContext.counters().startupsTimedOut()).isEqualTo(1);
    }

    @Test
    void newcomersWaitAndThoseThatAreThereStay() throws IOException {
        Pair pair = listening(PLAIN.toBuilder().maxHalfOpen(2).build());
        byte[] request = RawPeer.request(false);
        RawPeer oldest = peerOf(pair);
        oldest.send(Arrays.copyOf(request, 1));
        RawPeer second = peerOf(pair);
        second.send(Arrays.copyOf(request, 1));
        RawPeer newcomer = peerOf(pair);
        newcomer.send(request);
        for (RawPeer peer : List.of(oldest, second)) {
            pair.request = null;
            peer.send(Arrays.copyOfRange(request, 1, request.length));
            Pair.until(() -> pair.request != null, pair.responderContext);
            assertThat(pair.request.remoteAddress()).isEqualTo(peer.localAddress());
            if (peer == oldest) {
                // There is room for the newcomer now.
                pair.request = null;
                Pair.until(() -> pair.request != null, pair.responderContext);
                assertThat(pair.request.remoteAddress()).isEqualTo(newcomer.localAddress());
            }
        }
        assertThat(pair.responderContext.counters().startupsRefused()).isZero();
    }

    /** A lack of descriptors lasts: it is not asked again at each poll. */
    @Test
    void acceptingRestsAfterAFailure() throws IOException {
        Pair pair = closed(new Pair(PLAIN, PLAIN));
        List<Throwable> failures = new ArrayList<>();
        IwarpListener listener =
                listener(pair, 16, request -> pair.request = request, failures::add);
        pair.listener = listener;
        RawPeer peer = peerOf(pair);
        peer.send(RawPeer.request(false));
        listener.failed(new IOException("Too many open files"));
        Pair.until(() -> pair.request != null, pair.responderContext);
        assertThat(System.nanoTime() - listener.deadline()).isNotNegative();
        assertThat(failures).hasSize(1);
    }

    /** The loop that answers a request need not be the listener's, which sleeps when it accepts nobody. */
    @Test
    @Timeout(PATIENCE_SECONDS)
    void aFullListenerThatSleepsIsWokenWhenThereIsRoom() throws Exception {
        Pair pair = closed(new Pair(PLAIN, PLAIN));
        List<ConnectionRequest> requests = new ArrayList<>();
        pair.listener = listener(pair, 1, requests::add, failure -> {});
        peerOf(pair).send(RawPeer.request(false));
        Pair.until(() -> !requests.isEmpty(), pair.responderContext);
        RawPeer newcomer = peerOf(pair);
        newcomer.send(RawPeer.request(false));
        while (pair.responderContext.poll(64) > 0) {
            // until there is nothing that the sleep could end for
        }
        Thread other = new Thread(() -> requests.get(0).reject(NOTHING));
        other.start();
        while (requests.size() == 1) {
            pair.responderContext.await(-1);
            pair.responderContext.poll(64);
        }
        other.join();
        assertThat(requests.get(1).remoteAddress()).isEqualTo(newcomer.localAddress());
    }

    /** Nobody else tells the loop that there is room again, and nothing else may ever wake it. */
    @ParameterizedTest(name = "backlog {0}, half-open {1}")
    @CsvSource({"1, 128", "16, 1"})
    @Timeout(PATIENCE_SECONDS)
    void aFullListenerIsResumedWhenWhatFillsItTimesOut(int backlog, int halfOpen)
            throws IOException {
        // Each start-up expires in the poll behind the one that has begun it.
        IwarpConfig config =
                PLAIN.toBuilder()
                        .maxHalfOpen(halfOpen)
                        .responderTimeout(Duration.ofNanos(1))
                        .build();
        Pair pair = closed(new Pair(config, config));
        pair.listener = listener(pair, backlog, request -> {}, failure -> {});
        peerOf(pair);
        Pair.until(
                () -> pair.responderContext.counters().startupsTimedOut() == 1,
                pair.responderContext);
        peerOf(pair);
        while (pair.responderContext.counters().startupsTimedOut() == 1) {
            pair.responderContext.await(-1);
            pair.responderContext.poll(64);
        }
    }

    /** A socket that another thread closes keeps its descriptor until the listener's thread has selected. */
    @ParameterizedTest(name = "rejected {0}")
    @ValueSource(booleans = {true, false})
    @Timeout(PATIENCE_SECONDS)
    void whoClosesTheSocketOfARequestWakesTheListenersThread(boolean rejected) throws Exception {
        IwarpContext context = closed(new IwarpContext(PLAIN));
        // Whatever has woken it before the socket was closed was in vain.
        ClosingChannel channel =
                new ClosingChannel(
                        () -> {
                            try {
                                context.await(1);
                            } catch (IOException e) {
                                throw new UncheckedIOException(e);
                            }
                        });
        MpaStartupFrame frame =
                MpaNegotiation.request(PLAIN.mpa(), 1, 1, PLAIN.mpa().checked(NOTHING, true));
        IwarpConnectionRequest request =
                new IwarpConnectionRequest(
                        context.loop.poller,
                        PLAIN.mpa(),
                        new PendingConnectionRequests(),
                        channel,
                        frame);
        if (rejected) {
            request.reject(NOTHING);
        } else {
            IwarpContext other = closed(new IwarpContext(PLAIN));
            assertThatThrownBy(() -> request.take(other.loop.poller))
                    .hasMessageContaining("closed");
        }
        assertThat(channel.isOpen()).isFalse();
        context.await(-1);
    }

    private static IwarpListener listener(
            Pair pair,
            int backlog,
            Consumer<ConnectionRequest> requests,
            Consumer<Throwable> failures)
            throws IOException {
        InetSocketAddress any = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
        ListenerHandler handler =
                new ListenerHandler() {
                    @Override
                    public void connectionRequested(ConnectionRequest request) {
                        requests.accept(request);
                    }

                    @Override
                    public void acceptFailed(Throwable cause) {
                        failures.accept(cause);
                    }
                };
        return (IwarpListener) pair.responderContext.listen(any, backlog, handler);
    }

    /** Returns when a request to another listener was seen, and so all that is to be seen of what came before. */
    private void awaitAnother(Pair pair) throws IOException {
        Listener full = pair.listener;
        List<ConnectionRequest> requests = new ArrayList<>();
        pair.listener = listener(pair, 16, requests::add, failure -> {});
        peerOf(pair).send(RawPeer.request(false));
        Pair.until(() -> !requests.isEmpty(), pair.responderContext);
        pair.listener = full;
    }

    @Test
    void requestsBeyondTheBacklogWait() throws IOException {
        Pair pair = closed(new Pair(PLAIN, PLAIN));
        pair.listen(InetAddress.getLoopbackAddress());
        List<RawPeer> peers = new ArrayList<>();
        List<ConnectionRequest> requests = new ArrayList<>();
        for (int i = 0; i < 16; i++) {
            pair.request = null;
            RawPeer peer = peerOf(pair);
            peer.send(RawPeer.request(false));
            Pair.until(() -> pair.request != null, pair.responderContext);
            peers.add(peer);
            requests.add(pair.request);
        }
        pair.request = null;
        RawPeer oneMore = peerOf(pair);
        oneMore.send(RawPeer.request(false));
        awaitAnother(pair);
        assertThat(pair.request).isNull();
        requests.get(3).reject(NOTHING);
        byte[] rejection = hex(RawPeer.REPLY, "30 02 0004 0000 0000");
        assertThat(peers.remove(3).readToEnd()).isEqualTo(rejection);
        Pair.until(() -> pair.request != null, pair.responderContext);
        assertThat(pair.request.remoteAddress()).isEqualTo(oneMore.localAddress());
        peers.add(oneMore);
        pair.listener.close();
        for (RawPeer peer : peers) {
            assertThat(peer.readToEnd()).isEqualTo(rejection);
        }
    }

    @Test
    void responderWaitsForTheFirstFpdu() throws IOException {
        Pair pair = listening(PLAIN);
        RawPeer peer = peerOf(pair);
        peer.send(RawPeer.request(false));
        Endpoint endpoint = accept(pair, Pair.SIZE, NOTHING);
        endpoint.queuePair.send(1, 1);
        endpoint.queuePair.doorbell();
        peer.read(24);
        assertThat(endpoint.completion(1)).isNull();
        assertThat(pair.responderContext.counters().fpdusOut()).isZero();
        peer.sendUlpdu(RawPeer.tagged(0xc1, 0, 1, 0, NOTHING), false);
        assertThat(peer.readUlpdu()).isEqualTo(RawPeer.untagged(0x41, 3, 0, 0, 1, 0, NOTHING));
    }

    // The initiator, against a scripted responder.

    private ServerSocketChannel server() throws IOException {
        ServerSocketChannel server = closed(ServerSocketChannel.open());
        return server.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
    }

    private IwarpContext context(IwarpConfig config) throws IOException {
        return closed(new IwarpContext(config));
    }

    private static Endpoint connect(
            IwarpContext context, InetSocketAddress address, QueuePairConfig size)
            throws IOException {
        Endpoint endpoint = new Endpoint(context, 4096);
        endpoint.queuePair = context.createQueuePair(size, endpoint);
        endpoint.receive(1, 0, 100);
        endpoint.queuePair.connect(address, null, new byte[] {9});
        return endpoint;
    }

    private static InetSocketAddress addressOf(ServerSocketChannel server) throws IOException {
        return (InetSocketAddress) server.getLocalAddress();
    }

    @Test
    void initiatorTakesTheSmallerDepthAndSurplusBytes() throws IOException {
        IwarpContext context = context(PLAIN);
        ServerSocketChannel server = server();
        Endpoint endpoint = connect(context, addressOf(server), new QueuePairConfig(4, 4, 8, 16));
        RawPeer peer = closed(RawPeer.accept(server, context));
        assertThat(peer.read(25)).isEqualTo(hex(RawPeer.REQUEST, "10 02 0005 0008 0010 09"));
        // The first Send comes in the same bytes as the Reply.
        byte[] reply = hex(RawPeer.REPLY, "10 02 0004 0003 0008");
        byte[] send =
                RawPeer.fpdu(RawPeer.untagged(0x41, 3, 0, 0, 1, 0, new byte[] {1, 2, 3}), false);
        peer.send(hex(HexFormat.of().formatHex(reply), HexFormat.of().formatHex(send)));
        Pair.until(() -> endpoint.completion(1) != null, context);
        assertThat(endpoint.isConnected()).isTrue();
        assertThat(endpoint.completion(1).length()).isEqualTo(3);
        assertThat(endpoint.queuePair.outboundReads()).isEqualTo(3);
    }

    private static final Rtr[] ALL = Rtr.values();

    static Stream<Arguments> readyToReceive() {
        byte[] write = RawPeer.tagged(0xc1, 0, 1, 0, NOTHING);
        byte[] send = RawPeer.untagged(0x41, 3, 0, 0, 1, 0, NOTHING);
        Set<Rtr> usual = IwarpConfig.defaults().readyToReceive();
        return Stream.of(
                Arguments.of("8008 c008", usual, "8001 c008", write),
                Arguments.of("8008 c008", usual, "8001 8008", write),
                Arguments.of("8008 c008", usual, "8001 4008", null),
                Arguments.of("c008 c008", Set.of(ALL), "c001 c008", write),
                Arguments.of("c008 c008", Set.of(ALL), "c001 4008", null),
                Arguments.of("c008 c008", Set.of(ALL), "c001 0008", send),
                Arguments.of("8008 8008", Set.of(Rtr.ZERO_LENGTH_WRITE), "8001 8008", write),
                Arguments.of("8008 4008", Set.of(Rtr.ZERO_LENGTH_READ), "8001 4008", null),
                // Not offered, but possible.
                Arguments.of("8008 4008", Set.of(Rtr.ZERO_LENGTH_READ), "8001 8008", write),
                Arguments.of("8008 c008", usual, "c000 4008", send),
                Arguments.of("c008 0008", Set.of(Rtr.ZERO_LENGTH_SEND), "c001 0008", send));
    }

    @ParameterizedTest(name = "offered {1}, answered {2}")
    @MethodSource("readyToReceive")
    void initiatorSendsTheReadyToReceiveMessageFirst(
            String asked, Set<Rtr> offered, String depths, byte[] first) throws IOException {
        IwarpContext context =
                context(PLAIN.toBuilder().peerToPeer(true).readyToReceive(offered).build());
        ServerSocketChannel server = server();
        Endpoint endpoint = connect(context, addressOf(server), Pair.SIZE);
        RawPeer peer = closed(RawPeer.accept(server, context));
        assertThat(peer.read(25)).isEqualTo(hex(RawPeer.REQUEST, "10 02 0005", asked, "09"));
        endpoint.queuePair.send(7, 1);
        endpoint.queuePair.doorbell();
        peer.send(hex(RawPeer.REPLY, "10 02 0004", depths));
        byte[] rtr = peer.readUlpdu();
        if (first != null) {
            assertThat(rtr).isEqualTo(first);
        } else {
            assertThat(HexFormat.of().formatHex(rtr))
                    .startsWith("41410000000000000001000000010000");
            assertThat(HexFormat.of().formatHex(rtr, 30, 34)).isEqualTo("00000000");
            int sink = ByteBuffer.wrap(rtr).getInt(18);
            peer.sendUlpdu(RawPeer.tagged(0xc1, 2, sink, 0, NOTHING), false);
        }
        // A zero-length Send as RTR has MSN 1.
        int message = first != null && first.length == 18 ? 2 : 1;
        assertThat(peer.readUlpdu())
                .isEqualTo(RawPeer.untagged(0x41, 3, 0, 0, message, 0, NOTHING));
        Pair.until(() -> endpoint.completion(7) != null, context);
        assertThat(endpoint.isEnded()).isFalse();
    }

    @Test
    void readsAreNotOfferedWithoutADepth() throws IOException {
        IwarpContext context =
                context(
                        PLAIN.toBuilder()
                                .peerToPeer(true)
                                .readyToReceive(Set.of(Rtr.ZERO_LENGTH_READ))
                                .build());
        ServerSocketChannel server = server();
        connect(context, addressOf(server), new QueuePairConfig(4, 4, 8, 0));
        RawPeer peer = closed(RawPeer.accept(server, context));
        assertThat(peer.read(25)).isEqualTo(hex(RawPeer.REQUEST, "10 02 0005 0008 0000 09"));
    }

    @ParameterizedTest
    @EnumSource(Rtr.class)
    void eachReadyToReceiveMessageLetsTheResponderSpeakFirst(Rtr rtr) throws IOException {
        Pair pair =
                listening(PLAIN.toBuilder().peerToPeer(true).readyToReceive(Set.of(rtr)).build());
        pair.connect(Pair.SIZE, Pair.SIZE, 64);
        pair.initiator.receive(1, 0, 64);
        pair.responder.receive(1, 0, 64);
        pair.responder.queuePair.send(2, QueuePair.SIGNALED);
        pair.responder.queuePair.doorbell();
        pair.until(() -> pair.initiator.completion(1) != null);
        // The message itself is not the ULP's.
        assertThat(pair.responder.completion(1)).isNull();
        pair.initiator.queuePair.send(2, QueuePair.SIGNALED);
        pair.initiator.gather(0, 3);
        pair.initiator.queuePair.doorbell();
        pair.until(() -> pair.responder.completion(1) != null);
        assertThat(pair.responder.completion(1).length()).isEqualTo(3);
        assertThat(pair.initiator.completions.stream().map(Endpoint.Completion::id))
                .containsExactly(1L, 2L);
    }

    /** A peer that was told to send a zero-length Send, and sends data: that is the ULP's. */
    @Test
    void aSendInsteadOfTheReadyToReceiveMessageIsDelivered() throws IOException {
        Pair pair = listening(PLAIN);
        RawPeer peer = peerOf(pair);
        peer.send(hex(RawPeer.REQUEST, "10 02 0004 c001 0001"));
        Endpoint endpoint = accept(pair, Pair.SIZE, NOTHING);
        endpoint.receive(1, 0, 10);
        endpoint.receive(2, 0, 10);
        peer.read(24);
        peer.sendUlpdu(RawPeer.untagged(0x41, 3, 0, 0, 1, 0, new byte[] {1}), false);
        peer.sendUlpdu(RawPeer.untagged(0x41, 3, 0, 0, 2, 0, NOTHING), false);
        Pair.until(() -> endpoint.completion(2) != null, pair.responderContext);
        assertThat(endpoint.completion(1).length()).isEqualTo(1);
        assertThat(endpoint.completion(2).length()).isZero();
    }

    @Test
    void initiatorSpeaksRevision1() throws IOException {
        IwarpContext context =
                context(
                        PLAIN.toBuilder()
                                .mpaRevision(1)
                                .peerToPeer(true)
                                .crc(CrcPolicy.REQUIRE)
                                .build());
        ServerSocketChannel server = server();
        Endpoint endpoint = connect(context, addressOf(server), Pair.SIZE);
        RawPeer peer = closed(RawPeer.accept(server, context));
        assertThat(peer.read(21)).isEqualTo(hex(RawPeer.REQUEST, "40 01 0001 09"));
        peer.send(hex(RawPeer.REPLY, "00 01 0002 1234"));
        peer.sendUlpdu(RawPeer.untagged(0x41, 3, 0, 0, 1, 0, new byte[] {7}), true);
        Pair.until(() -> endpoint.completion(1) != null, context);
        assertThat(endpoint.connectedWith).isEqualTo(hex("1234"));
        assertThat(endpoint.get(0, 1)).containsExactly(7);
        assertThat(endpoint.queuePair.outboundReads()).isEqualTo(1);
    }

    @Test
    void revision1CarriesReadsBothWays() throws IOException {
        Pair pair = listening(PLAIN.toBuilder().mpaRevision(1).build());
        pair.connect(Pair.SIZE, Pair.SIZE, 64);
        for (boolean back : new boolean[] {false, true}) {
            Endpoint reader = back ? pair.responder : pair.initiator;
            Endpoint owner = back ? pair.initiator : pair.responder;
            owner.put(32, new byte[] {8, 9});
            int key = owner.expose(32, 2, QueuePair.REMOTE_READ);
            for (int i = 1; i <= 3; i++) {
                reader.queuePair.read(
                        i, QueuePair.SIGNALED, owner.queuePair.exposedOffset(key), key);
                reader.gather(0, 2);
            }
            reader.queuePair.doorbell();
            pair.until(() -> reader.completion(3) != null);
            assertThat(reader.completion(3).status()).isEqualTo(WorkStatus.SUCCESS);
            assertThat(reader.get(0, 2)).containsExactly(8, 9);
        }
    }

    static Stream<Arguments> badRepliesToRevision1() {
        return Stream.of(
                Arguments.of("revision 2", "00 02 0000"),
                Arguments.of("enhanced", "10 02 0004 0001 0001"));
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("badRepliesToRevision1")
    void revision1TakesNoOtherReply(String name, String reply) throws IOException {
        IwarpContext context = context(PLAIN.toBuilder().mpaRevision(1).build());
        ServerSocketChannel server = server();
        Endpoint endpoint = connect(context, addressOf(server), Pair.SIZE);
        RawPeer peer = closed(RawPeer.accept(server, context));
        peer.read(21);
        peer.send(hex(RawPeer.REPLY, reply));
        assertThat(HexFormat.of().formatHex(peer.readToEnd(), 20, 24)).isEqualTo("20040000");
        Pair.until(() -> endpoint.connectFailure != null, context);
        assertThat(endpoint.connectFailure).hasMessageContaining("expected revision 1 without");
    }

    /** A Reply that asks for what is refused is not malformed: there is nothing to say in a Terminate. */
    @Test
    void initiatorClosesWhenTheCrcIsOffAndThePeerAsksForIt() throws IOException {
        IwarpContext context = context(PLAIN.toBuilder().crc(CrcPolicy.OFF).build());
        ServerSocketChannel server = server();
        Endpoint endpoint = connect(context, addressOf(server), Pair.SIZE);
        RawPeer peer = closed(RawPeer.accept(server, context));
        peer.read(25);
        peer.send(hex(RawPeer.REPLY, "50 02 0004 0001 0001"));
        assertThat(peer.readToEnd()).isEmpty();
        Pair.until(() -> endpoint.connectFailure != null, context);
        assertThat(endpoint.connectFailure)
                .isInstanceOf(ConnectException.class)
                .hasMessageContaining("CrcPolicy.OFF");
    }

    static Stream<Arguments> crcPolicies() {
        return Stream.of(CrcPolicy.values())
                .flatMap(a -> Stream.of(CrcPolicy.values()).map(b -> Arguments.of(a, b)));
    }

    /** RFC 5044, 7.1.1: it is on when either end asks, so an end that wants none cannot have such a peer. */
    @ParameterizedTest(name = "initiator {0}, responder {1}")
    @MethodSource("crcPolicies")
    void crcPoliciesAgreeOrRefuse(CrcPolicy initiator, CrcPolicy responder) throws IOException {
        Pair pair =
                closed(
                        new Pair(
                                PLAIN.toBuilder().crc(initiator).build(),
                                PLAIN.toBuilder().crc(responder).build()));
        pair.listen(InetAddress.getLoopbackAddress());
        boolean asked = initiator == CrcPolicy.REQUIRE || responder == CrcPolicy.REQUIRE;
        boolean refused = initiator == CrcPolicy.OFF || responder == CrcPolicy.OFF;
        if (!asked || !refused) {
            pair.connect(Pair.SIZE, Pair.SIZE, 64);
            return;
        }
        Endpoint endpoint = connect(pair.initiatorContext, pair.listener.localAddress(), Pair.SIZE);
        pair.until(() -> endpoint.connectFailure != null || pair.request != null);
        if (pair.request != null) {
            accept(pair, Pair.SIZE, NOTHING);
            pair.until(() -> endpoint.connectFailure != null);
        }
        assertThat(endpoint.connectFailure).isInstanceOf(IOException.class);
    }

    static Stream<Arguments> badReplies() {
        return Stream.of(
                Arguments.of("a Request", RawPeer.REQUEST + "10 02 0004 0001 0001", "20040000"),
                Arguments.of("garbage", "00".repeat(20), "20040000"),
                Arguments.of("not enhanced", RawPeer.REPLY + "00 02 0000", "20040000"),
                Arguments.of("revision 1", RawPeer.REPLY + "00 01 0000", "20040000"),
                Arguments.of(
                        "more Reads than we admit",
                        RawPeer.REPLY + "10 02 0004 0008 0009",
                        "20060000"),
                Arguments.of("no RTR", RawPeer.REPLY + "10 02 0004 8008 0008", "20070000"),
                Arguments.of(
                        "Read as RTR, but no depth",
                        RawPeer.REPLY + "10 02 0004 8000 4008",
                        "20070000"),
                Arguments.of("PD_Length 513", RawPeer.REPLY + "10 02 0201", "20040000"),
                Arguments.of(
                        "enhanced without its data",
                        RawPeer.REPLY + "10 02 0002 0000",
                        "20040000"));
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("badReplies")
    void initiatorTerminatesOnABadReply(String name, String reply, String control)
            throws IOException {
        IwarpContext context = context(PLAIN.toBuilder().peerToPeer(true).build());
        ServerSocketChannel server = server();
        Endpoint endpoint = connect(context, addressOf(server), Pair.SIZE);
        RawPeer peer = closed(RawPeer.accept(server, context));
        peer.read(25);
        peer.send(hex(reply));
        assertThat(peer.readToEnd())
                .isEqualTo(
                        hex("00164147 00000000 00000002 00000001 00000000", control, "00000000"));
        Pair.until(() -> endpoint.connectFailure != null, context);
        assertThat(endpoint.connectFailure).isInstanceOf(ConnectException.class);
        assertThat(endpoint.completions).isEmpty();
    }

    /** The Terminate is framed as the Reply asks: with a marker, and with a CRC. */
    @ParameterizedTest
    @ValueSource(ints = {0x10, 0x50, 0x90, 0xd0})
    void theTerminateOfABadReplyIsFramedAsAgreed(int flags) throws IOException {
        IwarpContext context = context(PLAIN);
        ServerSocketChannel server = server();
        connect(context, addressOf(server), Pair.SIZE);
        RawPeer peer = closed(RawPeer.accept(server, context));
        peer.read(25);
        peer.send(
                hex(RawPeer.REPLY, HexFormat.of().toHexDigits((byte) flags), "02 0004 0008 0009"));
        byte[] ulpdu = hex("4147 00000000 00000002 00000001 00000000 20060000");
        boolean crc = (flags & 0x40) != 0;
        assertThat(peer.readToEnd())
                .isEqualTo(
                        (flags & 0x80) != 0
                                ? new MarkedStream(crc).fpdu(ulpdu)
                                : RawPeer.fpdu(ulpdu, crc));
    }

    @Test
    void rejectionCarriesPrivateData() throws IOException {
        IwarpContext context = context(PLAIN);
        ServerSocketChannel server = server();
        Endpoint endpoint = connect(context, addressOf(server), Pair.SIZE);
        RawPeer peer = closed(RawPeer.accept(server, context));
        peer.send(hex(RawPeer.REPLY, "30 02 0006 0000 0000 abcd"));
        Pair.until(() -> endpoint.connectFailure != null, context);
        assertThat(endpoint.connectFailure).isInstanceOf(RejectedException.class);
        assertThat(((RejectedException) endpoint.connectFailure).privateData())
                .isEqualTo(hex("abcd"));
    }

    @Test
    void silentResponderTimesOut() throws IOException {
        IwarpContext context = context(HASTY);
        ServerSocketChannel server = server();
        Endpoint endpoint = connect(context, addressOf(server), Pair.SIZE);
        Pair.until(() -> endpoint.connectFailure != null, context);
        assertThat(endpoint.connectFailure)
                .isInstanceOf(ConnectException.class)
                // On a slow machine the time is over before TCP was seen to be connected.
                .hasMessageMatching(".* did not answer (the MPA Request )?within 50 ms.*");
    }

    @Test
    void refusedConnectionIsAConnectException() throws IOException {
        IwarpContext context = context(PLAIN);
        ServerSocketChannel server = server();
        InetSocketAddress address = addressOf(server);
        server.close();
        Endpoint endpoint = connect(context, address, Pair.SIZE);
        Pair.until(() -> endpoint.connectFailure != null, context);
        assertThat(endpoint.connectFailure).isInstanceOf(ConnectException.class);
    }

    @Test
    void unknownHostIsReported() throws IOException {
        IwarpContext context = context(PLAIN);
        Endpoint endpoint =
                connect(
                        context,
                        InetSocketAddress.createUnresolved("nowhere.invalid", 1),
                        Pair.SIZE);
        Pair.until(() -> endpoint.connectFailure != null, context);
        assertThat(endpoint.connectFailure).isInstanceOf(UnknownHostException.class);
    }

    @Test
    void disconnectGivesUpConnecting() throws IOException {
        IwarpContext context = context(PLAIN);
        ServerSocketChannel server = server();
        Endpoint endpoint = connect(context, addressOf(server), Pair.SIZE);
        endpoint.queuePair.disconnect();
        Pair.until(() -> endpoint.connectFailure != null, context);
        assertThat(endpoint.connectedWith).isNull();
    }

    @Test
    void connectsOverIpv6() throws IOException {
        Pair pair = closed(new Pair(PLAIN, PLAIN));
        pair.listen(InetAddress.getByAddress(hex("00".repeat(15), "01")));
        pair.connect(Pair.SIZE, Pair.SIZE, 64);
        assertThat(pair.initiator.queuePair.remoteAddress())
                .isEqualTo(pair.listener.localAddress());
        assertThat(pair.initiator.queuePair.localAddress())
                .isEqualTo(pair.responder.queuePair.remoteAddress());
    }

    @Test
    void negotiatesDepthsWithItself() throws IOException {
        Pair pair = listening(PLAIN);
        pair.connect(new QueuePairConfig(4, 4, 128, 0), new QueuePairConfig(4, 4, 4, 16), 64);
        assertThat(pair.initiator.queuePair.outboundReads()).isZero();
        assertThat(pair.responder.queuePair.outboundReads()).isEqualTo(16);
        assertThatThrownBy(() -> pair.initiator.queuePair.read(1, 0, 0, 0))
                .isInstanceOf(IllegalStateException.class);
    }

    @Test
    void isFoundAsAService() {
        VerbsProvider provider =
                ServiceLoader.load(VerbsProvider.class).stream()
                        .map(ServiceLoader.Provider::get)
                        .filter(found -> found.name().equals("iwarp"))
                        .findFirst()
                        .orElseThrow();
        assertThat(provider.isAvailable()).isTrue();
        assertThat(provider.unavailabilityCause()).isNull();
        provider.ensureAvailability();
    }
}
