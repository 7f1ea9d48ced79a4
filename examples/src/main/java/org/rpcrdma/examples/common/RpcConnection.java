// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.common;

import io.netty.bootstrap.Bootstrap;
import io.netty.channel.ChannelOption;
import io.netty.channel.ConnectTimeoutException;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.nio.NioEventLoopGroup;
import io.netty.channel.socket.nio.NioSocketChannel;
import io.netty.util.concurrent.DefaultThreadFactory;
import java.io.Closeable;
import java.io.IOException;
import java.net.ConnectException;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
import org.rpcrdma.channel.RdmaCounter;
import org.rpcrdma.channel.RdmaEventLoopGroup;
import org.rpcrdma.codec.CallTimeoutException;
import org.rpcrdma.codec.ConnectionLostException;
import org.rpcrdma.codec.RpcRdmaConfig;
import org.rpcrdma.codec.RpcRdmaConnection;
import org.rpcrdma.codec.RpcRdmaMetrics;
import org.rpcrdma.codec.client.RpcRdmaClient;
import org.rpcrdma.codec.client.StreamRpcTransport;
import org.rpcrdma.codec.rpc.CallOptions;
import org.rpcrdma.codec.rpc.RpcClient;
import org.rpcrdma.codec.rpc.RpcFuture;
import org.rpcrdma.codec.rpc.RpcTransport;

/** A server that calls go to, over RDMA or TCP; tells in words for a person why there is no answer. */
public final class RpcConnection implements AutoCloseable {

    /** How long a connection may take to open, where nobody says it. */
    public static final Duration CONNECT_TIMEOUT = Duration.ofSeconds(5);

    /** Somebody waits at a terminal: a server that comes back within some seconds is waited for, and no longer. */
    private static final Duration LEAST_BACK_OFF = Duration.ofMillis(250);

    private static final Duration MOST_BACK_OFF = Duration.ofSeconds(4);

    /** A call without an answer for so long is told of. */
    private static final long NOTICE_MILLIS = 2000;

    private static final String REFUSED = "connection refused";

    private final InetSocketAddress server;
    private final EventLoopGroup loops;
    private final RpcTransport transport;

    private RpcConnection(InetSocketAddress server, EventLoopGroup loops, RpcTransport transport) {
        this.server = server;
        this.loops = loops;
        this.transport = transport;
    }

    /** Connects over RDMA, within {@link #CONNECT_TIMEOUT}. */
    public static RpcConnection rdma(InetSocketAddress server, RpcRdmaConfig config)
            throws IOException {
        return rdma(server, config, CONNECT_TIMEOUT);
    }

    /**
     * Connects over RDMA, and waits for it. Connects again after a loss.
     *
     * @param connectTimeout for each attempt
     * @throws IOException if there is nobody or no answer
     */
    public static RpcConnection rdma(
            InetSocketAddress server, RpcRdmaConfig config, Duration connectTimeout)
            throws IOException {
        requireResolved(server);
        RdmaEventLoopGroup loops = new RdmaEventLoopGroup(1);
        RpcRdmaClient client =
                RpcRdmaClient.builder(loops, server)
                        .config(config)
                        .connectTimeout(connectTimeout)
                        .backOff(LEAST_BACK_OFF, MOST_BACK_OFF)
                        .build();
        RpcConnection made = new RpcConnection(server, loops, client);
        Throwable failure = Waits.failure(client.connect());
        if (failure != null) {
            made.close();
            throw cannotConnect(server, failure, connectTimeout);
        }
        return made;
    }

    /** Connects over TCP, within {@link #CONNECT_TIMEOUT}. */
    public static RpcConnection tcp(InetSocketAddress server) throws IOException {
        return tcp(server, CONNECT_TIMEOUT);
    }

