// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.FileChannel;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.Random;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.DisabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.rpcrdma.verbs.MemoryRegion;
import org.rpcrdma.verbs.QueuePair;
import org.rpcrdma.verbs.ReceiveMemoryRange;
import org.rpcrdma.verbs.WorkStatus;
import org.rpcrdma.verbs.iwarp.Endpoint.Completion;
import org.rpcrdma.verbs.iwarp.shared.SharedMemoryMappedAnswer;
import org.rpcrdma.verbs.iwarp.shared.SharedMemoryOffer;
import org.rpcrdma.verbs.iwarp.shared.SharedRingFile;
import org.rpcrdma.verbs.iwarp.shared.SharedRingFileFactory;

/** Streams in shared memory: doorbells, ends of every kind, and peers that lie. */
@DisabledOnOs(OS.WINDOWS)
@Timeout(value = 90, unit = TimeUnit.SECONDS)
class SharedStreamTest {

    private static final int MEGABYTES = 3 << 20;

    /** Behind two rings of 4096 bytes. */
    private static final int HEADER = 8192;

    @TempDir Path directory;
    private IwarpConfig config;

    @BeforeEach
    void configure() {
        config =
                IwarpConfig.builder()
                        .sharedMemory(true)
                        .sharedDirectory(directory)
                        .sharedRingBytes(4096)
                        .build();
    }

    private Pair connected(int bytes) throws IOException {
        Pair pair = Pair.connected(config, bytes);
        assertThat(pair.initiatorContext.counters().connectionsShared()).isOne();
        return pair;
    }

    private static byte[] pattern(int bytes) {
        byte[] pattern = new byte[bytes];
        new Random(5).nextBytes(pattern);
        return pattern;
    }

