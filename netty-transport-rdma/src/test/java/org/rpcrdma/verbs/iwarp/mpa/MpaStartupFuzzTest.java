// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp.mpa;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.ConnectException;
import java.nio.ByteBuffer;
import java.nio.channels.ReadableByteChannel;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.function.IntSupplier;
import java.util.stream.Stream;
import org.rpcrdma.FuzzTarget;
import org.rpcrdma.verbs.iwarp.rdmap.Vector;

/**
 * The start-up frames and what is made of them. An input is four bytes of choices (the frame that is expected, the
 * options of this end, its two read depths) and what comes from TCP.
 */
class MpaStartupFuzzTest extends FuzzTarget {

    private static final int CHOICES = 4;
    private static final int REPLY = 1;
    private static final int MARKERS = 2;
    private static final int REVISION_1 = 4;
    private static final int CRC_SHIFT = 3;
    private static final int RTR_SHIFT = 5;
    private static final List<Rtr> RTRS = List.of(Rtr.values());
    private static final List<CrcPolicy> POLICIES = List.of(CrcPolicy.values());

    @Override
    protected Stream<byte[]> seeds() {
        return Stream.concat(Vector.all("request"), Vector.all("reply"))
                .flatMap(
                        vector ->
                                Stream.of(0x00, 0xe8, 0xf2, 0x0c)
                                        .map(
                                                options ->
                                                        seed(
                                                                vector.kind.equals("reply")
                                                                        ? options | REPLY
                                                                        : options,
                                                                vector.bytes)));
    }

    private static byte[] seed(int options, byte[] frame) {
        // An FPDU may follow a Request at once.
        return ByteBuffer.allocate(CHOICES + frame.length + 4)
                .put((byte) options)
                .put((byte) 0)
                .put((byte) 4)
                .put((byte) 7)
                .put(frame)
                .array();
    }

    @Override
    protected void check(byte[] input) throws IOException {
        if (input.length < CHOICES) {
            return;
        }
        boolean request = (input[0] & REPLY) == 0;
        byte[] stream = Arrays.copyOfRange(input, CHOICES, input.length);
        Outcome whole = read(stream, request, () -> Integer.MAX_VALUE);
        Random random = new Random(Arrays.hashCode(input));
        assertThat(read(stream, request, () -> random.nextInt(9))).isEqualTo(whole);
        assertThat(read(stream, request, () -> 1)).isEqualTo(whole);
        if (whole.frame != null) {
            checkFrame(whole, stream);
            MpaStartupSettings options = options(input[0] & 0xff);
            if (request) {
                checkResponder(whole.frame, options, input[2] & 0xff, input[3] & 0xff);
            } else {
                checkInitiator(whole.frame, options, input[2] & 0xff, input[3] & 0xff);
            }
        }
    }

    private static MpaStartupSettings options(int choices) {
        Set<Rtr> offered = EnumSet.noneOf(Rtr.class);
        for (int i = 0; i < RTRS.size(); i++) {
            if ((choices >>> (RTR_SHIFT + i) & 1) != 0) {
                offered.add(RTRS.get(i));
            }
        }
        return new MpaStartupSettings(
                (choices & REVISION_1) != 0 ? 1 : 2,
                POLICIES.get((choices >>> CRC_SHIFT & 3) % POLICIES.size()),
                (choices & MARKERS) != 0,
                offered,
                MpaStartupFrame.SAFE_PRIVATE_DATA);
    }

    /** What comes of a stream. Frames are equal when their bytes are. */
    private record Outcome(
            MpaStartupFrame frame, String encoded, String failure, StreamError error, int taken) {

        @Override
        public boolean equals(Object other) {
            return other instanceof Outcome outcome && toString().equals(outcome.toString());
        }

        @Override
        public int hashCode() {
            return toString().hashCode();
        }

        @Override
        public String toString() {
            return encoded + ", " + failure + ", " + error + ", " + taken + " bytes taken";
        }
    }

    private static Outcome read(byte[] stream, boolean request, IntSupplier cuts) {
        MpaStartupFrameReader reader = new MpaStartupFrameReader(request);
        Cut channel = new Cut(ByteBuffer.wrap(stream), cuts);
        try {
            while (true) {
                MpaStartupFrame frame = reader.read(channel);
                if (frame != null) {
                    assertThat(frame.request()).isEqualTo(request);
                    String encoded = Arrays.toString(frame.encode());
                    return new Outcome(frame, encoded, null, null, channel.bytes.position());
                }
            }
        } catch (StreamException e) {
            // Nothing of what is not a start-up frame is taken beyond its header.
            assertThat(channel.bytes.position()).isLessThan(MpaStartupFrame.HEADER_BYTES + 4);
            return new Outcome(null, "", e.getMessage(), e.error(), channel.bytes.position());
        } catch (IOException e) {
            assertThat(channel.bytes.hasRemaining()).isFalse();
            return new Outcome(null, "", e.getMessage(), null, channel.bytes.position());
        }
    }

