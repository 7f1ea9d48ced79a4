// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp.rdmap;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.function.IntSupplier;
import java.util.stream.Stream;
import java.util.zip.CRC32C;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.rpcrdma.FuzzTarget;
import org.rpcrdma.verbs.iwarp.MarkedStream;
import org.rpcrdma.verbs.iwarp.ddp.DdpSegmentHeader;
import org.rpcrdma.verbs.iwarp.mpa.FpduLayout;

/**
 * A stream of FPDUs into a receiver with all that it can reach: receives, exposed memory, Reads that wait for
 * their data.
 *
 * <p>An input is two bytes of choices and the stream. It cannot know STags and offsets, which are random, nor guess a
 * CRC. So in an FPDU the STags 1 to 4 stand for those of {@link FpduFuzzEnd} and offsets count from the beginning of
 * their memory, and CRC fields are filled in, unless the choice is not to.
 */
class FpduFuzzTest extends FuzzTarget {

    private static final int CHOICES = 2;
    private static final int CRC = 1;
    private static final int MARKERS = 2;

    /** The stream has the markers in it, as it is. */
    private static final int RAW_MARKERS = 4;

    private static final int RAW_CRC = 8;
    private static final int READY_TO_RECEIVE = 16;

    /** One bit of the markers or CRCs is wrong; the second byte says which. */
    private static final int SPOILED = 32;

    private static final int SMALL = 2000;

    private static final Set<String> CONVERSATION =
            Set.of(
                    "send_rdma_msg_nfs3_null_call",
                    "write_single_segment_L1",
                    "read_request_300KiB",
                    "write_len6_nonzero_pad",
                    "read_request_10240");

    private final FpduFuzzEnd.Room[] rooms = {
        new FpduFuzzEnd.Room(), new FpduFuzzEnd.Room(), new FpduFuzzEnd.Room()
    };

    @Override
    protected Stream<byte[]> seeds() {
        List<byte[]> streams = new ArrayList<>();
        Vector.all("fpdu").forEach(vector -> streams.add(reachable(vector, new int[] {1, 1})));
        streams.add(conversation());
        streams.add(readResponses());
        Stream<byte[]> plain = streams.stream().flatMap(s -> Stream.of(seed(0, s), seed(CRC, s)));
        Stream<byte[]> framed =
                streams.stream()
                        .filter(s -> s.length > 60)
                        .flatMap(
                                s ->
                                        Stream.of(
                                                seed(MARKERS, s),
                                                seed(MARKERS | CRC, s),
                                                seed(MARKERS | CRC | SPOILED, s),
                                                seed(READY_TO_RECEIVE, s)));
        Stream<byte[]> raw =
                Stream.concat(Vector.all("fpdu").limit(6), Vector.all("marked"))
                        .map(
                                vector ->
                                        seed(
                                                (vector.kind.equals("marked") ? RAW_MARKERS : 0)
                                                        | (vector.validCrc ? CRC : 0)
                                                        | RAW_CRC,
                                                vector.bytes));
        return Stream.of(plain, framed, raw).flatMap(s -> s);
    }

    /** Golden FPDUs one after another, as long as there are receives for them. */
    private static byte[] conversation() {
        ByteArrayOutputStream stream = new ByteArrayOutputStream();
        int[] numbers = {1, 1};
        Vector.all("fpdu")
                .filter(vector -> CONVERSATION.contains(vector.name))
                .forEach(vector -> stream.writeBytes(reachable(vector, numbers)));
        return stream.toByteArray();
    }

    /** Nothing of what the seeds are for is refused. */
    @ParameterizedTest
    @ValueSource(ints = {0, CRC, MARKERS, MARKERS | CRC})
    void seedsAreTaken(int choices) throws IOException {
        FpduFuzzEnd.Result read = receive(rooms[0], choices, readResponses());
        assertThat(read.failure()).isEmpty();
        assertThat(read.completed()).containsExactly("100 SUCCESS 0 0", "101 SUCCESS 0 0");
        FpduFuzzEnd.Result talk = receive(rooms[0], choices, conversation());
        assertThat(talk.failure()).isEmpty();
        assertThat(talk.fpdus()).isEqualTo(CONVERSATION.size());
        assertThat(talk.completed()).containsExactly("0 SUCCESS 68 0");
    }

    private static FpduFuzzEnd.Result receive(FpduFuzzEnd.Room room, int choices, byte[] stream)
            throws IOException {
        return receive(room, choices, (byte) 0, stream, () -> 500);
    }

    private static byte[] seed(int choices, byte[] stream) {
        return ByteBuffer.allocate(CHOICES + stream.length)
                .put((byte) choices)
                .put((byte) 9)
                .put(stream)
                .array();
    }

    /** A golden FPDU that names memory which is there, with the next message number. */
    private static byte[] reachable(Vector vector, int[] numbers) {
        ByteBuffer fpdu = ByteBuffer.wrap(vector.bytes.clone());
        int opcode = vector.integer("opcode");
        if (vector.flag("T")) {
            boolean response = opcode == RdmapOpcodes.READ_RESPONSE;
            fpdu.putInt(4, response ? FpduFuzzEnd.FIRST_SINK : FpduFuzzEnd.WRITABLE);
            fpdu.putLong(8, response ? 0 : vector.number("TO") & 0x7fc);
        } else if (opcode != RdmapOpcodes.TERMINATE) {
            fpdu.putInt(12, numbers[opcode == RdmapOpcodes.READ_REQUEST ? 1 : 0]++);
            if (RdmapOpcodes.invalidates(opcode)) {
                fpdu.putInt(4, FpduFuzzEnd.READABLE);
            }
            if (opcode == RdmapOpcodes.READ_REQUEST
                    && vector.integer("payload_len") >= ReadRequestHeader.BYTES) {
                fpdu.putInt(32, Math.min(fpdu.getInt(32), 3000));
                fpdu.putInt(36, FpduFuzzEnd.READABLE);
                fpdu.putLong(40, fpdu.getLong(40) & 0x3fc);
            }
        }
        return fpdu.array();
    }

