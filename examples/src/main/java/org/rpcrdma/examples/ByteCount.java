// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples;

import java.util.regex.Matcher;
import java.util.regex.Pattern;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/** A number of bytes: {@code 4096}, {@code 64K}, {@code 10M} or {@code 2G}, by powers of 1024. */
final class ByteCount implements ITypeConverter<Long> {

    private static final Pattern FORM = Pattern.compile("(\\d{1,18})([KMG]?)i?B?");

    @Override
    public Long convert(String text) {
        Matcher matcher = FORM.matcher(text);
        if (matcher.matches()) {
            long number = Long.parseLong(matcher.group(1));
            int shift = matcher.group(2).isEmpty() ? 0 : 10 * (1 + "KMG".indexOf(matcher.group(2)));
            if (number << shift >> shift == number) {
                return number << shift;
            }
        }
        throw new TypeConversionException(
                "'" + text + "' is no number of bytes (expected: as 4096, 64K, 10M or 2G)");
    }
}
