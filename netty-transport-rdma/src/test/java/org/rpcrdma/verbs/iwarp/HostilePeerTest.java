// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.rpcrdma.verbs.iwarp.RawPeer.hex;
import static org.rpcrdma.verbs.iwarp.RawPeer.readRequest;
import static org.rpcrdma.verbs.iwarp.RawPeer.tagged;
import static org.rpcrdma.verbs.iwarp.RawPeer.untagged;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Set;
import java.util.function.Function;
import java.util.function.IntFunction;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.rpcrdma.Proves;
import org.rpcrdma.verbs.DeviceCounter;
import org.rpcrdma.verbs.QueuePair;
import org.rpcrdma.verbs.QueuePairConfig;
import org.rpcrdma.verbs.WorkStatus;

/**
 * A peer that breaks the rules of the stream gets the Terminate that the RFC names, reaches no memory, and harms nobody
 * else. Each attack goes over a real socket, without and with the CRC, and with markers.
 *
 * <p>The checks of an inbound FPDU, and where they are put to the test:
 *
 * <ol>
 *   <li>MPA frames, their time and number: {@code StartupTest}, {@link #endInsideAnFpdu}
 *   <li>ULPDU_Length against the header: {@link #attacks}
 *   <li>CRC before placement: {@link #aWrongCrcPlacesNothing}, {@link #wrongCrcPlacesNothing}
 *   <li>DV, RV, opcode, buffer model: {@link #attacks}; reserved bits: {@link #reservedBitsAreIgnored}
 *   <li>QN, MSN, MO, opcode of the message under way: {@link #attacks}
 *   <li>a receive and its room: {@link #attacks}, {@link #aReceiveWithoutMemoryEndsTheStream}
 *   <li>Send with Invalidate: {@link #attacks}, {@link #deadKeysAreOfNoUse}
 *   <li>Write, every segment: {@link #attacks}, {@link #deadKeysAreOfNoUse}
 *   <li>arithmetic: {@link #attacks}, {@code StagBoundsPropertyTest}
 *   <li>Read Request, IRD: {@link #attacks}, {@link #tooManyReads}, {@link #noReadsWithoutADepth}, {@code
 *       LifecycleTest.invalidateStopsAReadResponse}
 *   <li>Read Response: {@link #wrongReadResponses}
 *   <li>Terminate: {@link #aTerminateIsNotAnswered}
 *   <li>who speaks first: {@code StartupTest.responderWaitsForTheFirstFpdu}, {@code
 *       StartupTest.aPeerThatSendsBeforeTheReplyIsCutOff}
 *   <li>after the first error: {@link #nothingAfterTheErrorCounts}
 * </ol>
 */
class HostilePeerTest {

    private static final byte[] NOTHING = {};
    private static final int GUARD = 0x5a;
    private static final int ROOM = 4096;
    private static final int EXPOSED_AT = 8192;
    private static final int EXPOSED = 1000;

    /** What the victim has exposed. */
    record Victim(
            int writable,
            long writableOffset,
            int readable,
            long readableOffset,
            int foreign,
            long foreignOffset) {}

    /**
     * @param check the number of the check in the list above
     * @param terminate the control field of the expected Terminate, in hex
     * @param ulpdus what the peer sends
     * @param echoed the index of the ULPDU whose header the Terminate carries, -1 for none
     */
    record Attack(
            int check,
            String name,
            String terminate,
            int echoed,
            Function<Victim, List<byte[]>> ulpdus) {
        @Override
        public String toString() {
            return "check " + check + ": " + name;
        }
    }

    private static Attack attack(
            int check, String name, String terminate, Function<Victim, List<byte[]>> ulpdus) {
        int echoed = terminate.endsWith("0000") ? -1 : Integer.MAX_VALUE;
        return new Attack(check, name, terminate, echoed, ulpdus);
    }

    private static byte[] bytes(int count) {
        byte[] bytes = new byte[count];
        Arrays.fill(bytes, (byte) 0x77);
        return bytes;
    }

    private static byte[] send(int msn, int mo, byte[] payload) {
        return untagged(0x41, 3, 0, 0, msn, mo, payload);
    }

    private static byte[] with(byte[] ulpdu, int index, int value) {
        byte[] copy = ulpdu.clone();
        copy[index] = (byte) value;
        return copy;
    }

