// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.leases;

import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.util.concurrent.Future;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.HashMap;
import java.util.Map;
import org.rpcrdma.channel.RdmaChannel;
import org.rpcrdma.channel.RdmaEventLoopGroup;
import org.rpcrdma.channel.RdmaServerChannel;
import org.rpcrdma.codec.RpcRdmaCodec;
import org.rpcrdma.codec.RpcRdmaConfig;
import org.rpcrdma.codec.client.RpcRdmaCallback;
import org.rpcrdma.codec.rpc.CallHeader;
import org.rpcrdma.examples.rpc.Shutdown;
import org.rpcrdma.examples.rpc.Waits;

/**
 * Lends each lease to one client at a time. When another one asks for it, the holder is called back over the connection
 * that it has made itself. Everything happens on one event loop.
 */
public final class LeaseServer implements AutoCloseable {

    /** A holder that does not answer has lost its lease after so long. */
    private static final long RECALL_MILLIS = 2000;

    private final RpcRdmaConfig config;
    private final RdmaEventLoopGroup loop = new RdmaEventLoopGroup(1);
    private final Map<String, RpcRdmaCallback> clients = new HashMap<>();
    private final Map<String, RpcRdmaCallback> holders = new HashMap<>();
    private final Channel listener;

    /** What a server of leases needs: room for recalls. */
    public static RpcRdmaConfig.Builder config() {
        return RpcRdmaConfig.builder().reverseCredits(8);
    }

    /**
     * Listens at this address.
     *
     * @param config {@link #config()}, perhaps with more
     * @throws IOException if the address cannot be used
     */
    public LeaseServer(InetSocketAddress address, RpcRdmaConfig config) throws IOException {
        this.config = config;
        ServerBootstrap bootstrap =
                new ServerBootstrap()
                        .group(loop)
                        .channel(RdmaServerChannel.class)
                        .childHandler(
                                new ChannelInitializer<RdmaChannel>() {
                                    @Override
                                    protected void initChannel(RdmaChannel channel) {
                                        channel.pipeline()
                                                .addLast(new RpcRdmaCodec(config), new Calls());
                                    }
                                });
        try {
            listener = Waits.listen(config.applyTo(bootstrap), address);
        } catch (IOException e) {
            Shutdown.of(loop);
            throw e;
        }
    }

    public InetSocketAddress address() {
        return (InetSocketAddress) listener.localAddress();
    }

    /** The holder gives the lease back, or has not answered for so long that it has lost it: either way it is free. */
    private void acquire(String lease, RpcRdmaCallback client, Runnable granted) {
        RpcRdmaCallback holder = holders.putIfAbsent(lease, client);
        if (holder == null || holder == client) {
            granted.run();
            return;
        }
        holder.call(LeaseMessages.call(LeaseMessages.RECALL, lease))
                .addListener(
                        (Future<ByteBuf> recall) -> {
                            if (recall.isSuccess()) {
                                recall.getNow().release();
                            }
                            holders.remove(lease, holder);
                            acquire(lease, client, granted);
                        });
    }

    /** A client says that it takes calls on this connection: for the first time, or again after a loss. */
    private RpcRdmaCallback hello(String name, Channel channel) {
        RpcRdmaCallback known = clients.get(name);
        if (known == null || !known.attach(channel)) {
            known =
                    RpcRdmaCallback.builder(config)
                            .callTimeoutMillis(RECALL_MILLIS)
                            .attachTo(channel);
            clients.put(name, known);
        }
        return known;
    }

    /** The calls of one connection. */
    private final class Calls extends SimpleChannelInboundHandler<ByteBuf> {

        private RpcRdmaCallback client;

        @Override
        protected void channelRead0(ChannelHandlerContext ctx, ByteBuf call) throws Exception {
            CallHeader header = CallHeader.read(call);
            int xid = header.xid();
            int procedure = header.procedure();
            if (procedure == LeaseMessages.HELLO) {
                client = hello(LeaseMessages.argument(call), ctx.channel());
                ctx.writeAndFlush(LeaseMessages.done(xid));
            } else if (procedure == LeaseMessages.ACQUIRE && client != null) {
                acquire(
                        LeaseMessages.argument(call),
                        client,
                        () -> ctx.channel().writeAndFlush(LeaseMessages.done(xid)));
            } else {
                ctx.writeAndFlush(LeaseMessages.noSuchProcedure(xid));
            }
        }

        /** A call that has failed has no answer: its client asks again on another connection. */
        @Override
        public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
            ctx.close();
        }
    }

    @Override
    public void close() {
        listener.close();
        Shutdown.of(loop);
    }
}
