// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.rpc;

import io.netty.bootstrap.Bootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.nio.NioEventLoopGroup;
import io.netty.channel.socket.nio.NioSocketChannel;
import io.netty.util.concurrent.DefaultThreadFactory;
import java.net.InetSocketAddress;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.rpcrdma.channel.RdmaChannel;
import org.rpcrdma.channel.RdmaEventLoopGroup;
import org.rpcrdma.codec.RpcRdmaCodec;
import org.rpcrdma.codec.RpcRdmaConfig;

/**
 * Makes connections. All that depends on the transport is here: the event loop, the channel class and the framing codec.
 */
public final class RpcConnector implements AutoCloseable {

    private static final int CONNECT_TIMEOUT_MILLIS = 5000;

    private final EventLoopGroup loops;
    private final Bootstrap bootstrap;

    private RpcConnector(
            EventLoopGroup loops, Bootstrap bootstrap, Supplier<ChannelHandler> framing) {
        this.loops = loops;
        this.bootstrap =
                bootstrap
                        .group(loops)
                        .option(ChannelOption.CONNECT_TIMEOUT_MILLIS, CONNECT_TIMEOUT_MILLIS)
                        .handler(
                                new ChannelInitializer<Channel>() {
                                    @Override
                                    protected void initChannel(Channel channel) {
                                        channel.pipeline()
                                                .addLast(framing.get())
                                                .addLast(new RpcCallHandler());
                                    }
                                });
    }

    public static RpcConnector tcp() {
        return new RpcConnector(
                new NioEventLoopGroup(1, new DefaultThreadFactory("rpc-tcp", true)),
                new Bootstrap()
                        .channel(NioSocketChannel.class)
                        .option(ChannelOption.TCP_NODELAY, true),
                RecordMarking::new);
    }

    public static RpcConnector rdma(RpcRdmaConfig config) {
        return new RpcConnector(
                new RdmaEventLoopGroup(1),
                config.applyTo(new Bootstrap().channel(RdmaChannel.class)),
                () -> new RpcRdmaCodec(config));
    }

    /**
     * Connects, and waits for it.
     *
     * @throws RpcException if there is nobody or no answer
     */
    public RpcClient connect(InetSocketAddress server) throws RpcException {
        if (server.isUnresolved()) {
            throw new RpcException("unknown host " + server.getHostString());
        }
        ChannelFuture connected = bootstrap.connect(server).awaitUninterruptibly();
        if (!connected.isSuccess()) {
            throw new RpcException(
                    "cannot connect to "
                            + server.getHostString()
                            + ":"
                            + server.getPort()
                            + ": "
                            + reason(connected.cause()),
                    connected.cause());
        }
        return new RpcClient(connected.channel());
    }

    private static String reason(Throwable cause) {
        if (cause instanceof io.netty.channel.ConnectTimeoutException) {
            return "no answer within " + CONNECT_TIMEOUT_MILLIS + " ms";
        } else if (cause instanceof java.net.ConnectException) {
            return "connection refused";
        }
        return cause.getMessage();
    }

    /** Closes all connections that are left. */
    @Override
    public void close() {
        loops.shutdownGracefully(0, 1, TimeUnit.SECONDS).awaitUninterruptibly();
    }
}
