// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.UUID;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.DisabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.rpcrdma.verbs.QueuePair;
import org.rpcrdma.verbs.iwarp.shared.CutFiles;
import org.rpcrdma.verbs.iwarp.shared.LostMemoryException;
import org.rpcrdma.verbs.iwarp.shared.SharedRingFile;

/** A peer that cuts the file of shared memory short ends its own connection, and no other. */
@DisabledOnOs(OS.WINDOWS)
@Timeout(value = 90, unit = TimeUnit.SECONDS)
class CutSharedMemoryTest {

    private static final int RING = 16_384;
    private static final int FILE = 2 * RING + 4096;
    private static final int BYTES = 65_536;

    /** Outstanding at each end. */
    private static final int READS = 2;

    @TempDir Path directory;
    private IwarpConfig config;

    @BeforeEach
    void configure() {
        config =
                IwarpConfig.builder()
                        .sharedMemory(true)
                        .sharedDirectory(directory)
                        .sharedRingBytes(RING)
                        .build();
    }

    /** Two contexts with a TCP connection and one in shared memory between them that have to outlive all others. */
    private final class Scene implements AutoCloseable {

        final Pair pair;
        final IwarpContext plain;
        final Endpoint tcpHere;
        final Endpoint tcpThere;
        final Endpoint sharedHere;
        final Endpoint sharedThere;
        int calls;

        Scene(IwarpContext initiators, IwarpContext responders) throws IOException {
            pair = new Pair(initiators, responders);
            plain = new IwarpContext(config.toBuilder().sharedMemory(false).build());
            pair.listen(InetAddress.getLoopbackAddress());
            tcpHere = connecting(plain);
            tcpThere = accepted();
            Pair.until(tcpHere::isConnected, plain, pair.responderContext);
            pair.connect(Pair.SIZE, Pair.SIZE, BYTES);
            sharedHere = pair.initiator;
            sharedThere = pair.responder;
            assertThat(responders.counters().connectionsShared()).isOne();
        }

        private Endpoint connecting(IwarpContext by) throws IOException {
            Endpoint end = new Endpoint(by, BYTES);
            end.queuePair = by.createQueuePair(Pair.SIZE, end);
            pair.request = null;
            end.queuePair.connect(pair.listener.localAddress(), null, new byte[0]);
            return end;
        }

        private Endpoint accepted() throws IOException {
            Pair.until(
                    () -> pair.request != null,
                    plain,
                    pair.initiatorContext,
                    pair.responderContext);
            Endpoint end = new Endpoint(pair.responderContext, BYTES);
            end.queuePair = pair.responderContext.createQueuePair(pair.request, Pair.SIZE, end);
            end.queuePair.accept(new byte[0]);
            return end;
        }

        /** Both connections carry a message, and are the only ones. */
        void assertAllElseGoesOn() {
            call(tcpHere, tcpThere, plain);
            call(sharedHere, sharedThere, pair.initiatorContext);
            // A connection that was closed lingers until the peer's end.
            pair.until(
                    () ->
                            pair.responderContext.loop.poller.rings().count <= 1
                                    && pair.initiatorContext.loop.poller.rings().count <= 1);
        }

        private void call(Endpoint here, Endpoint there, IwarpContext caller) {
            calls++;
            there.completions.clear();
            here.completions.clear();
            there.receive(calls, 0, 100);
            here.memory.putInt(0, calls);
            here.queuePair.send(calls, 0);
            here.gather(0, 4);
            here.queuePair.doorbell();
            Pair.until(
                    () -> there.completion(calls) != null,
                    caller,
                    pair.responderContext,
                    pair.initiatorContext);
            assertThat(there.memory.getInt(0)).isEqualTo(calls);
        }

        @Override
        public void close() {
            plain.close();
            pair.close();
        }
    }

    /** Sends, Reads and Writes both ways at the same time, until nothing is left to do. */
    private static boolean isDone(Endpoint end) {
        return end.isEnded()
                || end.connectFailure != null
                || (end.completion(1) != null
                        && end.completion(2) != null
                        && end.completion(3) != null);
    }