    /**
     * Connects over TCP, and waits for it.
     *
     * @throws IOException if there is nobody or no answer
     */
    public static RpcConnection tcp(InetSocketAddress server, Duration connectTimeout)
            throws IOException {
        requireResolved(server);
        EventLoopGroup loops = new NioEventLoopGroup(1, new DefaultThreadFactory("rpc-tcp", true));
        Bootstrap bootstrap =
                new Bootstrap()
                        .group(loops)
                        .channel(NioSocketChannel.class)
                        .option(ChannelOption.TCP_NODELAY, true)
                        .option(
                                ChannelOption.CONNECT_TIMEOUT_MILLIS,
                                (int) connectTimeout.toMillis());
        RpcFuture<StreamRpcTransport> connected = StreamRpcTransport.connect(bootstrap, server);
        Throwable failure = Waits.failure(connected);
        if (failure != null) {
            Shutdown.of(loops);
            throw cannotConnect(server, failure, connectTimeout);
        }
        return new RpcConnection(server, loops, connected.getNow());
    }

    /** Calls of one program; each has this time-out, all in all. */
    public RpcClient client(int program, int version, Duration timeout) {
        return new RpcClient(transport, program, version)
                .withOptions(CallOptions.DEFAULT.withTimeout(timeout));
    }

    /**
     * Waits for a call over this connection.
     *
     * @throws IOException why it has no outcome
     */
    public <T> T await(RpcFuture<T> call, Duration timeout) throws IOException {
        String name = server.getHostString() + ":" + server.getPort();
        try {
            tellIfLate(call, name, timeout);
            return call.join();
        } catch (CallTimeoutException e) {
            String limit = timeout.toSeconds() + " s";
            throw new IOException(name + " has not answered within " + limit, e);
        } catch (ConnectionLostException e) {
            throw new IOException("the connection to " + name + " was lost", e);
        }
    }

    /** Where no progress is shown, a wait looks like a program that hangs. */
    private static void tellIfLate(RpcFuture<?> call, String name, Duration timeout) {
        try {
            if (!call.await(NOTICE_MILLIS)) {
                System.err.println(
                        name + " does not answer; waiting for up to " + timeout.toSeconds() + " s");
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt(); // for the caller's own wait
        }
    }

    /** The counters of a connection over RDMA. */
    public RpcRdmaMetrics metrics() {
        return ((RpcRdmaClient) transport).metrics();
    }

    /**
     * What was negotiated with the server over RDMA.
     *
     * @throws IOException if it is not connected at this time
     */
    public RpcRdmaConnection negotiated() throws IOException {
        List<RpcRdmaConnection> open = ((RpcRdmaClient) transport).openConnections();
        if (open.isEmpty()) {
            throw new IOException("the server has closed the connection");
        }
        return open.get(0);
    }

    /** Whether shared memory has taken the place of TCP, as two ends of one host can agree. */
    public boolean isShared() {
        return loops instanceof RdmaEventLoopGroup rdma
                && rdma.value(RdmaCounter.CONNECTIONS_SHARED) > 0;
    }

    @Override
    public void close() {
        try {
            ((Closeable) transport).close();
        } catch (IOException e) {
            throw new AssertionError(e); // neither transport throws it
        }
        Shutdown.of(loops);
    }

    private static void requireResolved(InetSocketAddress server) throws IOException {
        if (server.isUnresolved()) {
            throw new IOException("unknown host " + server.getHostString());
        }
    }

    private static IOException cannotConnect(
            InetSocketAddress server, Throwable cause, Duration limit) {
        String name = server.getHostString() + ":" + server.getPort();
        String reason = reason(cause, limit);
        // The transport names the address of what it has connected to, and Netty puts it behind
        // that once more.
        String port = ":" + server.getPort();
        int again = reason.endsWith(port) ? reason.lastIndexOf(": ") : -1;
        if (again >= 0) {
            reason = reason.substring(0, again);
        }
        boolean isNamed = reason.contains(port);
        return new IOException(
                isNamed ? reason : "cannot connect to " + name + ": " + reason, cause);
    }

    private static String reason(Throwable cause, Duration limit) {
        if (cause instanceof ConnectTimeoutException) {
            return "no answer within " + limit.toMillis() + " ms";
        }
        String said = String.valueOf(cause.getMessage());
        // What somebody has accepted, and is no RDMA peer, the transport has a better word for.
        boolean isRefused = said.regionMatches(true, 0, REFUSED, 0, REFUSED.length());
        return cause instanceof ConnectException && isRefused ? REFUSED : said;
    }
}
