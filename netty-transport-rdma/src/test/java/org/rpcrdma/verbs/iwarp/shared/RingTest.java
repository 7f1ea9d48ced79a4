// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp.shared;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Bytes go through a ring in order, whole, however they are cut; and no lie of the other end leads out of it. */
class RingTest {

    private static final int CONTROL = 1024;
    private static final int DATA = 2048;

    private final ByteBuffer memory = ByteBuffer.allocateDirect(DATA + (1 << 18) + 64);

    private RingWriter writer(int capacity) {
        for (int at = 0; at < RingLayout.CONTROL_BYTES; at++) {
            memory.put(CONTROL + at, (byte) 0);
        }
        return new RingWriter(mapped(), CONTROL, DATA, capacity);
    }

    private RingReader reader(int capacity) {
        return new RingReader(mapped(), CONTROL, DATA, capacity);
    }

    /** Its mark is the first word, which no ring touches. */
    private TruncationCheckedMappedMemory mapped() {
        return new TruncationCheckedMappedMemory(memory, 0, memory.getLong(0));
    }

    private ByteBuffer words() {
        return memory.duplicate().order(ByteOrder.nativeOrder());
    }

    private static ByteBuffer bytes(int count) {
        return ByteBuffer.allocateDirect(count);
    }

    private static ByteBuffer numbered(long from, int count) {
        ByteBuffer bytes = ByteBuffer.allocateDirect(count);
        for (int i = 0; i < count; i++) {
            bytes.put((byte) value(from + i));
        }
        return bytes.flip();
    }

    /** Every position has its own byte, over more than a ring. */
    private static int value(long position) {
        return (int) ((position * 0x9e3779b97f4a7c15L) >>> 56);
    }

    private static ByteBuffer[] random(Random random, long from) {
        ByteBuffer[] sources = new ByteBuffer[1 + random.nextInt(5)];
        for (int i = 0; i < sources.length; i++) {
            int count = random.nextInt(random.nextInt(4) == 0 ? 50_000 : 40);
            sources[i] = numbered(from, count);
            from += count;
        }
        return sources;
    }

    @Property(tries = 60)
    void bytesComeInOrderHoweverTheyAreCut(
            @ForAll long seed, @ForAll @IntRange(min = 4, max = 18) int power) throws IOException {
        int capacity = 1 << power;
        Random random = new Random(seed);
        RingWriter writer = writer(capacity);
        RingReader reader = reader(capacity);
        long written = 0;
        long read = 0;
        for (int step = 0; step < 400; step++) {
            if (random.nextBoolean()) {
                ByteBuffer[] sources = random(random, written);
                int first = random.nextInt(sources.length);
                long wanted = 0;
                for (int i = first; i < sources.length; i++) {
                    wanted += sources[i].remaining();
                }
                sources = Arrays.copyOfRange(sources, first, sources.length);
                // What comes first has to be what follows.
                for (int i = 0, at = 0; i < sources.length; at += sources[i++].remaining()) {
                    sources[i] = numbered(written + at, sources[i].remaining());
                }
                long room = capacity - (written - read);
                long now =
                        sources.length == 1
                                ? writer.write(sources[0])
                                : writer.write(sources, 0, sources.length);
                assertThat(now).isEqualTo(Math.min(room, wanted));
                written += now;
                long left = 0;
                for (ByteBuffer source : sources) {
                    left += source.remaining();
                }
                assertThat(left).isEqualTo(wanted - now);
            } else {
                ByteBuffer[] targets = new ByteBuffer[1 + random.nextInt(3)];
                long room = 0;
                for (int i = 0; i < targets.length; i++) {
                    targets[i] = bytes(random.nextInt(random.nextInt(4) == 0 ? 50_000 : 50));
                    room += targets[i].remaining();
                }
                assertThat(reader.hasBytes()).isEqualTo(written > read);
                long now =
                        targets.length == 1
                                ? reader.read(targets[0])
                                : reader.read(targets, 0, targets.length);
                assertThat(now).isEqualTo(Math.min(room, written - read));
                for (ByteBuffer target : targets) {
                    for (target.flip(); target.hasRemaining(); read++) {
                        assertThat(target.get() & 0xff).isEqualTo(value(read));
                    }
                }
            }
            assertThat(writer.hasRoom()).isEqualTo(written - read <= capacity / 2);
        }
    }

