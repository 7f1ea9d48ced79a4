// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.rpcrdma.verbs.iwarp.RawPeer.tagged;
import static org.rpcrdma.verbs.iwarp.RawPeer.untagged;

import java.io.IOException;
import java.time.Duration;
import java.util.Arrays;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.rpcrdma.Proves;
import org.rpcrdma.verbs.QueuePair;

/** A peer that begins a frame or a message has to go on with it, and one that waits harms nobody else. */
class IncompleteInputStallDetectorTest {

    private static final byte[] NOTHING = {};
    private static final int BYTES = 4096;

    /** Longer than any test: time passes by the looks of the test alone. */
    private static final Duration DAY = Duration.ofDays(1);

    private enum Framing {
        PLAIN,
        CRC,
        MARKERS
    }

    private final MarkedStream marked = new MarkedStream(true);
    private Framing framing;
    private Pair pair;
    private IwarpContext context;
    private Endpoint victim;
    private RawPeer peer;

    private void connect(Framing how) throws IOException {
        connect(how, IwarpConfig.builder().frameTimeout(DAY).messageTimeout(DAY));
    }

    private void connect(Framing how, IwarpConfig.Builder config) throws IOException {
        framing = how;
        pair =
                Pair.connected(
                        IwarpConfig.defaults(),
                        config.markers(how == Framing.MARKERS).build(),
                        BYTES);
        context = pair.responderContext;
        victim = new Endpoint(context, BYTES);
        pair.request = null;
        peer = RawPeer.connect(pair.listener.localAddress(), context, pair.initiatorContext);
        peer.send(RawPeer.request(how != Framing.PLAIN));
        pair.until(() -> pair.request != null);
        victim.queuePair = context.createQueuePair(pair.request, Pair.SIZE, victim);
        victim.queuePair.accept(NOTHING);
        peer.read(24);
        victim.receive(1, 0, BYTES);
        victim.receive(2, 0, BYTES);
    }

    @AfterEach
    void close() {
        peer.close();
        pair.close();
    }

    private byte[] frame(byte[] ulpdu) {
        return framing == Framing.MARKERS
                ? marked.fpdu(ulpdu)
                : RawPeer.fpdu(ulpdu, framing == Framing.CRC);
    }

    private static byte[] segment(int offset, byte[] payload) {
        return untagged(0x01, 3, 0, 0, 1, offset, payload);
    }

    private static byte[] lastSegment(int offset, byte[] payload) {
        return untagged(0x41, 3, 0, 0, 1, offset, payload);
    }

    /** Sends bytes and has them read. */
    private void send(byte[] bytes) {
        final long before = context.counters().bytesIn();
        peer.send(bytes);
        pair.until(() -> context.counters().bytesIn() - before >= bytes.length);
    }

    /** Sends bytes of which the count of the context may know nothing, and has time pass until the end. */
    private void sendAndWait(byte[] bytes, IncompleteInputStallTimer watch) {
        peer.send(bytes);
        pair.until(
                () -> {
                    watch.checkStreams();
                    return victim.isEnded();
                });
    }

    private void look(IncompleteInputStallTimer watch, int times) {
        for (int i = 0; i < times; i++) {
            watch.checkStreams();
        }
    }

    private void checkIsCut(String why) {
        pair.until(victim::isEnded);
        assertThat(victim.ends.get(0)).isInstanceOf(IOException.class).hasMessageContaining(why);
        assertThat(context.counters().connectionsStalled()).isEqualTo(1);
        assertThat(context.counters().connectionsLost()).isEqualTo(1);
        peer.readToEnd();
        checkBystander();
    }

    private void checkBystander() {
        pair.responder.receive(7, 0, 100);
        pair.initiator.queuePair.send(8, QueuePair.SIGNALED);
        pair.initiator.gather(0, 100);
        pair.initiator.queuePair.doorbell();
        pair.until(() -> pair.responder.completion(7) != null);
        assertThat(pair.responder.isEnded()).isFalse();
    }

    @ParameterizedTest
    @EnumSource(names = {"PLAIN", "CRC"})
    @Proves("SEC-27")
    void halfAFrameEndsTheConnection(Framing how) throws IOException {
        connect(how);
        send(Arrays.copyOf(frame(lastSegment(0, new byte[100])), 12));
        look(context.loop.streams.frames, IncompleteInputStallDetector.LOOKS);
        assertThat(victim.isEnded()).isFalse();
        look(context.loop.streams.frames, 1);
        checkIsCut("begun an FPDU and sent nothing more of it for 86400000 ms");
    }

    /** With markers, what is there of a frame waits before it is cut out. */
    @Test
    void halfAMarkedFrameEndsTheConnection() throws IOException {
        connect(Framing.MARKERS);
        sendAndWait(
                Arrays.copyOf(frame(lastSegment(0, new byte[100])), 12),
                context.loop.streams.frames);
        checkIsCut("begun an FPDU");
    }

    @Test
    void halfAMarkedMessageEndsTheConnection() throws IOException {
        connect(Framing.MARKERS);
        sendAndWait(frame(segment(0, new byte[100])), context.loop.streams.messages);
        checkIsCut("begun a Send");
    }

