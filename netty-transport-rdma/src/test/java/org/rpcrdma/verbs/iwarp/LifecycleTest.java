// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.net.InetAddress;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.rpcrdma.Proves;
import org.rpcrdma.verbs.MemoryRegion;
import org.rpcrdma.verbs.QueuePair;
import org.rpcrdma.verbs.QueuePairConfig;
import org.rpcrdma.verbs.WorkStatus;
import org.rpcrdma.verbs.iwarp.Endpoint.Completion;
import org.rpcrdma.verbs.iwarp.rdmap.TerminatedException;

/** Order of completions, ends of connections, and what keys are worth when. */
class LifecycleTest {

    private static final int BYTES = 8 << 20;
    private static final IwarpConfig PLAIN = IwarpConfig.builder().peerToPeer(false).build();
    private static final IwarpConfig SMALL_BUFFERS = PLAIN.toBuilder().socketBuffer(8192).build();

    private static void open(Pair pair) {
        pair.responder.receive(1000, 0, 0);
        pair.initiator.queuePair.send(1000, QueuePair.SIGNALED);
        pair.initiator.queuePair.doorbell();
        pair.until(
                () ->
                        pair.responder.completion(1000) != null
                                && pair.initiator.completion(1000) != null);
        pair.initiator.completions.clear();
        pair.responder.completions.clear();
    }

    @Test
    void completesInPostingOrder() throws IOException {
        try (Pair pair = Pair.connected(PLAIN, BYTES)) {
            Endpoint from = pair.initiator;
            Endpoint to = pair.responder;
            int key = to.expose(0, 1 << 20, QueuePair.REMOTE_READ);
            long offset = to.queuePair.exposedOffset(key);
            for (int i = 0; i < 12; i++) {
                to.receive(100 + i, 1 << 20, 10);
            }
            // More Reads than may be outstanding, each followed by a Send that is on the wire long
            // before its data.
            for (int i = 0; i < 12; i++) {
                from.queuePair.read(2L * i, i % 3 == 0 ? 0 : QueuePair.SIGNALED, offset, key);
                from.gather(0, 100_000);
                from.queuePair.send(2L * i + 1, QueuePair.SIGNALED);
                from.gather(0, 10);
            }
            from.queuePair.doorbell();
            pair.until(() -> from.completion(23) != null && to.completion(111) != null);
            List<Long> expected = new ArrayList<>();
            for (long i = 0; i < 24; i++) {
                if (i % 6 != 0) {
                    expected.add(i);
                }
            }
            assertThat(from.completions.stream().map(Completion::id))
                    .containsExactlyElementsOf(expected);
            assertThat(from.completions).allMatch(c -> c.status() == WorkStatus.SUCCESS);
        }
    }

    /** More than the agreed depth would end the connection: the rest waits, and what is behind a Read waits with it. */
    @ParameterizedTest(name = "read depth {0}")
    @ValueSource(ints = {1, 2, 5})
    void readsWaitForTheAgreedDepth(int depth) throws IOException {
        try (Pair pair = new Pair(PLAIN, PLAIN)) {
            pair.listen(InetAddress.getLoopbackAddress());
            pair.connect(
                    new QueuePairConfig(64, 64, 128, 128),
                    new QueuePairConfig(64, 64, depth, depth),
                    1 << 16);
            assertThat(pair.initiator.queuePair.outboundReads()).isEqualTo(depth);
            open(pair);
            for (boolean back : new boolean[] {false, true}) {
                Endpoint reader = back ? pair.responder : pair.initiator;
                Endpoint owner = back ? pair.initiator : pair.responder;
                owner.put(1000, new byte[] {1, 2, 3});
                int key = owner.expose(1000, 3, QueuePair.REMOTE_READ);
                long offset = owner.queuePair.exposedOffset(key);
                owner.receive(50, 0, 0);
                for (int i = 0; i < 20; i++) {
                    reader.queuePair.read(i, QueuePair.SIGNALED, offset, key);
                    reader.gather(2000 + 3 * i, i % 2 == 0 ? 3 : 0);
                }
                reader.queuePair.send(20, QueuePair.SIGNALED);
                reader.queuePair.doorbell();
                pair.until(() -> reader.completion(20) != null && owner.completion(50) != null);
                assertThat(reader.completions).hasSize(21);
                assertThat(reader.completions).allMatch(c -> c.status() == WorkStatus.SUCCESS);
                for (int i = 0; i < 20; i += 2) {
                    assertThat(reader.get(2000 + 3 * i, 3)).containsExactly(1, 2, 3);
                }
                reader.completions.clear();
                owner.completions.clear();
            }
        }
    }

