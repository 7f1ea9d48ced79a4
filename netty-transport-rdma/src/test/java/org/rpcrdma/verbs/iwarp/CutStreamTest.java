// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.InetAddress;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.rpcrdma.verbs.QueuePair;
import org.rpcrdma.verbs.WorkStatus;
import org.rpcrdma.verbs.iwarp.Endpoint.Completion;
import org.rpcrdma.verbs.iwarp.mpa.CrcPolicy;
import org.rpcrdma.verbs.iwarp.mpa.Rtr;

/** TCP may cut a stream anywhere: whole conversations, start-up and end included, through a relay that does. */
class CutStreamTest {

    private static final int LONG = 400;
    private static final int SHORT = 13;
    private static final int WRITTEN = 9;
    private static final int READ = 7;
    private static final int SEND_FROM = 0;
    private static final int READ_TO = 600;
    private static final int WRITABLE = 1000;
    private static final int READABLE = 1100;
    private static final int RECEIVES = 2000;

    static Stream<Arguments> modes() {
        // A relay whose own port is by chance the initiator's would be taken for no relay.
        IwarpConfig plain = IwarpConfig.builder().maxUlpdu(128).sharedMemory(false).build();
        IwarpConfig crc = plain.toBuilder().crc(CrcPolicy.REQUIRE).build();
        IwarpConfig read = crc.toBuilder().readyToReceive(Set.of(Rtr.ZERO_LENGTH_READ)).build();
        return Stream.of(
                Arguments.of("plain", plain),
                Arguments.of("crc, Read as RTR", read),
                Arguments.of("revision 1", plain.toBuilder().mpaRevision(1).build()),
                Arguments.of("markers", plain.toBuilder().markers(true).build()),
                Arguments.of("markers and crc", crc.toBuilder().markers(true).build()));
    }

