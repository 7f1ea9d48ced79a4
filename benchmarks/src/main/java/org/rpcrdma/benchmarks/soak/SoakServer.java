// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.benchmarks.soak;

import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.group.ChannelGroup;
import io.netty.channel.group.DefaultChannelGroup;
import io.netty.util.concurrent.GlobalEventExecutor;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import org.rpcrdma.benchmarks.Nfs3Messages;
import org.rpcrdma.channel.RdmaChannel;
import org.rpcrdma.channel.RdmaEventLoopGroup;
import org.rpcrdma.channel.RdmaServerChannel;
import org.rpcrdma.codec.BoundedDuplicateRequestCache;
import org.rpcrdma.codec.DuplicateRequestCache;
import org.rpcrdma.codec.RpcRdmaCodec;
import org.rpcrdma.codec.RpcRdmaConfig;
import org.rpcrdma.codec.RpcRdmaMetrics;

/** A server of calls that executes each WRITE once. */
final class SoakServer {

    /** Far more than there are WRITEs in the life of a call; so few that the cache is full before the samples count. */
    private static final int MOST_REPLIES = 1 << 11;

    private static final int LONGEST_REPLY = 256;

    private final ChannelGroup accepted = new DefaultChannelGroup(GlobalEventExecutor.INSTANCE);
    private final ServerBootstrap bootstrap;
    private Channel listener;

    SoakServer(RdmaEventLoopGroup group, ChannelHandler program) throws InterruptedException {
        RpcRdmaConfig config = RpcRdmaConfig.defaults();
        RpcRdmaMetrics metrics = new RpcRdmaMetrics();
        DuplicateRequestCache duplicates =
                new BoundedDuplicateRequestCache(
                        MOST_REPLIES,
                        LONGEST_REPLY,
                        (long) MOST_REPLIES * LONGEST_REPLY,
                        (number, version, procedure) -> procedure == Nfs3Messages.PROCEDURE_WRITE);
        bootstrap = new ServerBootstrap().group(group).channel(RdmaServerChannel.class);
        config.applyTo(bootstrap)
                .childHandler(
                        new ChannelInitializer<RdmaChannel>() {
                            @Override
                            protected void initChannel(RdmaChannel channel) {
                                accepted.add(channel);
                                channel.pipeline()
                                        .addLast(
                                                new RpcRdmaCodec(config, metrics, duplicates),
                                                program);
                            }
                        });
        listener = bootstrap.bind(InetAddress.getLoopbackAddress(), 0).sync().channel();
    }

    InetSocketAddress address() {
        return (InetSocketAddress) listener.localAddress();
    }

    /** Drops every connection and listens again; what was executed is remembered, as by a server on stable storage. */
    void restart() throws InterruptedException {
        InetSocketAddress address = address();
        listener.close().sync();
        accepted.close().awaitUninterruptibly();
        listener = bootstrap.bind(address).sync().channel();
    }

    int connections() {
        return accepted.size();
    }
}