    @Test
    void aFencedSendWaitsForEarlierReads() throws IOException {
        try (Pair pair = Pair.connected(PLAIN, BYTES)) {
            Endpoint from = pair.initiator;
            Endpoint to = pair.responder;
            int key = to.expose(0, 1 << 20, QueuePair.REMOTE_READ);
            to.receive(1, 1 << 20, 10);
            from.queuePair.read(1, 0, to.queuePair.exposedOffset(key), key);
            from.gather(0, 1 << 20);
            from.queuePair.sendWithInvalidate(2, QueuePair.SIGNALED | QueuePair.FENCE, key);
            from.queuePair.doorbell();
            assertThat(pair.initiatorContext.counters().fpdusOut()).isEqualTo(1);
            pair.until(() -> from.completion(2) != null && to.completion(1) != null);
            assertThat(from.completion(2).status()).isEqualTo(WorkStatus.SUCCESS);
            assertThat(to.completion(1).invalidatedKey()).isEqualTo(key);
        }
    }

    @Test
    void fullQueuesAreAnError() throws IOException {
        try (Pair pair = Pair.connected(PLAIN, 64)) {
            for (int i = 0; i < Pair.SIZE.sendDepth(); i++) {
                pair.responder.queuePair.send(i, 0);
            }
            assertThatThrownBy(() -> pair.responder.queuePair.send(1, 0))
                    .hasMessageContaining("sendDepth");
            for (int i = 0; i < Pair.SIZE.receiveDepth(); i++) {
                pair.responder.receive(i, 0, 0);
            }
            assertThatThrownBy(() -> pair.responder.receive(1, 0, 0))
                    .hasMessageContaining("receiveDepth");
        }
    }

    @Test
    void memoryThatIsNotRegisteredFailsTheWork() throws IOException {
        try (Pair pair = Pair.connected(PLAIN, 4096)) {
            open(pair);
            pair.initiator.queuePair.send(1, 0);
            pair.initiator.gather(0, 10);
            pair.initiator.queuePair.send(2, 0);
            pair.initiator.gather(4090, 10);
            pair.initiator.queuePair.send(3, 0);
            pair.initiator.queuePair.doorbell();
            pair.until(() -> pair.initiator.isEnded() && pair.responder.isEnded());
            assertThat(pair.initiator.completion(2).status())
                    .isEqualTo(WorkStatus.LOCAL_PROTECTION_ERROR);
            assertThat(pair.initiator.completion(3).status()).isEqualTo(WorkStatus.FLUSHED);
            assertThat(pair.responder.ends.get(0)).isInstanceOf(TerminatedException.class);
        }
    }

    @Test
    @Proves("V1-ERR-17")
    void aRefusedReadTellsWhy() throws IOException {
        try (Pair pair = Pair.connected(PLAIN, 4096)) {
            pair.initiator.queuePair.read(1, QueuePair.SIGNALED, 0, 0x1234_5678);
            pair.initiator.gather(0, 10);
            pair.initiator.queuePair.doorbell();
            pair.until(pair.initiator::isEnded);
            assertThat(pair.initiator.completions)
                    .containsExactly(new Completion(1, WorkStatus.REMOTE_ACCESS_ERROR, 0, 0));
            assertThat(pair.initiatorContext.counters().terminatesReceived(0)).isEqualTo(1);
            assertThat(pair.responderContext.counters().terminatesSent(0)).isEqualTo(1);
        }
    }

