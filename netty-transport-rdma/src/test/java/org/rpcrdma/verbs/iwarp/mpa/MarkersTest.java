// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp.mpa;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.GatheringByteChannel;
import java.nio.channels.ReadableByteChannel;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.function.IntSupplier;
import java.util.zip.CRC32C;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.constraints.Size;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.rpcrdma.verbs.DirectMemoryBudget;
import org.rpcrdma.verbs.iwarp.MarkedStream;

/** Markers, in both directions: RFC 5044, 4.3. */
class MarkersTest {

    private static byte[] ulpdu(int length, long seed) {
        byte[] bytes = new byte[length];
        new Random(seed).nextBytes(bytes);
        return bytes;
    }

    private static MarkedFpduSender sender(boolean crc) {
        return new MarkedFpduSender(crc(crc), FpduBatchPool.marked(DirectMemoryBudget.jvm()));
    }

    private static CRC32C crc(boolean on) {
        return on ? new CRC32C() : null;
    }

    /** What a stripper makes of a stream, read in pieces. */
    private static byte[] strip(byte[] stream, boolean crc, IntSupplier cuts) throws IOException {
        ByteArrayInputStream in = new ByteArrayInputStream(stream);
        ReadableByteChannel source =
                new ReadableByteChannel() {
                    @Override
                    public int read(ByteBuffer target) {
                        byte[] piece = new byte[Math.min(cuts.getAsInt(), target.remaining())];
                        int read = in.read(piece, 0, piece.length);
                        target.put(piece, 0, Math.max(read, 0));
                        return read;
                    }

                    @Override
                    public boolean isOpen() {
                        return true;
                    }

                    @Override
                    public void close() {}
                };
        MarkerStripper stripper =
                new MarkerStripper(
                        source, ByteBuffer.allocate(MarkerInserter.MAX_FPDU_BYTES), crc(crc));
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        ByteBuffer target = ByteBuffer.allocate(777);
        ByteBuffer spare = ByteBuffer.allocate(MarkerInserter.MAX_FPDU_BYTES);
        while (stripper.read(target.clear()) >= 0) {
            out.write(target.array(), 0, target.position());
            // The next staging buffer is another one.
            ByteBuffer taken = stripper.takeStaging();
            stripper.staging(spare);
            spare = taken;
        }
        return out.toByteArray();
    }

    /** The stream that a sender makes, and the same FPDUs without markers. */
    private static byte[][] send(List<byte[]> ulpdus, boolean crc) throws IOException {
        MarkedFpduSender sender = sender(crc);
        // A start-up frame goes first; markers do not count it.
        sender.raw(new byte[24]);
        ByteArrayOutputStream sent = new ByteArrayOutputStream();
        ByteArrayOutputStream plain = new ByteArrayOutputStream();
        Sink sink = new Sink(sent);
        for (byte[] ulpdu : ulpdus) {
            if (!sender.hasRoom()) {
                sender.write(sink);
            }
            sender.begin(ulpdu.length);
            int half = ulpdu.length / 2;
            sender.copy(ByteBuffer.wrap(ulpdu), 0, half);
            sender.payload(ByteBuffer.wrap(ulpdu, half, ulpdu.length - half), null);
            sender.end();
            plain.writeBytes(FpduLayout.frame(ulpdu, false).array());
        }
        sender.write(sink);
        assertThat(sender.isEmpty()).isTrue();
        assertThat(sender.written).isEqualTo(sent.size());
        return new byte[][] {
            Arrays.copyOfRange(sent.toByteArray(), 24, sent.size()), plain.toByteArray()
        };
    }

    @Property(tries = 300)
    void theyComeAndGo(
            @ForAll @Size(min = 1, max = 12) List<@IntRange(min = 1, max = 2000) Integer> sizes,
            @ForAll boolean crc,
            @ForAll Random random)
            throws IOException {
        check(sizes, crc, () -> 1 + random.nextInt(1000));
    }

