// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.benchmarks;

import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.epoll.EpollEventLoopGroup;
import io.netty.channel.epoll.EpollServerSocketChannel;
import io.netty.channel.epoll.EpollSocketChannel;
import io.netty.channel.nio.NioEventLoopGroup;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.channel.socket.nio.NioSocketChannel;
import org.rpcrdma.channel.PollMode;
import org.rpcrdma.channel.Rdma;
import org.rpcrdma.channel.RdmaChannel;
import org.rpcrdma.channel.RdmaEventLoopGroup;
import org.rpcrdma.channel.RdmaServerChannel;
import org.rpcrdma.codec.RpcRdmaCodec;
import org.rpcrdma.codec.RpcRdmaConfig;
import org.rpcrdma.examples.rpc.RecordMarking;

/** What carries the RPC messages: the one thing that differs between the runs of a benchmark. */
public enum Transport {
    /** RPC-over-RDMA; the event loops poll for a short while, then block. */
    RDMA,
    /** RPC-over-RDMA; the event loops block at once. */
    RDMA_BLOCKING,
    /** RPC-over-RDMA; the event loops never block. Wants three CPUs: one for each loop, one for the caller. */
    RDMA_BUSY,
    /** Record marking on TCP by Netty's NIO transport. */
    NIO,
    /** Record marking on TCP by Netty's native epoll transport; Linux only. */
    EPOLL;

    private static final RpcRdmaConfig RPC_RDMA = RpcRdmaConfig.builder().build();

    /** A group of one event loop. */
    EventLoopGroup newGroup() {
        return switch (this) {
            case RDMA -> new RdmaEventLoopGroup(1, Rdma.provider(), PollMode.ADAPTIVE);
            case RDMA_BLOCKING -> new RdmaEventLoopGroup(1, Rdma.provider(), PollMode.BLOCKING);
            case RDMA_BUSY -> new RdmaEventLoopGroup(1, Rdma.provider(), PollMode.BUSY);
            case NIO -> new NioEventLoopGroup(1);
            case EPOLL -> new EpollEventLoopGroup(1);
        };
    }

    /** A server whose connections end in the given handler, which must be sharable. */
    ServerBootstrap server(EventLoopGroup group, ChannelHandler handler) {
        ServerBootstrap bootstrap =
                new ServerBootstrap().group(group).childHandler(pipeline(handler));
        switch (this) {
            case NIO ->
                    bootstrap
                            .channel(NioServerSocketChannel.class)
                            .childOption(ChannelOption.TCP_NODELAY, true);
            case EPOLL ->
                    bootstrap
                            .channel(EpollServerSocketChannel.class)
                            .childOption(ChannelOption.TCP_NODELAY, true);
            default -> {
                bootstrap.channel(RdmaServerChannel.class);
                RPC_RDMA.applyTo(bootstrap);
            }
        }
        return bootstrap;
    }

    /** A client whose connection ends in the given handler. */
    Bootstrap client(EventLoopGroup group, ChannelHandler handler) {
        Bootstrap bootstrap = new Bootstrap().group(group).handler(pipeline(handler));
        switch (this) {
            case NIO ->
                    bootstrap
                            .channel(NioSocketChannel.class)
                            .option(ChannelOption.TCP_NODELAY, true);
            case EPOLL ->
                    bootstrap
                            .channel(EpollSocketChannel.class)
                            .option(ChannelOption.TCP_NODELAY, true);
            default -> {
                bootstrap.channel(RdmaChannel.class);
                RPC_RDMA.applyTo(bootstrap);
            }
        }
        return bootstrap;
    }

    private ChannelInitializer<Channel> pipeline(ChannelHandler handler) {
        return new ChannelInitializer<>() {
            @Override
            protected void initChannel(Channel channel) {
                channel.pipeline().addLast(framing(), handler);
            }
        };
    }

    /** What turns the transport's messages or bytes into whole RPC messages and back. */
    private ChannelHandler framing() {
        return switch (this) {
            case NIO, EPOLL -> new RecordMarking();
            default -> new RpcRdmaCodec(RPC_RDMA);
        };
    }
}