    /** Bytes of a Read Response that wait in the socket's queue are those of the moment before the key was revoked. */
    @ParameterizedTest(name = "markers {0}")
    @ValueSource(booleans = {false, true})
    @Proves("SEC-04")
    void invalidateStopsAReadResponse(boolean markers) throws IOException {
        IwarpConfig config = SMALL_BUFFERS.toBuilder().markers(markers).build();
        try (Pair pair = Pair.connected(config, BYTES)) {
            Endpoint reader = pair.initiator;
            Endpoint owner = pair.responder;
            byte[] secret = new byte[BYTES];
            Arrays.fill(secret, (byte) 1);
            owner.put(0, secret);
            int key = owner.expose(0, BYTES, QueuePair.REMOTE_READ);
            reader.queuePair.read(1, QueuePair.SIGNALED, owner.queuePair.exposedOffset(key), key);
            reader.gather(0, BYTES);
            reader.queuePair.doorbell();
            // The reader is not polled, so the response gets stuck.
            long[] before = {-1};
            Pair.until(
                    () -> {
                        long sent = pair.responderContext.counters().bytesOut();
                        boolean stuck = sent > 0 && sent == before[0];
                        before[0] = sent;
                        return stuck;
                    },
                    pair.responderContext);
            owner.queuePair.invalidate(key);
            assertThat(owner.queuePair.isExposed(key)).isFalse();
            Arrays.fill(secret, (byte) 2);
            owner.put(0, secret);
            pair.until(() -> reader.isEnded() && owner.isEnded());
            assertThat(reader.completion(1).status()).isEqualTo(WorkStatus.REMOTE_ACCESS_ERROR);
            byte[] received = reader.get(0, BYTES);
            for (byte b : received) {
                assertThat(b).isLessThan((byte) 2);
            }
            assertThat(received[0]).isEqualTo((byte) 1);
        }
    }

    @Test
    @Proves({"SEC-04", "SEC-13"})
    void invalidateStopsAWriteThatIsUnderWay() throws IOException {
        try (Pair pair = Pair.connected(SMALL_BUFFERS, BYTES)) {
            Endpoint writer = pair.initiator;
            Endpoint owner = pair.responder;
            byte[] data = new byte[BYTES];
            Arrays.fill(data, (byte) 1);
            writer.put(0, data);
            int key = owner.expose(0, BYTES, QueuePair.REMOTE_WRITE);
            writer.queuePair.write(1, QueuePair.SIGNALED, owner.queuePair.exposedOffset(key), key);
            writer.gather(0, BYTES);
            writer.queuePair.doorbell();
            pair.until(() -> owner.memory.get(1000) == 1);
            owner.queuePair.invalidate(key);
            owner.put(0, new byte[BYTES]);
            pair.until(owner::isEnded);
            assertThat(owner.get(0, BYTES)).isEqualTo(new byte[BYTES]);
            assertThat(pair.responderContext.counters().terminatesSent(1)).isEqualTo(1);
        }
    }

    @Test
    void deregisterTakesBackWhatIsQueued() throws IOException {
        try (Pair pair = Pair.connected(SMALL_BUFFERS, BYTES)) {
            Endpoint owner = pair.responder;
            ByteBuffer memory = ByteBuffer.allocateDirect(BYTES);
            MemoryRegion region = pair.responderContext.register(memory, 0x1000);
            int key = owner.queuePair.expose(region, 0x1000, BYTES, QueuePair.REMOTE_READ);
            pair.initiator.queuePair.read(1, 0, owner.queuePair.exposedOffset(key), key);
            pair.initiator.gather(0, BYTES);
            pair.initiator.queuePair.doorbell();
            Pair.until(
                    () -> pair.responderContext.counters().bytesOut() > 1000,
                    pair.responderContext);
            region.deregister();
            region.deregister();
            assertThat(owner.queuePair.isExposed(key)).isFalse();
            assertThatThrownBy(
                            () -> owner.queuePair.expose(region, 0x1000, 1, QueuePair.REMOTE_READ))
                    .isInstanceOf(IllegalArgumentException.class);
            pair.until(pair.initiator::isEnded);
        }
    }

