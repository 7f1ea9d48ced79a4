// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.conformance;

import java.util.Collection;
import java.util.Locale;
import java.util.Map;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.function.Predicate;
import org.rpcrdma.conformance.Requirement.Kind;

/** The conformance matrix as a page. */
final class Matrix {

    private final Collection<Requirement> rules;
    private final Map<String, SortedSet<String>> proofs;
    private final StringBuilder out = new StringBuilder();

    Matrix(Collection<Requirement> rules, Map<String, SortedSet<String>> proofs) {
        this.rules = rules;
        this.proofs = proofs;
    }

    String toMarkdown() {
        out.append("# Conformance matrix\n\n");
        out.append("Written by the build: each rule, and the tests that name it with `@Proves`.\n");
        summary();
        withoutTest();
        String document = "";
        for (Requirement rule : rules) {
            if (!rule.document().equals(document)) {
                document = rule.document();
                out.append("\n## ").append(document).append("\n\n");
                out.append("| id | § | role | level | rule | tests |\n");
                out.append("| --- | --- | --- | --- | --- | --- |\n");
            }
            row(rule);
        }
        return out.toString();
    }

    private void summary() {
        out.append("\n| document | rules | proved | answered in writing | open |\n");
        out.append("| --- | --- | --- | --- | --- |\n");
        for (String document : documents()) {
            out.append("| ").append(document);
            count(document, rule -> true);
            count(document, this::isProved);
            count(document, rule -> !isProved(rule) && isAnswered(rule));
            count(document, rule -> !isProved(rule) && isOpen(rule));
            out.append(" |\n");
        }
    }

    private Collection<String> documents() {
        return rules.stream().map(Requirement::document).distinct().toList();
    }

    private void count(String document, Predicate<Requirement> which) {
        long count =
                rules.stream()
                        .filter(rule -> rule.document().equals(document))
                        .filter(which)
                        .count();
        out.append(" | ").append(count);
    }

    private boolean isProved(Requirement rule) {
        return proofs.containsKey(rule.id());
    }

    private static boolean isAnswered(Requirement rule) {
        return is(rule, Kind.DECIDED) || is(rule, Kind.NOT_TESTABLE);
    }

    /** A rule without test and answer is open too, though the build does not let it pass. */
    private static boolean isOpen(Requirement rule) {
        return rule.note() == null || is(rule, Kind.OPEN);
    }

    private static boolean is(Requirement rule, Kind kind) {
        return rule.note() != null && rule.note().kind() == kind;
    }

    private void withoutTest() {
        out.append("\n## Rules without a test\n");
        for (Kind kind : Kind.values()) {
            out.append("\n### ").append(title(kind)).append("\n\n");
            boolean any = false;
            for (Requirement rule : rules) {
                if (!isProved(rule) && is(rule, kind)) {
                    any = true;
                    out.append("- ").append(rule.id()).append(": ").append(rule.note().text());
                    out.append('\n');
                }
            }
            out.append(any ? "" : "None.\n");
        }
    }

    private static String title(Kind kind) {
        String words = kind.name().toLowerCase(Locale.ROOT).replace('_', ' ');
        return Character.toUpperCase(words.charAt(0)) + words.substring(1);
    }

    private void row(Requirement rule) {
        out.append("| ").append(rule.id());
        out.append(" | ").append(rule.section());
        out.append(" | ").append(rule.role());
        out.append(" | ").append(rule.level());
        out.append(" | ").append(rule.rule());
        out.append(" | ");
        out.append(String.join("<br>", proofs.getOrDefault(rule.id(), new TreeSet<>())));
        if (rule.note() != null && (!isProved(rule) || rule.note().kind() == Kind.DECIDED)) {
            out.append(isProved(rule) ? "<br>" : "");
            out.append('*').append(title(rule.note().kind())).append(":* ");
            out.append(rule.note().text());
        }
        out.append(" |\n");
    }
}
