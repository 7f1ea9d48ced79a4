// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.rpcrdma.verbs.iwarp.RawPeer.hex;

import java.io.IOException;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.Set;
import java.util.UUID;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.DisabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.rpcrdma.verbs.DeviceCounter;
import org.rpcrdma.verbs.RejectedException;
import org.rpcrdma.verbs.iwarp.mpa.CrcPolicy;
import org.rpcrdma.verbs.iwarp.mpa.Rtr;
import org.rpcrdma.verbs.iwarp.shared.SharedMemoryMappedAnswer;
import org.rpcrdma.verbs.iwarp.shared.SharedMemoryOffer;

/** When two ends use shared memory, and that nothing shows when they do not. */
@DisabledOnOs(OS.WINDOWS)
class SharedStartupTest {

    private static final byte[] NOTHING = {};

    @TempDir Path directory;
    @TempDir Path elsewhere;

    private IwarpConfig shared(UnaryOperator<IwarpConfig.Builder> more) {
        return more.apply(
                        IwarpConfig.builder()
                                .sharedMemory(true)
                                .sharedDirectory(directory)
                                .sharedRingBytes(4096))
                .build();
    }

    private IwarpConfig shared() {
        return shared(builder -> builder);
    }

    private void assertNoFileIsLeft() throws IOException {
        for (Path place : new Path[] {directory, elsewhere}) {
            try (Stream<Path> left = Files.list(place)) {
                assertThat(left).isEmpty();
            }
        }
    }

    private static void assertShared(Pair pair, long connections) {
        assertThat(pair.initiatorContext.counters().connectionsShared()).isEqualTo(connections);
        assertThat(pair.responderContext.counters().connectionsShared()).isEqualTo(connections);
        assertThat(pair.responderContext.value(DeviceCounter.CONNECTIONS_SHARED))
                .isEqualTo(connections);
    }

    static Stream<Arguments> modes() {
        return Stream.of(
                mode("defaults", b -> b),
                mode("small frames", b -> b.maxUlpdu(128)),
                mode("CRC", b -> b.crc(CrcPolicy.REQUIRE)),
                mode("markers", b -> b.markers(true)),
                mode("revision 1", b -> b.mpaRevision(1)),
                mode("client and server", b -> b.peerToPeer(false)),
                mode("a Read first", b -> b.readyToReceive(Set.of(Rtr.ZERO_LENGTH_READ))),
                mode("a Send first", b -> b.readyToReceive(Set.of(Rtr.ZERO_LENGTH_SEND))),
                mode("just room for an offer", b -> b.maxPrivateData(3 + SharedMemoryOffer.BYTES)));
    }

