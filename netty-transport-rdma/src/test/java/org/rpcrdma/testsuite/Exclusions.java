// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.testsuite;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Locale;

/**
 * What of Netty's testsuite does not apply. One line each: {@code stream}, {@code messages} or {@code both}; the class,
 * and the method if it is not all of the class; the reason.
 */
record Exclusions(List<Exclusion> all) {

    private static final String RESOURCE = "/netty-testsuite.txt";

    /**
     * A line.
     *
     * @param subject lower case, or {@code both}
     * @param test a class's simple name, or that, a dot and a method; with a star at its end, all that begin so
     */
    record Exclusion(String subject, String test, String reason) {
        boolean excludes(String name) {
            return test.endsWith("*")
                    ? name.startsWith(test.substring(0, test.length() - 1))
                    : name.equals(test);
        }

        boolean isFor(Subject other) {
            return subject.equals("both") || subject.equals(other.name().toLowerCase(Locale.ROOT));
        }
    }

    static Exclusions read() {
        try (BufferedReader reader =
                new BufferedReader(
                        new InputStreamReader(
                                Exclusions.class.getResourceAsStream(RESOURCE),
                                StandardCharsets.UTF_8))) {
            return new Exclusions(
                    reader.lines()
                            .filter(line -> !line.isBlank() && !line.startsWith("#"))
                            .map(line -> line.split(" +", 3))
                            .map(word -> new Exclusion(word[0], word[1], word[2]))
                            .toList());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    boolean excludes(Subject subject, String test) {
        return all.stream().anyMatch(line -> line.isFor(subject) && line.excludes(test));
    }

    /** docs/netty-testsuite.md. */
    String document(String nettyVersion) {
        StringBuilder text =
                new StringBuilder(
                        """
                        # Netty's own testsuite

                        `io.netty:netty-testsuite` runs on both channels, over the software RNIC: all classes of
                        `io.netty.testsuite.transport.socket`, with the channel class swapped and, on `RdmaChannel`,
                        receives for the length and number of their messages. The profile `full` runs it, there with the
                        pooled allocator alone; with all of Netty's by `-Dnetty.testsuite.all=true`. The newest one of
                        Netty 4.2 that is published runs too, on the channels as they were compiled for 4.1. What is
                        left out stands here. This page is made from
                        `netty-transport-rdma/src/test/resources/netty-testsuite.txt`, which the test reads.

                        """);
        text.append("Netty ").append(nettyVersion).append(".\n");
        for (Subject subject : Subject.values()) {
            text.append("\n## ")
                    .append(subject.title())
                    .append("\n\n| not run | why |\n| --- | --- |\n");
            all.stream()
                    .filter(line -> line.isFor(subject))
                    .forEach(
                            line ->
                                    text.append("| `")
                                            .append(line.test())
                                            .append("` | ")
                                            .append(line.reason())
                                            .append(" |\n"));
        }
        return text.toString();
    }
}
