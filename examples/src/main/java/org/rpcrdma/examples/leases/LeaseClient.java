// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.leases;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.function.Consumer;
import org.rpcrdma.channel.RdmaEventLoopGroup;
import org.rpcrdma.codec.RpcRdmaConfig;
import org.rpcrdma.codec.client.RpcRdmaClient;
import org.rpcrdma.codec.rpc.RpcClient;
import org.rpcrdma.codec.rpc.RpcProgram;
import org.rpcrdma.codec.rpc.RpcServerCall;
import org.rpcrdma.codec.rpc.RpcServerHandler;
import org.rpcrdma.codec.rpc.RpcTransport;
import org.rpcrdma.codec.rpc.XdrDecoder;
import org.rpcrdma.examples.common.Waits;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A client that holds leases until the server wants them back. */
public final class LeaseClient implements AutoCloseable {

    private static final Logger LOG = LoggerFactory.getLogger(LeaseClient.class);

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
            RdmaEventLoopGroup loops,
            InetSocketAddress server,
            String name,
            Consumer<String> onRecall)
            throws IOException {
        this.name = name;
        this.onRecall = onRecall;
        RpcProgram recalls =
                RpcProgram.builder(LeaseMessages.PROGRAM)
                        .procedure(LeaseMessages.VERSION, LeaseMessages.RECALL, this::recall)
                        .build();
        client =
                RpcRdmaClient.builder(loops, server)
                        .config(CONFIG)
                        .reverseProgram(() -> new RpcServerHandler(recalls))
                        .onConnection(this::sayHello)
                        .keepConnected(true)
                        .backOff(Duration.ofMillis(100), Duration.ofSeconds(2))
                        .build();
        Throwable cause = Waits.failure(client.connect());
        if (cause != null) {
            client.close();
            throw new IOException(name + " cannot connect to " + server, cause);
        }
    }

    private void sayHello(RpcRdmaClient.NewConnection connection) {
        leases(connection)
                .call(LeaseMessages.HELLO, out -> out.writeString(name), XdrDecoder.VOID)
                .addListener(
                        hello -> {
                            if (!hello.isSuccess()) {
                                LOG.debug("{}: the next connection says it", name, hello.cause());
                            }
                        });
    }

    private static RpcClient leases(RpcTransport transport) {
        return new RpcClient(transport, LeaseMessages.PROGRAM, LeaseMessages.VERSION);
    }

    /** Waits until the lease is this client's. */
    public void acquire(String lease) throws IOException {
        leases(client)
                .call(LeaseMessages.ACQUIRE, out -> out.writeString(lease), XdrDecoder.VOID)
                .join();
    }

    /** A call of the server. */
    private void recall(RpcServerCall call) throws IOException {
        onRecall.accept(LeaseMessages.argument(call));
        call.reply();
    }

    @Override
    public void close() {
        client.close();
    }
}
