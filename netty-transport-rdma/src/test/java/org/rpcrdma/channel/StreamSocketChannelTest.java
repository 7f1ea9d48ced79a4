// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.socket.ServerSocketChannel;
import io.netty.channel.socket.SocketChannel;
import io.netty.channel.socket.SocketChannelConfig;
import io.netty.channel.socket.nio.NioChannelOption;
import io.netty.util.concurrent.DefaultEventExecutorChooserFactory;
import io.netty.util.concurrent.DefaultThreadFactory;
import io.netty.util.concurrent.RejectedExecutionHandlers;
import io.netty.util.concurrent.ThreadPerTaskExecutor;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketOption;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Executor;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import jdk.net.ExtendedSocketOptions;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.rpcrdma.NeedsDevice;

/** A bootstrap that was written for sockets, with the channel classes and the group swapped. */
class StreamSocketChannelTest {

    private final EventLoopGroup group = new RdmaEventLoopGroup(1);

    @AfterEach
    void shutDown() {
        group.shutdownGracefully(0, 5, TimeUnit.SECONDS).syncUninterruptibly();
    }

    private static <C extends io.netty.channel.Channel> ChannelInitializer<C> initializer(
            BlockingQueue<C> made) {
        return new ChannelInitializer<>() {
            @Override
            protected void initChannel(C channel) {
                made.add(channel);
            }
        };
    }

    @Test
    @NeedsDevice("privateDataOnAccept")
    void initializersTakeSocketChannels() throws Exception {
        BlockingQueue<SocketChannel> accepted = new LinkedBlockingQueue<>();
        BlockingQueue<SocketChannel> connected = new LinkedBlockingQueue<>();
        ServerSocketChannel server =
                (ServerSocketChannel)
                        new ServerBootstrap()
                                .group(group)
                                .channel(RdmaServerStreamChannel.class)
                                .childHandler(initializer(accepted))
                                .bind(InetAddress.getLoopbackAddress(), 0)
                                .sync()
                                .channel();
        new Bootstrap()
                .group(group)
                .channel(RdmaStreamChannel.class)
                .handler(initializer(connected))
                .connect(server.localAddress())
                .sync();
        SocketChannel client = connected.take();
        SocketChannel child = accepted.take();
        InetSocketAddress address = server.localAddress();
        assertThat(server.remoteAddress()).isNull();
        assertThat(child.parent()).isSameAs(server);
        assertThat(client.parent()).isNull();
        assertThat(client.remoteAddress()).isEqualTo(address);
        assertThat(child.remoteAddress()).isEqualTo(client.localAddress());
        client.shutdownOutput().sync();
        child.closeFuture().sync();
        server.close().sync();
    }

    @Test
    void groupsAreMadeAsThoseOfNio() throws Exception {
        ThreadFactory factory = new DefaultThreadFactory("boss");
        Executor executor = new ThreadPerTaskExecutor(factory);
        for (EventLoopGroup made :
                List.of(
                        new RdmaEventLoopGroup(1, factory),
                        new RdmaEventLoopGroup(1, executor),
                        new RdmaEventLoopGroup(
                                1,
                                executor,
                                DefaultEventExecutorChooserFactory.INSTANCE,
                                RejectedExecutionHandlers.reject()))) {
            String name = made.submit(() -> Thread.currentThread().getName()).get();
            assertThat(name).startsWith("boss-");
            made.shutdownGracefully(0, 5, TimeUnit.SECONDS).sync();
        }
    }