    private static void post(Endpoint end, Endpoint peer) {
        int source = peer.expose(0, BYTES / 2, QueuePair.REMOTE_READ);
        int sink = peer.expose(0, BYTES / 2, QueuePair.REMOTE_WRITE);
        end.receive(1, BYTES / 2, 20_000);
        end.queuePair.read(2, QueuePair.SIGNALED, peer.queuePair.exposedOffset(source), source);
        end.gather(BYTES / 2, BYTES / 2);
        end.queuePair.write(4, 0, peer.queuePair.exposedOffset(sink), sink);
        end.gather(0, 20_000);
        end.queuePair.send(3, QueuePair.SIGNALED);
        end.gather(0, 20_000);
        end.queuePair.doorbell();
    }

    /** At each of the accesses of one end to the memory of a connection, from the first one of its start-up. */
    @ParameterizedTest(name = "to {1} bytes, by the responder: {0}")
    @CsvSource({"true, 0", "true, 32768", "false, 0", "false, 16384"})
    void aCutBeforeAnyAccessEndsOneConnection(boolean byResponder, long length) throws Exception {
        Path other = Files.createDirectory(directory.resolve("other"));
        try (CutFiles cut = new CutFiles(directory.resolve("other"))) {
            IwarpConfig there = config.toBuilder().sharedDirectory(other).build();
            IwarpContext cutting =
                    new IwarpContext(there, new SharedMemoryNegotiation(cut.memory(), RING));
            IwarpContext plain = new IwarpContext(there);
            try (Scene scene =
                    byResponder ? new Scene(plain, cutting) : new Scene(cutting, plain)) {
                Pair pair = scene.pair;
                int cuts = 0;
                for (int access = 0; access < 150; access++) {
                    cut.cut(access, length);
                    long before = shared(pair);
                    Endpoint here = scene.connecting(pair.initiatorContext);
                    Endpoint peer = scene.accepted();
                    pair.until(() -> here.isConnected() || here.connectFailure != null);
                    if (here.isConnected()) {
                        post(here, peer);
                        post(peer, here);
                    }
                    pair.until(() -> isDone(here) && (isDone(peer) || !here.isConnected()));
                    if (cut.isCut() && shared(pair) > before) {
                        cuts++;
                        // What was done before is done; who is not told yet is told when it looks.
                        pair.until(
                                () ->
                                        (here.isEnded() || here.connectFailure != null)
                                                && (peer.isEnded() || peer.connectFailure != null));
                        assertThat(here.ends.size() + peer.ends.size()).isLessThanOrEqualTo(2);
                    }
                    here.queuePair.close();
                    peer.queuePair.close();
                    scene.assertAllElseGoesOn();
                }
                assertThat(cuts).isGreaterThan(50);
                assertNothingIsLeft(other);
            }
        }
    }

    /** Asked from inside of other calls, it is told of in the next look, when nobody polls the memory any more. */
    @Test
    void theRingIsGoneBeforeItsUserIsTold() throws IOException {
        try (CutFiles cut = new CutFiles(directory);
                Selector selector = Selector.open();
                ServerSocketChannel server = ServerSocketChannel.open()) {
            server.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
            SocketChannel channel = SocketChannel.open(server.getLocalAddress());
            channel.configureBlocking(false);
            SharedRingFile memory = cut.memory().create(UUID.randomUUID(), UUID.randomUUID(), RING);
            SharedMemoryPollSet awake = new SharedMemoryPollSet();
            SharedMemoryByteTransport carrier =
                    new SharedMemoryByteTransport(
                            awake, channel, channel.register(selector, 0), memory);
            List<Exception> told = new ArrayList<>();
            carrier.carry(
                    new ByteTransportEventHandler() {
                        @Override
                        public boolean readAvailable() {
                            throw new AssertionError("nothing can be read");
                        }

                        @Override
                        public void writable() {
                            throw new AssertionError("nothing can be written");
                        }

                        @Override
                        public void failed(Exception cause) {
                            assertThat(awake.count).isZero();
                            assertThat(carrier.isOpen()).isFalse();
                            assertThat(channel.isOpen()).isFalse();
                            told.add(cause);
                        }
                    });
            try (Stream<Path> files = Files.list(directory);
                    FileChannel file =
                            FileChannel.open(
                                    files.findAny().orElseThrow(), StandardOpenOption.WRITE)) {
                file.truncate(0);
            }
            carrier.await(true, true);
            assertThat(told).isEmpty();
            awake.poll();
            assertThat(told).hasSize(1);
            assertThat(told.get(0)).isInstanceOf(LostMemoryException.class);
            awake.poll();
            assertThat(told).hasSize(1);
            assertThatThrownBy(() -> carrier.read(ByteBuffer.allocateDirect(1)))
                    .isInstanceOf(LostMemoryException.class);
        }
    }

