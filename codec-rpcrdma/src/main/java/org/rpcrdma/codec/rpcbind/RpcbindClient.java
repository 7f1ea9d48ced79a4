// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.rpcbind;

import io.netty.util.concurrent.DefaultPromise;
import io.netty.util.concurrent.Future;
import io.netty.util.concurrent.GlobalEventExecutor;
import io.netty.util.concurrent.Promise;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.UnknownHostException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.Callable;
import java.util.concurrent.Executor;
import org.rpcrdma.codec.NetId;
import org.rpcrdma.codec.rpc.ReplyHeader;
import org.rpcrdma.codec.rpc.RpcClient;
import org.rpcrdma.codec.rpc.RpcStatusException;
import org.rpcrdma.codec.rpc.XdrDecoder;
import org.rpcrdma.codec.rpc.XdrEncodable;
import org.rpcrdma.codec.rpc.XdrReader;

/**
 * Asks an rpcbind (RFC 1833) of version 4, or of version 3 where there is no other, over TCP, UDP or the socket of the
 * machine. Each request has a socket of its own and runs in a thread of its own; so the client needs no closing.
 * Immutable and thread-safe. Futures fail with {@link RpcbindException} or another {@link IOException}; listeners run
 * on {@link GlobalEventExecutor}.
 *
 * <p>An rpcbind may refuse registrations from elsewhere than its own machine: use {@link #LOCAL} for these.
 */
public final class RpcbindClient {

    /** The port of rpcbind, for TCP and UDP. */
    public static final int PORT = 111;

    /** The path of the socket of this machine's rpcbind on Linux. */
    public static final String LOCAL = "/run/rpcbind.sock";

    private static final int PROGRAM = 100_000;
    private static final int LOWEST_VERSION = 3;
    private static final int HIGHEST_VERSION = 4;
    private static final int SET = 1;
    private static final int UNSET = 2;
    private static final int GETADDR = 3;
    private static final int DUMP = 4;

    private final SocketAddress rpcbind;
    private final boolean isDatagram;
    private final Duration timeout;
    private final Executor executor;

    private RpcbindClient(
            SocketAddress rpcbind, boolean isDatagram, Duration timeout, Executor executor) {
        this.rpcbind = Objects.requireNonNull(rpcbind, "rpcbind");
        this.isDatagram = isDatagram;
        this.timeout = timeout;
        this.executor = executor;
    }

    /**
     * A client that uses a stream, with a time-out of 5 seconds.
     *
     * @param rpcbind an {@link InetSocketAddress} for TCP, mostly with {@link #PORT}, whose host name is resolved with
     *     each request if it is not resolved yet; or a {@link java.net.UnixDomainSocketAddress}, such as of {@link
     *     #LOCAL}
     * @return a client
     */
    public static RpcbindClient overStream(SocketAddress rpcbind) {
        return new RpcbindClient(rpcbind, false, Duration.ofSeconds(5), RpcbindClient::inThread);
    }

    /**
     * A client that uses UDP, with a time-out of 5 seconds; a request is sent again each second.
     *
     * @param rpcbind mostly with {@link #PORT}; a host name is resolved with each request if it is not resolved yet
     * @return a client
     */
    public static RpcbindClient overUdp(InetSocketAddress rpcbind) {
        return new RpcbindClient(rpcbind, true, Duration.ofSeconds(5), RpcbindClient::inThread);
    }

    /**
     * The same with another time-out of a request.
     *
     * @param limit above zero
     * @return another client
     */
    public RpcbindClient withTimeout(Duration limit) {
        if (limit.isNegative() || limit.isZero()) {
            throw new IllegalArgumentException("timeout: " + limit + " (expected: above zero)");
        }
        return new RpcbindClient(rpcbind, isDatagram, limit, executor);
    }

