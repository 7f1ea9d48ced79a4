// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.rpcrdma.verbs.iwarp.RawPeer.hex;
import static org.rpcrdma.verbs.iwarp.RawPeer.readRequest;
import static org.rpcrdma.verbs.iwarp.RawPeer.tagged;
import static org.rpcrdma.verbs.iwarp.RawPeer.untagged;

import java.io.IOException;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.function.Function;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.rpcrdma.Proves;
import org.rpcrdma.verbs.QueuePair;
import org.rpcrdma.verbs.WorkStatus;

/**
 * A peer that breaks the rules of the stream gets the Terminate that the RFC names, reaches no memory, and harms nobody
 * else.
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
     * @param terminate the control field of the expected Terminate, in hex
     * @param ulpdus what the peer sends
     * @param echoed the index of the ULPDU whose header the Terminate carries, -1 for none
     */
    record Attack(
            String name, String terminate, int echoed, Function<Victim, List<byte[]>> ulpdus) {
        @Override
        public String toString() {
            return name;
        }
    }

    private static Attack attack(
            String name, String terminate, Function<Victim, List<byte[]>> ulpdus) {
        int echoed = terminate.endsWith("0000") ? -1 : Integer.MAX_VALUE;
        return new Attack(name, terminate, echoed, ulpdus);
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
                attack("ULPDU without a header", "20030000", v -> List.of(new byte[13])),
                attack("empty ULPDU", "20030000", v -> List.of(NOTHING)),
                attack(
                        "untagged ULPDU without its header",
                        "20030000",
                        v -> List.of(Arrays.copyOf(send(1, 0, NOTHING), 17))),
                attack(
                        "DDP version, tagged",
                        "1104c000",
                        v -> List.of(tagged(0xc0, 0, v.writable(), v.writableOffset(), bytes(8)))),
                attack(
                        "DDP version, untagged",
                        "1206c000",
                        v -> List.of(with(send(1, 0, bytes(8)), 0, 0x43))),
                attack(
                        "RDMAP version",
                        "0205c000",
                        v -> List.of(with(send(1, 0, bytes(8)), 1, 0x83))),
                attack(
                        "opcode 8",
                        "0206c000",
                        v -> List.of(untagged(0x41, 8, 0, 0, 1, 0, bytes(8)))),
                attack(
                        "tagged Send",
                        "0206c000",
                        v -> List.of(tagged(0xc1, 3, v.writable(), v.writableOffset(), bytes(8)))),
                attack(
                        "untagged Write",
                        "0206c000",
                        v -> List.of(untagged(0x41, 0, 0, 0, 1, 0, bytes(8)))),
                attack(
                        "Send on queue 1",
                        "1201c000",
                        v -> List.of(untagged(0x41, 3, 0, 1, 1, 0, bytes(8)))),
                attack(
                        "Send on queue 0x80000000",
                        "1201c000",
                        v -> List.of(untagged(0x41, 3, 0, 0x8000_0000, 1, 0, bytes(8)))),
                attack("Send out of turn", "1203c000", v -> List.of(send(2, 0, bytes(8)))),
                attack(
                        "Send twice",
                        "1203c000",
                        v -> List.of(send(1, 0, NOTHING), send(1, 0, NOTHING))),
                attack("Send at an offset", "1204c000", v -> List.of(send(1, 4, bytes(8)))),
                attack("Send at a huge offset", "1204c000", v -> List.of(send(1, -1, bytes(8)))),
                attack(
                        "Send with a gap",
                        "1204c000",
                        v ->
                                List.of(
                                        untagged(0x01, 3, 0, 0, 1, 0, bytes(8)),
                                        send(1, 9, bytes(8)))),
                attack(
                        "Send that changes its opcode",
                        "0206c000",
                        v ->
                                List.of(
                                        untagged(0x01, 3, 0, 0, 1, 0, bytes(8)),
                                        untagged(0x41, 5, 0, 0, 1, 8, bytes(8)))),
                attack(
                        "Send that is too long",
                        "1205c000",
                        v -> List.of(send(1, 0, bytes(ROOM + 1)))),
                attack(
                        "Send that becomes too long",
                        "1205c000",
                        v ->
                                List.of(
                                        untagged(0x01, 3, 0, 0, 1, 0, bytes(ROOM)),
                                        send(1, ROOM, bytes(1)))),
                attack(
                        "Sends without a receive",
                        "1202c000",
                        v ->
                                IntStream.rangeClosed(1, 4)
                                        .mapToObj(i -> send(i, 0, NOTHING))
                                        .toList()),
                attack(
                        "invalidates an unknown STag",
                        "0209c000",
                        v -> List.of(untagged(0x41, 4, 0x1234_5678, 0, 1, 0, bytes(8)))),
                attack(
                        "invalidates with another key",
                        "0209c000",
                        v -> List.of(untagged(0x41, 4, v.writable() ^ 0x80, 0, 1, 0, bytes(8)))),
                attack(
                        "invalidates what is another connection's",
                        "0109c000",
                        v -> List.of(untagged(0x41, 4, v.foreign(), 0, 1, 0, bytes(8)))),
                attack(
                        "Write to an unknown STag",
                        "1100c000",
                        v -> List.of(tagged(0xc1, 0, 0x1234_5678, v.writableOffset(), bytes(8)))),
                attack(
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
                        "Write to another connection's memory",
                        "1102c000",
                        v -> List.of(tagged(0xc1, 0, v.foreign(), v.foreignOffset(), bytes(8)))),
                attack(
                        "Write without the right",
                        "0102c000",
                        v -> List.of(tagged(0xc1, 0, v.readable(), v.readableOffset(), bytes(8)))),
                attack(
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
                        "Write that wraps",
                        "1103c000",
                        v -> List.of(tagged(0xc1, 0, v.writable(), -4, bytes(8)))),
                attack(
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
                        "Read Request out of turn",
                        "1203c000",
                        v -> List.of(readRequest(2, 1, 0, 8, v.readable(), v.readableOffset()))),
                attack(
                        "Read of an unknown STag",
                        "0100e000",
                        v -> List.of(readRequest(1, 1, 0, 8, 0x1234_5678, v.readableOffset()))),
                attack(
                        "Read without the right",
                        "0102e000",
                        v -> List.of(readRequest(1, 1, 0, 8, v.writable(), v.writableOffset()))),
                attack(
                        "Read of another connection's memory",
                        "0103e000",
                        v -> List.of(readRequest(1, 1, 0, 8, v.foreign(), v.foreignOffset()))),
                attack(
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
                        "Read of 4 GiB",
                        "0101e000",
                        v -> List.of(readRequest(1, 1, 0, -1, v.readable(), v.readableOffset()))),
                attack(
                        "Read before the start",
                        "0101e000",
                        v ->
                                List.of(
                                        readRequest(
                                                1, 1, 0, 8, v.readable(), v.readableOffset() - 1))),
                attack(
                        "Read that wraps",
                        "0104e000",
                        v -> List.of(readRequest(1, 1, 0, 8, v.readable(), -4))),
                attack(
                        "Read Response to nothing",
                        "1100c000",
                        v -> List.of(tagged(0xc1, 2, v.writable(), v.writableOffset(), bytes(8)))));
    }

    private Pair pair;
    private Endpoint victim;
    private RawPeer peer;
    private Victim exposed;

    @BeforeEach
    void startUp() throws IOException {
        pair = Pair.connected(IwarpConfig.defaults(), 1 << 16);
    }

    @AfterEach
    void tearDown() {
        peer.close();
        pair.close();
    }

    private void attackBy(boolean crc) throws IOException {
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
        victim.queuePair = pair.responderContext.createQueuePair(pair.request, Pair.SIZE, victim);
        victim.queuePair.accept(NOTHING);
        assertThat(peer.read(24))
                .isEqualTo(hex(RawPeer.REPLY, crc ? "50" : "10", "02 0004 0008 0008"));
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

    @ParameterizedTest
    @MethodSource("attacks")
    @Proves({"V1-CORE-02", "SEC-01", "SEC-08"})
    void isTerminated(Attack attack) throws IOException {
        attackBy(false);
        run(attack, false);
    }

    @ParameterizedTest
    @MethodSource("attacks")
    void isTerminatedWithCrc(Attack attack) throws IOException {
        attackBy(true);
        run(attack, true);
    }

    private void run(Attack attack, boolean crc) {
        // Accepted, but never answered: its work has to be flushed.
        victim.queuePair.read(10, 0, 0, 1);
        victim.gather(0, 1);
        List<byte[]> ulpdus = attack.ulpdus().apply(exposed);
        for (byte[] ulpdu : ulpdus) {
            peer.sendUlpdu(ulpdu, crc);
        }
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
        checkBystander();
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

    @Test
    void aTerminateIsNotAnswered() throws IOException {
        attackBy(false);
        peer.sendUlpdu(
                untagged(0x41, 7, 0, 2, 1, 0, hex("11000300 0010 c140123456780000000000001000")),
                false);
        assertThat(peer.readToEnd()).isEmpty();
        pair.until(victim::isEnded);
        assertThat(victim.ends.get(0)).hasMessageContaining("DDP layer 1, error type 1, code 0x00");
        assertThat(victim.completions).hasSize(3).allMatch(c -> c.status() == WorkStatus.FLUSHED);
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