    @Test
    void disconnectSendsWhatWasPosted() throws IOException {
        try (Pair pair = Pair.connected(SMALL_BUFFERS, BYTES)) {
            pair.responder.receive(1, 0, BYTES);
            pair.responder.receive(2, 0, 1);
            byte[] data = new byte[BYTES];
            Arrays.fill(data, (byte) 3);
            pair.initiator.put(0, data);
            pair.initiator.receive(8, 0, 1);
            pair.initiator.queuePair.send(7, QueuePair.SIGNALED);
            pair.initiator.gather(0, BYTES);
            pair.initiator.queuePair.doorbell();
            pair.initiator.queuePair.disconnect();
            pair.initiator.queuePair.disconnect();
            pair.until(() -> pair.initiator.isEnded() && pair.responder.isEnded());
            assertThat(pair.initiator.ends).containsExactly((Throwable) null);
            assertThat(pair.responder.ends).containsExactly((Throwable) null);
            assertThat(pair.responder.completions)
                    .containsExactly(
                            new Completion(1, WorkStatus.SUCCESS, BYTES, 0),
                            new Completion(2, WorkStatus.FLUSHED, 0, 0));
            assertThat(pair.initiator.completions)
                    .containsExactly(
                            new Completion(7, WorkStatus.SUCCESS, 0, 0),
                            new Completion(8, WorkStatus.FLUSHED, 0, 0));
            assertThat(pair.responder.get(0, BYTES)).isEqualTo(data);
        }
    }

    /** A connection to a scripted initiator, with work of every kind that waits. */
    private record Waiting(Pair pair, RawPeer peer, Endpoint endpoint) implements AutoCloseable {

        static Waiting of(IwarpConfig config) throws IOException {
            Pair pair = new Pair(config, config);
            pair.listen(InetAddress.getLoopbackAddress());
            RawPeer peer = RawPeer.connect(pair.listener.localAddress(), pair.responderContext);
            peer.send(RawPeer.request(false));
            Pair.until(() -> pair.request != null, pair.responderContext);
            Endpoint endpoint = new Endpoint(pair.responderContext, BYTES);
            endpoint.queuePair =
                    pair.responderContext.createQueuePair(pair.request, Pair.SIZE, endpoint);
            endpoint.receive(1, 0, 10);
            endpoint.receive(2, 0, 10);
            endpoint.queuePair.accept(new byte[0]);
            peer.read(24);
            // A Read that is never answered, and more than the sockets take.
            endpoint.queuePair.read(10, 0, 0, 1);
            endpoint.gather(0, 100);
            endpoint.queuePair.write(11, 0, 0, 1);
            endpoint.gather(0, BYTES);
            endpoint.queuePair.send(12, 0);
            endpoint.queuePair.doorbell();
            peer.sendUlpdu(RawPeer.tagged(0xc1, 0, 1, 0, new byte[0]), false);
            long[] before = {-1};
            Pair.until(
                    () -> {
                        long sent = pair.responderContext.counters().bytesOut();
                        boolean stuck = sent > 0 && sent == before[0];
                        before[0] = sent;
                        return stuck;
                    },
                    pair.responderContext);
            assertThat(endpoint.completions).isEmpty();
            return new Waiting(pair, peer, endpoint);
        }

        /** Everything is flushed, once, the send queue first and in order. */
        void checkFlushed() {
            Pair.until(endpoint::isEnded, pair.responderContext);
            assertThat(endpoint.completions)
                    .containsExactly(
                            new Completion(10, WorkStatus.FLUSHED, 0, 0),
                            new Completion(11, WorkStatus.FLUSHED, 0, 0),
                            new Completion(12, WorkStatus.FLUSHED, 0, 0),
                            new Completion(1, WorkStatus.FLUSHED, 0, 0),
                            new Completion(2, WorkStatus.FLUSHED, 0, 0));
            assertThat(endpoint.ends).hasSize(1);
            assertThat(pair.responderContext.counters().connectionsEnded()).isEqualTo(1);
        }

        @Override
        public void close() {
            peer.close();
            pair.close();
        }
    }

    @Test
    void aResetFlushesEverything() throws IOException {
        try (Waiting waiting = Waiting.of(SMALL_BUFFERS)) {
            waiting.peer().reset();
            waiting.checkFlushed();
            assertThat(waiting.endpoint().ends.get(0)).isInstanceOf(IOException.class);
            assertThat(waiting.pair().responderContext.counters().connectionsLost()).isEqualTo(1);
        }
    }

