// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.benchmarks.path;

import java.util.Comparator;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;

/** Counts method entries by the whole stack of callers: the call tree of one end. */
final class PathTree {

    /** A method below one stack of callers. */
    private static final class Node {

        private final Map<String, Node> children = new TreeMap<>();
        private long entries;
        private long entriesBelow;

        private long all() {
            return entries + entriesBelow;
        }
    }

    private static final StackWalker WALKER = StackWalker.getInstance();

    private final Node root = new Node();

    /** Adds an entry of the innermost counted method on the stack of the current thread. */
    void enter() {
        String[] methods =
                WALKER.walk(frames -> frames.flatMap(PathTree::counted).toArray(String[]::new));
        Node node = root;
        for (int i = methods.length - 1; i >= 0; i--) {
            node.entriesBelow++;
            node = node.children.computeIfAbsent(methods[i], key -> new Node());
        }
        node.entries++;
    }

    private static Stream<String> counted(StackWalker.StackFrame frame) {
        String className = frame.getClassName();
        if (Family.of(className) == null) {
            return Stream.empty();
        }
        return Stream.of(
                className.substring(className.lastIndexOf('.') + 1) + '.' + frame.getMethodName());
    }

    /**
     * {@return a line for each method: entries of a call in it and below, entries of its own}
     *
     * @param calls that were counted
     * @param least entries of a call, of a method and below, for which it has a line
     */
    String text(long calls, double least) {
        StringBuilder text = new StringBuilder();
        append(text, root, 0, calls, least);
        return text.toString();
    }

    private static void append(StringBuilder text, Node node, int depth, long calls, double least) {
        node.children.entrySet().stream()
                .filter(each -> each.getValue().all() >= least * calls)
                .sorted(Comparator.comparingLong(each -> -each.getValue().all()))
                .forEach(
                        each -> {
                            Node child = each.getValue();
                            text.append(
                                    String.format(
                                            "%8.2f %7.2f  %s%s%n",
                                            (double) child.all() / calls,
                                            (double) child.entries / calls,
                                            " ".repeat(depth),
                                            each.getKey()));
                            append(text, child, depth + 1, calls, least);
                        });
    }
}