    /** Has the peer's file for as long as it has a name. */
    private FileChannel nextFile(Pair pair) throws IOException {
        FileChannel[] opened = new FileChannel[1];
        Pair.until(
                () -> {
                    try (Stream<Path> files = Files.list(directory)) {
                        for (Path file : files.toList()) {
                            opened[0] = FileChannel.open(file, StandardOpenOption.WRITE);
                            // Before that it is not whole.
                            return opened[0].size() == FILE;
                        }
                        return false;
                    } catch (IOException e) {
                        throw new UncheckedIOException(e);
                    }
                },
                pair.initiatorContext);
        return opened[0];
    }

    /** Has two Reads outstanding, for {@link #readAgain}. */
    private static void keepReading(Endpoint here, Endpoint peer) {
        int source = peer.expose(0, BYTES / 2, QueuePair.REMOTE_READ);
        here.memory.putInt(BYTES - 16, source);
        here.memory.putLong(BYTES - 8, peer.queuePair.exposedOffset(source));
        for (int i = 0; i < READS; i++) {
            read(here);
        }
    }

    private static void read(Endpoint here) {
        here.queuePair.read(
                1,
                QueuePair.SIGNALED,
                here.memory.getLong(BYTES - 8),
                here.memory.getInt(BYTES - 16));
        here.gather(BYTES / 4, BYTES / 2);
        here.queuePair.doorbell();
    }

    /** One for each that is complete; returns how many these were. */
    private static int readAgain(Endpoint here) {
        int complete = here.completions.size();
        here.completions.clear();
        for (int i = 0; i < complete && !here.isEnded(); i++) {
            read(here);
        }
        return complete;
    }

    /**
     * At any time, by another thread, while both ends read from each other. Compiled code and collections are part of
     * it: that is where errors come late.
     */
    @ParameterizedTest
    @ValueSource(longs = {1, 2})
    void whoeverCutsAtAnyTimeEndsOneConnection(long seed) throws Exception {
        Random random = new Random(seed);
        ExecutorService attacker = Executors.newSingleThreadExecutor();
        try (Scene scene = new Scene(new IwarpContext(config), new IwarpContext(config))) {
            Pair pair = scene.pair;
            for (int round = 0; round < 100; round++) {
                Endpoint here = scene.connecting(pair.initiatorContext);
                try (FileChannel file = nextFile(pair)) {
                    Endpoint peer = scene.accepted();
                    pair.until(here::isConnected);
                    int after = random.nextInt(200);
                    // Of the last page the positions have to be lost, or it changes nothing.
                    int length = random.nextInt(2 * RING + 1024);
                    CountDownLatch isTime = new CountDownLatch(1);
                    Future<?> cut =
                            attacker.submit(
                                    () -> {
                                        isTime.await();
                                        return file.truncate(length);
                                    });
                    byte[][] garbage = new byte[16][];
                    int[] reads = new int[1];
                    keepReading(here, peer);
                    keepReading(peer, here);
                    pair.until(
                            () -> {
                                reads[0] += readAgain(here) + readAgain(peer);
                                garbage[reads[0] & 15] = new byte[10_000];
                                if (reads[0] >= after) {
                                    isTime.countDown();
                                }
                                return here.isEnded() && peer.isEnded();
                            });
                    cut.get();
                    here.queuePair.close();
                    peer.queuePair.close();
                }
                scene.assertAllElseGoesOn();
            }
            assertNothingIsLeft(directory);
        } finally {
            attacker.shutdownNow();
        }
    }

    private static long shared(Pair pair) {
        return pair.initiatorContext.counters().connectionsShared()
                + pair.responderContext.counters().connectionsShared();
    }

    private static void assertNothingIsLeft(Path directory) throws IOException {
        try (Stream<Path> files = Files.list(directory)) {
            assertThat(files).isEmpty();
        }
    }
}