    /** There is no half-close: who ends its half ends the connection (RFC 5040, 6.2). */
    @Test
    void aHalfCloseEndsTheConnection() throws IOException {
        try (Waiting waiting = Waiting.of(SMALL_BUFFERS)) {
            waiting.peer().shutdownOutput();
            waiting.checkFlushed();
            assertThat(waiting.endpoint().ends).containsExactly((Throwable) null);
            assertThat(waiting.pair().responderContext.counters().connectionsLost()).isZero();
            waiting.peer().readToEnd();
        }
    }

    /** What is sent behind a half-close comes too late; what is sent before it counts. */
    @Test
    void whatCameBeforeAHalfCloseIsDelivered() throws IOException {
        try (Waiting waiting = Waiting.of(SMALL_BUFFERS)) {
            byte[] first = RawPeer.fpdu(RawPeer.untagged(0x41, 3, 0, 0, 1, 0, new byte[4]), false);
            byte[] second = RawPeer.fpdu(RawPeer.untagged(0x41, 5, 0, 0, 2, 0, new byte[5]), false);
            waiting.peer().send(first);
            waiting.peer().send(second);
            waiting.peer().shutdownOutput();
            Endpoint endpoint = waiting.endpoint();
            Pair.until(endpoint::isEnded, waiting.pair().responderContext);
            assertThat(endpoint.completions.subList(0, 2))
                    .containsExactly(
                            new Completion(1, WorkStatus.SUCCESS, 4, 0),
                            new Completion(2, WorkStatus.SUCCESS, 5, 0));
        }
    }

    /** The peer takes nothing: after the drain time-out the rest is given up. */
    @Test
    void aDisconnectDoesNotWaitForEver() throws IOException {
        IwarpConfig hasty = SMALL_BUFFERS.toBuilder().drainTimeout(Duration.ofMillis(20)).build();
        try (Waiting waiting = Waiting.of(hasty)) {
            waiting.endpoint().queuePair.disconnect();
            waiting.checkFlushed();
            assertThat(waiting.endpoint().ends).containsExactly((Throwable) null);
        }
    }

    /** After its Terminate an end waits for the peer's end, but not for ever. */
    @Test
    void aTerminatedPeerThatStaysIsCutOff() throws IOException {
        IwarpConfig hasty = SMALL_BUFFERS.toBuilder().drainTimeout(Duration.ofMillis(20)).build();
        try (Waiting waiting = Waiting.of(hasty)) {
            waiting.peer().sendUlpdu(RawPeer.untagged(0x41, 3, 0, 0, 9, 0, new byte[0]), false);
            waiting.checkFlushed();
            Pair.until(waiting.peer()::isGone, waiting.pair().responderContext);
        }
    }

    /** The Terminate comes behind the FPDU of which a part was sent, never inside it. */
    @Test
    void aTerminateComesAtAnFpduBoundary() throws IOException {
        try (Waiting waiting = Waiting.of(SMALL_BUFFERS)) {
            byte[] wrong = RawPeer.untagged(0x41, 3, 0, 0, 9, 0, new byte[0]);
            waiting.peer().sendUlpdu(wrong, false);
            Pair.until(waiting.endpoint()::isEnded, waiting.pair().responderContext);
            assertThat(waiting.peer().readUlpdu()).hasSize(46);
            byte[] ulpdu = waiting.peer().readUlpdu();
            int writes = 0;
            while (ulpdu[1] == 0x40) {
                assertThat(ulpdu[0]).isEqualTo((byte) 0x81);
                writes++;
                ulpdu = waiting.peer().readUlpdu();
            }
            assertThat(writes).isPositive();
            assertThat(ulpdu)
                    .isEqualTo(
                            RawPeer.untagged(
                                    0x41,
                                    7,
                                    0,
                                    2,
                                    1,
                                    0,
                                    RawPeer.hex("1203c000 0012", HexFormat.of().formatHex(wrong))));
            assertThat(waiting.peer().readToEnd()).isEmpty();
            waiting.checkFlushed();
        }
    }

