// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples;

import java.net.InetSocketAddress;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/** {@code HOST:PORT}, or {@code [HOST]:PORT} where the host is an IPv6 address. */
final class ServerAddress implements ITypeConverter<InetSocketAddress> {

    private static final int PORT_MAX = 65535;

    @Override
    public InetSocketAddress convert(String text) {
        return parse(text);
    }

    static InetSocketAddress parse(String text) {
        int colon = text.lastIndexOf(':');
        if (colon <= 0) {
            throw new TypeConversionException("'" + text + "' is not HOST:PORT");
        }
        String host = text.substring(0, colon);
        if (host.startsWith("[") && host.endsWith("]")) {
            host = host.substring(1, host.length() - 1);
        }
        String portText = text.substring(colon + 1);
        int port;
        try {
            port = Integer.parseInt(portText);
        } catch (NumberFormatException e) {
            port = 0;
        }
        if (port < 1 || port > PORT_MAX) {
            throw new TypeConversionException(
                    "'" + portText + "' is no port (expected: 1 to " + PORT_MAX + ")");
        }
        return new InetSocketAddress(host, port);
    }
}
