// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp.rdmap;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.stream.Stream;

/** A golden frame of {@code iwarp-vectors.txt}. */
public final class Vector {

    public final String name;
    public final String kind;
    public final boolean validCrc;
    public final byte[] bytes;
    private final Map<String, String> fields = new LinkedHashMap<>();

    private Vector(String line) {
        String[] parts = line.split("\\|", -1);
        name = parts[0];
        kind = parts[1];
        validCrc = parts[2].equals("valid");
        bytes = HexFormat.of().parseHex(parts[parts.length - 1]);
        for (String field : Arrays.copyOfRange(parts, 3, parts.length - 1)) {
            int equals = field.indexOf('=');
            fields.put(field.substring(0, equals), field.substring(equals + 1));
        }
    }

    public static Stream<Vector> all(String kind) {
        try (InputStream in = Vector.class.getResourceAsStream("/iwarp-vectors.txt")) {
            return new String(in.readAllBytes(), StandardCharsets.US_ASCII)
                            .lines()
                            .filter(line -> !line.startsWith("#"))
                            .map(Vector::new)
                            .filter(vector -> vector.kind.equals(kind))
                            .toList()
                            .stream();
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    public boolean has(String field) {
        return fields.containsKey(field);
    }

    public long number(String field) {
        String value = fields.get(field);
        return value.startsWith("0x")
                ? Long.parseUnsignedLong(value.substring(2), 16)
                : Long.parseLong(value);
    }

    public int integer(String field) {
        return (int) number(field);
    }

    public boolean flag(String field) {
        return number(field) == 1;
    }

    public byte[] data(String field) {
        return HexFormat.of().parseHex(fields.get(field));
    }

    @Override
    public String toString() {
        return name;
    }
}