    static Stream<Arguments> blame() {
        String read = "002e 4141 00000000 00000001 00000001 00000000";
        String write = "0016 c140 00000001 0000000000000000";
        String send = "0012 4143 00000000 00000000 00000001 00000000";
        WorkStatus access = WorkStatus.REMOTE_ACCESS_ERROR;
        WorkStatus operation = WorkStatus.REMOTE_OPERATION_ERROR;
        WorkStatus flushed = WorkStatus.FLUSHED;
        return Stream.of(
                Arguments.of("source of the Read", "0101c000" + read, access),
                Arguments.of("source of the Read, by soft-iWARP", "10010300" + read, access),
                Arguments.of("too many Reads", "0207c000" + read, operation),
                Arguments.of("the Read's MSN", "1203c000" + read, operation),
                Arguments.of("an opcode, not told which", "02060000", operation),
                Arguments.of("a Write", "1100c000" + write, flushed),
                Arguments.of("a Send", "1202c000" + send, flushed),
                // What befell the stream is not the fault of what waits.
                Arguments.of("the CRC", "20020000", flushed),
                Arguments.of("the CRC, by hardware", "23020000", flushed),
                Arguments.of("the peer itself", "00ff0000", flushed),
                Arguments.of("unreadable", "ffffffff", flushed));
    }

    /** A Terminate is about one message; only its own work request fails because of it. */
    @ParameterizedTest(name = "{0}")
    @MethodSource("blame")
    void aTerminateFailsWhatItIsAbout(String name, String control, WorkStatus read)
            throws IOException {
        try (Waiting waiting = Waiting.of(SMALL_BUFFERS)) {
            waiting.peer()
                    .sendUlpdu(RawPeer.untagged(0x41, 7, 0, 2, 1, 0, RawPeer.hex(control)), false);
            Endpoint endpoint = waiting.endpoint();
            Pair.until(endpoint::isEnded, waiting.pair().responderContext);
            assertThat(endpoint.completion(10).status()).isEqualTo(read);
            assertThat(endpoint.completions.subList(1, 5))
                    .allMatch(completion -> completion.status() == WorkStatus.FLUSHED);
            assertThat(endpoint.ends.get(0)).isInstanceOf(TerminatedException.class);
        }
    }

    /** Closing a queue pair cuts the connection; inside a message the peer notices. */
    @Test
    void anAbortInsideAMessageIsALossForThePeer() throws IOException {
        try (Pair pair = Pair.connected(SMALL_BUFFERS, BYTES)) {
            pair.responder.receive(1, 0, BYTES);
            pair.initiator.queuePair.send(7, QueuePair.SIGNALED);
            pair.initiator.gather(0, BYTES);
            pair.initiator.queuePair.doorbell();
            pair.until(() -> pair.responderContext.counters().fpdusIn() > 0);
            pair.initiator.queuePair.close();
            pair.until(pair.responder::isEnded);
            assertThat(pair.responder.completions)
                    .containsExactly(new Completion(1, WorkStatus.FLUSHED, 0, 0));
            assertThat(pair.responder.ends.get(0)).isInstanceOf(IOException.class);
            assertThat(pair.responderContext.counters().connectionsLost()).isEqualTo(1);
            assertThat(pair.initiator.completions).isEmpty();
            assertThat(pair.initiator.ends).isEmpty();
        }
    }

