// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandler.Sharable;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.util.ReferenceCountUtil;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Callable;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/** A client and a server channel, connected over the software RNIC, that collect what they receive. */
final class ConnectedPair implements AutoCloseable {

    /** Long enough for any machine; nothing is measured by it. */
    static final long PATIENCE_SECONDS = 30;

    final Inbox clientInbox = new Inbox();
    final Inbox serverInbox = new Inbox();
    final RdmaChannel client;
    final RdmaChannel server;
    private final Channel listener;
    private final RdmaEventLoopGroup clientGroup;
    private final RdmaEventLoopGroup serverGroup;

    ConnectedPair() throws Exception {
        this(bootstrap -> {}, bootstrap -> {});
    }

    ConnectedPair(Consumer<Bootstrap> clientOptions, Consumer<ServerBootstrap> serverOptions)
            throws Exception {
        clientGroup = new RdmaEventLoopGroup(1);
        serverGroup = new RdmaEventLoopGroup(1);
        ServerBootstrap serverBootstrap =
                new ServerBootstrap()
                        .group(serverGroup)
                        .channel(RdmaServerChannel.class)
                        .childHandler(initializer(serverInbox));
        serverOptions.accept(serverBootstrap);
        listener = serverBootstrap.bind(InetAddress.getLoopbackAddress(), 0).sync().channel();
        Bootstrap clientBootstrap =
                new Bootstrap()
                        .group(clientGroup)
                        .channel(RdmaChannel.class)
                        .handler(initializer(clientInbox));
        clientOptions.accept(clientBootstrap);
        client = (RdmaChannel) clientBootstrap.connect(address()).sync().channel();
        server = (RdmaChannel) serverInbox.channels.poll(PATIENCE_SECONDS, TimeUnit.SECONDS);
    }

    InetSocketAddress address() {
        return (InetSocketAddress) listener.localAddress();
    }

    static ChannelInitializer<Channel> initializer(Inbox inbox) {
        return new ChannelInitializer<>() {
            @Override
            protected void initChannel(Channel channel) {
                channel.pipeline().addLast(inbox);
            }
        };
    }

    /** Runs on the channel's event loop and waits for the result. */
    static <T> T on(Channel channel, Callable<T> action) throws Exception {
        return channel.eventLoop().submit(action).get(PATIENCE_SECONDS, TimeUnit.SECONDS);
    }

    @Override
    public void close() {
        clientGroup.shutdownGracefully(0, PATIENCE_SECONDS, TimeUnit.SECONDS).syncUninterruptibly();
        serverGroup.shutdownGracefully(0, PATIENCE_SECONDS, TimeUnit.SECONDS).syncUninterruptibly();
        clientInbox.releaseAll();
        serverInbox.releaseAll();
    }

    /** Keeps messages, active channels and errors in the order in which they came. */
    @Sharable
    static final class Inbox extends ChannelInboundHandlerAdapter {
        final BlockingQueue<ByteBuf> messages = new LinkedBlockingQueue<>();
        final BlockingQueue<Channel> channels = new LinkedBlockingQueue<>();
        final BlockingQueue<Channel> inactive = new LinkedBlockingQueue<>();
        final BlockingQueue<Throwable> errors = new LinkedBlockingQueue<>();

        ByteBuf take() throws InterruptedException {
            return messages.poll(PATIENCE_SECONDS, TimeUnit.SECONDS);
        }

        /** The next message as bytes; the buffer is released. */
        byte[] takeBytes() throws InterruptedException {
            ByteBuf message = take();
            if (message == null) {
                throw new AssertionError("no message arrived");
            }
            byte[] bytes = new byte[message.readableBytes()];
            message.readBytes(bytes).release();
            return bytes;
        }

        @Override
        public void channelActive(ChannelHandlerContext ctx) {
            channels.add(ctx.channel());
            ctx.fireChannelActive();
        }

        @Override
        public void channelInactive(ChannelHandlerContext ctx) {
            inactive.add(ctx.channel());
        }

        @Override
        public void channelRead(ChannelHandlerContext ctx, Object message) {
            if (message instanceof ByteBuf buffer) {
                messages.add(buffer);
            } else {
                ctx.fireChannelRead(message);
            }
        }

        @Override
        public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
            errors.add(cause);
        }

        void releaseAll() {
            messages.forEach(ReferenceCountUtil::release);
            messages.clear();
        }
    }
}