    static Stream<Attack> attacks() {
        return Stream.of(
                attack(2, "ULPDU without a header", "20030000", v -> List.of(new byte[13])),
                attack(2, "empty ULPDU", "20030000", v -> List.of(NOTHING)),
                attack(
                        2,
                        "untagged ULPDU without its header",
                        "20030000",
                        v -> List.of(Arrays.copyOf(send(1, 0, NOTHING), 17))),
                attack(
                        4,
                        "DDP version, tagged",
                        "1104c000",
                        v -> List.of(tagged(0xc0, 0, v.writable(), v.writableOffset(), bytes(8)))),
                attack(
                        4,
                        "DDP version, untagged",
                        "1206c000",
                        v -> List.of(with(send(1, 0, bytes(8)), 0, 0x43))),
                attack(
                        4,
                        "RDMAP version",
                        "0205c000",
                        v -> List.of(with(send(1, 0, bytes(8)), 1, 0x83))),
                attack(
                        4,
                        "opcode 8",
                        "0206c000",
                        v -> List.of(untagged(0x41, 8, 0, 0, 1, 0, bytes(8)))),
                attack(
                        4,
                        "tagged Send",
                        "0206c000",
                        v -> List.of(tagged(0xc1, 3, v.writable(), v.writableOffset(), bytes(8)))),
                attack(
                        4,
                        "untagged Write",
                        "0206c000",
                        v -> List.of(untagged(0x41, 0, 0, 0, 1, 0, bytes(8)))),
                attack(
                        5,
                        "Send on queue 1",
                        "1201c000",
                        v -> List.of(untagged(0x41, 3, 0, 1, 1, 0, bytes(8)))),
                attack(
                        5,
                        "Send on queue 0x80000000",
                        "1201c000",
                        v -> List.of(untagged(0x41, 3, 0, 0x8000_0000, 1, 0, bytes(8)))),
                attack(5, "Send out of turn", "1203c000", v -> List.of(send(2, 0, bytes(8)))),
                attack(
                        5,
                        "Send twice",
                        "1203c000",
                        v -> List.of(send(1, 0, NOTHING), send(1, 0, NOTHING))),
                attack(5, "Send at an offset", "1204c000", v -> List.of(send(1, 4, bytes(8)))),
                attack(5, "Send at a huge offset", "1204c000", v -> List.of(send(1, -1, bytes(8)))),
                attack(
                        5,
                        "Send with a gap",
                        "1204c000",
                        v ->
                                List.of(
                                        untagged(0x01, 3, 0, 0, 1, 0, bytes(8)),
                                        send(1, 9, bytes(8)))),
                attack(
                        5,
                        "Send that changes its opcode",
                        "0206c000",
                        v ->
                                List.of(
                                        untagged(0x01, 3, 0, 0, 1, 0, bytes(8)),
                                        untagged(0x41, 5, 0, 0, 1, 8, bytes(8)))),
                attack(
                        6,
                        "Send that is too long",
                        "1205c000",
                        v -> List.of(send(1, 0, bytes(ROOM + 1)))),
                attack(
                        6,
                        "Send that becomes too long",
                        "1205c000",
                        v ->
                                List.of(
                                        untagged(0x01, 3, 0, 0, 1, 0, bytes(ROOM)),
                                        send(1, ROOM, bytes(1)))),
                attack(
                        6,
                        "Sends without a receive",
                        "1202c000",
                        v ->
                                IntStream.rangeClosed(1, 4)
                                        .mapToObj(i -> send(i, 0, NOTHING))
                                        .toList()),
                attack(
                        7,
                        "invalidates an unknown STag",
                        "0209c000",
                        v -> List.of(untagged(0x41, 4, 0x1234_5678, 0, 1, 0, bytes(8)))),
                attack(
                        7,
                        "invalidates with another key",
                        "0209c000",
                        v -> List.of(untagged(0x41, 4, v.writable() ^ 0x80, 0, 1, 0, bytes(8)))),
                attack(
                        7,
                        "invalidates what is another connection's",
                        "0109c000",
                        v -> List.of(untagged(0x41, 4, v.foreign(), 0, 1, 0, bytes(8)))),
                attack(
                        8,
                        "Write to an unknown STag",
                        "1100c000",
                        v -> List.of(tagged(0xc1, 0, 0x1234_5678, v.writableOffset(), bytes(8)))),
                attack(
                        8,
                        "Write with another key",
                        "1100c000",
                        v ->
                                List.of(
                                        tagged(
                                                0xc1,
                                                0,
                                                v.writable() ^ 1,
                                                v.writableOffset(),
                                                bytes(8)))),
                attack(
                        8,
                        "Write to another connection's memory",
                        "1102c000",
                        v -> List.of(tagged(0xc1, 0, v.foreign(), v.foreignOffset(), bytes(8)))),
                attack(
                        8,
                        "Write without the right",
                        "0102c000",
                        v -> List.of(tagged(0xc1, 0, v.readable(), v.readableOffset(), bytes(8)))),
                attack(
                        9,
                        "Write before the start",
                        "1101c000",
                        v ->
                                List.of(
                                        tagged(
                                                0xc1,
                                                0,
                                                v.writable(),
                                                v.writableOffset() - 1,
                                                bytes(8)))),
                attack(
                        9,
                        "Write over the end",
                        "1101c000",
                        v ->
                                List.of(
                                        tagged(
                                                0xc1,
                                                0,
                                                v.writable(),
                                                v.writableOffset() + EXPOSED - 7,
                                                bytes(8)))),
                attack(
                        9,
                        "large Write over the end",
                        "1101c000",
                        v ->
                                List.of(
                                        tagged(
                                                0xc1,
                                                0,
                                                v.writable(),
                                                v.writableOffset(),
                                                bytes(EXPOSED + 1)))),
                attack(
                        9,
                        "Write that wraps",
                        "1103c000",
                        v -> List.of(tagged(0xc1, 0, v.writable(), -4, bytes(8)))),
                attack(
                        8,
                        "Write whose second segment leaves",
                        "1101c000",
                        v ->
                                List.of(
                                        tagged(0x81, 0, v.writable(), v.writableOffset(), NOTHING),
                                        tagged(
                                                0xc1,
                                                0,
                                                v.writable(),
                                                v.writableOffset() + EXPOSED,
                                                bytes(1)))),
                attack(
                        8,
                        "Write that changes its STag",
                        "1100c000",
                        v ->
                                List.of(
                                        tagged(0x81, 0, v.writable(), v.writableOffset(), NOTHING),
                                        tagged(
                                                0xc1,
                                                0,
                                                v.writable() + 1,
                                                v.writableOffset(),
                                                NOTHING))),
                attack(
                        2,
                        "Read Request with a payload",
                        "20030000",
                        v ->
                                List.of(
                                        Arrays.copyOf(
                                                readRequest(
                                                        1,
                                                        1,
                                                        0,
                                                        8,
                                                        v.readable(),
                                                        v.readableOffset()),
                                                50))),
                attack(
                        2,
                        "Read Request too short",
                        "20030000",
                        v ->
                                List.of(
                                        Arrays.copyOf(
                                                readRequest(
                                                        1,
                                                        1,
                                                        0,
                                                        8,
                                                        v.readable(),
                                                        v.readableOffset()),
                                                45))),
                attack(
                        2,
                        "Read Request that is not the last segment",
                        "20030000",
                        v ->
                                List.of(
                                        with(
                                                readRequest(
                                                        1,
                                                        1,
                                                        0,
                                                        8,
                                                        v.readable(),
                                                        v.readableOffset()),
                                                0,
                                                0x01))),
                attack(
                        4,
                        "opcode 15",
                        "0206c000",
                        v -> List.of(untagged(0x41, 15, 0, 0, 1, 0, bytes(8)))),
                attack(
                        4,
                        "tagged Read Request",
                        "0206c000",
                        v -> List.of(tagged(0xc1, 1, v.readable(), v.readableOffset(), bytes(32)))),
                attack(
                        4,
                        "tagged Terminate",
                        "0206c000",
                        v -> List.of(tagged(0xc1, 7, 0, 0, bytes(8)))),
                attack(
                        4,
                        "untagged Read Response",
                        "0206c000",
                        v -> List.of(untagged(0x41, 2, 0, 0, 1, 0, bytes(8)))),
                attack(
                        4,
                        "DDP version 0",
                        "1206c000",
                        v -> List.of(with(send(1, 0, bytes(8)), 0, 0x40))),
                attack(
                        4,
                        "RDMAP version 0",
                        "0205c000",
                        v -> List.of(with(send(1, 0, bytes(8)), 1, 0x03))),
                attack(
                        5,
                        "Read Request on queue 0",
                        "1201c000",
                        v ->
                                List.of(
                                        with(
                                                readRequest(
                                                        1,
                                                        1,
                                                        0,
                                                        8,
                                                        v.readable(),
                                                        v.readableOffset()),
                                                9,
                                                0))),
                attack(
                        5,
                        "Read Request at an offset",
                        "1204c000",
                        v ->
                                List.of(
                                        with(
                                                readRequest(
                                                        1,
                                                        1,
                                                        0,
                                                        8,
                                                        v.readable(),
                                                        v.readableOffset()),
                                                17,
                                                4))),
                attack(5, "Send with MSN 0", "1203c000", v -> List.of(send(0, 0, bytes(8)))),
                attack(
                        5,
                        "Send that goes on after its end",
                        "1204c000",
                        v ->
                                List.of(
                                        untagged(0x01, 3, 0, 0, 1, 0, bytes(8)),
                                        untagged(0x01, 3, 0, 0, 1, 8, bytes(8)),
                                        untagged(0x01, 3, 0, 0, 1, 8, bytes(8)))),
                attack(
                        9,
                        "Write at the other end of the numbers",
                        "1101c000",
                        v ->
                                List.of(
                                        tagged(
                                                0xc1,
                                                0,
                                                v.writable(),
                                                v.writableOffset() + Long.MIN_VALUE,
                                                bytes(8)))),
                attack(
                        5,
                        "Read Request out of turn",
                        "1203c000",
                        v -> List.of(readRequest(2, 1, 0, 8, v.readable(), v.readableOffset()))),
                attack(
                        10,
                        "Read of an unknown STag",
                        "0100e000",
                        v -> List.of(readRequest(1, 1, 0, 8, 0x1234_5678, v.readableOffset()))),
                attack(
                        10,
                        "Read without the right",
                        "0102e000",
                        v -> List.of(readRequest(1, 1, 0, 8, v.writable(), v.writableOffset()))),
                attack(
                        10,
                        "Read of another connection's memory",
                        "0103e000",
                        v -> List.of(readRequest(1, 1, 0, 8, v.foreign(), v.foreignOffset()))),
                attack(
                        9,
                        "Read over the end",
                        "0101e000",
                        v ->
                                List.of(
                                        readRequest(
                                                1,
                                                1,
                                                0,
                                                EXPOSED + 1,
                                                v.readable(),
                                                v.readableOffset()))),
                attack(
                        9,
                        "Read of 4 GiB",
                        "0101e000",
                        v -> List.of(readRequest(1, 1, 0, -1, v.readable(), v.readableOffset()))),
                attack(
                        9,
                        "Read before the start",
                        "0101e000",
                        v ->
                                List.of(
                                        readRequest(
                                                1, 1, 0, 8, v.readable(), v.readableOffset() - 1))),
                attack(
                        9,
                        "Read that wraps",
                        "0104e000",
                        v -> List.of(readRequest(1, 1, 0, 8, v.readable(), -4))),
                attack(
                        11,
                        "Read Response to nothing",
                        "1100c000",
                        v -> List.of(tagged(0xc1, 2, v.writable(), v.writableOffset(), bytes(8)))));
    }