    /** Answers to all Reads that are outstanding. */
    private static byte[] readResponses() {
        ByteArrayOutputStream stream = new ByteArrayOutputStream();
        int stag = FpduFuzzEnd.FIRST_SINK;
        for (int length : FpduFuzzEnd.READS) {
            for (int at = 0; at < length; at += 1400) {
                int bytes = Math.min(1400, length - at);
                ByteBuffer ulpdu = ByteBuffer.allocate(DdpSegmentHeader.TAGGED_BYTES + bytes);
                DdpSegmentHeader.encodeTagged(
                        ulpdu,
                        at + bytes == length,
                        RdmapOpcodes.control(RdmapOpcodes.READ_RESPONSE),
                        stag,
                        at);
                stream.writeBytes(FpduLayout.frame(ulpdu.array(), false).array());
            }
            stag++;
        }
        return stream.toByteArray();
    }

    @Override
    protected void check(byte[] input) throws IOException {
        if (input.length < CHOICES) {
            return;
        }
        int choices = input[0];
        byte[] stream = Arrays.copyOfRange(input, CHOICES, input.length);
        FpduFuzzEnd.Result whole =
                receive(rooms[0], choices, input[1], stream, () -> Integer.MAX_VALUE);
        Random random = new Random(Arrays.hashCode(input));
        int most = 1 + random.nextInt(random.nextBoolean() ? 40 : 4000);
        FpduFuzzEnd.Result pieces =
                receive(rooms[1], choices, input[1], stream, () -> 1 + random.nextInt(most));
        assertThat(pieces).isEqualTo(whole);
        assertThat(rooms[1].memory).isEqualTo(rooms[0].memory);
        if (stream.length < SMALL) {
            assertThat(receive(rooms[2], choices, input[1], stream, () -> 1)).isEqualTo(whole);
            assertThat(rooms[2].memory).isEqualTo(rooms[0].memory);
        }
    }

    private static FpduFuzzEnd.Result receive(
            FpduFuzzEnd.Room room, int choices, byte spoil, byte[] stream, IntSupplier cuts)
            throws IOException {
        FpduFuzzEnd end = new FpduFuzzEnd(room);
        boolean crc = (choices & CRC) != 0;
        boolean raw = (choices & RAW_MARKERS) != 0;
        boolean markers = raw || (choices & MARKERS) != 0;
        byte[] finished = raw ? stream : finish(stream, end, choices, spoil);
        return end.receive(finished, crc, markers, (choices & READY_TO_RECEIVE) != 0, cuts);
    }

    /**
     * Puts in what an input cannot know. What is not a whole FPDU at the end stays as it is. No length is ever taken
     * from what is random: that would be another input each time.
     */
    private static byte[] finish(byte[] stream, FpduFuzzEnd end, int choices, byte spoil) {
        boolean crc = (choices & CRC) != 0;
        MarkedStream marked = (choices & MARKERS) != 0 ? new MarkedStream(crc) : null;
        ByteBuffer plain = ByteBuffer.wrap(stream.clone());
        ByteArrayOutputStream out = new ByteArrayOutputStream(stream.length + 100);
        List<Integer> framing = new ArrayList<>();
        while (plain.remaining() >= FpduLayout.LENGTH_BYTES) {
            int at = plain.position();
            int length = plain.getShort(at) & 0xffff;
            int bytes = FpduLayout.length(length);
            boolean whole = bytes <= plain.remaining();
            if (whole || marked == null) {
                end.resolve(plain, at + FpduLayout.LENGTH_BYTES, length);
            }
            if (!whole) {
                break;
            }
            byte[] fpdu = Arrays.copyOfRange(plain.array(), at, at + bytes);
            if (marked != null) {
                int from = out.size();
                out.writeBytes(marked.fpdu(Arrays.copyOfRange(fpdu, 2, 2 + length)));
                for (int i = -from & 511; from + i < out.size(); i += 512) {
                    framing.add(from + i + 2);
                    framing.add(from + i + 3);
                }
            } else {
                if (crc && (choices & RAW_CRC) == 0) {
                    CRC32C sum = new CRC32C();
                    sum.update(fpdu, 0, bytes - FpduLayout.CRC_BYTES);
                    ByteBuffer.wrap(fpdu)
                            .putInt(
                                    bytes - FpduLayout.CRC_BYTES,
                                    Integer.reverseBytes((int) sum.getValue()));
                }
                out.writeBytes(fpdu);
            }
            framing.add(out.size() - FpduLayout.CRC_BYTES);
            plain.position(at + bytes);
        }
        out.write(plain.array(), plain.position(), plain.remaining());
        byte[] finished = out.toByteArray();
        if ((choices & SPOILED) != 0 && !framing.isEmpty()) {
            finished[framing.get((spoil >>> 3 & 31) % framing.size())] ^= (byte) (1 << (spoil & 7));
        }
        return finished;
    }
}