    /** What was complete arrives, whatever of the peer's own messages was not read yet. */
    @ParameterizedTest(name = "by the initiator {0}")
    @ValueSource(booleans = {false, true})
    void closeLosesNothingThatWasSent(boolean byInitiator) throws IOException {
        int messages = 12;
        int length = 8000;
        IwarpConfig sending = PLAIN.toBuilder().socketBuffer(1 << 20).build();
        try (Pair pair =
                byInitiator
                        ? Pair.connected(sending, SMALL_BUFFERS, BYTES)
                        : Pair.connected(SMALL_BUFFERS, sending, BYTES)) {
            open(pair);
            Endpoint from = byInitiator ? pair.initiator : pair.responder;
            Endpoint to = byInitiator ? pair.responder : pair.initiator;
            from.receive(0, 0, 10);
            for (int i = 1; i <= messages; i++) {
                to.receive(i, 0, length);
                from.queuePair.send(i, QueuePair.SIGNALED);
                from.gather(0, length);
            }
            to.queuePair.send(0, 0);
            to.gather(0, 10);
            to.queuePair.doorbell();
            from.queuePair.doorbell();
            // Completions are delivered before sockets are read.
            from.context.poll(messages);
            assertThat(from.completions).hasSize(messages);
            from.queuePair.close();
            pair.until(to::isEnded);
            assertThat(to.ends).containsExactly((Throwable) null);
            assertThat(to.completions.stream().filter(c -> c.length() == length)).hasSize(messages);
            pair.until(() -> !from.context.isLingering());
            assertThat(from.completions).hasSize(messages);
            assertThat(from.ends).isEmpty();
            assertThat(from.context.loop.timers.isEmpty()).isTrue();
        }
    }

    /** What comes behind the end is discarded, and waited for no longer than for any other end. */
    @Test
    void aClosedConnectionDoesNotWaitForEver() throws IOException {
        IwarpConfig hasty = SMALL_BUFFERS.toBuilder().drainTimeout(Duration.ofMillis(20)).build();
        try (Waiting waiting = Waiting.of(hasty)) {
            waiting.endpoint().queuePair.close();
            IwarpContext context = waiting.pair().responderContext;
            assertThat(context.isLingering()).isTrue();
            waiting.peer().send(new byte[100_000]);
            Pair.until(waiting.peer()::isGone, context);
            assertThat(context.isLingering()).isFalse();
            assertThat(waiting.endpoint().completions).isEmpty();
        }
    }

    @Test
    void workPostedAfterTheEndIsFlushed() throws IOException {
        try (Pair pair = Pair.connected(PLAIN, 64)) {
            pair.responder.queuePair.close();
            pair.until(pair.initiator::isEnded);
            pair.initiator.queuePair.send(1, 0);
            pair.initiator.queuePair.doorbell();
            pair.initiator.receive(2, 0, 1);
            pair.until(() -> pair.initiator.completions.size() == 2);
            assertThat(pair.initiator.completions).allMatch(c -> c.status() == WorkStatus.FLUSHED);
            assertThat(pair.initiator.ends).hasSize(1);
            assertThat(pair.responder.ends).isEmpty();
        }
    }

    @Test
    void closeEndsTheAccessToExposedMemory() throws IOException {
        try (Pair pair = Pair.connected(PLAIN, 64)) {
            int key = pair.responder.expose(0, 10, QueuePair.REMOTE_READ);
            pair.responder.queuePair.close();
            pair.responder.queuePair.close();
            assertThat(pair.responder.queuePair.isExposed(key)).isFalse();
            assertThatThrownBy(() -> pair.responder.expose(0, 10, QueuePair.REMOTE_READ))
                    .isInstanceOf(IllegalStateException.class);
        }
    }

    @Test
    @Proves("SEC-01")
    void keysAreWorthNothingElsewhere() throws IOException {
        try (Pair pair = Pair.connected(PLAIN, 64)) {
            int key = pair.responder.expose(0, 10, QueuePair.REMOTE_READ);
            Endpoint other = new Endpoint(pair.responderContext, 64);
            other.queuePair = pair.responderContext.createQueuePair(Pair.SIZE, other);
            assertThat(other.queuePair.isExposed(key)).isFalse();
            other.queuePair.invalidate(key);
            assertThat(pair.responder.queuePair.isExposed(key)).isTrue();
            assertThatThrownBy(() -> other.queuePair.exposedOffset(key))
                    .isInstanceOf(IllegalArgumentException.class);
            assertThatThrownBy(
                            () ->
                                    pair.initiator.queuePair.expose(
                                            other.region, Endpoint.BASE, 1, 1))
                    .isInstanceOf(IllegalArgumentException.class);
        }
    }