    private static void checkFrame(Outcome outcome, byte[] stream) throws StreamException {
        MpaStartupFrame frame = outcome.frame;
        int length = ByteBuffer.wrap(stream).getShort(18);
        assertThat(outcome.taken).isEqualTo(MpaStartupFrame.HEADER_BYTES + length);
        assertThat(frame.revision()).isBetween(1, 2);
        assertThat(frame.privateData().length).isBetween(0, MpaStartupFrame.MAX_PRIVATE_DATA);
        assertThat(frame.ird()).isBetween(0, MpaStartupFrame.DEPTH_NOT_NEGOTIATED);
        assertThat(frame.ord()).isBetween(0, MpaStartupFrame.DEPTH_NOT_NEGOTIATED);
        // Only reserved bits and a rejection without enhanced data come out in another way.
        byte[] expected = Arrays.copyOf(stream, outcome.taken);
        expected[16] &= (byte) (frame.revision() == 1 ? 0xe0 : 0xf0);
        if (!frame.enhanced() || length >= MpaStartupFrame.ENHANCED_BYTES) {
            assertThat(frame.encode()).isEqualTo(expected);
        }
        assertThat(again(frame).encode()).isEqualTo(frame.encode());
    }

    private static MpaStartupFrame again(MpaStartupFrame frame) throws StreamException {
        return MpaStartupFrame.decode(ByteBuffer.wrap(frame.encode()), frame.request());
    }

    private static void checkResponder(
            MpaStartupFrame request, MpaStartupSettings options, int ird, int ord)
            throws IOException {
        String objection = MpaNegotiation.objection(request, options);
        assertThat(objection != null).isEqualTo(request.crc() && options.crc() == CrcPolicy.OFF);
        MpaStartupFrame rejection = again(MpaNegotiation.rejection(request, new byte[] {1}));
        assertThat(rejection.rejected()).isTrue();
        assertThat(rejection.privateData()).containsExactly(1);
        if (objection != null) {
            return;
        }
        MpaNegotiation agreed = MpaNegotiation.respond(request, options, ird, ord);
        assertThat(agreed.crc()).isEqualTo(request.crc() || options.crc() == CrcPolicy.REQUIRE);
        assertThat(agreed.markersIn()).isEqualTo(options.markers());
        assertThat(agreed.markersOut()).isEqualTo(request.markers());
        assertThat(agreed.ird()).isBetween(0, Math.max(ird, 1));
        assertThat(agreed.ord()).isBetween(0, ord);
        MpaStartupFrame reply = again(agreed.reply(request, new byte[0]));
        assertThat(reply.rejected()).isFalse();
        // An initiator that reads like us agrees to the same, unless it has offered nothing that it
        // could send.
        MpaStartupSettings taking = new MpaStartupSettings(2, CrcPolicy.ACCEPT, false, Set.of(), 0);
        try {
            MpaNegotiation concluded = MpaNegotiation.conclude(request, reply, taking);
            assertThat(concluded.crc()).isEqualTo(agreed.crc());
            assertThat(concluded.markersIn()).isEqualTo(agreed.markersOut());
            assertThat(concluded.markersOut()).isEqualTo(agreed.markersIn());
            if (request.enhanced() && request.ord() != MpaStartupFrame.DEPTH_NOT_NEGOTIATED) {
                assertThat(concluded.ord()).isLessThanOrEqualTo(agreed.ird());
            }
            if (request.enhanced() && request.ird() != MpaStartupFrame.DEPTH_NOT_NEGOTIATED) {
                assertThat(agreed.ord()).isLessThanOrEqualTo(concluded.ird());
            }
            assertThat(concluded.rtr() != null)
                    .isEqualTo(request.enhanced() && request.peerToPeer());
            if (agreed.rtr() != null) {
                assertThat(concluded.rtr()).isEqualTo(agreed.rtr());
            }
        } catch (StreamException e) {
            assertThat(e.error()).isEqualTo(MpaError.NO_MATCHING_RTR);
            assertThat(request.rtrRead() && !request.rtrWrite() && request.ord() == 0).isTrue();
        }
    }

    private static void checkInitiator(
            MpaStartupFrame reply, MpaStartupSettings options, int ird, int ord) {
        MpaStartupFrame request = MpaNegotiation.request(options, ird, ord, new byte[0]);
        if (reply.rejected()) {
            return;
        }
        try {
            MpaNegotiation agreed = MpaNegotiation.conclude(request, reply, options);
            assertThat(agreed.crc()).isEqualTo(request.crc() || reply.crc());
            assertThat(agreed.crc() && options.crc() == CrcPolicy.OFF).isFalse();
            assertThat(agreed.ird()).isEqualTo(ird);
            assertThat(agreed.ord()).isBetween(0, ord);
            assertThat(agreed.rtr() == null || request.peerToPeer()).isTrue();
            assertThat(agreed.rtr() != Rtr.ZERO_LENGTH_READ || agreed.ord() > 0).isTrue();
        } catch (StreamException e) {
            assertThat(e.error())
                    .isIn(
                            MpaError.INVALID_FRAME,
                            MpaError.INSUFFICIENT_IRD,
                            MpaError.NO_MATCHING_RTR);
            assertThat(e).message().isNotEmpty();
        } catch (ConnectException e) {
            assertThat(options.crc()).isEqualTo(CrcPolicy.OFF);
        }
    }

    /** Gives as many bytes at a time as it is told to. */
    private record Cut(ByteBuffer bytes, IntSupplier cuts) implements ReadableByteChannel {

        @Override
        public int read(ByteBuffer target) {
            if (!bytes.hasRemaining()) {
                return -1;
            }
            int count = Math.min(cuts.getAsInt(), Math.min(bytes.remaining(), target.remaining()));
            target.put(bytes.slice().limit(count));
            bytes.position(bytes.position() + count);
            return count;
        }

        @Override
        public boolean isOpen() {
            return true;
        }

        @Override
        public void close() {}
    }
}