    /** How the peer frames its FPDUs. */
    private enum Framing {
        PLAIN,
        CRC,
        MARKERS
    }

    private Pair pair;
    private Framing framing;
    private MarkedStream marked;
    private Endpoint victim;
    private RawPeer peer;
    private Victim exposed;

    @AfterEach
    void tearDown() {
        peer.close();
        pair.close();
    }

    private void attackBy(boolean crc) throws IOException {
        attackBy(crc ? Framing.CRC : Framing.PLAIN, Pair.SIZE);
    }

    private void attackBy(Framing how, QueuePairConfig size) throws IOException {
        framing = how;
        marked = new MarkedStream(true);
        boolean crc = how != Framing.PLAIN;
        if (pair != null) {
            pair.close();
        }
        IwarpConfig config = IwarpConfig.builder().markers(how == Framing.MARKERS).build();
        pair = Pair.connected(IwarpConfig.defaults(), config, 1 << 16);
        victim = new Endpoint(pair.responderContext, 1 << 16);
        byte[] guard = new byte[1 << 16];
        Arrays.fill(guard, (byte) GUARD);
        victim.put(0, guard);
        pair.request = null;
        peer =
                RawPeer.connect(
                        pair.listener.localAddress(), pair.responderContext, pair.initiatorContext);
        peer.send(RawPeer.request(crc));
        pair.until(() -> pair.request != null);
        victim.queuePair = pair.responderContext.createQueuePair(pair.request, size, victim);
        victim.queuePair.accept(NOTHING);
        byte[] reply = peer.read(24);
        assertThat(reply[16])
                .isEqualTo(
                        (byte)
                                switch (how) {
                                    case PLAIN -> 0x10;
                                    case CRC -> 0x50;
                                    case MARKERS -> 0xd0;
                                });
        for (int i = 1; i <= 3; i++) {
            victim.receive(i, 0, ROOM);
        }
        int writable = victim.expose(EXPOSED_AT, EXPOSED, QueuePair.REMOTE_WRITE);
        int readable = victim.expose(EXPOSED_AT, EXPOSED, QueuePair.REMOTE_READ);
        int foreign = pair.responder.expose(0, EXPOSED, QueuePair.REMOTE_WRITE);
        exposed =
                new Victim(
                        writable,
                        victim.queuePair.exposedOffset(writable),
                        readable,
                        victim.queuePair.exposedOffset(readable),
                        foreign,
                        pair.responder.queuePair.exposedOffset(foreign));
    }