    @Test
    void requestMovesToAContextOfAnotherThread() throws Exception {
        try (Pair pair = new Pair(PLAIN, PLAIN);
                IwarpContext third = new IwarpContext(PLAIN)) {
            pair.listen(InetAddress.getLoopbackAddress());
            Endpoint initiator = new Endpoint(pair.initiatorContext, 64);
            initiator.queuePair = pair.initiatorContext.createQueuePair(Pair.SIZE, initiator);
            initiator.queuePair.connect(pair.listener.localAddress(), null, new byte[0]);
            pair.until(() -> pair.request != null);
            CompletableFuture<Endpoint> moved =
                    CompletableFuture.supplyAsync(
                            () -> {
                                try {
                                    Endpoint endpoint = new Endpoint(third, 64);
                                    endpoint.queuePair =
                                            third.createQueuePair(
                                                    pair.request, Pair.SIZE, endpoint);
                                    endpoint.receive(1, 0, 64);
                                    endpoint.queuePair.accept(new byte[] {1});
                                    Pair.until(() -> endpoint.completion(1) != null, third);
                                    return endpoint;
                                } catch (IOException e) {
                                    throw new AssertionError(e);
                                }
                            });
            pair.until(initiator::isConnected);
            initiator.put(0, new byte[] {42});
            initiator.queuePair.send(1, 1);
            initiator.gather(0, 1);
            initiator.queuePair.doorbell();
            pair.until(() -> moved.isDone() && initiator.completion(1) != null);
            assertThat(moved.get().memory.get(0)).isEqualTo((byte) 42);
        }
    }

    @Test
    void wakeupEndsAWait() throws Exception {
        try (IwarpContext context = new IwarpContext(PLAIN)) {
            context.wakeup();
            context.wakeup();
            context.await(-1);
            Thread waker = new Thread(context::wakeup);
            waker.start();
            context.await(-1);
            waker.join();
            context.await(0);
            context.await(TimeUnit.MICROSECONDS.toNanos(10));
        }
    }

    @Test
    void waitEndsWhenBytesCome() throws IOException {
        try (Pair pair = Pair.connected(PLAIN, 64)) {
            pair.responder.receive(1, 0, 64);
            pair.initiator.queuePair.send(1, 0);
            pair.initiator.queuePair.doorbell();
            pair.responderContext.await(-1);
            Pair.until(() -> pair.responder.completion(1) != null, pair.responderContext);
        }
    }

    @Test
    @EnabledOnOs(OS.LINUX)
    void leavesNoFileDescriptor() throws IOException {
        cycle();
        long before = fileDescriptors();
        for (int i = 0; i < 20; i++) {
            cycle();
        }
        assertThat(fileDescriptors()).isEqualTo(before);
    }

    private static void cycle() throws IOException {
        try (Pair pair = Pair.connected(PLAIN, 64)) {
            pair.connect(Pair.SIZE, Pair.SIZE, 64);
            pair.initiator.queuePair.disconnect();
            pair.until(() -> pair.initiator.isEnded() && pair.responder.isEnded());
            pair.connect(Pair.SIZE, Pair.SIZE, 64);
            pair.responder.queuePair.close();
            pair.until(pair.initiator::isEnded);
            Endpoint refused = new Endpoint(pair.initiatorContext, 64);
            refused.queuePair = pair.initiatorContext.createQueuePair(Pair.SIZE, refused);
            pair.request = null;
            refused.queuePair.connect(pair.listener.localAddress(), null, new byte[0]);
            pair.until(() -> pair.request != null);
            pair.request.reject(new byte[0]);
            pair.until(() -> refused.connectFailure != null);
            Endpoint pending = new Endpoint(pair.initiatorContext, 64);
            pending.queuePair = pair.initiatorContext.createQueuePair(Pair.SIZE, pending);
            pending.queuePair.connect(pair.listener.localAddress(), null, new byte[0]);
        }
    }

    private static long fileDescriptors() throws IOException {
        try (Stream<Path> open = Files.list(Path.of("/proc/self/fd"))) {
            return open.filter(LifecycleTest::isSocketOrPoll).count();
        }
    }

    private static boolean isSocketOrPoll(Path descriptor) {
        try {
            String target = Files.readSymbolicLink(descriptor).toString();
            return target.startsWith("socket:") || target.startsWith("anon_inode:");
        } catch (IOException e) {
            return false;
        }
    }
}
