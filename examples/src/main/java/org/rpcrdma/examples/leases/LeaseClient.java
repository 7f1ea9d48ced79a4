// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.leases;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.SimpleChannelInboundHandler;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.function.Consumer;
import org.rpcrdma.codec.RpcRdmaConfig;
import org.rpcrdma.codec.client.RpcRdmaClient;
import org.rpcrdma.codec.rpc.CallHeader;
import org.rpcrdma.examples.rpc.Calls;
import org.rpcrdma.examples.rpc.Shutdown;
import org.rpcrdma.examples.rpc.Waits;

/** A client that holds leases until the server wants them back. */
public final class LeaseClient implements AutoCloseable {

    private static final RpcRdmaConfig CONFIG = RpcRdmaConfig.builder().reverseCredits(4).build();

    private final String name;
    private final Consumer<String> onRecall;
    private final RpcRdmaClient client;

    /**
     * Connects, and says who it is on each connection.
     *
     * @param onRecall is told of a lease that is given back, on the event loop
     * @throws IOException if there is no server
     */
    public LeaseClient(
            EventLoopGroup loops, InetSocketAddress server, String name, Consumer<String> onRecall)
            throws IOException {
        this.name = name;
        this.onRecall = onRecall;
        client =
                RpcRdmaClient.builder(loops, server)
                        .config(CONFIG)
                        .reverseProgram(Recalls::new)
                        .onConnection(this::sayHello)
                        .keepConnected(true)
                        .backOffMillis(100, 2000)
                        .build();
        Throwable cause = Waits.failure(client.connect());
        if (cause != null) {
            client.close();
            throw new IOException(name + " cannot connect to " + server, cause);
        }
    }

    private void sayHello(RpcRdmaClient.NewConnection connection) {
        connection
                .call(LeaseMessages.call(LeaseMessages.HELLO, name))
                .addListener(
                        hello -> {
                            if (hello.isSuccess()) {
                                ((ByteBuf) hello.getNow()).release();
                            } // otherwise the next connection says it
                        });
    }

    /** Waits until the lease is this client's. */
    public void acquire(String lease) throws IOException {
        Calls.await(client.call(LeaseMessages.call(LeaseMessages.ACQUIRE, lease)), reply -> null);
    }

    /** Answers the server's calls. */
    private final class Recalls extends SimpleChannelInboundHandler<ByteBuf> {
        @Override
        protected void channelRead0(ChannelHandlerContext ctx, ByteBuf call) throws Exception {
            CallHeader header = CallHeader.read(call);
            int xid = header.xid();
            if (header.procedure() != LeaseMessages.RECALL) {
                ctx.writeAndFlush(LeaseMessages.noSuchProcedure(xid));
                return;
            }
            onRecall.accept(LeaseMessages.argument(call));
            ctx.writeAndFlush(LeaseMessages.done(xid));
        }
    }

    @Override
    public void close() {
        Shutdown.await(client.close());
    }
}