    private void sendUlpdu(byte[] ulpdu) {
        peer.send(frame(ulpdu));
    }

    private byte[] frame(byte[] ulpdu) {
        return framing == Framing.MARKERS
                ? marked.fpdu(ulpdu)
                : RawPeer.fpdu(ulpdu, framing == Framing.CRC);
    }

    @ParameterizedTest
    @MethodSource("attacks")
    @Proves({"V1-CORE-02", "SEC-01", "SEC-08"})
    void isTerminated(Attack attack) throws IOException {
        attackBy(Framing.PLAIN, Pair.SIZE);
        run(attack, false);
    }

    @ParameterizedTest
    @MethodSource("attacks")
    void isTerminatedWithCrc(Attack attack) throws IOException {
        attackBy(Framing.CRC, Pair.SIZE);
        run(attack, true);
    }

    @ParameterizedTest
    @MethodSource("attacks")
    void isTerminatedWithMarkers(Attack attack) throws IOException {
        attackBy(Framing.MARKERS, Pair.SIZE);
        run(attack, true);
    }

    private void run(Attack attack, boolean crc) {
        // Accepted, but never answered: its work has to be flushed.
        victim.queuePair.read(10, 0, 0, 1);
        victim.gather(0, 1);
        List<byte[]> ulpdus = attack.ulpdus().apply(exposed);
        ulpdus.forEach(this::sendUlpdu);
        byte[] culprit = ulpdus.get(ulpdus.size() - 1);
        byte[] last = lastFpdu(peer.readToEnd());
        assertThat(peer.wasReset()).isFalse();
        assertThat(HexFormat.of().formatHex(last, 20, 24)).isEqualTo(attack.terminate());
        assertThat(last).isEqualTo(RawPeer.fpdu(Arrays.copyOfRange(last, 2, last.length - 4), crc));
        assertThat(Arrays.copyOfRange(last, 2, 20))
                .isEqualTo(untagged(0x41, 7, 0, 2, 1, 0, NOTHING));
        if (attack.echoed() >= 0) {
            boolean withRequest = attack.terminate().contains("e0");
            int header = withRequest ? 46 : (culprit[0] & 0x80) != 0 ? 14 : 18;
            assertThat(Arrays.copyOfRange(last, 24, last.length - 4))
                    .isEqualTo(
                            concat(
                                    new byte[] {
                                        (byte) (culprit.length >> 8), (byte) culprit.length
                                    },
                                    Arrays.copyOf(culprit, header)));
        } else {
            assertThat(last).hasSize(28);
        }
        checkVictim();
        assertThat(victim.completion(1).status())
                .isIn(
                        attack.terminate().startsWith("1205")
                                ? Set.of(WorkStatus.LOCAL_LENGTH_ERROR)
                                : Set.of(WorkStatus.SUCCESS, WorkStatus.FLUSHED));
        checkCounters(attack.terminate().charAt(0) - '0', ulpdus.size() - 1);
        checkBystander();
    }

    /** One Terminate of that layer was sent, and so many FPDUs of the peer were taken. */
    private void checkCounters(int layer, int fpdus) {
        IwarpCounters counters = pair.responderContext.counters();
        for (int i = 0; i < 3; i++) {
            assertThat(counters.terminatesSent(i)).isEqualTo(i == layer ? 1 : 0);
            assertThat(counters.terminatesReceived(i)).isZero();
        }
        assertThat(counters.connectionsOpened()).isEqualTo(2);
        assertThat(counters.connectionsEnded()).isEqualTo(1);
        assertThat(counters.connectionsLost()).isZero();
        // The bystander has sent its ready-to-receive message before.
        assertThat(counters.fpdusIn()).isIn(1L + fpdus, 2L + fpdus);
        assertThat(counters.startupsRefused()).isZero();
    }

    private static byte[] concat(byte[] a, byte[] b) {
        byte[] all = Arrays.copyOf(a, a.length + b.length);
        System.arraycopy(b, 0, all, a.length, b.length);
        return all;
    }

    private static byte[] lastFpdu(byte[] stream) {
        int at = 0;
        int previous = 0;
        while (at < stream.length) {
            int ulpdu = (stream[at] & 0xff) << 8 | (stream[at + 1] & 0xff);
            previous = at;
            at += 2 + ulpdu + (-(ulpdu + 2) & 3) + 4;
        }
        assertThat(at).as("whole FPDUs only").isEqualTo(stream.length);
        return Arrays.copyOfRange(stream, previous, at);
    }

