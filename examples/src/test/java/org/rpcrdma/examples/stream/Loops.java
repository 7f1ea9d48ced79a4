// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.stream;

import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelInitializer;
import java.net.InetAddress;
import java.net.SocketAddress;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.rpcrdma.channel.PollMode;
import org.rpcrdma.channel.Rdma;
import org.rpcrdma.channel.RdmaEventLoopGroup;
import org.rpcrdma.channel.RdmaServerStreamChannel;
import org.rpcrdma.channel.RdmaStreamChannel;

/** Event loops on the software RNIC, and the two bootstraps that every test of a protocol needs. */
final class Loops implements AutoCloseable {

    /** Long enough for any machine; nothing is measured by it. */
    static final long PATIENCE_SECONDS = 100;

    final RdmaEventLoopGroup server =
            new RdmaEventLoopGroup(1, Rdma.provider("iwarp"), PollMode.ADAPTIVE);
    final RdmaEventLoopGroup client =
            new RdmaEventLoopGroup(1, Rdma.provider("iwarp"), PollMode.ADAPTIVE);

    /** Adds handlers to a new channel. */
    interface Handlers {
        ChannelHandler[] make(Channel channel);
    }

    SocketAddress serve(Handlers handlers) throws InterruptedException {
        return new ServerBootstrap()
                .group(server)
                .channel(RdmaServerStreamChannel.class)
                .childHandler(initializer(handlers))
                .bind(InetAddress.getLoopbackAddress(), 0)
                .sync()
                .channel()
                .localAddress();
    }

    Channel connect(SocketAddress address, Handlers handlers) throws InterruptedException {
        return new Bootstrap()
                .group(client)
                .channel(RdmaStreamChannel.class)
                .handler(initializer(handlers))
                .connect(address)
                .sync()
                .channel();
    }

    private static ChannelInitializer<Channel> initializer(Handlers handlers) {
        return new ChannelInitializer<>() {
            @Override
            protected void initChannel(Channel channel) {
                channel.pipeline().addLast(handlers.make(channel));
            }
        };
    }

    /** Bytes that are always the same for a length. */
    static byte[] bytes(int length) {
        byte[] bytes = new byte[length];
        new Random(length).nextBytes(bytes);
        return bytes;
    }

    @Override
    public void close() {
        client.shutdownGracefully(0, PATIENCE_SECONDS, TimeUnit.SECONDS).syncUninterruptibly();
        server.shutdownGracefully(0, PATIENCE_SECONDS, TimeUnit.SECONDS).syncUninterruptibly();
    }
}