    @Test
    void theSettersOfSocketsAndTheirOptionsAreTheSame() {
        SocketChannelConfig config = new RdmaStreamChannel().config();
        config.setTcpNoDelay(false)
                .setSoLinger(7)
                .setSendBufferSize(1000)
                .setReceiveBufferSize(2000)
                .setKeepAlive(true)
                .setTrafficClass(0x20)
                .setReuseAddress(true)
                .setPerformancePreferences(1, 2, 3)
                .setAllowHalfClosure(true)
                .setConnectTimeoutMillis(9);
        assertThat(config.getOption(ChannelOption.TCP_NODELAY)).isFalse();
        assertThat(config.getOption(ChannelOption.SO_LINGER)).isEqualTo(7);
        assertThat(config.getOption(ChannelOption.SO_SNDBUF)).isEqualTo(1000);
        assertThat(config.getOption(ChannelOption.SO_RCVBUF)).isEqualTo(2000);
        assertThat(config.getOption(ChannelOption.SO_KEEPALIVE)).isTrue();
        assertThat(config.getOption(ChannelOption.IP_TOS)).isEqualTo(0x20);
        assertThat(config.getOption(ChannelOption.SO_REUSEADDR)).isTrue();
        assertThat(config.getOption(ChannelOption.ALLOW_HALF_CLOSURE)).isTrue();
        assertThat(config.getOption(ChannelOption.CONNECT_TIMEOUT_MILLIS)).isEqualTo(9);

        assertThat(config.setOption(ChannelOption.TCP_NODELAY, true)).isTrue();
        assertThat(config.setOption(ChannelOption.SO_LINGER, -1)).isTrue();
        assertThat(config.setOption(ChannelOption.IP_TOS, 4)).isTrue();
        assertThat(config.setOption(ChannelOption.SO_REUSEADDR, false)).isTrue();
        assertThat(config.isTcpNoDelay()).isTrue();
        assertThat(config.getSoLinger()).isEqualTo(-1);
        assertThat(config.getTrafficClass()).isEqualTo(4);
        assertThat(config.isReuseAddress()).isFalse();
    }

    /** A bootstrap that was written for sockets sets them on whichever of the four it has. */
    @Test
    void allChannelsTakeTheSameSocketOptions() {
        Map<ChannelOption<?>, Object> options =
                Map.of(
                        ChannelOption.TCP_NODELAY, false,
                        ChannelOption.SO_KEEPALIVE, false,
                        ChannelOption.SO_REUSEADDR, true,
                        ChannelOption.SO_SNDBUF, 4711,
                        ChannelOption.SO_RCVBUF, 4712,
                        ChannelOption.SO_LINGER, 3,
                        ChannelOption.SO_TIMEOUT, 5,
                        ChannelOption.IP_TOS, 8);
        for (Channel channel :
                List.of(
                        new RdmaChannel(),
                        new RdmaStreamChannel(),
                        new RdmaServerChannel(),
                        new RdmaServerStreamChannel())) {
            assertThat(channel.config().setOptions(options)).as(channel.toString()).isTrue();
            options.forEach(
                    (option, value) ->
                            assertThat((Object) channel.config().getOption(option))
                                    .as(channel + " " + option)
                                    .isEqualTo(value));
        }
    }

    @Test
    void optionsOfAServerSocketReadAsTheyWereSet() {
        RdmaServerStreamChannel server = new RdmaServerStreamChannel();
        assertThat(server.config().setOption(ChannelOption.SO_RCVBUF, 4711)).isTrue();
        assertThat(server.config().setOption(ChannelOption.SO_REUSEADDR, true)).isTrue();
        assertThat(server.config().getReceiveBufferSize()).isEqualTo(4711);
        assertThat(server.config().isReuseAddress()).isTrue();
        assertThat(server.config().setReuseAddress(false).getOption(ChannelOption.SO_REUSEADDR))
                .isFalse();
    }

    @Test
    void theIdleTimeOfKeepAliveIsTheJdksOptionToo() {
        ChannelOption<Integer> idle = option(ExtendedSocketOptions.TCP_KEEPIDLE);
        RdmaStreamChannelConfig stream = new RdmaStreamChannel().config();
        RdmaChannelConfig messages = new RdmaChannel().config();
        assertThat(stream.setOption(idle, 33)).isTrue();
        assertThat(messages.setOption(idle, 44)).isTrue();
        assertThat(stream.getKeepAliveSeconds()).isEqualTo(33);
        assertThat(messages.getKeepAliveSeconds()).isEqualTo(44);
        assertThat(stream.getOption(idle)).isEqualTo(33);
        assertThatThrownBy(() -> stream.setOption(idle, 0))
                .isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void optionsThatNobodyKnowsAreKept() {
        ChannelOption<Integer> count = option(ExtendedSocketOptions.TCP_KEEPCOUNT);
        RdmaStreamChannelConfig config = new RdmaStreamChannel().config();
        assertThat(config.getOption(count)).isNull();
        assertThat(config.setOption(count, 5)).isTrue();
        assertThat(config.getOption(count)).isEqualTo(5);
        assertThat(new RdmaStreamChannel().config().getOption(count)).isNull();
    }

    private static <T> ChannelOption<T> option(SocketOption<T> option) {
        return NioChannelOption.of(option);
    }
}