    /** A payload that is placed at once stays a part of its frame. */
    @Test
    void halfAPayloadEndsTheConnection() throws IOException {
        connect(Framing.PLAIN);
        send(Arrays.copyOf(frame(lastSegment(0, new byte[4000])), 3000));
        look(context.loop.streams.frames, IncompleteInputStallDetector.LOOKS + 1);
        checkIsCut("begun an FPDU");
    }

    @ParameterizedTest
    @EnumSource(names = {"PLAIN", "CRC"})
    void aFrameThatGoesOnDoesNot(Framing how) throws IOException {
        connect(how);
        byte[] frame = frame(lastSegment(0, new byte[100]));
        for (int i = 0; i < frame.length; i++) {
            send(Arrays.copyOfRange(frame, i, i + 1));
            look(context.loop.streams.frames, IncompleteInputStallDetector.LOOKS);
        }
        pair.until(() -> victim.completion(1) != null);
        look(context.loop.streams.frames, 2 * IncompleteInputStallDetector.LOOKS);
        assertThat(victim.isEnded()).isFalse();
    }

    @ParameterizedTest
    @EnumSource(names = {"PLAIN", "CRC"})
    @Proves("SEC-27")
    void halfAMessageEndsTheConnection(Framing how) throws IOException {
        connect(how);
        send(frame(segment(0, new byte[100])));
        look(context.loop.streams.messages, IncompleteInputStallDetector.LOOKS);
        assertThat(victim.isEnded()).isFalse();
        look(context.loop.streams.messages, 1);
        checkIsCut("begun a Send and sent nothing more of it");
    }

    /** Other operations may come between the segments of a message, and are no progress of it. */
    @Test
    void whatIsNotOfTheMessageDoesNotCount() throws IOException {
        connect(Framing.PLAIN);
        send(frame(segment(0, new byte[100])));
        for (int i = 0; i <= IncompleteInputStallDetector.LOOKS; i++) {
            assertThat(victim.isEnded()).isFalse();
            send(frame(tagged(0xc1, 0, 1, 0, NOTHING)));
            send(frame(segment(100, NOTHING)));
            look(context.loop.streams.messages, 1);
        }
        checkIsCut("begun a Send");
    }

    @Test
    void aMessageThatGoesOnDoesNotEndTheConnection() throws IOException {
        connect(Framing.PLAIN);
        for (int i = 0; i < 10; i++) {
            send(frame(segment(i, new byte[1])));
            look(context.loop.streams.messages, IncompleteInputStallDetector.LOOKS);
        }
        byte[] last = frame(lastSegment(10, new byte[3000]));
        send(Arrays.copyOf(last, 1000));
        look(context.loop.streams.messages, IncompleteInputStallDetector.LOOKS);
        send(Arrays.copyOfRange(last, 1000, 2000));
        look(context.loop.streams.messages, IncompleteInputStallDetector.LOOKS);
        send(Arrays.copyOfRange(last, 2000, last.length));
        pair.until(() -> victim.completion(1) != null);
        look(context.loop.streams.messages, 2 * IncompleteInputStallDetector.LOOKS);
        assertThat(victim.isEnded()).isFalse();
    }

    /** The peer cannot help it that there is no memory. */
    @Test
    void timeWithoutMemoryDoesNotCount() throws IOException {
        connect(Framing.PLAIN);
        victim.queuePair.postReceive(3, BYTES);
        send(frame(lastSegment(0, NOTHING)));
        send(frame(untagged(0x41, 3, 0, 0, 2, 0, NOTHING)));
        send(frame(untagged(0x01, 3, 0, 0, 3, 0, new byte[10])));
        pair.until(() -> context.counters().receivesHeld() == 1);
        look(context.loop.streams.frames, 2 * IncompleteInputStallDetector.LOOKS);
        look(context.loop.streams.messages, 2 * IncompleteInputStallDetector.LOOKS);
        assertThat(victim.isEnded()).isFalse();
    }

    @Test
    void zeroIsNoLimit() throws IOException {
        connect(
                Framing.PLAIN,
                IwarpConfig.builder().frameTimeout(Duration.ZERO).messageTimeout(Duration.ZERO));
        send(frame(segment(0, new byte[100])));
        send(new byte[1]);
        assertThat(context.loop.timers.isEmpty()).isTrue();
    }

    /** The clock does it too. */
    @Test
    void timeEndsTheConnection() throws IOException {
        connect(Framing.PLAIN, IwarpConfig.builder().messageTimeout(Duration.ofMillis(1)));
        send(frame(segment(0, new byte[100])));
        checkIsEnded();
        connect(Framing.PLAIN, IwarpConfig.builder().frameTimeout(Duration.ofMillis(1)));
        send(new byte[1]);
        checkIsEnded();
    }

    private void checkIsEnded() {
        pair.until(victim::isEnded);
        assertThat(context.counters().connectionsStalled()).isEqualTo(1);
        pair.until(context.loop.timers::isEmpty);
        close();
    }

    /** Looking costs nothing where nothing is begun. */
    @Test
    void nothingBegunHasNoTimer() throws IOException {
        connect(Framing.PLAIN);
        assertThat(context.loop.timers.isEmpty()).isTrue();
        send(frame(lastSegment(0, new byte[100])));
        assertThat(context.loop.timers.isEmpty()).isTrue();
        send(new byte[1]);
        assertThat(context.loop.timers.isEmpty()).isFalse();
    }
}