    private void checkVictim() {
        pair.until(victim::isEnded);
        assertThat(victim.ends).hasSize(1);
        assertThat(victim.ends.get(0)).isNotNull();
        assertThat(victim.completions.stream().map(Endpoint.Completion::id))
                .containsExactlyInAnyOrder(1L, 2L, 3L, 10L);
        assertThat(victim.completion(10).status()).isEqualTo(WorkStatus.FLUSHED);
        byte[] memory = victim.get(0, 1 << 16);
        // Only a segment of a Send that came before the culprit may have been placed.
        Arrays.fill(memory, 0, ROOM, (byte) GUARD);
        byte[] guard = new byte[1 << 16];
        Arrays.fill(guard, (byte) GUARD);
        assertThat(memory).isEqualTo(guard);
    }

    /** The other connection of the same context still works. */
    private void checkBystander() {
        pair.initiator.put(0, new byte[] {7, 7, 7});
        pair.responder.receive(1, 100, 10);
        pair.initiator.queuePair.send(1, QueuePair.SIGNALED);
        pair.initiator.gather(0, 3);
        pair.initiator.queuePair.doorbell();
        pair.until(() -> pair.responder.completion(1) != null);
        assertThat(pair.responder.get(100, 3)).containsExactly(7, 7, 7);
        assertThat(pair.responder.isEnded()).isFalse();
    }

    @Test
    @Proves("V1-ERR-22")
    void wrongCrcPlacesNothing() throws IOException {
        attackBy(true);
        victim.queuePair.read(10, 0, 0, 1);
        byte[] fpdu =
                RawPeer.fpdu(
                        tagged(0xc1, 0, exposed.writable(), exposed.writableOffset(), bytes(100)),
                        true);
        fpdu[50] ^= 1;
        peer.send(fpdu);
        assertThat(HexFormat.of().formatHex(lastFpdu(peer.readToEnd()), 20, 24))
                .isEqualTo("20020000");
        checkVictim();
        checkBystander();
    }

    @Test
    void tooManyReads() throws IOException {
        attackBy(false);
        byte[] requests = NOTHING;
        for (int i = 1; i <= 9; i++) {
            requests =
                    concat(
                            requests,
                            RawPeer.fpdu(
                                    readRequest(
                                            i,
                                            1,
                                            0,
                                            EXPOSED,
                                            exposed.readable(),
                                            exposed.readableOffset()),
                                    false));
        }
        peer.send(requests);
        assertThat(HexFormat.of().formatHex(lastFpdu(peer.readToEnd()), 20, 24))
                .isEqualTo("0207c000");
        pair.until(victim::isEnded);
        checkBystander();
    }

