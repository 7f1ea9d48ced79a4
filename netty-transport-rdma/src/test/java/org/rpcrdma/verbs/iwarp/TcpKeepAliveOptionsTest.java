// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;

import java.io.IOException;
import java.net.SocketOption;
import java.net.StandardSocketOptions;
import java.nio.channels.SocketChannel;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The keep-alive of the TCP connection, whatever carries the stream. */
class TcpKeepAliveOptionsTest {

    @BeforeEach
    void needsTheOptions() {
        assumeThat(TcpKeepAliveOptions.isAvailable()).isTrue();
    }

    private static Object option(SocketChannel channel, String name) throws IOException {
        for (SocketOption<?> option : channel.supportedOptions()) {
            if (option.name().equals(name)) {
                return channel.getOption(option);
            }
        }
        throw new AssertionError(name);
    }

    @ParameterizedTest(name = "shared memory {0}, {1} s")
    @CsvSource({"false, 60, 10", "true, 60, 10", "false, 1, 1", "false, 32767, 10"})
    void theIdleTimeIsThatOfTheConnection(boolean shared, int seconds, int interval)
            throws IOException {
        IwarpConfig config = IwarpConfig.builder().sharedMemory(shared).build();
        try (Pair pair = Pair.connected(config, 4096)) {
            for (Endpoint end : new Endpoint[] {pair.initiator, pair.responder}) {
                SocketChannel channel = ((IwarpQueuePair) end.queuePair).connection();
                assertThat(channel.getOption(StandardSocketOptions.SO_KEEPALIVE)).isFalse();
                end.queuePair.keepAlive(seconds);
                assertThat(channel.getOption(StandardSocketOptions.SO_KEEPALIVE)).isTrue();
                assertThat(option(channel, "TCP_KEEPIDLE")).isEqualTo(seconds);
                assertThat(option(channel, "TCP_KEEPINTERVAL")).isEqualTo(interval);
                assertThat(option(channel, "TCP_KEEPCOUNT")).isEqualTo(6);
                end.queuePair.close();
                end.queuePair.keepAlive(seconds);
            }
        }
    }
}