    /**
     * The same with other threads.
     *
     * @param threads run requests, which block
     * @return another client
     */
    public RpcbindClient withExecutor(Executor threads) {
        return new RpcbindClient(
                rpcbind, isDatagram, timeout, Objects.requireNonNull(threads, "threads"));
    }

    private static void inThread(Runnable request) {
        Thread thread = new Thread(request, "rpcbind");
        thread.setDaemon(true);
        thread.start();
    }

    /**
     * Asks for one address (RPCBPROC_GETADDR). The rpcbind of Linux and others ignore the netid, and answer with the
     * service on the transport that the request took, such as TCP: use {@link #find} with them.
     *
     * @param program the RPC program, unsigned
     * @param version of the program, unsigned
     * @param netid of the address
     * @return the address of the service; {@link RpcbindException} if it is not registered
     */
    public Future<InetSocketAddress> getAddress(int program, int version, NetId netid) {
        return submit(() -> getAddressNow(program, version, netid));
    }

    /**
     * Finds the addresses of a service on RDMA in the list of all services (RPCBPROC_DUMP). Where the rpcbind has no
     * such list, it is asked for each netid (RPCBPROC_GETADDR).
     *
     * @param program the RPC program, unsigned
     * @param version of the program, unsigned
     * @return the addresses, at least one; {@link RpcbindException} if the service is not registered
     */
    public Future<List<InetSocketAddress>> find(int program, int version) {
        return submit(() -> findNow(program, version));
    }

    /**
     * Registers a service (RPCBPROC_SET).
     *
     * @param program the RPC program, unsigned
     * @param version of the program, unsigned
     * @param address of the service; its family gives the netid
     * @param owner who may remove the registration; some replace it by the user who asks
     * @return {@code false} if the rpcbind refuses, mostly because the service is registered already
     */
    public Future<Boolean> set(int program, int version, InetSocketAddress address, String owner) {
        return submit(() -> setNow(program, version, address, owner));
    }

    /**
     * Removes a registration (RPCBPROC_UNSET).
     *
     * @param program the RPC program, unsigned
     * @param version of the program, unsigned
     * @param netid of the registered address
     * @param owner as registered
     * @return {@code false} if there is none, or another owner has registered it
     */
    public Future<Boolean> unset(int program, int version, NetId netid, String owner) {
        return submit(() -> unsetNow(program, version, netid, owner));
    }

    // ------------------------------------------------------------------ in a thread that may block

    <T> Future<T> submit(Callable<T> request) {
        Promise<T> promise = new DefaultPromise<>(GlobalEventExecutor.INSTANCE);
        executor.execute(
                () -> {
                    try {
                        promise.trySuccess(request.call());
                    } catch (Throwable t) {
                        promise.tryFailure(t);
                    }
                });
        return promise;
    }

    private InetSocketAddress getAddressNow(int program, int version, NetId netid)
            throws IOException {
        SocketAddress server = resolved();
        RpcbindMapping asked = new RpcbindMapping(program, version, netid.toString(), "", "");
        String universal = request(server, GETADDR, asked, RpcbindMapping::readString);
        if (universal.isEmpty()) {
            throw notRegistered(program, version, netid.toString());
        }
        return address(netid, universal, server);
    }

    List<InetSocketAddress> findNow(int program, int version) throws IOException {
        SocketAddress server = resolved();
        List<RpcbindMapping> all;
        try {
            all = request(server, DUMP, XdrEncodable.VOID, RpcbindMapping::readList);
        } catch (RpcbindException e) {
            if (e.getCause() instanceof RpcStatusException refused
                    && refused.status() == ReplyHeader.Status.PROC_UNAVAIL) {
                return getEach(program, version);
            }
            throw e;
        }
        List<InetSocketAddress> found = new ArrayList<>(2);
        RpcbindException bad = null;
        for (NetId netid : NetId.values()) {
            for (RpcbindMapping mapping : all) {
                if (mapping.program() == program
                        && mapping.version() == version
                        && mapping.netid().equals(netid.toString())) {
                    try {
                        found.add(address(netid, mapping.address(), server));
                    } catch (RpcbindException e) {
                        bad = e; // anybody may have registered it beside a good one
                    }
                }
            }
        }
        if (found.isEmpty()) {
            throw bad == null ? notRegistered(program, version, "rdma or rdma6") : bad;
        }
        return found;
    }

