// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.benchmarks.path;

import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.rpcrdma.benchmarks.path.PathLength.Entries;

/** Shows paths as text: a table, and what they enter most often. */
final class PathTable {

    private final List<PathLength> lengths;

    PathTable(List<PathLength> lengths) {
        this.lengths = lengths;
    }

    /** {@return a table in Markdown} */
    String table() {
        StringBuilder text =
                new StringBuilder(
                        "Method entries (bytes on the heap) of one call, 16 outstanding, blocking"
                            + " loops\n\n"
                            + "| call | end | transport | all | codec | channel | verbs | Netty |"
                            + " other | methods |\n"
                            + "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n");
        for (PathLength length : lengths) {
            text.append(
                    String.format(
                            "| %s | %s | %s | %s |",
                            length.call.label,
                            length.role.label,
                            length.transport.label,
                            cell(length.entries(), length.bytes())));
            for (Family family : Family.values()) {
                text.append(
                        String.format(" %s |", cell(length.entries(family), length.bytes(family))));
            }
            text.append(String.format(" %d |%n", length.methods.size()));
        }
        return text.toString();
    }

    /** {@return how many different methods both ends of each call enter} */
    String methods() {
        Map<String, Set<String>> methods = new HashMap<>();
        StringBuilder text = new StringBuilder("Different methods of both ends:");
        for (PathLength length : lengths) {
            Set<String> both =
                    methods.computeIfAbsent(
                            length.transport + " " + length.call, key -> new HashSet<>());
            length.methods.forEach(each -> both.add(each.className() + each.method()));
            if (length.role == Role.RESPONDER) {
                text.append(
                        String.format(
                                " %s %s %d;",
                                length.transport.label, length.call.label, both.size()));
            }
        }
        return text.append('\n').toString();
    }

    /** {@return the classes and the methods that the ends of one call enter most often} */
    String top(PathCall call, int count) {
        StringBuilder text = new StringBuilder();
        for (PathLength length : lengths) {
            if (length.call != call || !length.transport.isOurs()) {
                continue;
            }
            Map<String, Double> classes = new HashMap<>();
            Map<String, Double> methods = new HashMap<>();
            for (Entries each : length.methods) {
                classes.merge(each.className(), each.perCall(), Double::sum);
                methods.merge(each.className() + '.' + each.method(), each.perCall(), Double::sum);
            }
            text.append(
                    String.format(
                            "%n%s, %s, %s: classes and methods%n%n",
                            call.label, length.role.label, length.transport.label));
            append(text, classes, count);
            text.append(String.format("%n"));
            append(text, methods, count);
            if (!length.callers.isEmpty()) {
                text.append(String.format("%n"));
                append(text, length.callers, count);
            }
        }
        return text.toString();
    }

    /**
     * {@return the call trees of both ends of one call}
     *
     * @param least entries of a call, in a method and below, for which it has a line
     */
    String trees(PathCall call, double least) {
        StringBuilder text = new StringBuilder();
        for (PathLength length : lengths) {
            if (length.call == call) {
                text.append(
                        String.format(
                                "%n%s, %s, %s: entries with those below, entries, method%n%n%s",
                                call.label,
                                length.role.label,
                                length.transport.label,
                                length.tree.text(length.calls, least)));
            }
        }
        return text.toString();
    }

    private static void append(StringBuilder text, Map<String, Double> entries, int count) {
        entries.entrySet().stream()
                .sorted(
                        Map.Entry.<String, Double>comparingByValue(Comparator.reverseOrder())
                                .thenComparing(Map.Entry.comparingByKey()))
                .limit(count)
                .forEach(
                        each ->
                                text.append(
                                        String.format(
                                                "%9.2f  %s%n", each.getValue(), each.getKey())));
    }

    private static String cell(double entries, double bytes) {
        return bytes < 0.5
                ? String.format("%.0f", entries)
                : String.format("%.0f (%.0f B)", entries, bytes);
    }
}