    /** A loop that blocks whenever there is nothing to do. */
    private static void blocking(IwarpContext context, BooleanSupplier isDone) {
        try {
            while (!isDone.getAsBoolean()) {
                if (context.poll(64) == 0) {
                    context.await(-1);
                }
            }
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    @Test
    void whoSleepsIsWoken() throws Exception {
        try (Pair pair = connected(4096)) {
            int rounds = 300;
            CompletableFuture<Void> echo =
                    CompletableFuture.runAsync(
                            () -> {
                                for (int i = 0; i < rounds; i++) {
                                    exchange(pair.responder, i, false);
                                }
                            });
            for (int i = 0; i < rounds; i++) {
                exchange(pair.initiator, i, true);
            }
            echo.get();
        }
    }

    private static void exchange(Endpoint end, int round, boolean isFirst) {
        end.completions.clear();
        end.receive(1, 100, 10);
        BooleanSupplier hasCome = () -> end.completion(1) != null;
        if (!isFirst) {
            blocking(end.context, hasCome);
        }
        end.memory.putInt(0, round);
        end.queuePair.send(2, 0);
        end.gather(0, 4);
        end.queuePair.doorbell();
        if (isFirst) {
            blocking(end.context, hasCome);
        }
        assertThat(end.memory.getInt(100)).isEqualTo(round);
    }

    /** Both want room at the same time, and both sleep until there is some. */
    @Test
    void whoSleepsUntilThereIsRoomIsWoken() throws Exception {
        try (Pair pair = connected(2 * MEGABYTES)) {
            byte[] data = pattern(MEGABYTES);
            for (Endpoint end : new Endpoint[] {pair.initiator, pair.responder}) {
                end.put(0, data);
                end.receive(1, MEGABYTES, MEGABYTES);
            }
            CompletableFuture<Void> there =
                    CompletableFuture.runAsync(() -> sendAndReceive(pair.responder));
            sendAndReceive(pair.initiator);
            there.get();
            assertThat(pair.initiator.get(MEGABYTES, MEGABYTES)).isEqualTo(data);
            assertThat(pair.responder.get(MEGABYTES, MEGABYTES)).isEqualTo(data);
        }
    }

    private static void sendAndReceive(Endpoint end) {
        end.queuePair.send(2, QueuePair.SIGNALED);
        end.gather(0, MEGABYTES);
        end.queuePair.doorbell();
        blocking(end.context, () -> end.completion(1) != null && end.completion(2) != null);
    }

    @Test
    void anIdleStreamKeepsNobodyAwake() throws Exception {
        try (Pair pair = connected(4096)) {
            Pair.until(() -> pair.responderContext.poll(64) == 0, pair.responderContext);
            // The first one may end at once, by a wake-up of the start.
            pair.responderContext.await(1);
            pair.responderContext.await(1);
            assertThat(pair.responderContext.loop.poller.rings().count).isZero();
            // By the doorbell it is awake again.
            pair.responder.receive(1, 0, 10);
            pair.initiator.queuePair.send(1, 0);
            pair.initiator.queuePair.doorbell();
            blocking(pair.responderContext, () -> pair.responder.completion(1) != null);
            assertThat(pair.responderContext.loop.poller.rings().count).isOne();
        }
    }

    /** Looking at each of them in each round would cost those that are busy. */
    @Test
    void manyIdleStreamsGoToSleep() throws IOException {
        try (Pair pair = new Pair(config, config)) {
            pair.listen(InetAddress.getLoopbackAddress());
            Endpoint first = null;
            Endpoint other = null;
            for (int i = 0; i < 12; i++) {
                pair.connect(Pair.SIZE, Pair.SIZE, 64);
                first = first == null ? pair.initiator : first;
                other = other == null ? pair.responder : other;
            }
            pair.until(
                    () ->
                            pair.initiatorContext.loop.poller.rings().count == 8
                                    && pair.responderContext.loop.poller.rings().count == 8);
            Endpoint to = other;
            for (int i = 0; i < 20; i++) {
                to.completions.clear();
                to.receive(1, 0, 10);
                first.queuePair.send(1, 0);
                first.queuePair.doorbell();
                pair.until(() -> to.completion(1) != null);
            }
        }
    }

    /** Another socket of the same round may have ended this one. */
    @Test
    void whatTheSelectorTellsAfterTheEndIsForNobody() throws IOException {
        try (Selector selector = Selector.open();
                ServerSocketChannel server = ServerSocketChannel.open()) {
            server.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
            SocketChannel channel = SocketChannel.open(server.getLocalAddress());
            channel.configureBlocking(false);
            SelectionKey key = channel.register(selector, 0);
            SharedRingFile memory =
                    new SharedRingFileFactory(directory)
                            .create(UUID.randomUUID(), UUID.randomUUID(), 4096);
            SharedMemoryPollSet awake = new SharedMemoryPollSet();
            SharedMemoryByteTransport carrier =
                    new SharedMemoryByteTransport(awake, channel, key, memory);
            carrier.await(true, false);
            assertThat(awake.count).isOne();
            carrier.close();
            carrier.ready(SelectionKey.OP_READ);
            carrier.await(true, true);
            assertThat(awake.count).isZero();
            assertThat(carrier.isOpen()).isFalse();
            assertThatThrownBy(() -> carrier.read(ByteBuffer.allocate(1)))
                    .isInstanceOf(ClosedChannelException.class);
            assertThatThrownBy(() -> carrier.write(ByteBuffer.allocate(1)))
                    .isInstanceOf(ClosedChannelException.class);
            carrier.close();
        }
    }

    /** What is queued is delivered, then the end: RFC 5040, 6.2.1. */
    @Test
    void anOrderlyEndComesBehindTheData() throws IOException {
        try (Pair pair = connected(MEGABYTES)) {
            byte[] data = pattern(MEGABYTES);
            pair.initiator.put(0, data);
            pair.responder.receive(1, 0, MEGABYTES);
            pair.initiator.queuePair.send(2, QueuePair.SIGNALED);
            pair.initiator.gather(0, MEGABYTES);
            pair.initiator.queuePair.doorbell();
            pair.initiator.queuePair.disconnect();
            pair.until(() -> pair.initiator.isEnded() && pair.responder.isEnded());
            assertThat(pair.responder.ends).containsExactly((Throwable) null);
            assertThat(pair.initiator.ends).containsExactly((Throwable) null);
            assertThat(pair.responder.get(0, MEGABYTES)).isEqualTo(data);
        }
    }

    @Test
    void whatWasWrittenBeforeTheEndIsReadAfterIt() throws IOException {
        try (Pair pair = connected(4096)) {
            pair.responder.receive(1, 0, 100);
            pair.initiator.put(0, new byte[] {1, 2, 3});
            pair.initiator.queuePair.send(2, QueuePair.SIGNALED);
            pair.initiator.gather(0, 3);
            pair.initiator.queuePair.doorbell();
            pair.initiator.queuePair.close();
            pair.until(pair.responder::isEnded);
            assertThat(pair.responder.completions)
                    .containsExactly(new Completion(1, WorkStatus.SUCCESS, 3, 0));
            assertThat(pair.responder.get(0, 3)).containsExactly(1, 2, 3);
            assertThat(pair.responder.ends).containsExactly((Throwable) null);
        }
    }

    @Test
    void anEndInsideAMessageIsALoss() throws IOException {
        try (Pair pair = connected(MEGABYTES)) {
            pair.responder.receive(1, 0, MEGABYTES);
            pair.initiator.queuePair.send(2, 0);
            pair.initiator.gather(0, MEGABYTES);
            pair.initiator.queuePair.doorbell();
            pair.initiator.queuePair.close();
            pair.until(pair.responder::isEnded);
            assertThat(pair.responder.ends.get(0)).hasMessageContaining("inside a message");
            assertThat(pair.responderContext.counters().connectionsLost()).isOne();
        }
    }

    /** As on TCP: what was sent arrives, and the end behind it, whatever the closer has not read. */
    @Test
    void whoClosesWithUnreadInputLosesNothing() throws IOException {
        try (Pair pair = connected(4096)) {
            // The responder may send once it has heard of the initiator.
            pair.until(() -> pair.responderContext.counters().fpdusIn() > 0);
            pair.responder.receive(1, 0, 3);
            pair.responder.queuePair.send(2, 0);
            pair.responder.queuePair.doorbell();
            pair.initiator.queuePair.send(3, 0);
            pair.initiator.gather(0, 3);
            pair.initiator.queuePair.doorbell();
            pair.initiator.queuePair.close();
            pair.until(pair.responder::isEnded);
            assertThat(pair.responder.completion(1))
                    .isEqualTo(new Endpoint.Completion(1, WorkStatus.SUCCESS, 3, 0));
            assertThat(pair.responder.ends).containsExactly((Throwable) null);
            pair.until(() -> !pair.initiatorContext.isLingering());
        }
    }

    /** All memory of an end. */
    private record Whole(MemoryRegion region) implements ReceiveMemoryRange {
        @Override
        public long address() {
            return region.address();
        }

        @Override
        public int length() {
            return region.length();
        }
    }

    /** As on TCP: a message for which there is no memory holds up what is behind it, and the peer by the full ring. */
    @Test
    void aHeldStreamHoldsThePeerUp() throws IOException {
        try (Pair pair = new Pair(config, config)) {
            pair.listen(InetAddress.getLoopbackAddress());
            pair.connect(Pair.SIZE, Pair.SIZE, 65_536);
            pair.responder.queuePair.postReceive(1, 65_536);
            pair.initiator.queuePair.send(2, QueuePair.SIGNALED);
            pair.initiator.gather(0, 65_536);
            pair.initiator.queuePair.doorbell();
            pair.until(() -> pair.responderContext.counters().receivesHeld() > 0);
            for (int i = 0; i < 100; i++) {
                pair.initiatorContext.poll(64);
                pair.responderContext.await(1);
                pair.responderContext.poll(64);
            }
            assertThat(pair.initiator.completions).isEmpty();
            assertThat(pair.responderContext.loop.poller.rings().count).isZero();
            pair.responder.given = new Whole(pair.responder.region);
            pair.until(() -> pair.responder.completion(1) != null);
            pair.until(() -> pair.initiator.completion(2) != null);
        }
    }

    /** A peer that is killed is noticed, also by a thread that sleeps, and leaves nothing. */
    @Test
    void aPeerThatIsKilledIsNoticed() throws Exception {
        try (Pair pair = new Pair(config, config)) {
            pair.listen(InetAddress.getLoopbackAddress());
            Process process =
                    new ProcessBuilder(
                                    Path.of(System.getProperty("java.home"), "bin", "java")
                                            .toString(),
                                    "-cp",
                                    System.getProperty("java.class.path"),
                                    SharedChild.class.getName(),
                                    directory.toString(),
                                    Integer.toString(pair.listener.localAddress().getPort()))
                            .redirectErrorStream(true)
                            .start();
            try {
                blocking(pair.responderContext, () -> pair.request != null);
                Endpoint end = new Endpoint(pair.responderContext, 4096);
                end.queuePair = pair.responderContext.createQueuePair(pair.request, Pair.SIZE, end);
                end.receive(1, 0, 100);
                end.queuePair.accept(new byte[0]);
                blocking(pair.responderContext, () -> end.completion(1) != null);
                assertThat(pair.responderContext.counters().connectionsShared()).isOne();
                assertThat(end.get(0, 3)).containsExactly(4, 5, 6);
                try (var files = Files.list(directory)) {
                    assertThat(files).isEmpty();
                }
                process.destroyForcibly();
                blocking(pair.responderContext, end::isEnded);
            } finally {
                process.destroyForcibly().waitFor();
            }
        }
    }

    /** A peer whose words in the shared memory are set by the test. */
    private record Liar(SharedRingFile rings, ByteBuffer words, RawPeer peer, Endpoint victim) {}

    private Liar liar(Pair pair) throws IOException {
        pair.listen(InetAddress.getLoopbackAddress());
        SharedRingFileFactory memory = new SharedRingFileFactory(directory);
        RawPeer peer = RawPeer.connect(pair.listener.localAddress(), pair.responderContext);
        InetSocketAddress local = peer.localAddress();
        SharedMemoryOffer offer =
                new SharedMemoryOffer(
                        local,
                        ProcessHandle.current().pid(),
                        UUID.randomUUID(),
                        UUID.randomUUID(),
                        4096);
        SharedRingFile rings = memory.create(offer.file(), offer.nonce(), 4096);
        Path file = directory.resolve("rpcrdma-" + offer.process() + "-" + offer.file());
        ByteBuffer words;
        try (FileChannel channel =
                FileChannel.open(file, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            words =
                    channel.map(FileChannel.MapMode.READ_WRITE, 0, 3 * 4096)
                            .order(ByteOrder.nativeOrder());
        }
        byte[] request = offer.appendTo(RawPeer.hex("0008 0008"));
        peer.send(RawPeer.hex(RawPeer.REQUEST, "10 02 0050"));
        peer.send(request);
        Pair.until(() -> pair.request != null, pair.responderContext);
        Endpoint victim = new Endpoint(pair.responderContext, 65_536);
        victim.queuePair = pair.responderContext.createQueuePair(pair.request, Pair.SIZE, victim);
        victim.queuePair.accept(new byte[0]);
        byte[] reply = peer.read(24 + SharedMemoryMappedAnswer.BYTES);
        SharedMemoryMappedAnswer answer =
                SharedMemoryMappedAnswer.of(Arrays.copyOfRange(reply, 24, reply.length));
        assertThat(answer.nonce()).isEqualTo(rings.respondersNonce());
        return new Liar(rings, words, peer, victim);
    }

    @ParameterizedTest(name = "word at {0}: {1}")
    @CsvSource({
        "1024, 4097",
        "1024, -1",
        "1024, 9223372036854775807",
        "1664, 1",
        "1664, -1",
        "1664, -9223372036854775808"
    })
    void aLieEndsTheConnection(int at, long lie) throws IOException {
        try (Pair pair = new Pair(config, config)) {
            Liar liar = liar(pair);
            try (RawPeer peer = liar.peer;
                    SharedRingFile rings = liar.rings) {
                ByteBuffer first = ByteBuffer.allocateDirect(100);
                first.put(RawPeer.fpdu(RawPeer.tagged(0xc1, 0, 1, 0, new byte[0]), false)).flip();
                if (at != 1024) {
                    // A responder sends once it was spoken to; its ring gets full.
                    rings.writer().write(first);
                    Pair.until(
                            () -> pair.responderContext.counters().fpdusIn() > 0,
                            pair.responderContext);
                    liar.victim.queuePair.send(1, 0);
                    liar.victim.gather(0, 1000);
                    liar.victim.queuePair.doorbell();
                    rings.reader().read(ByteBuffer.allocateDirect(500));
                    liar.victim.queuePair.send(2, 0);
                    liar.victim.gather(0, 65_536);
                    liar.victim.queuePair.doorbell();
                }
                liar.words.putLong(HEADER + at, lie);
                Pair.until(liar.victim::isEnded, pair.responderContext);
                assertThat(liar.victim.ends.get(0))
                        .hasMessageContaining("broke the rules of shared memory");
                assertThat(pair.responderContext.counters().connectionsLost()).isOne();
                peer.readToEnd();
            }
        }
    }

    @Test
    void aRingThatBeginsElsewhereEndsTheConnection() throws IOException {
        try (Pair pair = new Pair(config, config)) {
            Liar liar = liar(pair);
            try (RawPeer peer = liar.peer;
                    SharedRingFile rings = liar.rings) {
                liar.words.putLong(HEADER + 1032, 64);
                rings.writer().write(ByteBuffer.allocateDirect(10));
                Pair.until(liar.victim::isEnded, pair.responderContext);
                assertThat(liar.victim.ends.get(0)).hasMessageContaining("the ring begins at 64");
                peer.readToEnd();
            }
        }
    }

    /** Its bytes mean nothing, and are read in small pieces: whoever sends many pays for them. */
    @ParameterizedTest
    @ValueSource(ints = {1, 100_000})
    void doorbellsInVainDoNothing(int count) throws IOException {
        try (Pair pair = new Pair(config, config)) {
            Liar liar = liar(pair);
            try (RawPeer peer = liar.peer;
                    SharedRingFile rings = liar.rings) {
                peer.send(new byte[count]);
                ByteBuffer send = ByteBuffer.allocateDirect(100);
                byte[] ulpdu = RawPeer.untagged(0x41, 3, 0, 0, 1, 0, new byte[] {5});
                rings.writer().write(send.put(RawPeer.fpdu(ulpdu, false)).flip());
                liar.victim.receive(1, 0, 10);
                Pair.until(() -> liar.victim.completion(1) != null, pair.responderContext);
                assertThat(liar.victim.get(0, 1)).containsExactly(5);
                assertThat(liar.victim.isEnded()).isFalse();
            }
        }
    }

    /** The words that only wake somebody can be anything. */
    @Test
    void flagsOfAnyValueDoNothing() throws IOException {
        try (Pair pair = new Pair(config, config)) {
            Liar liar = liar(pair);
            try (RawPeer peer = liar.peer;
                    SharedRingFile rings = liar.rings) {
                for (int at : new int[] {1024 + 256, 1024 + 384, 1536 + 256, 1536 + 384}) {
                    liar.words.putInt(HEADER + at, -77);
                }
                ByteBuffer send = ByteBuffer.allocateDirect(100);
                byte[] ulpdu = RawPeer.untagged(0x41, 3, 0, 0, 1, 0, new byte[] {5});
                rings.writer().write(send.put(RawPeer.fpdu(ulpdu, false)).flip());
                liar.victim.receive(1, 0, 10);
                Pair.until(() -> liar.victim.completion(1) != null, pair.responderContext);
                liar.victim.queuePair.send(2, QueuePair.SIGNALED);
                liar.victim.queuePair.doorbell();
                Pair.until(() -> liar.victim.completion(2) != null, pair.responderContext);
                // The doorbell that was asked for.
                assertThat(peer.read(1)).hasSize(1);
            }
        }
    }

    /** One connection in shared memory and one over TCP keep a loop busy; whatever the phases of their looks. */
    @ParameterizedTest
    @ValueSource(ints = {0, 1, 2, 3})
    void newcomersAreSeenBesideBusyConnections(int phase) throws Exception {
        IwarpConfig plain = config.toBuilder().sharedMemory(false).build();
        try (Pair pair = connected(4096);
                IwarpContext tcp = new IwarpContext(plain)) {
            IwarpContext busy = pair.responderContext;
            Endpoint caller = connecting(pair, tcp);
            Pair.until(() -> pair.request != null, busy, tcp);
            Endpoint answering = new Endpoint(busy, 4096);
            answering.queuePair = busy.createQueuePair(pair.request, Pair.SIZE, answering);
            answering.queuePair.accept(new byte[0]);
            Pair.until(caller::isConnected, busy, tcp);
            call(caller, answering, 200);
            // While the ring sleeps, the looks at TCP alone are counted.
            for (int i = 0; i < 50 && busy.loop.poller.rings().count > 0; i++) {
                busy.poll(64);
                busy.await(1_000_000);
            }
            call(caller, answering, 8 + phase);
            pair.responder.queuePair.send(1, 0);
            pair.responder.gather(0, 4);
            pair.responder.queuePair.doorbell();
            pair.request = null;
            connecting(pair, tcp);
            for (int i = 0; i < 1000 && pair.request == null; i++) {
                call(caller, answering, 1);
            }
            assertThat(pair.request).isNotNull();
        }
    }

    private static Endpoint connecting(Pair pair, IwarpContext by) throws IOException {
        Endpoint end = new Endpoint(by, 4096);
        end.queuePair = by.createQueuePair(Pair.SIZE, end);
        pair.request = null;
        end.queuePair.connect(pair.listener.localAddress(), null, new byte[0]);
        return end;
    }

    private static void call(Endpoint caller, Endpoint answering, int times) {
        for (int i = 0; i < times; i++) {
            answering.receive(1, 0, 100);
            caller.queuePair.send(5, 0);
            caller.gather(0, 4);
            caller.queuePair.doorbell();
            caller.context.poll(64);
            answering.context.poll(64);
            answering.completions.clear();
            caller.completions.clear();
        }
    }
}
