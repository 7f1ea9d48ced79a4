// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.benchmarks.path;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** What each path may take at most: a file with a line for each, which {@link #lower} can only make smaller. */
final class PathCeilings {

    /** A path that is shorter than its ceiling by a larger part has to have it lowered, so that the gain is kept. */
    private static final double SLACK = 0.05;

    /** Netty takes other ways on another processor or JDK, which are a few entries longer or shorter. */
    private static final double TOLERANCE = 0.01;

    /** Of a path that allocates at all: what it does once in many calls falls into those that are counted, or not. */
    private static final long RARE_BYTES = 8;

    /**
     * Limits of one path.
     *
     * @param methods how many different ones it may enter
     */
    record Ceiling(long entries, long bytes, long methods) {

        private static Ceiling of(PathLength length) {
            return new Ceiling(
                    roundUp(length.entries()), roundUp(length.bytes()), length.methods.size());
        }

        private static long roundUp(double value) {
            return (long) Math.ceil(value - 1e-6);
        }

        private Ceiling min(Ceiling other) {
            return new Ceiling(
                    Math.min(entries, other.entries),
                    Math.min(bytes, other.bytes),
                    Math.min(methods, other.methods));
        }
    }

    private static final String HEAD =
            """
            # What a call may take at most, 16 outstanding: method entries, bytes on the heap, different methods.
            # PathLengthTest holds it. These numbers only go down: benchmarks/path --lower writes what is less now.
            """;

    private final Path file;
    private final Map<String, Ceiling> ceilings = new LinkedHashMap<>();

    PathCeilings(Path file) throws IOException {
        this.file = file;
        for (String line : Files.readAllLines(file)) {
            if (line.isBlank() || line.startsWith("#")) {
                continue;
            }
            String[] words = line.trim().split(" +", -1);
            ceilings.put(
                    words[0] + " " + words[1] + " " + words[2],
                    new Ceiling(
                            Long.parseLong(words[3]),
                            Long.parseLong(words[4]),
                            Long.parseLong(words[5])));
        }
    }

    private static String name(PathLength length) {
        return length.transport + " " + length.call + " " + length.role;
    }

    /** {@return a sentence for each limit that does not hold} */
    List<String> complaints(List<PathLength> lengths) {
        List<String> complaints = new ArrayList<>();
        for (PathLength length : lengths) {
            Ceiling now = Ceiling.of(length);
            Ceiling ceiling = ceilings.get(name(length));
            if (ceiling == null) {
                complaints.add(name(length) + " has no ceiling: benchmarks/path --lower adds it");
                continue;
            }
            complain(complaints, length, "method entries", now.entries, ceiling.entries, 0);
            long rare = ceiling.bytes == 0 ? 0 : RARE_BYTES;
            complain(complaints, length, "bytes on the heap", now.bytes, ceiling.bytes, rare);
            complain(complaints, length, "different methods", now.methods, ceiling.methods, 0);
        }
        return complaints;
    }

    private static void complain(
            List<String> complaints,
            PathLength length,
            String what,
            long now,
            long ceiling,
            long slack) {
        if (now > ceiling * (1 + TOLERANCE) + slack) {
            complaints.add(
                    String.format(
                            "%s takes %d %s, and may take %d: the path has become longer;"
                                + " benchmarks/path shows where it goes, run it before and after"
                                + " the change",
                            name(length), now, what, ceiling));
        } else if (now < ceiling * (1 - SLACK) - 1 - slack) {
            complaints.add(
                    String.format(
                            "%s takes %d %s, and may take %d: the path has become shorter; to keep"
                                    + " it so, run benchmarks/path --lower and commit the ceilings",
                            name(length), now, what, ceiling));
        }
    }

    /** Writes the file anew, with the lower of each limit and what is measured now. */
    void lower(List<PathLength> lengths) throws IOException {
        StringBuilder text = new StringBuilder(HEAD);
        for (PathLength length : lengths) {
            Ceiling now = Ceiling.of(length);
            Ceiling lowered = ceilings.getOrDefault(name(length), now).min(now);
            text.append(
                    String.format(
                            "%-6s %-14s %-9s %5d %5d %5d%n",
                            length.transport,
                            length.call,
                            length.role,
                            lowered.entries,
                            lowered.bytes,
                            lowered.methods));
        }
        Files.writeString(file, text);
    }
}
