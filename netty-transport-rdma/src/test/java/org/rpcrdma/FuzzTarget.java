// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma;

import com.code_intelligence.jazzer.junit.FuzzTest;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URISyntaxException;
import java.net.URL;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import net.jqwik.api.EdgeCasesMode;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import org.junit.jupiter.api.Named;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * A parser and what must hold for any input of it. The build checks the seeds, all earlier findings and a fixed number
 * of spoiled seeds, always the same. The script {@code fuzz/run} lets Jazzer look for inputs that break it, guided by
 * coverage; what it finds, it leaves beside the earlier findings: in the resources, in the directory
 * {@code <class>Inputs/fuzz} of the package.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
public abstract class FuzzTarget {

    private static final int MOST_EDITS = 6;

    /** Numbers that are at the edge of something. */
    private static final int[] EDGES = {
        0,
        1,
        2,
        3,
        4,
        7,
        8,
        16,
        0x7f,
        0x80,
        0xff,
        0x100,
        0x7fff,
        0x8000,
        0xffff,
        0x7fffffff,
        0x80000000,
        0xfffffffc,
        0xffffffff
    };

    /** Valid inputs to begin with. */
    protected abstract Stream<byte[]> seeds();

    /**
     * Feeds an input and checks all that has to hold.
     *
     * @throws Exception or an {@link AssertionError} when something does not
     */
    protected abstract void check(byte[] input) throws Exception;

    @ParameterizedTest
    @MethodSource("corpus")
    void seedsAndFindings(byte[] input) throws Exception {
        check(input);
    }

    /** Overridden with fewer tries where an input takes long. */
    @Property(tries = 4000, seed = "1", edgeCases = EdgeCasesMode.NONE)
    protected void spoiledSeeds(@ForAll("spoiled") byte[] input) throws Exception {
        check(input);
    }

    /** Only by the profile {@code fuzz}. */
    @MethodSource("seeds")
    @FuzzTest(maxDuration = "")
    void fuzz(byte[] input) throws Exception {
        check(input);
    }

    /** The seeds and the findings. */
    Stream<Named<byte[]>> corpus() {
        List<byte[]> seeds = seeds().toList();
        Stream.Builder<Named<byte[]>> all = Stream.builder();
        all.add(Named.of("nothing", new byte[0]));
        for (int i = 0; i < seeds.size(); i++) {
            all.add(Named.of("seed " + i, seeds.get(i)));
        }
        return Stream.concat(all.build(), findings());
    }

    private Stream<Named<byte[]>> findings() {
        URL directory = getClass().getResource(getClass().getSimpleName() + "Inputs/fuzz");
        if (directory == null) {
            return Stream.empty();
        }
        try (Stream<Path> files = Files.list(Path.of(directory.toURI()))) {
            return files.sorted().map(FuzzTarget::read).toList().stream();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (URISyntaxException e) {
            throw new AssertionError(e);
        }
    }

    private static Named<byte[]> read(Path file) {
        try {
            return Named.of(file.getFileName().toString(), Files.readAllBytes(file));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Provide
    Arbitrary<byte[]> spoiled() {
        List<byte[]> seeds = seeds().toList();
        Arbitrary<byte[]> seed = Arbitraries.of(seeds);
        Arbitrary<Edit> edit =
                Combinators.combine(
                                Arbitraries.of(Edit.Kind.values()),
                                Arbitraries.integers().between(0, 0xffff),
                                Arbitraries.oneOf(
                                        Arbitraries.of(Arrays.stream(EDGES).boxed().toList()),
                                        Arbitraries.integers()),
                                seed)
                        .as(Edit::new);
        return Combinators.combine(seed, edit.list().ofMaxSize(MOST_EDITS))
                .as(
                        (input, edits) -> {
                            byte[] spoiled = input;
                            for (Edit each : edits) {
                                spoiled = each.apply(spoiled);
                            }
                            return spoiled;
                        });
    }

    /** One way to spoil an input. */
    @SuppressWarnings("ArrayRecordComponent") // never compared
    private record Edit(Kind kind, int where, int value, byte[] other) {

        enum Kind {
            FLIP_BIT,
            BYTE,
            SHORT,
            WORD,
            CUT,
            REMOVE,
            REPEAT,
            APPEND
        }

        byte[] apply(byte[] input) {
            if (input.length == 0) {
                return other;
            }
            // Headers come first, so half of the edits go there.
            int room = (where & 1) == 0 ? input.length : Math.min(input.length, 80);
            int at = (where >>> 1) % room;
            int count = Math.min(1 + (value & 63), input.length - at);
            return switch (kind) {
                case FLIP_BIT -> put(input, at, 1, (input[at] & 0xff) ^ (1 << (value & 7)));
                case BYTE -> put(input, at, 1, value);
                case SHORT -> put(input, at, 2, value);
                case WORD -> put(input, at & ~3, 4, value);
                case CUT -> Arrays.copyOf(input, at);
                case REMOVE -> splice(input, at, new byte[0], at + count);
                case REPEAT -> splice(input, at, Arrays.copyOfRange(input, at, at + count), at);
                case APPEND -> splice(input, input.length, other, input.length);
            };
        }

        private static byte[] put(byte[] input, int at, int bytes, int value) {
            byte[] output = input.clone();
            for (int i = 0; i < bytes && at + i < output.length; i++) {
                output[at + i] = (byte) (value >>> (8 * (bytes - 1 - i)));
            }
            return output;
        }

        private static byte[] splice(byte[] input, int at, byte[] middle, int from) {
            byte[] output = Arrays.copyOf(input, at + middle.length + input.length - from);
            System.arraycopy(middle, 0, output, at, middle.length);
            System.arraycopy(input, from, output, at + middle.length, input.length - from);
            return output;
        }
    }
}
