// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp;

import java.io.IOException;
import java.net.SocketOption;
import java.net.StandardSocketOptions;
import java.nio.channels.SocketChannel;

/**
 * The keep-alive of TCP (RFC 9293, 3.8.4), with times of its own: those of the operating system are hours. The options
 * for them are of the JDK and not of Java, so they are looked up by their names.
 */
final class TcpKeepAliveOptions {

    /** Probes that may be left without an answer. */
    private static final int PROBES = 6;

    /** Between two of them, unless the idle time is shorter. */
    private static final int INTERVAL_SECONDS = 10;

    private static final SocketOption<Integer> IDLE = option("TCP_KEEPIDLE");
    private static final SocketOption<Integer> INTERVAL = option("TCP_KEEPINTERVAL");
    private static final SocketOption<Integer> COUNT = option("TCP_KEEPCOUNT");

    private TcpKeepAliveOptions() {}

    @SuppressWarnings("unchecked")
    private static SocketOption<Integer> option(String name) {
        try (SocketChannel any = SocketChannel.open()) {
            for (SocketOption<?> option : any.supportedOptions()) {
                if (option.name().equals(name) && option.type() == Integer.class) {
                    return (SocketOption<Integer>) option;
                }
            }
            return null;
        } catch (IOException e) {
            return null;
        }
    }

    /** Whether there are such options here. */
    static boolean isAvailable() {
        return IDLE != null && INTERVAL != null && COUNT != null;
    }

    /** Enables probes after that many seconds without input. */
    static void start(SocketChannel channel, int idleSeconds) throws IOException {
        channel.setOption(IDLE, idleSeconds);
        channel.setOption(INTERVAL, Math.min(idleSeconds, INTERVAL_SECONDS));
        channel.setOption(COUNT, PROBES);
        channel.setOption(StandardSocketOptions.SO_KEEPALIVE, true);
    }
}