    private List<InetSocketAddress> getEach(int program, int version) throws IOException {
        List<InetSocketAddress> found = new ArrayList<>(2);
        IOException last = null;
        for (NetId netid : NetId.values()) {
            try {
                found.add(getAddressNow(program, version, netid));
            } catch (IOException e) {
                last = e;
            }
        }
        if (found.isEmpty()) {
            throw last;
        }
        return found;
    }

    boolean setNow(int program, int version, InetSocketAddress address, String owner)
            throws IOException {
        String netid = NetId.of(address.getAddress()).toString();
        String universal = NetId.universalAddress(address);
        return request(
                resolved(),
                SET,
                new RpcbindMapping(program, version, netid, universal, owner),
                XdrReader::readBoolean);
    }

    boolean unsetNow(int program, int version, NetId netid, String owner) throws IOException {
        return request(
                resolved(),
                UNSET,
                new RpcbindMapping(program, version, netid.toString(), "", owner),
                XdrReader::readBoolean);
    }

    /** Asks with the highest version that this side and the rpcbind have. */
    private <T> T request(
            SocketAddress server, int procedure, XdrEncodable arguments, XdrDecoder<T> results)
            throws IOException {
        BlockingRpcbindCallTransport transport =
                new BlockingRpcbindCallTransport(
                        new BlockingRpcbindExchange(server, timeout), isDatagram);
        for (int version = HIGHEST_VERSION; ; version--) {
            try {
                return new RpcClient(transport, PROGRAM, version)
                        .call(procedure, arguments, results)
                        .join();
            } catch (IOException e) {
                boolean isMismatch =
                        e instanceof RpcStatusException refused
                                && refused.status() == ReplyHeader.Status.PROG_MISMATCH;
                if (!isMismatch || version == LOWEST_VERSION) {
                    throw new RpcbindException(this + ": " + e.getMessage(), e);
                }
            }
        }
    }

    // ------------------------------------------------------------------ addresses

    private SocketAddress resolved() throws UnknownHostException {
        return rpcbind instanceof InetSocketAddress inet && inet.isUnresolved()
                ? new InetSocketAddress(InetAddress.getByName(inet.getHostString()), inet.getPort())
                : rpcbind;
    }

    /** A service that listens at any address of its machine is at the address that this client knows. */
    private InetSocketAddress address(NetId netid, String universal, SocketAddress server)
            throws RpcbindException {
        InetSocketAddress address;
        try {
            address = netid.parse(universal);
        } catch (IllegalArgumentException e) {
            throw new RpcbindException(this + ": " + e.getMessage(), e);
        }
        if (address.getPort() == 0) {
            throw new RpcbindException(this + ": " + universal + " (expected: a port)");
        }
        if (!address.getAddress().isAnyLocalAddress()) {
            return address;
        }
        InetAddress host =
                server instanceof InetSocketAddress inet
                        ? inet.getAddress()
                        : InetAddress.getLoopbackAddress();
        return new InetSocketAddress(host, address.getPort());
    }

    private RpcbindException notRegistered(int program, int version, String netid) {
        return new RpcbindException(
                this
                        + ": program "
                        + Integer.toUnsignedString(program)
                        + " version "
                        + Integer.toUnsignedString(version)
                        + " is not registered with netid "
                        + netid
                        + " (expected: a server that registers it, or use its port)");
    }

    /** The rpcbind that is asked. */
    @Override
    public String toString() {
        return "rpcbind at "
                + new BlockingRpcbindExchange(rpcbind, timeout)
                + (isDatagram ? " (UDP)" : "");
    }
}
