// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import java.io.ByteArrayOutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Callable;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.awaitility.Awaitility;

/** Two ends of a stream, connected over the software RNIC, that collect what they receive. */
final class StreamPair implements AutoCloseable {

    /** Long enough for any machine; nothing is measured by it. */
    static final long PATIENCE_SECONDS = 60;

    final RdmaStreamChannel client;
    final RdmaStreamChannel server;
    final Collector clientSide;
    final Collector serverSide;
    private final Channel listener;
    private final RdmaEventLoopGroup clientGroup = new RdmaEventLoopGroup(1);
    private final RdmaEventLoopGroup serverGroup = new RdmaEventLoopGroup(1);

    StreamPair() throws Exception {
        this(bootstrap -> {}, bootstrap -> {});
    }

    StreamPair(Consumer<Bootstrap> clientOptions, Consumer<ServerBootstrap> serverOptions)
            throws Exception {
        BlockingQueue<Collector> accepted = new LinkedBlockingQueue<>();
        ServerBootstrap serverBootstrap =
                new ServerBootstrap()
                        .group(serverGroup)
                        .channel(RdmaServerStreamChannel.class)
                        .childHandler(initializer(accepted));
        serverOptions.accept(serverBootstrap);
        listener = serverBootstrap.bind(InetAddress.getLoopbackAddress(), 0).sync().channel();
        BlockingQueue<Collector> connected = new LinkedBlockingQueue<>();
        Bootstrap bootstrap =
                new Bootstrap()
                        .group(clientGroup)
                        .channel(RdmaStreamChannel.class)
                        .handler(initializer(connected));
        clientOptions.accept(bootstrap);
        client = (RdmaStreamChannel) bootstrap.connect(address()).sync().channel();
        clientSide = connected.poll(PATIENCE_SECONDS, TimeUnit.SECONDS);
        serverSide = accepted.poll(PATIENCE_SECONDS, TimeUnit.SECONDS);
        server = serverSide.channel;
    }

    InetSocketAddress address() {
        return (InetSocketAddress) listener.localAddress();
    }

    static ChannelInitializer<Channel> initializer(BlockingQueue<Collector> active) {
        return new ChannelInitializer<>() {
            @Override
            protected void initChannel(Channel channel) {
                channel.pipeline().addLast(new Collector((RdmaStreamChannel) channel, active));
            }
        };
    }

    /** Until it holds. */
    static void await(Callable<Boolean> condition) {
        Awaitility.await().atMost(PATIENCE_SECONDS, TimeUnit.SECONDS).until(condition);
    }

    @Override
    public void close() {
        clientGroup.shutdownGracefully(0, PATIENCE_SECONDS, TimeUnit.SECONDS).syncUninterruptibly();
        serverGroup.shutdownGracefully(0, PATIENCE_SECONDS, TimeUnit.SECONDS).syncUninterruptibly();
    }

    /** Takes each byte, and notes each event. */
    static final class Collector extends ChannelInboundHandlerAdapter {
        final RdmaStreamChannel channel;
        final List<Object> events = Collections.synchronizedList(new ArrayList<>());
        final List<Throwable> errors = Collections.synchronizedList(new ArrayList<>());
        private final BlockingQueue<Collector> active;
        private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        private long messages;

        Collector(RdmaStreamChannel channel, BlockingQueue<Collector> active) {
            this.channel = channel;
            this.active = active;
        }

        synchronized byte[] bytes() {
            return bytes.toByteArray();
        }

        synchronized void clear() {
            bytes.reset();
        }

        synchronized int size() {
            return bytes.size();
        }

        synchronized long messages() {
            return messages;
        }

        void awaitBytes(byte[] expected) {
            await(() -> size() >= expected.length);
            assertThat(bytes()).isEqualTo(expected);
        }

        void awaitClosed() throws InterruptedException {
            assertThat(channel.closeFuture().await(PATIENCE_SECONDS, TimeUnit.SECONDS)).isTrue();
        }

        @Override
        public void channelActive(ChannelHandlerContext ctx) {
            active.add(this);
        }

        @Override
        public void channelRead(ChannelHandlerContext ctx, Object message) throws Exception {
            ByteBuf buffer = (ByteBuf) message;
            synchronized (this) {
                buffer.readBytes(bytes, buffer.readableBytes());
                messages++;
            }
            buffer.release();
        }

        @Override
        public void userEventTriggered(ChannelHandlerContext ctx, Object event) {
            events.add(event);
        }

        @Override
        public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
            errors.add(cause);
        }
    }
}
