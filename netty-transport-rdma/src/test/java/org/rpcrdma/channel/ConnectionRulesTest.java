// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.rpcrdma.channel.ConnectedPair.PATIENCE_SECONDS;
import static org.rpcrdma.channel.ConnectedPair.on;

import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelOption;
import io.netty.channel.ServerChannel;
import io.netty.resolver.AbstractAddressResolver;
import io.netty.resolver.AddressResolver;
import io.netty.resolver.AddressResolverGroup;
import io.netty.util.concurrent.EventExecutor;
import io.netty.util.concurrent.Promise;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.rpcrdma.NeedsDevice;
import org.rpcrdma.Proves;

/** What RPC-over-RDMA asks of the connection below it. */
class ConnectionRulesTest {

    @Test
    @Proves("V1-CORE-06")
    void oneSideOpensConnectionsTheOtherOnlyAccepts() throws Exception {
        try (ConnectedPair pair = new ConnectedPair()) {
            ServerChannel listener = pair.server.parent();
            assertThat(listener.connect(pair.address()).await().cause())
                    .isInstanceOf(UnsupportedOperationException.class);
            assertThat(pair.server.connect(pair.address()).await().isSuccess()).isFalse();
            assertThat(pair.server.isActive()).isTrue();
            assertThat(pair.client.parent()).isNull();
        }
    }

    @Test
    @Proves({"V1-BIND-06", "API-19"})
    void addressesAreResolvedAsTheUserSays() throws Exception {
        try (ConnectedPair pair = new ConnectedPair()) {
            ConnectedPair.Inbox inbox = new ConnectedPair.Inbox();
            Channel channel =
                    new Bootstrap()
                            .group(pair.client.eventLoop())
                            .channel(RdmaChannel.class)
                            .resolver(new Fixed(pair.address()))
                            .handler(ConnectedPair.initializer(inbox))
                            .connect(InetSocketAddress.createUnresolved("nfs.invalid", 20049))
                            .sync()
                            .channel();
            assertThat(channel.remoteAddress()).isEqualTo(pair.address());
            channel.close().sync();
        }
    }

    /** Knows one address for every name, as a look-up at rpcbind would. */
    private static final class Fixed extends AddressResolverGroup<InetSocketAddress> {
        private final InetSocketAddress address;

        Fixed(InetSocketAddress address) {
            this.address = address;
        }

        @Override
        protected AddressResolver<InetSocketAddress> newResolver(EventExecutor executor) {
            return new AbstractAddressResolver<>(executor, InetSocketAddress.class) {
                @Override
                protected boolean doIsResolved(InetSocketAddress asked) {
                    return !asked.isUnresolved();
                }

                @Override
                protected void doResolve(
                        InetSocketAddress asked, Promise<InetSocketAddress> promise) {
                    promise.setSuccess(address);
                }

                @Override
                protected void doResolveAll(
                        InetSocketAddress asked, Promise<List<InetSocketAddress>> promise) {
                    promise.setSuccess(List.of(address));
                }
            };
        }
    }

    @Test
    @Proves("V1-CORE-08")
    void moreReadsThanThePeerTakesAtOnceAreQueued() throws Exception {
        int count = 50;
        try (ConnectedPair pair =
                new ConnectedPair(
                        client -> client.option(RdmaChannelOption.READ_DEPTH, 1),
                        server -> server.childOption(RdmaChannelOption.READ_DEPTH, 100))) {
            ByteBuf source =
                    on(pair.client, () -> pair.client.registeredBuffer(count).writeZero(count));
            for (int i = 0; i < count; i++) {
                source.setByte(i, i);
            }
            int handle =
                    on(pair.client, () -> pair.client.expose(source, 0, count, RemoteAccess.READ));
            long offset = on(pair.client, () -> pair.client.exposedOffset(handle));
            ByteBuf sink =
                    on(pair.server, () -> pair.server.registeredBuffer(count).writerIndex(count));
            ChannelFuture last = null;
            for (int i = 0; i < count; i++) {
                last =
                        pair.server.write(
                                new RdmaRead(sink.retainedSlice(i, 1), handle, offset + i));
            }
            pair.server.flush();
            assertThat(last.await(PATIENCE_SECONDS, TimeUnit.SECONDS)).isTrue();
            assertThat(last.isSuccess()).isTrue();
            for (int i = 0; i < count; i++) {
                assertThat(sink.getByte(i)).isEqualTo((byte) i);
            }
            sink.release();
            on(
                    pair.client,
                    () -> {
                        pair.client.invalidate(handle);
                        return null;
                    });
            source.release();
        }
    }

