// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples;

import java.net.InetSocketAddress;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/**
 * {@code nfs://HOST[:PORT]/PATH}.
 *
 * @param path starts with a slash; not decoded, so that every file name can be given as it is
 */
record NfsUrl(InetSocketAddress server, String path) {

    private static final String SCHEME = "nfs://";
    private static final int PORT = 20049;

    /** For picocli. */
    static final class Converter implements ITypeConverter<NfsUrl> {
        @Override
        public NfsUrl convert(String text) {
            return parse(text);
        }
    }

    static NfsUrl parse(String text) {
        int slash = text.indexOf('/', SCHEME.length());
        if (!text.startsWith(SCHEME) || slash <= SCHEME.length()) {
            throw new TypeConversionException("'" + text + "' is not nfs://HOST:PORT/PATH");
        }
        String authority = text.substring(SCHEME.length(), slash);
        boolean hasPort = authority.lastIndexOf(':') > authority.lastIndexOf(']');
        return new NfsUrl(
                ServerAddress.parse(hasPort ? authority : authority + ":" + PORT),
                text.substring(slash));
    }

    /** The last name of the path, empty if it ends with a slash. */
    String name() {
        return path.substring(path.lastIndexOf('/') + 1);
    }
}