    private static Pair relayed(IwarpConfig config) throws IOException {
        Pair pair = new Pair(config, config);
        pair.listen(InetAddress.getLoopbackAddress());
        pair.relay = new Relay(pair.listener.localAddress());
        return pair;
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("modes")
    void oneCutAtEveryPosition(String name, IwarpConfig config) throws IOException {
        try (Pair pair = relayed(config);
                Relay relay = pair.relay) {
            converse(pair);
            long requests = relay.requestBytes();
            long answers = relay.answerBytes();
            assertThat(requests).isGreaterThan(700);
            assertThat(answers).isGreaterThan(700);
            for (long at = 1; at < requests; at++) {
                relay.next(Relay.cutAt(at), Relay.ALL);
                converse(pair);
                assertThat(relay.requestBytes()).isEqualTo(requests);
            }
            for (long at = 1; at < answers; at++) {
                relay.next(Relay.ALL, Relay.cutAt(at));
                converse(pair);
                assertThat(relay.answerBytes()).isEqualTo(answers);
            }
        }
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("modes")
    void oneByteAtATime(String name, IwarpConfig config) throws IOException {
        try (Pair pair = relayed(config);
                Relay relay = pair.relay) {
            Relay.Pieces one = (passed, waiting) -> Math.min(waiting, 1);
            relay.next(one, one);
            converse(pair);
        }
    }

    /** Every operation, with data and without, in both directions, and an orderly end. */
    static void converse(Pair pair) throws IOException {
        pair.connect(Pair.SIZE, Pair.SIZE, 4096);
        assertThat(pair.initiator.connectedWith).containsExactly(4, 5);
        assertThat(pair.responder.connectedWith).containsExactly(1, 2, 3);
        int initiatorsKey = prepare(pair.initiator, 1);
        int respondersKey = prepare(pair.responder, 2);
        int initiatorsReadable = pair.initiator.expose(READABLE, READ, QueuePair.REMOTE_READ);
        int respondersReadable = pair.responder.expose(READABLE, READ, QueuePair.REMOTE_READ);
        // A responder that was sent no ready-to-receive message waits for this.
        post(pair.initiator, pair.responder, respondersKey, respondersReadable);
        post(pair.responder, pair.initiator, initiatorsKey, initiatorsReadable);
        pair.until(() -> isDone(pair.initiator) && isDone(pair.responder));
        check(pair.initiator, 1, 2, initiatorsKey);
        check(pair.responder, 2, 1, respondersKey);
        pair.initiator.queuePair.disconnect();
        pair.until(() -> pair.initiator.isEnded() && pair.responder.isEnded());
        assertThat(pair.initiator.ends).containsExactly((Throwable) null);
        assertThat(pair.responder.ends).containsExactly((Throwable) null);
        pair.initiator.queuePair.close();
        pair.responder.queuePair.close();
        pair.initiator.region.deregister();
        pair.responder.region.deregister();
    }

    private static int prepare(Endpoint endpoint, int seed) {
        endpoint.put(SEND_FROM, pattern(LONG, seed));
        endpoint.put(READABLE, pattern(READ, seed + 10));
        for (int i = 0; i < 3; i++) {
            endpoint.receive(1 + i, RECEIVES + i * LONG, LONG);
        }
        return endpoint.expose(WRITABLE, WRITTEN, QueuePair.REMOTE_WRITE);
    }

    private static byte[] pattern(int size, int seed) {
        byte[] bytes = new byte[size];
        new Random(seed).nextBytes(bytes);
        return bytes;
    }

    private static void post(Endpoint from, Endpoint to, int writable, int readable) {
        QueuePair pair = from.queuePair;
        long offset = to.queuePair.exposedOffset(writable);
        pair.write(10, QueuePair.SIGNALED, offset, writable);
        from.gather(SEND_FROM, WRITTEN);
        pair.write(11, QueuePair.SIGNALED, 0, 0);
        pair.read(12, QueuePair.SIGNALED, to.queuePair.exposedOffset(readable), readable);
        from.gather(READ_TO, READ);
        pair.read(13, QueuePair.SIGNALED, 0, 0);
        pair.send(14, QueuePair.SIGNALED | QueuePair.SOLICITED);
        from.gather(SEND_FROM, SHORT);
        pair.sendWithInvalidate(15, QueuePair.SIGNALED | QueuePair.SOLICITED, writable);
        pair.send(16, QueuePair.SIGNALED);
        from.gather(SEND_FROM, LONG);
        pair.doorbell();
    }

    private static boolean isDone(Endpoint endpoint) {
        return endpoint.completion(16) != null && endpoint.completion(3) != null;
    }

    private static void check(Endpoint endpoint, int own, int peers, int key) {
        assertThat(endpoint.completions.stream().filter(c -> c.id() < 10))
                .containsExactly(
                        new Completion(1, WorkStatus.SUCCESS, SHORT, 0),
                        new Completion(2, WorkStatus.SUCCESS, 0, key),
                        new Completion(3, WorkStatus.SUCCESS, LONG, 0));
        assertThat(endpoint.completions.stream().filter(c -> c.id() >= 10))
                .extracting(Completion::id)
                .containsExactly(10L, 11L, 12L, 13L, 14L, 15L, 16L);
        assertThat(endpoint.completions).allMatch(c -> c.status() == WorkStatus.SUCCESS);
        byte[] expected = new byte[4096];
        byte[] theirs = pattern(LONG, peers);
        System.arraycopy(pattern(LONG, own), 0, expected, SEND_FROM, LONG);
        System.arraycopy(pattern(READ, own + 10), 0, expected, READABLE, READ);
        System.arraycopy(pattern(READ, peers + 10), 0, expected, READ_TO, READ);
        System.arraycopy(theirs, 0, expected, WRITABLE, WRITTEN);
        System.arraycopy(theirs, 0, expected, RECEIVES, SHORT);
        System.arraycopy(theirs, 0, expected, RECEIVES + 2 * LONG, LONG);
        assertThat(endpoint.get(0, 4096)).isEqualTo(expected);
    }

    private static final int MEGABYTES = 6 << 20;
    private static final int SENDS = 40;

    static Stream<Arguments> bursts() {
        IwarpConfig plain = IwarpConfig.builder().build();
        IwarpConfig small = plain.toBuilder().maxUlpdu(1442).build();
        return Stream.of(plain, small)
                .flatMap(
                        config ->
                                Stream.of(
                                        config,
                                        config.toBuilder().crc(CrcPolicy.REQUIRE).build(),
                                        config.toBuilder().markers(true).build()))
                .map(
                        config ->
                                Arguments.of(
                                        config.maxUlpdu()
                                                + ", "
                                                + config.crc()
                                                + ", markers "
                                                + config.markers(),
                                        config));
    }

    /** Nothing goes on before everything was sent; then everything comes at once, data and messages mixed. */
    @ParameterizedTest(name = "{0}")
    @MethodSource("bursts")
    void megabytesAtOnce(String name, IwarpConfig config) throws IOException {
        try (Pair pair = relayed(config);
                Relay relay = pair.relay) {
            pair.connect(Pair.SIZE, Pair.SIZE, MEGABYTES);
            Endpoint from = pair.initiator;
            Endpoint to = pair.responder;
            byte[] data = pattern(MEGABYTES, 3);
            from.put(0, data);
            int half = MEGABYTES / 2;
            int key = to.expose(0, half, QueuePair.REMOTE_WRITE);
            for (int i = 0; i < SENDS; i++) {
                to.receive(i, half + i * 70_000, 70_000);
            }
            relay.requestsBy((passed, waiting) -> 0);
            from.queuePair.write(100, 0, to.queuePair.exposedOffset(key), key);
            from.gather(0, half);
            int[] sizes = new int[SENDS];
            for (int i = 0; i < SENDS; i++) {
                sizes[i] = i % 3 == 0 ? i : 70_000 - i;
                from.queuePair.send(i, i == SENDS - 1 ? QueuePair.SIGNALED : 0);
                from.gather(half + i * 70_000, sizes[i]);
            }
            from.queuePair.doorbell();
            pair.until(() -> from.completion(SENDS - 1) != null);
            assertThat(to.completions).isEmpty();
            relay.requestsBy(Relay.ALL);
            pair.until(() -> to.completion(SENDS - 1) != null);
            assertThat(to.completions).extracting(Completion::length).isEqualTo(boxed(sizes));
            assertThat(to.get(0, half)).isEqualTo(Arrays.copyOf(data, half));
            for (int i = 0; i < SENDS; i++) {
                int at = half + i * 70_000;
                assertThat(to.get(at, sizes[i]))
                        .isEqualTo(Arrays.copyOfRange(data, at, at + sizes[i]));
            }
        }
    }

    private static List<Integer> boxed(int[] values) {
        return Arrays.stream(values).boxed().toList();
    }
}