    @Test
    void theyComeAndGoInTheLargestFpdus() throws IOException {
        check(List.of(64_768, 64_768, 1, 64_768), true, () -> Integer.MAX_VALUE);
        check(List.of(64_767, 3, 64_766), false, () -> 10_000);
    }

    /** Every offset of an FPDU to the markers, and byte by byte. */
    @Test
    void theyComeAndGoAtEveryPosition() throws IOException {
        List<Integer> sizes = new ArrayList<>();
        for (int i = 0; i < 600; i++) {
            sizes.add(1 + i);
        }
        check(sizes, true, () -> 1);
        check(sizes, false, () -> 1);
    }

    private static void check(List<Integer> sizes, boolean crc, IntSupplier cuts)
            throws IOException {
        MarkedStream reference = new MarkedStream(crc);
        ByteArrayOutputStream expected = new ByteArrayOutputStream();
        List<byte[]> ulpdus = new ArrayList<>();
        for (int size : sizes) {
            byte[] ulpdu = ulpdu(size, size);
            ulpdus.add(ulpdu);
            expected.writeBytes(reference.fpdu(ulpdu));
        }
        byte[][] sent = send(ulpdus, crc);
        assertThat(sent[0]).isEqualTo(expected.toByteArray());
        byte[] plain = strip(sent[0], crc, cuts);
        assertThat(plain).hasSize(sent[1].length);
        int at = 0;
        for (byte[] ulpdu : ulpdus) {
            // All but the CRC, which belongs to the marked form.
            int covered = FpduLayout.length(ulpdu.length) - FpduLayout.CRC_BYTES;
            assertThat(Arrays.copyOfRange(plain, at, at + covered))
                    .isEqualTo(Arrays.copyOfRange(sent[1], at, at + covered));
            at += covered + FpduLayout.CRC_BYTES;
        }
    }

    /**
     * However much was written: the rest of the FPDU that was begun, then the last one, its markers in their places.
     */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void theLastFpduFollowsAWholeOne(boolean crc) throws IOException {
        List<byte[]> ulpdus = List.of(ulpdu(100, 1), ulpdu(700, 2), ulpdu(333, 3));
        byte[] lastUlpdu = ulpdu(70, 4);
        int total = 0;
        MarkedStream whole = new MarkedStream(crc);
        for (byte[] ulpdu : ulpdus) {
            total += whole.fpdu(ulpdu).length;
        }
        for (int written = 0; written < total; written++) {
            MarkedStream reference = new MarkedStream(crc);
            ByteArrayOutputStream expected = new ByteArrayOutputStream();
            for (byte[] ulpdu : ulpdus) {
                if (expected.size() < written) {
                    expected.writeBytes(reference.fpdu(ulpdu));
                }
            }
            expected.writeBytes(reference.fpdu(lastUlpdu));
            MarkedFpduSender sender = sender(crc);
            sender.raw(new byte[24]);
            sender.write(new Sink(new ByteArrayOutputStream()));
            for (byte[] ulpdu : ulpdus) {
                sender.begin(ulpdu.length);
                sender.copy(ByteBuffer.wrap(ulpdu), 0, ulpdu.length);
                sender.end();
            }
            ByteArrayOutputStream sent = new ByteArrayOutputStream();
            if (written > 0) {
                sender.write(new Sink(sent, written));
            }
            new Sink(sent).write(sender.dropFor(lastUlpdu));
            assertThat(sent.toByteArray()).isEqualTo(expected.toByteArray());
        }
    }

    private static byte[] twoFpdus(boolean crc) {
        MarkedStream stream = new MarkedStream(crc);
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        out.writeBytes(stream.fpdu(ulpdu(300, 1)));
        out.writeBytes(stream.fpdu(ulpdu(300, 2)));
        return out.toByteArray();
    }