    private static Arguments mode(String name, UnaryOperator<IwarpConfig.Builder> setting) {
        return Arguments.of(name, setting);
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("modes")
    void twoOwnEndsUseIt(String name, UnaryOperator<IwarpConfig.Builder> setting)
            throws IOException {
        try (Pair pair = new Pair(shared(setting), shared(setting))) {
            pair.listen(InetAddress.getLoopbackAddress());
            // Private data, every operation, and an orderly end.
            CutStreamTest.converse(pair);
            CutStreamTest.converse(pair);
            assertShared(pair, 2);
            assertThat(pair.request.privateData()).containsExactly(1, 2, 3);
            assertNoFileIsLeft();
        }
    }

    @Test
    void ownAddressesOfOtherInterfacesAreThisMachineToo() throws IOException {
        try (Pair pair = new Pair(shared(), shared())) {
            pair.listen(InetAddress.getLocalHost());
            CutStreamTest.converse(pair);
            assertShared(pair, 1);
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {27, 28})
    void theReplyHasToHaveRoom(int room) throws IOException {
        try (Pair pair = new Pair(shared(), shared(b -> b.maxPrivateData(2 + room)))) {
            pair.listen(InetAddress.getLoopbackAddress());
            CutStreamTest.converse(pair);
            assertShared(pair, room < SharedMemoryMappedAnswer.BYTES ? 0 : 1);
            assertNoFileIsLeft();
        }
    }

    private void staysWithTcp(IwarpConfig initiator, IwarpConfig responder) throws IOException {
        try (Pair pair = new Pair(initiator, responder)) {
            pair.listen(InetAddress.getLoopbackAddress());
            CutStreamTest.converse(pair);
            assertShared(pair, 0);
            assertThat(pair.request.privateData()).containsExactly(1, 2, 3);
            assertNoFileIsLeft();
        }
    }

    @Test
    void bothHaveToWantIt() throws IOException {
        staysWithTcp(shared(b -> b.sharedMemory(false)), shared());
        staysWithTcp(shared(), shared(b -> b.sharedMemory(false)));
    }

    @Test
    void theRequestHasToHaveRoom() throws IOException {
        IwarpConfig full = shared(b -> b.maxPrivateData(3 + SharedMemoryOffer.BYTES - 1));
        staysWithTcp(full, shared());
        try (IwarpContext context = new IwarpContext(full)) {
            // What users may send is not less for it.
            assertThat(context.capabilities().maxPrivateData()).isEqualTo(78);
        }
    }

    @Test
    void filesHaveToBeThere() throws IOException {
        staysWithTcp(shared(b -> b.sharedDirectory(directory.resolve("missing"))), shared());
        staysWithTcp(shared(), shared(b -> b.sharedDirectory(directory.resolve("missing"))));
        staysWithTcp(shared(), shared(b -> b.sharedDirectory(elsewhere)));
    }

    /** Its ends are on this machine, but TCP is not the peers' own. */
    @Test
    void behindARelayItIsTcp() throws IOException {
        try (Pair pair = new Pair(shared(), shared())) {
            pair.listen(InetAddress.getLoopbackAddress());
            try (Relay relay = new Relay(pair.listener.localAddress())) {
                pair.relay = relay;
                relay.next(Relay.ALL, Relay.ALL);
                CutStreamTest.converse(pair);
                assertThat(relay.requestBytes()).isGreaterThan(700);
            }
            assertShared(pair, 0);
            assertNoFileIsLeft();
        }
    }

    @Test
    void whoIsRejectedLeavesNoFile() throws IOException {
        try (Pair pair = new Pair(shared(), shared())) {
            pair.listen(InetAddress.getLoopbackAddress());
            Endpoint endpoint = initiate(pair.initiatorContext, pair.listener.localAddress());
            pair.until(() -> pair.request != null);
            pair.request.reject(new byte[] {7, 8});
            pair.until(() -> endpoint.connectFailure != null);
            assertThat(endpoint.connectFailure).isInstanceOf(RejectedException.class);
            assertThat(((RejectedException) endpoint.connectFailure).privateData())
                    .containsExactly(7, 8);
            assertNoFileIsLeft();
        }
    }

    private static Endpoint initiate(IwarpContext context, InetSocketAddress to)
            throws IOException {
        Endpoint endpoint = new Endpoint(context, 4096);
        endpoint.queuePair = context.createQueuePair(Pair.SIZE, endpoint);
        endpoint.queuePair.connect(to, null, new byte[] {1, 2, 3});
        return endpoint;
    }

    /** Begins a connection to a scripted responder. */
    private interface Script {
        void play(IwarpContext context, Endpoint endpoint, RawPeer peer, byte[] request)
                throws IOException;
    }

    private void toAScript(IwarpConfig config, Script script) throws IOException {
        try (ServerSocketChannel server = ServerSocketChannel.open();
                IwarpContext context = new IwarpContext(config)) {
            server.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
            Endpoint endpoint = initiate(context, (InetSocketAddress) server.getLocalAddress());
            try (RawPeer peer = RawPeer.accept(server, context)) {
                byte[] request = peer.read(24 + 3 + SharedMemoryOffer.BYTES);
                assertThat(Arrays.copyOfRange(request, 24, 27)).containsExactly(1, 2, 3);
                SharedMemoryOffer offer =
                        SharedMemoryOffer.of(Arrays.copyOfRange(request, 24, request.length));
                assertThat(offer.ringBytes()).isEqualTo(4096);
                assertThat(offer.process()).isEqualTo(ProcessHandle.current().pid());
                try (Stream<Path> files = Files.list(directory)) {
                    assertThat(files.map(file -> file.getFileName().toString()))
                            .containsExactly("rpcrdma-" + offer.process() + "-" + offer.file());
                }
                script.play(context, endpoint, peer, request);
                assertNoFileIsLeft();
            }
        }
    }

    private static byte[] reply(byte[] privateData) {
        return ByteBuffer.allocate(24 + privateData.length)
                .put(hex(RawPeer.REPLY, "10 02"))
                .putShort((short) (4 + privateData.length))
                .put(hex("0008 0008"))
                .put(privateData)
                .array();
    }

    @Test
    void aForeignResponderGetsTcp() throws IOException {
        toAScript(
                shared(b -> b.peerToPeer(false)),
                (context, endpoint, peer, request) -> {
                    peer.send(reply(new byte[] {9}));
                    Pair.until(endpoint::isConnected, context);
                    assertThat(endpoint.connectedWith).containsExactly(9);
                    assertThat(context.counters().connectionsShared()).isZero();
                    endpoint.queuePair.send(1, 0);
                    endpoint.gather(0, 3);
                    endpoint.queuePair.doorbell();
                    assertThat(peer.readUlpdu()).hasSize(18 + 3);
                });
    }

    @Test
    void aResponderThatSendsTheOfferBackHasNotTakenIt() throws IOException {
        toAScript(
                shared(),
                (context, endpoint, peer, request) -> {
                    peer.send(reply(Arrays.copyOfRange(request, 24, request.length)));
                    Pair.until(endpoint::isConnected, context);
                    assertThat(endpoint.connectedWith).containsExactly(1, 2, 3);
                    assertThat(context.counters().connectionsShared()).isZero();
                });
    }

    /** With any nonce: that of zeros is in a new file already. */
    @ParameterizedTest
    @ValueSource(longs = {0, 5})
    void aResponderThatHasNotMappedItIsNotBelieved(long nonce) throws IOException {
        toAScript(
                shared(),
                (context, endpoint, peer, request) -> {
                    peer.send(
                            reply(
                                    new SharedMemoryMappedAnswer(new UUID(0, nonce))
                                            .appendTo(NOTHING)));
                    Pair.until(() -> endpoint.connectFailure != null, context);
                    assertThat(endpoint.connectFailure)
                            .isInstanceOf(ConnectException.class)
                            .hasMessageContaining("has not");
                    peer.readToEnd();
                });
    }

    @Test
    void aResponderThatDoesNotAnswerLeavesNoFile() throws IOException {
        toAScript(
                shared(b -> b.initiatorTimeout(Duration.ofMillis(50))),
                (context, endpoint, peer, request) ->
                        Pair.until(() -> endpoint.connectFailure != null, context));
        toAScript(shared(), (context, endpoint, peer, request) -> endpoint.queuePair.close());
        toAScript(shared(), (context, endpoint, peer, request) -> endpoint.queuePair.disconnect());
        toAScript(shared(), (context, endpoint, peer, request) -> context.close());
        toAScript(
                shared(),
                (context, endpoint, peer, request) -> {
                    peer.reset();
                    Pair.until(() -> endpoint.connectFailure != null, context);
                });
        toAScript(
                shared(),
                (context, endpoint, peer, request) -> {
                    peer.send(new byte[24]);
                    Pair.until(() -> endpoint.connectFailure != null, context);
                });
    }
}
