// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.conformance;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * One rule of the documents, and what was written down about it.
 *
 * @param note why there is no test, or what was decided; {@code null} for most
 */
record Requirement(
        String document,
        String id,
        String section,
        String role,
        String level,
        String rule,
        Note note) {

    /** What a written answer says. */
    enum Kind {
        /** The text is silent or leaves a choice: this is the choice, with its reason. */
        DECIDED,
        /** No behaviour of this library can be put to a test. */
        NOT_TESTABLE,
        /** Should be there and is not. */
        OPEN
    }

    record Note(Kind kind, String text) {}

    /** All rules, by id, in the order of the documents. */
    static Map<String, Requirement> load() {
        Map<String, Note> notes = new LinkedHashMap<>();
        for (String line : lines("notes.txt")) {
            String[] field = line.split("\\|", 3);
            Kind kind = Kind.valueOf(field[1].replace('-', '_').toUpperCase(java.util.Locale.ROOT));
            if (notes.put(field[0], new Note(kind, field[2])) != null) {
                throw new IllegalStateException("notes.txt: " + field[0] + " has two notes");
            }
        }
        Map<String, Requirement> all = new LinkedHashMap<>();
        String document = "";
        for (String line : lines("requirements.txt")) {
            if (line.startsWith("== ")) {
                document = line.substring(3);
                continue;
            }
            String[] f = line.split("\\|", 5);
            Requirement rule =
                    new Requirement(document, f[0], f[1], f[2], f[3], f[4], notes.remove(f[0]));
            if (all.put(rule.id(), rule) != null) {
                throw new IllegalStateException(
                        "requirements.txt: " + rule.id() + " is there twice");
            }
        }
        if (!notes.isEmpty()) {
            throw new IllegalStateException("notes.txt: unknown ids " + notes.keySet());
        }
        return all;
    }

    private static List<String> lines(String resource) {
        try (InputStream in = Requirement.class.getResourceAsStream(resource);
                BufferedReader reader =
                        new BufferedReader(new InputStreamReader(in, StandardCharsets.UTF_8))) {
            return reader.lines().filter(line -> !line.isEmpty() && !line.startsWith("#")).toList();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
