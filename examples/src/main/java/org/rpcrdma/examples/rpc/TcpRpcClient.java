// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.rpc;

import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.nio.NioEventLoopGroup;
import io.netty.channel.socket.nio.NioSocketChannel;
import io.netty.util.concurrent.DefaultThreadFactory;
import io.netty.util.concurrent.Future;
import io.netty.util.concurrent.Promise;
import java.net.InetSocketAddress;

/** RPC over one TCP connection, for as long as that lives. */
public final class TcpRpcClient extends RpcClient {

    private final Channel channel;

    TcpRpcClient(Channel channel) {
        this.channel = channel;
    }

    /**
     * Connects, and waits for it.
     *
     * @throws RpcException if there is nobody or no answer
     */
    public static TcpRpcClient connect(InetSocketAddress server) throws RpcException {
        ConnectFailure.checkResolved(server);
        EventLoopGroup loops = new NioEventLoopGroup(1, new DefaultThreadFactory("rpc-tcp", true));
        ChannelFuture connected =
                new Bootstrap()
                        .group(loops)
                        .channel(NioSocketChannel.class)
                        .option(ChannelOption.TCP_NODELAY, true)
                        .option(ChannelOption.CONNECT_TIMEOUT_MILLIS, CONNECT_TIMEOUT_MILLIS)
                        .handler(
                                new ChannelInitializer<Channel>() {
                                    @Override
                                    protected void initChannel(Channel channel) {
                                        channel.pipeline()
                                                .addLast(new RecordMarking(), new RpcCallHandler());
                                    }
                                })
                        .connect(server);
        Throwable failure = Waits.failure(connected);
        if (failure != null) {
            Shutdown.of(loops);
            throw ConnectFailure.of(server, failure);
        }
        return new TcpRpcClient(connected.channel());
    }

    @Override
    Future<ByteBuf> exchange(ByteBuf call, long timeoutMillis) {
        Promise<ByteBuf> reply = channel.eventLoop().newPromise();
        if (!channel.isActive()) {
            call.release();
            return reply.setFailure(new RpcException("the connection is closed"));
        }
        channel.writeAndFlush(new RpcCallHandler.Call(call, timeoutMillis, reply));
        return reply;
    }

    @Override
    public void close() {
        channel.close();
        Shutdown.of(channel.eventLoop().parent());
    }
}