    @SuppressWarnings("ThreadPriorityCheck") // with one CPU the other thread has to have it
    @ParameterizedTest(name = "{0} bytes")
    @ValueSource(ints = {16, 4096, 1 << 16, 1 << 18})
    void twoThreadsNeedNothingElse(int capacity) throws Exception {
        long total = capacity == 16 ? 100_000 : 20_000_000;
        // Pieces of several portions, too.
        int longest = capacity < 1 << 18 ? 10_000 : 100_000;
        RingWriter writer = writer(capacity);
        RingReader reader = reader(capacity);
        CompletableFuture<Void> writing =
                CompletableFuture.runAsync(
                        () -> {
                            try {
                                Random random = new Random(1);
                                ByteBuffer source = bytes(longest);
                                for (long at = 0; at < total; ) {
                                    int count =
                                            (int) Math.min(total - at, 1 + random.nextInt(longest));
                                    source.clear().limit(count);
                                    for (int i = 0; i < count; i++) {
                                        source.put(i, (byte) value(at + i));
                                    }
                                    at += count;
                                    while (source.hasRemaining()) {
                                        if (writer.write(source) == 0) {
                                            Thread.yield();
                                        }
                                    }
                                }
                            } catch (IOException e) {
                                throw new AssertionError(e);
                            }
                        });
        ByteBuffer[] targets = {bytes(100), bytes(longest * 3 / 4)};
        long wrong = 0;
        for (long at = 0; at < total; ) {
            targets[0].clear();
            targets[1].clear();
            if (reader.read(targets, 0, 2) == 0) {
                assertThat(writing.isCompletedExceptionally()).isFalse();
                Thread.yield();
            }
            for (ByteBuffer target : targets) {
                for (target.flip(); target.hasRemaining(); at++) {
                    wrong += (target.get() & 0xff) == value(at) ? 0 : 1;
                }
            }
        }
        writing.get();
        assertThat(wrong).isZero();
        assertThat(reader.hasBytes()).isFalse();
    }

    /** Otherwise each connection would sooner or later have touched all of its memory. */
    @Test
    void littleTrafficTouchesLittleMemory() throws IOException {
        RingWriter writer = writer(1 << 16);
        RingReader reader = reader(1 << 16);
        ByteBuffer target = bytes(200);
        for (int i = 0; i < 10_000; i++) {
            writer.write(numbered(i, 200));
            reader.read(target.clear());
            assertThat(target.get(199) & 0xff).isEqualTo(value(i + 199));
        }
        for (int at = RingWriter.RESTART_BYTES + 200; at < 1 << 16; at++) {
            assertThat(memory.get(DATA + at)).isZero();
        }
    }

    @Test
    void nothingIsTouchedBesideTheRing() throws IOException {
        for (int at = 0; at < memory.capacity(); at++) {
            if (at < CONTROL || at >= CONTROL + RingLayout.CONTROL_BYTES) {
                memory.put(at, (byte) 7);
            }
        }
        RingWriter writer = writer(1 << 12);
        RingReader reader = reader(1 << 12);
        for (int i = 0; i < 50; i++) {
            writer.write(bytes(3000));
            writer.write(bytes(3000));
            reader.read(bytes(1 + 100 * i));
        }
        for (int at = 0; at < memory.capacity(); at++) {
            if (at < CONTROL || at >= DATA + (1 << 12)) {
                assertThat(memory.get(at)).isEqualTo((byte) 7);
            }
        }
    }

    @Test
    void flagsAreTakenOnce() throws IOException {
        RingWriter writer = writer(4096);
        RingReader reader = reader(4096);
        writer.write(bytes(1));
        assertThat(writer.owesBell()).isFalse();
        reader.sleeps(true);
        writer.write(bytes(0));
        assertThat(writer.owesBell()).isFalse();
        writer.write(bytes(1));
        assertThat(writer.owesBell()).isTrue();
        writer.write(bytes(1));
        assertThat(writer.owesBell()).isFalse();
        reader.sleeps(true);
        reader.sleeps(false);
        writer.write(bytes(1));
        assertThat(writer.owesBell()).isFalse();
        reader.read(bytes(4));
        // A writer that waits for room is woken once half of it is there.
        writer.write(bytes(4096));
        assertThat(writer.hasRoom()).isFalse();
        writer.sleeps(true);
        reader.read(bytes(2047));
        assertThat(reader.owesBell()).isFalse();
        assertThat(writer.hasRoom()).isFalse();
        reader.read(bytes(1));
        assertThat(writer.hasRoom()).isTrue();
        assertThat(reader.owesBell()).isTrue();
        reader.read(bytes(1));
        assertThat(reader.owesBell()).isFalse();
    }

    @ParameterizedTest(name = "tail {0}")
    @ValueSource(longs = {99, -1, Long.MIN_VALUE, Long.MAX_VALUE, 100 + 4097})
    void aWriterMayNotClaimMoreThanFits(long tail) throws IOException {
        RingWriter writer = writer(4096);
        RingReader reader = reader(4096);
        writer.write(bytes(100));
        reader.read(bytes(100));
        words().putLong(CONTROL + RingLayout.TAIL, tail);
        assertThat(reader.hasBytes()).isTrue();
        assertThatThrownBy(() -> reader.read(bytes(100)))
                .isInstanceOf(IOException.class)
                .hasMessageContaining("written up to " + tail + ", expected 100 to 4196");
    }