    /** The first byte of FPDUPTR in the first and in the second marker; its value is 512 - 312 in the second. */
    @ParameterizedTest
    @ValueSource(ints = {2, 514})
    void aMarkerThatPointsElsewhereIsAnError(int at) {
        byte[] stream = twoFpdus(false);
        stream[at + 1] ^= 4;
        assertThatThrownBy(() -> strip(stream, false, () -> 1000))
                .isInstanceOfSatisfying(
                        StreamException.class,
                        e -> assertThat(e.error()).isEqualTo(MpaError.FRAMING));
    }

    /** RFC 5044, 4.3: receivers take the two low bits of FPDUPTR as 0; the reserved bits are not looked at. */
    @Test
    void reservedBitsOfAMarkerAreIgnored() throws IOException {
        byte[] stream = twoFpdus(false);
        byte[] plain = strip(stream, false, () -> 1000);
        stream[515] ^= 3;
        stream[512] ^= 0x55;
        stream[1] ^= 0x55;
        assertThat(strip(stream, false, () -> 1000)).isEqualTo(plain);
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 100, 513, 514, 600})
    void theCrcCoversMarkers(int at) {
        byte[] stream = twoFpdus(true);
        stream[at] ^= 1;
        assertThatThrownBy(() -> strip(stream, true, () -> 1000))
                .isInstanceOfSatisfying(
                        StreamException.class, e -> assertThat(e.error()).isEqualTo(MpaError.CRC));
    }

    @Test
    void theStreamMayEndBetweenFpdusOnly() throws IOException {
        byte[] stream = twoFpdus(true);
        byte[] first = new MarkedStream(true).fpdu(ulpdu(300, 1));
        for (int length = 0; length < stream.length; length++) {
            byte[] cut = Arrays.copyOf(stream, length);
            if (length == 0 || length == first.length) {
                assertThat(strip(cut, true, () -> 100)).hasSize(length == 0 ? 0 : 308);
            } else {
                assertThatThrownBy(() -> strip(cut, true, () -> 100))
                        .isInstanceOf(IOException.class)
                        .hasMessageContaining("inside an FPDU");
            }
        }
    }

    /**
     * A hostile length is waited for, never allocated; the bytes that come are judged at the latest when they
     * are there.
     */
    @Test
    void anFpduTooLongForAFpduptrIsAnError() {
        byte[] stream = new byte[MarkerInserter.lengthWith(0, FpduLayout.length(0xffff))];
        stream[4] = -1;
        stream[5] = -1;
        assertThatThrownBy(() -> strip(stream, false, () -> 100_000))
                .isInstanceOf(StreamException.class);
    }

    @Test
    void anFpduWithMarkersFitsTheSegment() {
        for (int mtu : new int[] {576, 1500, 4096, 9000, 65_535}) {
            int budget = FpduLayout.length(FpduLayout.mulpdu(mtu, 20));
            int mulpdu = MarkerInserter.mulpdu(FpduLayout.mulpdu(mtu, 20));
            for (int position = 0; position < 512; position += 4) {
                assertThat(MarkerInserter.lengthWith(position, FpduLayout.length(mulpdu)))
                        .isLessThanOrEqualTo(budget);
            }
        }
    }

    /** A channel that takes so many bytes. */
    private record Sink(ByteArrayOutputStream out, int most) implements GatheringByteChannel {

        Sink(ByteArrayOutputStream out) {
            this(out, Integer.MAX_VALUE);
        }

        @Override
        public long write(ByteBuffer[] sources, int offset, int length) {
            long written = 0;
            for (int i = offset; i < offset + length; i++) {
                written += write(sources[i]);
            }
            return written;
        }

        @Override
        public long write(ByteBuffer[] sources) {
            return write(sources, 0, sources.length);
        }

        @Override
        public int write(ByteBuffer source) {
            byte[] bytes = new byte[Math.min(source.remaining(), most)];
            source.get(bytes);
            out.writeBytes(bytes);
            return bytes.length;
        }

        @Override
        public boolean isOpen() {
            return true;
        }

        @Override
        public void close() {}
    }
}
