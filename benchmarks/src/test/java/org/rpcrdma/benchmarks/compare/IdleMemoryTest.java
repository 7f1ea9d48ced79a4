// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.benchmarks.compare;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.bootstrap.Bootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.EventLoopGroup;
import io.netty.util.ResourceLeakDetector;
import java.net.SocketAddress;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.rpcrdma.benchmarks.Transport;

/** The memory of an idle connection, both ends together, stays below its ceiling. */
class IdleMemoryTest {

    private static final int FIRST = 100;
    private static final int MORE = 500;

    private final ResourceLeakDetector.Level level = ResourceLeakDetector.getLevel();
    private final List<Channel> channels = new ArrayList<>();
    @TempDir private Path directory;

    /** The detector's records would count. */
    @BeforeEach
    void recordNothing() {
        ResourceLeakDetector.setLevel(ResourceLeakDetector.Level.DISABLED);
    }

    @AfterEach
    void record() {
        ResourceLeakDetector.setLevel(level);
    }

    @ParameterizedTest
    @CsvSource({"RDMA, 48", "STREAM, 40"})
    void anIdleConnectionTakesLittle(Transport transport, int kibibytes) throws Exception {
        EventLoopGroup servers = transport.newGroup();
        EventLoopGroup clients = transport.newGroup();
        try {
            SocketAddress address =
                    transport
                            .server(servers, ChannelInboundHandlerAdapter::new)
                            .bind(transport.serverAddress(directory))
                            .sync()
                            .channel()
                            .localAddress();
            Bootstrap client = transport.client(clients, ChannelInboundHandlerAdapter::new);
            connect(client, address, FIRST);
            long before = Memory.inUse();
            connect(client, address, MORE);
            assertThat((Memory.inUse() - before) / MORE).isLessThan(kibibytes * 1024L);
        } finally {
            clients.shutdownGracefully(0, 10, TimeUnit.SECONDS).syncUninterruptibly();
            servers.shutdownGracefully(0, 10, TimeUnit.SECONDS).syncUninterruptibly();
        }
    }

    private void connect(Bootstrap client, SocketAddress address, int count) throws Exception {
        for (int i = 0; i < count; i++) {
            channels.add(client.connect(address).sync().channel());
        }
    }
}