    /** The distance from what is read is no number of bytes then, but less than the capacity. */
    @ParameterizedTest(name = "tail {0}")
    @ValueSource(longs = {Long.MIN_VALUE + 3000, Long.MIN_VALUE + 4095, Long.MAX_VALUE})
    void aWriterMayNotBeHalfTheNumbersAhead(long tail) throws IOException {
        RingWriter writer = writer(4096);
        RingReader reader = reader(4096);
        writer.write(bytes(4096));
        reader.read(bytes(3000));
        words().putLong(CONTROL + RingLayout.TAIL, tail);
        assertThat(reader.hasBytes()).isTrue();
        assertThatThrownBy(() -> reader.read(bytes(1)))
                .isInstanceOf(IOException.class)
                .hasMessageContaining("written up to " + tail + ", expected 4096 to 7096");
    }

    @ParameterizedTest(name = "start {0}")
    @ValueSource(longs = {1, 99, 101, -1, Long.MAX_VALUE})
    void aRingBeginsAnewOnlyWhereItIsEmpty(long start) throws IOException {
        RingWriter writer = writer(4096);
        RingReader reader = reader(4096);
        writer.write(bytes(100));
        reader.read(bytes(100));
        writer.write(bytes(10));
        words().putLong(CONTROL + RingLayout.START, start);
        assertThatThrownBy(() -> reader.read(bytes(100)))
                .isInstanceOf(IOException.class)
                .hasMessageContaining("begins at " + start + ", expected 0 or 100");
    }

    @ParameterizedTest(name = "head {0}")
    @ValueSource(longs = {99, 4197, -1, Long.MIN_VALUE, Long.MAX_VALUE})
    void aReaderMayNotClaimWhatWasNotWritten(long head) throws IOException {
        RingWriter writer = writer(4096);
        RingReader reader = reader(4096);
        writer.write(bytes(100));
        reader.read(bytes(100));
        writer.write(bytes(4096));
        assertThat(writer.hasRoom()).isFalse();
        // The writer has seen that 100 bytes were read.
        words().putLong(CONTROL + RingLayout.HEAD, head);
        assertThat(writer.hasRoom()).isTrue();
        assertThatThrownBy(() -> writer.write(bytes(1)))
                .isInstanceOf(IOException.class)
                .hasMessageContaining("read up to " + head + ", expected 100 to 4196");
        ByteBuffer[] two = {bytes(1), bytes(1)};
        assertThatThrownBy(() -> writer.write(two, 0, 2)).isInstanceOf(IOException.class);
    }

    /** Whatever the words are: an error, or bytes of the ring. */
    @Property(tries = 300)
    void anyWordsAreSurvived(
            @ForAll long tail, @ForAll long start, @ForAll long head, @ForAll boolean near)
            throws IOException {
        RingWriter writer = writer(4096);
        RingReader reader = reader(4096);
        writer.write(bytes(5000));
        reader.read(bytes(3000));
        long range = near ? 0x3fff : -1;
        words().putLong(CONTROL + RingLayout.TAIL, tail & range);
        words().putLong(CONTROL + RingLayout.START, start & range);
        words().putLong(CONTROL + RingLayout.HEAD, head & range);
        try {
            assertThat(reader.read(bytes(9000))).isBetween(0, 4096);
        } catch (IOException e) {
            assertThat(e).hasMessageContaining("broke the rules");
        }
        try {
            assertThat(writer.write(bytes(9000))).isBetween(0, 4096);
        } catch (IOException e) {
            assertThat(e).hasMessageContaining("broke the rules");
        }
    }

    @Test
    void memoryThatIsClosedIsNotTouched() {
        TruncationCheckedMappedMemory closed =
                new TruncationCheckedMappedMemory(ByteBuffer.allocateDirect(0), 0, 1);
        RingWriter writer = new RingWriter(closed, CONTROL, DATA, 4096);
        RingReader reader = new RingReader(closed, CONTROL, DATA, 4096);
        assertThatThrownBy(() -> writer.write(bytes(1)))
                .isInstanceOf(IndexOutOfBoundsException.class);
        assertThatThrownBy(() -> reader.read(bytes(1)))
                .isInstanceOf(IndexOutOfBoundsException.class);
        assertThatThrownBy(reader::hasBytes).isInstanceOf(IndexOutOfBoundsException.class);
        assertThatThrownBy(writer::hasRoom).isInstanceOf(IndexOutOfBoundsException.class);
    }
}