    /** Also one that is malformed: a Terminate never answers a Terminate. */
    static Stream<Arguments> terminates() {
        byte[] control = hex("11000300 0010 c140123456780000000000001000");
        String understood = "DDP layer 1, error type 1, code 0x00";
        return Stream.of(
                Arguments.of("whole", untagged(0x41, 7, 0, 2, 1, 0, control), understood),
                Arguments.of("on queue 0", untagged(0x41, 7, 0, 0, 1, 0, control), understood),
                Arguments.of("on queue -1", untagged(0x41, 7, 0, -1, 1, 0, control), understood),
                Arguments.of("MSN 2", untagged(0x41, 7, 0, 2, 2, 0, control), understood),
                Arguments.of("MO 4", untagged(0x41, 7, 0, 2, 1, 4, control), understood),
                Arguments.of("not the last", untagged(0x01, 7, 0, 2, 1, 0, control), understood),
                Arguments.of("empty", untagged(0x41, 7, 0, 2, 1, 0, NOTHING), "unknown layer"),
                Arguments.of(
                        "too short",
                        untagged(0x41, 7, 0, 2, 1, 0, Arrays.copyOf(control, 3)),
                        "unknown layer"),
                Arguments.of(
                        "header cut off",
                        untagged(0x41, 7, 0, 2, 1, 0, Arrays.copyOf(control, 9)),
                        understood),
                Arguments.of(
                        "too long",
                        untagged(0x41, 7, 0, 2, 1, 0, Arrays.copyOf(control, 5000)),
                        understood));
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("terminates")
    void aTerminateIsNotAnswered(String name, byte[] terminate, String described)
            throws IOException {
        attackBy(false);
        sendUlpdu(terminate);
        assertThat(peer.readToEnd()).isEmpty();
        pair.until(victim::isEnded);
        assertThat(victim.ends).hasSize(1);
        assertThat(victim.ends.get(0)).hasMessageContaining(described);
        assertThat(victim.completions).hasSize(3).allMatch(c -> c.status() == WorkStatus.FLUSHED);
        IwarpCounters counters = pair.responderContext.counters();
        for (int layer = 0; layer < 3; layer++) {
            assertThat(counters.terminatesSent(layer)).isZero();
        }
        assertThat(counters.terminatesReceived(described.startsWith("DDP") ? 1 : 3)).isEqualTo(1);
        checkBystander();
    }

    /** What is already on its way behind the offence, a Terminate too, is thrown away. */
    @ParameterizedTest
    @EnumSource(Framing.class)
    void nothingAfterTheErrorCounts(Framing how) throws IOException {
        attackBy(how, Pair.SIZE);
        victim.queuePair.read(10, 0, 0, 1);
        victim.gather(0, 1);
        byte[] all = frame(send(5, 0, NOTHING));
        for (byte[] ulpdu :
                List.of(
                        send(1, 0, bytes(8)),
                        tagged(0xc1, 0, exposed.writable(), exposed.writableOffset(), bytes(8)),
                        readRequest(1, 1, 0, 8, exposed.readable(), exposed.readableOffset()),
                        untagged(0x41, 4, exposed.writable(), 0, 1, 0, bytes(8)),
                        untagged(0x41, 7, 0, 2, 1, 0, hex("00ff0000")),
                        new byte[1])) {
            all = concat(all, frame(ulpdu));
        }
        peer.send(all);
        byte[] answer = peer.readToEnd();
        assertThat(lastFpdu(answer)).isEqualTo(answer);
        assertThat(HexFormat.of().formatHex(answer, 20, 24)).isEqualTo("1203c000");
        checkVictim();
        checkCounters(1, 0);
        assertThat(victim.completions).allMatch(c -> c.status() == WorkStatus.FLUSHED);
        assertThat(victim.queuePair.isExposed(exposed.writable())).isTrue();
        checkBystander();
    }

    /** However many FPDUs a read has, those of the one that ends the stream count too. */
    @ParameterizedTest
    @EnumSource(Framing.class)
    void bytesOfAnErrorAreCounted(Framing how) throws IOException {
        attackBy(how, Pair.SIZE);
        long before = pair.responderContext.value(DeviceCounter.BYTES_IN);
        byte[] right = frame(send(1, 0, bytes(8)));
        peer.send(concat(right, frame(send(5, 0, NOTHING))));
        peer.readToEnd();
        // Without the marker at the beginning.
        int sent = 2 + 18 + 8 + 4 + 2 + 18 + 4;
        assertThat(pair.responderContext.value(DeviceCounter.BYTES_IN)).isEqualTo(before + sent);
    }

    /** One flipped bit anywhere behind ULPDU_Length. */
    @ParameterizedTest
    @EnumSource(
            value = Framing.class,
            names = {"CRC", "MARKERS"})
    void aWrongCrcPlacesNothing(Framing how) throws IOException {
        attackBy(how, Pair.SIZE);
        List<byte[]> ulpdus =
                List.of(
                        send(1, 0, bytes(8)),
                        tagged(0xc1, 0, exposed.writable(), exposed.writableOffset(), bytes(5)),
                        readRequest(1, 1, 0, 8, exposed.readable(), exposed.readableOffset()),
                        tagged(0xc1, 2, 1, 0, bytes(1)),
                        untagged(0x41, 7, 0, 2, 1, 0, hex("00ff0000")));
        int length = how == Framing.MARKERS ? 6 : 2;
        for (int i = 0; i < 12; i++) {
            peer.close();
            attackBy(how, Pair.SIZE);
            victim.queuePair.read(10, 0, 0, 1);
            byte[] fpdu = frame(ulpdus.get(i % ulpdus.size()));
            fpdu[length + (i * 17) % (fpdu.length - length)] ^= (byte) (1 << i % 8);
            peer.send(fpdu);
            assertThat(HexFormat.of().formatHex(lastFpdu(peer.readToEnd()), 20, 24))
                    .isEqualTo("20020000");
            checkVictim();
            checkCounters(2, 0);
            assertThat(pair.responderContext.value(DeviceCounter.CRC_ERRORS)).isEqualTo(1);
        }
        checkBystander();
    }

    @Test
    void reservedBitsAreIgnored() throws IOException {
        attackBy(false);
        sendUlpdu(with(with(untagged(0x41, 3, -1, 0, 1, 0, bytes(8)), 0, 0x7d), 1, 0x73));
        sendUlpdu(
                with(
                        with(
                                tagged(
                                        0xc1,
                                        0,
                                        exposed.writable(),
                                        exposed.writableOffset(),
                                        bytes(8)),
                                0,
                                0xfd),
                        1,
                        0x70));
        sendUlpdu(
                with(
                        with(
                                readRequest(
                                        1, 7, 0, 8, exposed.readable(), exposed.readableOffset()),
                                0,
                                0x7d),
                        1,
                        0x71));
        assertThat(peer.readUlpdu()).isEqualTo(tagged(0xc1, 2, 7, 0, bytes(8)));
        pair.until(() -> victim.completion(1) != null);
        assertThat(victim.completion(1))
                .isEqualTo(new Endpoint.Completion(1, WorkStatus.SUCCESS, 8, 0));
        assertThat(victim.isEnded()).isFalse();
    }

    /** The receive that has no memory is to blame, at this end. */
    @Test
    void aReceiveWithoutMemoryEndsTheStream() throws IOException {
        attackBy(false);
        sendUlpdu(send(1, 0, NOTHING));
        sendUlpdu(send(2, 0, NOTHING));
        sendUlpdu(send(3, 0, NOTHING));
        victim.queuePair.postReceive(4, Endpoint.BASE, 100, victim.region.localKey() + 1);
        victim.receive(5, 0, 100);
        sendUlpdu(send(4, 0, bytes(8)));
        assertThat(HexFormat.of().formatHex(lastFpdu(peer.readToEnd()), 20, 24))
                .isEqualTo("1000c000");
        pair.until(victim::isEnded);
        assertThat(victim.completion(4).status()).isEqualTo(WorkStatus.LOCAL_PROTECTION_ERROR);
        assertThat(victim.completion(5).status()).isEqualTo(WorkStatus.FLUSHED);
        assertThat(victim.memory.get(0)).isEqualTo((byte) GUARD);
        checkBystander();
    }

    static Stream<Arguments> deadKeys() {
        return Stream.of(
                        "invalidated here",
                        "invalidated by the peer",
                        "memory is gone",
                        "given back")
                .flatMap(
                        how ->
                                Stream.of(
                                        Arguments.of(how, 0, "1100c000"),
                                        Arguments.of(how, 1, "0100e000"),
                                        Arguments.of(how, 4, "0209c000"),
                                        Arguments.of(how, 6, "0209c000")));
    }

    @ParameterizedTest(name = "{0}, opcode {1}")
    @MethodSource("deadKeys")
    @Proves("SEC-04")
    void deadKeysAreOfNoUse(String how, int opcode, String terminate) throws IOException {
        attackBy(false);
        int key = opcode == 1 ? exposed.readable() : exposed.writable();
        long offset = opcode == 1 ? exposed.readableOffset() : exposed.writableOffset();
        int message = 1;
        switch (how) {
            case "invalidated here" -> victim.queuePair.invalidate(key);
            case "invalidated by the peer" -> {
                sendUlpdu(untagged(0x41, 4, key, 0, message++, 0, NOTHING));
                pair.until(() -> victim.completion(1) != null);
                assertThat(victim.completion(1).invalidatedKey()).isEqualTo(key);
            }
            case "memory is gone" -> victim.region.deregister();
            default -> {
                victim.queuePair.invalidate(key);
                // The index comes back with another key byte, or not at all.
                for (int i = 0; i < 100; i++) {
                    victim.expose(EXPOSED_AT, EXPOSED, QueuePair.REMOTE_WRITE);
                }
            }
        }
        sendUlpdu(
                switch (opcode) {
                    case 0 -> tagged(0xc1, 0, key, offset, bytes(8));
                    case 1 -> readRequest(1, 1, 0, 8, key, offset);
                    default -> untagged(0x41, opcode, key, 0, message, 0, NOTHING);
                });
        assertThat(HexFormat.of().formatHex(lastFpdu(peer.readToEnd()), 20, 24))
                .isEqualTo(terminate);
        pair.until(victim::isEnded);
        byte[] guard = new byte[1 << 16];
        Arrays.fill(guard, (byte) GUARD);
        assertThat(victim.get(0, 1 << 16)).isEqualTo(guard);
        checkBystander();
    }

    @Test
    void noReadsWithoutADepth() throws IOException {
        attackBy(Framing.PLAIN, new QueuePairConfig(64, 64, 0, 8));
        sendUlpdu(readRequest(1, 1, 0, 0, 0, 0));
        assertThat(HexFormat.of().formatHex(lastFpdu(peer.readToEnd()), 20, 24))
                .isEqualTo("0207c000");
        pair.until(victim::isEnded);
        checkBystander();
    }

    /**
     * @param segments what the peer answers to a Read of 100 bytes, by its sink STag
     * @param placed the bytes at the sink that may be placed before the offence
     */
    record Response(String name, String terminate, int placed, IntFunction<List<byte[]>> segments) {
        @Override
        public String toString() {
            return name;
        }
    }

    static Stream<Response> responses() {
        return Stream.of(
                new Response(
                        "another sink STag",
                        "1100c000",
                        0,
                        sink -> List.of(tagged(0xc1, 2, sink + 1, 0, bytes(100)))),
                new Response(
                        "another offset",
                        "1101c000",
                        0,
                        sink -> List.of(tagged(0xc1, 2, sink, 1, bytes(99)))),
                new Response(
                        "too long",
                        "1101c000",
                        0,
                        sink -> List.of(tagged(0xc1, 2, sink, 0, bytes(101)))),
                new Response(
                        "much too long",
                        "1101c000",
                        0,
                        sink -> List.of(tagged(0x81, 2, sink, 0, bytes(60_000)))),
                new Response(
                        "ends early",
                        "1101c000",
                        0,
                        sink -> List.of(tagged(0xc1, 2, sink, 0, bytes(99)))),
                new Response(
                        "ends empty",
                        "1101c000",
                        0,
                        sink -> List.of(tagged(0xc1, 2, sink, 0, NOTHING))),
                new Response(
                        "does not end",
                        "1101c000",
                        0,
                        sink -> List.of(tagged(0x81, 2, sink, 0, bytes(100)))),
                new Response(
                        "leaves a gap",
                        "1101c000",
                        50,
                        sink ->
                                List.of(
                                        tagged(0x81, 2, sink, 0, bytes(50)),
                                        tagged(0xc1, 2, sink, 51, bytes(49)))),
                new Response(
                        "goes back",
                        "1101c000",
                        50,
                        sink ->
                                List.of(
                                        tagged(0x81, 2, sink, 0, bytes(50)),
                                        tagged(0xc1, 2, sink, 0, bytes(50)))),
                new Response(
                        "changes its STag",
                        "1100c000",
                        50,
                        sink ->
                                List.of(
                                        tagged(0x81, 2, sink, 0, bytes(50)),
                                        tagged(0xc1, 2, sink + 1, 50, bytes(50)))),
                new Response(
                        "a Write to the sink",
                        "1100c000",
                        0,
                        sink -> List.of(tagged(0xc1, 0, sink, 0, bytes(100)))),
                new Response(
                        "a Read Request for the sink",
                        "0100e000",
                        0,
                        sink -> List.of(readRequest(1, 1, 0, 100, sink, 0))));
    }

    @ParameterizedTest
    @MethodSource("responses")
    @Proves("SEC-08")
    void wrongReadResponses(Response response) throws IOException {
        int sink = readByVictim();
        List<byte[]> segments = response.segments().apply(sink);
        segments.forEach(this::sendUlpdu);
        byte[] terminate = lastFpdu(peer.readToEnd());
        assertThat(HexFormat.of().formatHex(terminate, 20, 24)).isEqualTo(response.terminate());
        byte[] culprit = segments.get(segments.size() - 1);
        assertThat(Arrays.copyOfRange(terminate, 24, 26))
                .isEqualTo(new byte[] {(byte) (culprit.length >> 8), (byte) culprit.length});
        assertThat(Arrays.copyOfRange(terminate, 26, 40)).isEqualTo(Arrays.copyOf(culprit, 14));
        pair.until(victim::isEnded);
        assertThat(victim.completion(20).status()).isEqualTo(WorkStatus.FLUSHED);
        byte[] expected = new byte[1 << 16];
        Arrays.fill(expected, (byte) GUARD);
        Arrays.fill(expected, 20_000, 20_000 + response.placed(), (byte) 0x77);
        assertThat(victim.get(0, 1 << 16)).isEqualTo(expected);
        checkBystander();
    }

    /** The victim reads 100 bytes to offset 20000; returns the sink STag. */
    private int readByVictim() throws IOException {
        attackBy(false);
        sendUlpdu(tagged(0xc1, 0, 1, 0, NOTHING));
        victim.queuePair.read(20, QueuePair.SIGNALED, 0x1234, 0x77);
        victim.gather(20_000, 100);
        victim.queuePair.doorbell();
        byte[] request = peer.readUlpdu();
        assertThat(request).hasSize(46);
        return ByteBuffer.wrap(request).getInt(18);
    }

    @Test
    void aReadResponseTooManyIsTerminated() throws IOException {
        int sink = readByVictim();
        sendUlpdu(tagged(0xc1, 2, sink, 0, bytes(100)));
        pair.until(() -> victim.completion(20) != null);
        sendUlpdu(tagged(0xc1, 2, sink, 0, bytes(100)));
        assertThat(HexFormat.of().formatHex(lastFpdu(peer.readToEnd()), 20, 24))
                .isEqualTo("1100c000");
        assertThat(victim.completion(20).status()).isEqualTo(WorkStatus.SUCCESS);
        checkBystander();
    }

    /** What is local fails the Read itself, and the peer hears of a local error. */
    @Test
    void aSinkThatIsGoneFailsTheRead() throws IOException {
        int sink = readByVictim();
        victim.region.deregister();
        sendUlpdu(tagged(0xc1, 2, sink, 0, bytes(100)));
        assertThat(HexFormat.of().formatHex(lastFpdu(peer.readToEnd()), 20, 24))
                .isEqualTo("00ff0000");
        pair.until(victim::isEnded);
        assertThat(victim.completion(20).status()).isEqualTo(WorkStatus.LOCAL_PROTECTION_ERROR);
        assertThat(victim.memory.get(20_000)).isEqualTo((byte) GUARD);
        checkBystander();
    }

    @Test
    void endInsideAnFpdu() throws IOException {
        attackBy(false);
        byte[] fpdu =
                RawPeer.fpdu(
                        tagged(0xc1, 0, exposed.writable(), exposed.writableOffset(), bytes(800)),
                        false);
        peer.send(Arrays.copyOf(fpdu, 100));
        peer.shutdownOutput();
        pair.until(victim::isEnded);
        assertThat(victim.ends).hasSize(1);
        assertThat(victim.ends.get(0)).isInstanceOf(IOException.class);
        checkBystander();
    }

    @Test
    void endBetweenTwoFpdusOfAMessage() throws IOException {
        attackBy(false);
        peer.sendUlpdu(untagged(0x01, 3, 0, 0, 1, 0, bytes(8)), false);
        peer.shutdownOutput();
        pair.until(victim::isEnded);
        assertThat(victim.ends.get(0)).isInstanceOf(IOException.class);
        checkBystander();
    }

    @Test
    void endBetweenMessagesIsOrderly() throws IOException {
        attackBy(false);
        peer.sendUlpdu(send(1, 0, bytes(8)), false);
        peer.shutdownOutput();
        assertThat(peer.readToEnd()).isEmpty();
        pair.until(victim::isEnded);
        assertThat(victim.ends).containsExactly((Throwable) null);
        assertThat(victim.completion(1).status()).isEqualTo(WorkStatus.SUCCESS);
        assertThat(victim.completion(2).status()).isEqualTo(WorkStatus.FLUSHED);
    }

    @Test
    void zeroLengthOperationsNeedNoValidKey() throws IOException {
        attackBy(false);
        peer.sendUlpdu(tagged(0xc1, 0, 1, 0, NOTHING), false);
        peer.sendUlpdu(readRequest(1, 0xabcd_ef01, 0x1234, 0, 0x7777, 0x1000), false);
        assertThat(peer.readUlpdu()).isEqualTo(tagged(0xc1, 2, 0xabcd_ef01, 0x1234, NOTHING));
        peer.sendUlpdu(send(1, 0, NOTHING), false);
        pair.until(() -> victim.completion(1) != null);
        assertThat(victim.completion(1))
                .isEqualTo(new Endpoint.Completion(1, WorkStatus.SUCCESS, 0, 0));
        assertThat(victim.isEnded()).isFalse();
    }

    @Test
    void readResponsesComeInOrderAndWriteMayPassASend() throws IOException {
        attackBy(false);
        peer.sendUlpdu(untagged(0x01, 3, 0, 0, 1, 0, bytes(8)), false);
        peer.sendUlpdu(
                tagged(0xc1, 0, exposed.writable(), exposed.writableOffset(), new byte[] {1, 2, 3}),
                false);
        peer.sendUlpdu(
                readRequest(1, 5, 50, 3, exposed.readable(), exposed.readableOffset()), false);
        peer.sendUlpdu(
                readRequest(2, 6, -1, 1, exposed.readable(), exposed.readableOffset() + 2), false);
        peer.sendUlpdu(untagged(0x41, 3, 0, 0, 1, 8, bytes(2)), false);
        assertThat(peer.readUlpdu()).isEqualTo(tagged(0xc1, 2, 5, 50, new byte[] {1, 2, 3}));
        assertThat(peer.readUlpdu()).isEqualTo(tagged(0xc1, 2, 6, -1, new byte[] {3}));
        pair.until(() -> victim.completion(1) != null);
        assertThat(victim.completion(1).length()).isEqualTo(10);
    }

    @Test
    void staleBytesInThePadAreIgnored() throws IOException {
        attackBy(true);
        peer.send(hex("001441430000000000000000000000010000000033000040", "00000000"));
        assertThat(HexFormat.of().formatHex(lastFpdu(peer.readToEnd()), 20, 24))
                .isEqualTo("20020000");
        peer.close();
        attackBy(false);
        peer.send(hex("001441430000000000000000000000010000000033000040", "12345678"));
        pair.until(() -> victim.completion(1) != null);
        assertThat(victim.completion(1).length()).isEqualTo(2);
    }
}