    @Test
    @Proves("V1-CORE-02")
    void aSendThatFindsNoReceiveEndsTheConnection() throws Exception {
        try (ConnectedPair pair = new ConnectedPair(client -> {}, ConnectionRulesTest::deaf)) {
            overrun(pair);
        }
    }

    /** It does not wait for a pipeline that does not read, and says why (RFC 5041, 8.2). */
    @NeedsDevice("disconnectCause")
    @Test
    @Proves("V1-CORE-02")
    void whoSendsWithoutAReceiveIsToldWhy() throws Exception {
        try (ConnectedPair pair = new ConnectedPair(client -> {}, ConnectionRulesTest::deaf)) {
            overrun(pair);
            assertThat(pair.clientInbox.errors)
                    .singleElement()
                    .asString()
                    .contains("terminated the stream: DDP layer 1, error type 2, code 0x02");
        }
    }

    private static void deaf(ServerBootstrap server) {
        server.childOption(RdmaChannelOption.RECEIVE_DEPTH, 4)
                .childOption(ChannelOption.AUTO_READ, false);
    }

    private static void overrun(ConnectedPair pair) throws Exception {
        for (int i = 0; i < 4; i++) {
            pair.client.write(Unpooled.copyInt(i));
        }
        pair.client.writeAndFlush(Unpooled.EMPTY_BUFFER).sync();
        pair.server.writeAndFlush(Unpooled.copyInt(9)).sync();
        pair.clientInbox.takeBytes();
        assertThat(pair.client.isActive()).isTrue();
        pair.client.writeAndFlush(Unpooled.copyInt(4));
        assertThat(pair.client.closeFuture().await(PATIENCE_SECONDS, TimeUnit.SECONDS)).isTrue();
    }

    @Test
    @Proves({"V1-INL-02", "V1-INL-03", "V1-ULB-07", "API-16"})
    void whatThePeerReliesOnIsFixedOnceConnected() throws Exception {
        try (ConnectedPair pair = new ConnectedPair()) {
            RdmaChannelConfig config = pair.client.config();
            assertThatIllegalStateException()
                    .isThrownBy(() -> config.setOption(RdmaChannelOption.RECEIVE_SIZE, 2048));
            assertThatIllegalStateException()
                    .isThrownBy(() -> config.setOption(RdmaChannelOption.RECEIVE_DEPTH, 1));
            assertThatIllegalStateException()
                    .isThrownBy(
                            () -> config.setOption(RdmaChannelOption.PRIVATE_DATA, new byte[8]));
            assertThatIllegalArgumentException()
                    .isThrownBy(
                            () ->
                                    new RdmaChannel()
                                            .config()
                                            .setOption(RdmaChannelOption.RECEIVE_SIZE, 1023));
        }
    }

    /** The hook for whoever wants to know the peer before anything is exchanged with it. */
    @Test
    @Proves("SEC-17")
    void thePeerCanBeTurnedAwayBeforeItIsAccepted() throws Exception {
        RdmaEventLoopGroup group = new RdmaEventLoopGroup(1);
        LinkedBlockingQueue<InetSocketAddress> judged = new LinkedBlockingQueue<>();
        try {
            Channel listener =
                    new ServerBootstrap()
                            .group(group)
                            .channel(RdmaServerChannel.class)
                            .handler(
                                    new ChannelInboundHandlerAdapter() {
                                        @Override
                                        public void channelRead(
                                                ChannelHandlerContext ctx, Object child) {
                                            RdmaChannel channel = (RdmaChannel) child;
                                            judged.add(channel.remoteAddress());
                                            channel.unsafe().closeForcibly();
                                        }
                                    })
                            .childHandler(new ChannelInboundHandlerAdapter())
                            .bind(InetAddress.getLoopbackAddress(), 0)
                            .sync()
                            .channel();
            ChannelFuture connect =
                    new Bootstrap()
                            .group(group)
                            .channel(RdmaChannel.class)
                            .handler(new ChannelInboundHandlerAdapter())
                            .connect(listener.localAddress())
                            .await();
            assertThat(connect.isSuccess()).isFalse();
            assertThat(judged.take().getAddress()).isEqualTo(InetAddress.getLoopbackAddress());
        } finally {
            group.shutdownGracefully(0, PATIENCE_SECONDS, TimeUnit.SECONDS).sync();
        }
    }
}
