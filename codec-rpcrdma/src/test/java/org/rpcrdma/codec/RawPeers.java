// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelInitializer;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.rpcrdma.channel.RdmaChannel;
import org.rpcrdma.channel.RdmaChannelOption;
import org.rpcrdma.channel.RdmaEventLoopGroup;
import org.rpcrdma.channel.RdmaServerChannel;

/** A responder, and requesters that a test works by hand. The end of it ends all their event loops. */
final class RawPeers implements AutoCloseable {

    final RpcRdmaMetrics metrics = new RpcRdmaMetrics();
    final RpcRdmaConfig config;
    private final List<RawPeer> peers = new ArrayList<>();

    /** The responder's comes last. */
    private final Deque<RdmaEventLoopGroup> groups = new ArrayDeque<>();

    private Channel listener;

    RawPeers(RpcRdmaConfig config) {
        this.config = config;
    }

    /** @param answers handler of the calls of all connections */
    void listen(RdmaEventLoopGroup group, ChannelHandler answers) throws InterruptedException {
        listen(group, answers, server -> {});
    }

    /** As above, with options that the configuration would not set. */
    void listen(RdmaEventLoopGroup group, ChannelHandler answers, Consumer<ServerBootstrap> options)
            throws InterruptedException {
        groups.push(group);
        ServerBootstrap server =
                new ServerBootstrap()
                        .group(group)
                        .channel(RdmaServerChannel.class)
                        .childHandler(
                                new ChannelInitializer<>() {
                                    @Override
                                    protected void initChannel(Channel channel) {
                                        channel.pipeline()
                                                .addLast(
                                                        new RpcRdmaCodec(config, metrics), answers);
                                    }
                                });
        options.accept(config.applyTo(server));
        listener = server.bind(InetAddress.getLoopbackAddress(), 0).sync().channel();
    }

    RawPeer connect(RdmaEventLoopGroup group) throws InterruptedException {
        return connect(group, InetAddress.getLoopbackAddress().getHostAddress());
    }

    /** As above, from an address of this host. */
    RawPeer connect(RdmaEventLoopGroup group, String address) throws InterruptedException {
        if (!groups.contains(group)) {
            groups.push(group);
        }
        RpcPair.Inbox inbox = new RpcPair.Inbox();
        Channel channel =
                config.applyTo(
                                new Bootstrap()
                                        .group(group)
                                        .channel(RdmaChannel.class)
                                        .handler(inbox))
                        .option(RdmaChannelOption.PRIVATE_DATA, RpcPair.foreign(config))
                        .connect(listener.localAddress(), new InetSocketAddress(address, 0))
                        .sync()
                        .channel();
        RawPeer peer = new RawPeer((RdmaChannel) channel, inbox);
        peers.add(peer);
        return peer;
    }

    @Override
    public void close() {
        peers.forEach(RawPeer::close);
        for (RdmaEventLoopGroup group : groups) {
            group.shutdownGracefully(0, RpcPair.PATIENCE_SECONDS, TimeUnit.SECONDS)
                    .syncUninterruptibly();
        }
        peers.forEach(peer -> peer.inbox.releaseAll());
    }
}
