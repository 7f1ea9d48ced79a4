// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.InetAddress;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.rpcrdma.verbs.QueuePair;
import org.rpcrdma.verbs.WorkStatus;
import org.rpcrdma.verbs.iwarp.mpa.CrcPolicy;

/** Every operation, of many sizes, in both directions, with the CRC on and off. */
class OperationsTest {

    private static final int MAX = 4 << 20;
    private static final int[] SIZES = {
        0, 1, 2, 3, 4, 511, 513, 1424, 4096, 16_000, 64_744, 64_745, 200_000, 1 << 20, MAX
    };

    static Stream<Arguments> modes() {
        IwarpConfig plain = IwarpConfig.defaults();
        IwarpConfig markers = plain.toBuilder().markers(true).build();
        return Stream.of(
                Arguments.of("markers", markers, false),
                Arguments.of("markers, from the responder", markers, true),
                Arguments.of(
                        "markers with crc, 1442 byte ULPDUs",
                        markers.toBuilder().crc(CrcPolicy.REQUIRE).maxUlpdu(1442).build(),
                        false),
                Arguments.of(
                        "markers in large ULPDUs, small socket buffers",
                        markers.toBuilder().maxUlpdu(64_768).socketBuffer(4096).build(),
                        true),
                Arguments.of("plain", plain, false),
                Arguments.of("plain, from the responder", plain, true),
                Arguments.of("crc", plain.toBuilder().crc(CrcPolicy.REQUIRE).build(), false),
                Arguments.of(
                        "crc, from the responder",
                        plain.toBuilder().crc(CrcPolicy.REQUIRE).build(),
                        true),
                Arguments.of("1442 byte ULPDUs", plain.toBuilder().maxUlpdu(1442).build(), false),
                Arguments.of(
                        "odd ULPDUs with crc",
                        plain.toBuilder().maxUlpdu(131).crc(CrcPolicy.REQUIRE).build(),
                        true),
                Arguments.of(
                        "small socket buffers",
                        plain.toBuilder().socketBuffer(4096).build(),
                        false),
                Arguments.of("peer to peer", plain.toBuilder().peerToPeer(true).build(), true));
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("modes")
    void carriesEveryOperation(String name, IwarpConfig config, boolean fromResponder)
            throws IOException {
        carry(config, config, fromResponder);
    }

    /** Each direction has markers or not, as its receiver asks. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void markersInOneDirection(boolean fromResponder) throws IOException {
        IwarpConfig plain = IwarpConfig.defaults();
        carry(plain.toBuilder().markers(true).build(), plain, fromResponder);
        carry(plain, plain.toBuilder().markers(true).build(), fromResponder);
    }

    /** Looking costs a system call, so a poll that has something to deliver may leave it out; but not for ever. */
    @Test
    void completionsDoNotKeepOffWhatArrives() throws Exception {
        try (Pair pair = Pair.connected(IwarpConfig.defaults(), 1024)) {
            pair.responder.receive(1, 0, 512);
            pair.initiator.queuePair.send(2, QueuePair.SIGNALED);
            pair.initiator.gather(0, 16);
            pair.initiator.queuePair.doorbell();
            long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
            for (long id = 10; pair.responder.completion(1) == null; id++) {
                assertThat(System.nanoTime() - end).isNegative();
                pair.responder.queuePair.write(id, QueuePair.SIGNALED, 0, 1); // of no bytes
                pair.responder.queuePair.doorbell();
                pair.responderContext.poll(256);
            }
            assertThat(pair.responder.completion(1).length()).isEqualTo(16);
        }
    }

    /** Verbs leave it undefined which bytes are read; the connection has nothing to do with it. */
    @Test
    void memoryMayChangeWhileItIsRead() throws IOException {
        int bytes = 1 << 20;
        IwarpConfig config =
                IwarpConfig.builder().crc(CrcPolicy.REQUIRE).socketBuffer(8192).build();
        try (Pair pair = Pair.connected(config, bytes)) {
            Endpoint owner = pair.responder;
            int key = owner.expose(0, bytes, QueuePair.REMOTE_READ);
            pair.initiator.queuePair.read(
                    1, QueuePair.SIGNALED, owner.queuePair.exposedOffset(key), key);
            pair.initiator.gather(0, bytes);
            pair.initiator.queuePair.doorbell();
            byte change = 1;
            while (pair.initiator.completion(1) == null && !pair.initiator.isEnded()) {
                for (int i = 0; i < bytes; i += 64) {
                    owner.memory.put(i, change);
                }
                change++;
                pair.responderContext.poll(64);
                pair.initiatorContext.poll(64);
            }
            assertThat(pair.initiator.ends).isEmpty();
            assertThat(pair.initiator.completion(1).status()).isEqualTo(WorkStatus.SUCCESS);
        }
    }

    /** Whoever was not told yet that its receives are used up cannot have posted others. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void aPeerIsHeldUpUntilCompletionsAreDelivered(boolean markers) throws IOException {
        int messages = Pair.SIZE.sendDepth();
        int posted = 3;
        try (Pair pair =
                Pair.connected(
                        IwarpConfig.defaults(),
                        IwarpConfig.builder().markers(markers).build(),
                        4096)) {
            Endpoint receiver = pair.responder;
            for (int i = 0; i < posted; i++) {
                receiver.receive(i, 4 * i, 4);
            }
            for (int i = 0; i < messages; i++) {
                pair.initiator.memory.putInt(4 * i, i);
                pair.initiator.queuePair.send(i, QueuePair.SIGNALED);
                pair.initiator.gather(4 * i, 4);
            }
            pair.initiator.queuePair.doorbell();
            while (receiver.completions.size() < messages && !receiver.isEnded()) {
                pair.initiatorContext.poll(64);
                pair.responderContext.poll(64);
                while (posted < Math.min(receiver.completions.size() + 3, messages)) {
                    receiver.receive(posted, 4 * posted, 4);
                    posted++;
                }
            }
            assertThat(receiver.ends).isEmpty();
            for (int i = 0; i < messages; i++) {
                assertThat(receiver.completions.get(i).id()).isEqualTo(i);
                assertThat(receiver.memory.getInt(4 * i)).isEqualTo(i);
            }
            assertThat(pair.responderContext.counters().receivesHeld()).isPositive();
        }
    }

    @Test
    void carriesEveryOperationOverIpv6() throws IOException {
        IwarpConfig config = IwarpConfig.defaults();
        try (Pair pair = new Pair(config, config)) {
            pair.listen(InetAddress.getByAddress(RawPeer.hex("00".repeat(15), "01")));
            pair.connect(Pair.SIZE, Pair.SIZE, MAX);
            carry(pair, MAX, false);
            carry(pair, MAX, true);
        }
    }

    private static void carry(IwarpConfig config, IwarpConfig other, boolean fromResponder)
            throws IOException {
        try (Pair pair = Pair.connected(config, other, MAX)) {
            assertThat(pair.initiator.connectedWith).containsExactly(4, 5);
            assertThat(pair.responder.connectedWith).containsExactly(1, 2, 3);
            carry(pair, config.maxUlpdu() == 131 ? 200_000 : MAX, fromResponder);
        }
    }

    private static void carry(Pair pair, int most, boolean fromResponder) {
        Endpoint from = fromResponder ? pair.responder : pair.initiator;
        Endpoint to = fromResponder ? pair.initiator : pair.responder;
        if (fromResponder) {
            openResponder(pair);
        }
        long seed = 1;
        for (int size : SIZES) {
            int bytes = Math.min(size, most);
            for (int flags : new int[] {0, QueuePair.SOLICITED}) {
                send(pair, from, to, bytes, seed++, false, flags);
                send(pair, from, to, bytes, seed++, true, flags);
            }
            write(pair, from, to, bytes, seed++);
            read(pair, from, to, bytes, seed++);
        }
    }

    /** A responder may not send before it has received something (RFC 5044, 7.1.2). */
    private static void openResponder(Pair pair) {
        pair.responder.receive(99, 0, 1);
        pair.initiator.queuePair.send(98, QueuePair.SIGNALED);
        pair.initiator.queuePair.doorbell();
        pair.until(
                () ->
                        pair.responder.completion(99) != null
                                && pair.initiator.completion(98) != null);
        pair.responder.completions.clear();
        pair.initiator.completions.clear();
    }

    private static byte[] pattern(int size, long seed) {
        byte[] bytes = new byte[size];
        new Random(seed).nextBytes(bytes);
        return bytes;
    }

    private static void send(
            Pair pair,
            Endpoint from,
            Endpoint to,
            int size,
            long seed,
            boolean invalidate,
            int flags) {
        byte[] bytes = pattern(size, seed);
        from.put(0, bytes);
        int key = invalidate ? to.expose(5, 10, QueuePair.REMOTE_READ) : 0;
        to.receive(1, 0, MAX);
        if (invalidate) {
            from.queuePair.sendWithInvalidate(2, QueuePair.SIGNALED | flags, key);
        } else {
            from.queuePair.send(2, QueuePair.SIGNALED | flags);
        }
        from.gather(0, size / 3);
        from.gather(size / 3, size - size / 3);
        from.queuePair.doorbell();
        pair.until(() -> to.completion(1) != null && from.completion(2) != null);
        assertThat(to.completions)
                .containsExactly(new Endpoint.Completion(1, WorkStatus.SUCCESS, size, key));
        assertThat(from.completion(2).status()).isEqualTo(WorkStatus.SUCCESS);
        assertThat(to.get(0, size)).isEqualTo(bytes);
        assertThat(key != 0 && to.queuePair.isExposed(key)).isFalse();
        clear(from, to);
    }

    private static void write(Pair pair, Endpoint from, Endpoint to, int size, long seed) {
        byte[] bytes = pattern(size, seed);
        from.put(0, bytes);
        int key = to.expose(0, size, QueuePair.REMOTE_WRITE);
        to.receive(1, 0, 0);
        from.queuePair.write(2, 0, to.queuePair.exposedOffset(key), key);
        from.gather(0, size);
        from.queuePair.send(3, QueuePair.SIGNALED);
        from.queuePair.doorbell();
        pair.until(() -> to.completion(1) != null && from.completion(3) != null);
        assertThat(from.completions).hasSize(1);
        assertThat(to.get(0, size)).isEqualTo(bytes);
        to.queuePair.invalidate(key);
        clear(from, to);
    }

    private static void read(Pair pair, Endpoint from, Endpoint to, int size, long seed) {
        byte[] bytes = pattern(size, seed);
        to.put(0, bytes);
        int key = to.expose(0, size, QueuePair.REMOTE_READ);
        from.queuePair.read(2, QueuePair.SIGNALED, to.queuePair.exposedOffset(key), key);
        from.gather(0, size / 2);
        from.gather(size / 2, size - size / 2);
        from.queuePair.doorbell();
        pair.until(() -> from.completion(2) != null);
        assertThat(from.completion(2).status()).isEqualTo(WorkStatus.SUCCESS);
        assertThat(from.get(0, size)).isEqualTo(bytes);
        to.queuePair.invalidate(key);
        clear(from, to);
    }

    private static void clear(Endpoint from, Endpoint to) {
        from.completions.clear();
        to.completions.clear();
    }
}
