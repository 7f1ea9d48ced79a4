// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.rpc;

import io.netty.buffer.ByteBuf;
import io.netty.util.concurrent.Future;
import java.net.InetSocketAddress;
import java.util.List;
import org.rpcrdma.channel.RdmaCounter;
import org.rpcrdma.channel.RdmaEventLoopGroup;
import org.rpcrdma.codec.RpcRdmaConfig;
import org.rpcrdma.codec.RpcRdmaConnection;
import org.rpcrdma.codec.client.CallOptions;
import org.rpcrdma.codec.client.RpcRdmaClient;

/** RPC over RDMA by an {@link RpcRdmaClient}, which connects again and sends calls again when it has to. */
public final class RdmaRpcClient extends RpcClient {

    /** Somebody waits at a terminal: a server that comes back within some seconds is waited for, and no longer. */
    private static final long BACK_OFF_MIN_MILLIS = 250;

    private static final long BACK_OFF_MAX_MILLIS = 4000;

    private final RdmaEventLoopGroup loops = new RdmaEventLoopGroup(1);
    private final InetSocketAddress server;
    private final RpcRdmaClient client;

    private RdmaRpcClient(InetSocketAddress server, RpcRdmaConfig config) {
        this.server = server;
        client =
                RpcRdmaClient.builder(loops, server)
                        .config(config)
                        .connectTimeoutMillis(CONNECT_TIMEOUT_MILLIS)
                        .backOffMillis(BACK_OFF_MIN_MILLIS, BACK_OFF_MAX_MILLIS)
                        .build();
    }

    /**
     * Connects, and waits for it.
     *
     * @throws RpcException if there is nobody or no answer
     */
    public static RdmaRpcClient connect(InetSocketAddress server, RpcRdmaConfig config)
            throws RpcException {
        ConnectFailure.checkResolved(server);
        RdmaRpcClient made = new RdmaRpcClient(server, config);
        Throwable failure = Waits.failure(made.client.connect());
        if (failure != null) {
            made.close();
            throw ConnectFailure.of(server, failure);
        }
        return made;
    }

    @Override
    Future<ByteBuf> exchange(ByteBuf call, long timeoutMillis) {
        return client.call(call, CallOptions.DEFAULT.withTimeoutMillis(timeoutMillis));
    }

    @Override
    Throwable explain(Throwable cause, long timeoutMillis) {
        return ConnectFailure.ofCall(server, cause, timeoutMillis);
    }

    /**
     * What was negotiated with the server.
     *
     * @throws RpcException if it is not connected at this time
     */
    public RpcRdmaConnection connection() throws RpcException {
        List<RpcRdmaConnection> open = client.openConnections();
        if (open.isEmpty()) {
            throw new RpcException("the server has closed the connection");
        }
        return open.get(0);
    }

    /** Whether shared memory has taken the place of TCP, as two ends of one host can agree. */
    public boolean isShared() {
        return loops.value(RdmaCounter.CONNECTIONS_SHARED) > 0;
    }

    @Override
    public void close() {
        Shutdown.await(client.close());
        Shutdown.of(loops);
    }
}
