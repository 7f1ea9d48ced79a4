// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.top;

import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Predicate;
import org.rpcrdma.examples.common.Printable;

/** The samples of one scrape, in the text format 0.0.4 of Prometheus. */
public final class Scrape {

    /**
     * One line.
     *
     * @param labels by name
     */
    record Sample(Map<String, String> labels, double value) {

        String label(String name) {
            return labels.getOrDefault(name, "");
        }

        /** The label as a terminal can have it. */
        String printable(String name) {
            return Printable.of(label(name));
        }
    }

    private final Map<String, List<Sample>> byName = new HashMap<>();
    private final SortedSet<String> missing = new TreeSet<>();

    /**
     * Reads what a server has answered.
     *
     * @param text of the whole answer
     * @throws IOException when it is in another format, or has nothing of RDMA in it
     */
    public static Scrape parse(String text) throws IOException {
        Scrape scrape = new Scrape();
        for (String line : text.split("\n", -1)) {
            String sample = line.strip();
            if (!sample.isEmpty() && sample.charAt(0) != '#') {
                scrape.add(sample);
            }
        }
        if (!scrape.has("rpcrdma_calls_total") && !scrape.has("rdma_channels")) {
            throw new IOException(
                    "there are no meters of RDMA (expected: rpcrdma_calls or rdma_channels)");
        }
        return scrape;
    }

    private void add(String line) throws IOException {
        try {
            Map<String, String> labels = Map.of();
            int end = line.indexOf('{');
            int rest;
            if (end < 0) {
                end = line.indexOf(' ');
                rest = end;
            } else {
                labels = new TreeMap<>();
                rest = readLabels(line, end + 1, labels);
            }
            if (labels.containsKey("le")) {
                number(labels.get("le"));
            }
            String[] value = line.substring(rest).strip().split(" ", -1);
            byName.computeIfAbsent(line.substring(0, end), k -> new ArrayList<>())
                    .add(new Sample(labels, number(value[0])));
        } catch (IndexOutOfBoundsException | NumberFormatException e) {
            throw new IOException("no sample of Prometheus: " + excerpt(line), e);
        }
    }

    /**
     * @return the index behind the closing brace
     */
    private static int readLabels(String line, int index, Map<String, String> labels) {
        int at = index;
        while (line.charAt(at) != '}') {
            int equals = line.indexOf('=', at);
            String name = line.substring(at, equals).strip();
            StringBuilder value = new StringBuilder();
            // The first quote is at equals + 1.
            at = equals + 2;
            while (line.charAt(at) != '"') {
                char next = line.charAt(at++);
                if (next == '\\') {
                    next = line.charAt(at++);
                    // The only escape that does not stand for itself.
                    next = next == 'n' ? '\n' : next;
                }
                value.append(next);
            }
            labels.put(name, value.toString());
            at++;
            if (line.charAt(at) == ',') {
                at++;
            }
        }
        return at + 1;
    }

    static double number(String text) {
        return switch (text) {
            case "+Inf" -> Double.POSITIVE_INFINITY;
            case "-Inf" -> Double.NEGATIVE_INFINITY;
            default -> Double.parseDouble(text);
        };
    }

    private static String excerpt(String line) {
        String start = line.substring(0, Math.min(line.length(), 60));
        return '\'' + Printable.of(start) + '\'';
    }

    /** Whether the server has such a meter. */
    boolean has(String name) {
        return byName.containsKey(name);
    }

    /** The samples of that name, in their order; none where the server has no such meter. */
    List<Sample> samples(String name) {
        List<Sample> samples = byName.get(name);
        if (samples == null) {
            missing.add(name);
            return List.of();
        }
        return samples;
    }

    /** The names that were asked for and are not there: the server is another version, or has no such calls yet. */
    SortedSet<String> missing() {
        return missing;
    }

    /** The sum of the samples that are wanted, from 0. */
    double sum(String name, Predicate<Sample> wanted) {
        return samples(name).stream().filter(wanted).mapToDouble(Sample::value).sum();
    }

    /** The sum of all samples of that name. */
    double sum(String name) {
        return sum(name, sample -> true);
    }

    /** The greatest of all samples of that name; 0 where there is none. */
    double greatest(String name) {
        return samples(name).stream().mapToDouble(Sample::value).max().orElse(0);
    }
}
