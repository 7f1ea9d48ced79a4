// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.rpcbind;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.awaitility.Awaitility.await;

import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.embedded.EmbeddedChannel;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.rpcrdma.Proves;
import org.rpcrdma.channel.RdmaEventLoopGroup;
import org.rpcrdma.channel.RdmaServerChannel;
import org.rpcrdma.codec.NetId;

/** Servers that register themselves with rpcbind (RFC 8166, 5). */
class RpcbindRegistrationTest {

    private static final int NFS = 100_003;
    private static final String USER = System.getProperty("user.name", "unknown");

    private final RdmaEventLoopGroup group = new RdmaEventLoopGroup(1);
    private RpcbindServer rpcbind;
    private RpcbindClient client;
    private Channel server;
    private String universal;

    @BeforeEach
    void start() throws Exception {
        rpcbind = new RpcbindServer();
        client = RpcbindClient.overStream(rpcbind.tcp());
        server =
                new ServerBootstrap()
                        .group(group)
                        .channel(RdmaServerChannel.class)
                        .childHandler(new ChannelInboundHandlerAdapter())
                        .bind(InetAddress.getLoopbackAddress(), 0)
                        .sync()
                        .channel();
        universal = NetId.universalAddress((InetSocketAddress) server.localAddress());
    }

    @AfterEach
    void end() throws Exception {
        group.shutdownGracefully(0, 10, TimeUnit.SECONDS).sync();
        rpcbind.close();
    }

    private String entry(int version) {
        return "[100003, " + version + ", rdma]=[" + universal + ", " + USER + "]";
    }

    @Test
    @Proves("V1-BIND-04")
    void versionsAreRegisteredUntilTheServerIsClosed() throws Exception {
        RpcbindRegistration.register(client, server, NFS, 3, 4).get();
        assertThat(rpcbind.registered()).containsExactly(entry(3), entry(4));
        server.close().sync();
        await().until(() -> rpcbind.registered().isEmpty());
    }

    @Test
    void aRegistrationOfItsOwnThatWasLeftIsReplaced() throws Exception {
        client.set(NFS, 3, new InetSocketAddress("192.0.2.1", 1), USER).get();
        RpcbindRegistration registration =
                RpcbindRegistration.register(client, server, NFS, 3).get();
        assertThat(rpcbind.registered()).containsExactly(entry(3));
        assertThat(registration.close()).isSameAs(registration.close());
        registration.close().get();
        assertThat(rpcbind.registered()).isEmpty();
        assertThat(server.isOpen()).isTrue();
    }

    @Test
    void nothingStaysRegisteredWhenOneVersionIsRefused() throws Exception {
        rpcbind.put(NFS, 4, "rdma", "192.0.2.1.0.1");
        assertThat(RpcbindRegistration.register(client, server, NFS, 3, 4).await().cause())
                .isInstanceOf(RpcbindException.class)
                .hasMessageContaining("refuses to register program 100003 version 4");
        assertThat(rpcbind.registered()).hasSize(1).first().asString().contains("100003, 4");
    }

    @Test
    void nothingStaysRegisteredWhenTheAnswerIsLost() throws Exception {
        rpcbind.loseNextAnswerOfSet();
        assertThat(RpcbindRegistration.register(client, server, NFS, 3, 4).await().cause())
                .isInstanceOf(RpcbindException.class)
                .hasMessageContaining("closed before the whole reply");
        assertThat(rpcbind.registered()).isEmpty();
    }

    @Test
    void mistakesAreNamed() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> RpcbindRegistration.register(client, server, NFS))
                .withMessageContaining("at least one");
        assertThatIllegalArgumentException()
                .isThrownBy(
                        () -> RpcbindRegistration.register(client, new EmbeddedChannel(), NFS, 3))
                .withMessageContaining("not bound");
    }
}
