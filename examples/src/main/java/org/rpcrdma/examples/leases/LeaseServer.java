// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.leases;

import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelInitializer;
import io.netty.util.AttributeKey;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import org.rpcrdma.channel.RdmaChannel;
import org.rpcrdma.channel.RdmaEventLoopGroup;
import org.rpcrdma.channel.RdmaServerChannel;
import org.rpcrdma.codec.RpcRdmaCodec;
import org.rpcrdma.codec.RpcRdmaConfig;
import org.rpcrdma.codec.client.RpcRdmaReverseRequester;
import org.rpcrdma.codec.rpc.ReplyHeader.Status;
import org.rpcrdma.codec.rpc.RpcClient;
import org.rpcrdma.codec.rpc.RpcProgram;
import org.rpcrdma.codec.rpc.RpcServerCall;
import org.rpcrdma.codec.rpc.RpcServerHandler;
import org.rpcrdma.codec.rpc.XdrDecoder;
import org.rpcrdma.examples.common.Shutdown;
import org.rpcrdma.examples.common.Waits;

/**
 * Lends each lease to one client at a time. When another one asks for it, the holder is called back over the connection
 * that it has made itself. Everything happens on one event loop.
 */
public final class LeaseServer implements AutoCloseable {

    /** A holder that does not answer has lost its lease after so long. */
    private static final Duration RECALL = Duration.ofSeconds(2);

    private static final AttributeKey<RpcRdmaReverseRequester> CLIENT =
            AttributeKey.valueOf(LeaseServer.class, "client");

    private final RpcRdmaConfig config;
    private final RdmaEventLoopGroup loop = new RdmaEventLoopGroup(1);
    private final Map<String, RpcRdmaReverseRequester> clients = new HashMap<>();
    private final Map<String, RpcRdmaReverseRequester> holders = new HashMap<>();
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
        RpcProgram program =
                RpcProgram.builder(LeaseMessages.PROGRAM)
                        .procedure(LeaseMessages.VERSION, LeaseMessages.HELLO, this::hello)
                        .procedure(LeaseMessages.VERSION, LeaseMessages.ACQUIRE, this::acquire)
                        .build();
        ServerBootstrap bootstrap =
                new ServerBootstrap()
                        .group(loop)
                        .channel(RdmaServerChannel.class)
                        .childHandler(
                                new ChannelInitializer<RdmaChannel>() {
                                    @Override
                                    protected void initChannel(RdmaChannel channel) {
                                        channel.pipeline()
                                                .addLast(
                                                        new RpcRdmaCodec(config),
                                                        new RpcServerHandler(program));
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
    private void acquire(String lease, RpcRdmaReverseRequester client, Runnable granted) {
        RpcRdmaReverseRequester holder = holders.putIfAbsent(lease, client);
        if (holder == null || holder == client) {
            granted.run();
            return;
        }
        new RpcClient(holder, LeaseMessages.PROGRAM, LeaseMessages.VERSION)
                .call(LeaseMessages.RECALL, out -> out.writeString(lease), XdrDecoder.VOID)
                .addListener(
                        recall -> {
                            holders.remove(lease, holder);
                            acquire(lease, client, granted);
                        });
    }

    /** A client says that it takes calls on this connection: for the first time, or again after a loss. */
    private RpcRdmaReverseRequester hello(String name, Channel channel) {
        RpcRdmaReverseRequester known = clients.get(name);
        if (known == null || !known.tryAttach(channel)) {
            known = RpcRdmaReverseRequester.builder(config).callTimeout(RECALL).attachTo(channel);
            clients.put(name, known);
        }
        return known;
    }

    private void hello(RpcServerCall call) throws IOException {
        Channel channel = call.channel();
        channel.attr(CLIENT).set(hello(LeaseMessages.argument(call), channel));
        call.reply();
    }

    private void acquire(RpcServerCall call) throws IOException {
        RpcRdmaReverseRequester client = call.channel().attr(CLIENT).get();
        if (client == null) {
            call.refuse(Status.PROC_UNAVAIL); // not before HELLO
        } else {
            acquire(LeaseMessages.argument(call), client, call::reply);
        }
    }

    @Override
    public void close() {
        listener.close();
        Shutdown.of(loop);
    }
}
