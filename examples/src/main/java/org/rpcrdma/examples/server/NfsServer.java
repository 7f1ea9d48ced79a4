// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.server;

import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.ChannelPipeline;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.nio.NioEventLoopGroup;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.util.concurrent.DefaultThreadFactory;
import io.netty.util.concurrent.UnorderedThreadPoolEventExecutor;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import org.rpcrdma.channel.RdmaChannelOption;
import org.rpcrdma.channel.RdmaEventLoopGroup;
import org.rpcrdma.channel.RdmaServerChannel;
import org.rpcrdma.codec.BoundedDuplicateRequestCache;
import org.rpcrdma.codec.DuplicateRequestCache;
import org.rpcrdma.codec.RpcRdmaCodec;
import org.rpcrdma.codec.RpcRdmaConfig;
import org.rpcrdma.codec.RpcRdmaMetrics;
import org.rpcrdma.codec.metrics.RdmaMeterBinder;
import org.rpcrdma.codec.metrics.RpcRdmaMeterBinder;
import org.rpcrdma.codec.rpc.OutstandingCallLimitHandler;
import org.rpcrdma.codec.rpc.RecordMarkingHandler;
import org.rpcrdma.codec.rpc.RpcServerHandler;
import org.rpcrdma.examples.common.Shutdown;
import org.rpcrdma.examples.common.Waits;
import org.rpcrdma.examples.export.Export;
import org.rpcrdma.examples.export.FileLocks;

/**
 * RPC programs on two transports. Compare the two {@link ServerBootstrap}s: over RDMA the channel class and the framing
 * codec are other ones; the programs and their threads are the same objects.
 */
public final class NfsServer implements AutoCloseable {

    /** Calls of a connection over TCP at a time: with their arguments and replies some 8 MiB. */
    static final int TCP_CALLS_MAX = 4;

    private static final int REMEMBERED_CALLS = 4096;

    /** The longest reply that is remembered, to a CREATE, has about 300 bytes. */
    private static final int REMEMBERED_REPLY_MAX = 512;

    private final RdmaEventLoopGroup rdmaLoops = new RdmaEventLoopGroup(1);
    private final EventLoopGroup tcpLoops =
            new NioEventLoopGroup(2, new DefaultThreadFactory("nfs-tcp"));

    /** File systems block, event loops must not: programs run here, several calls of one connection at a time. */
    private final UnorderedThreadPoolEventExecutor threads =
            new UnorderedThreadPoolEventExecutor(
                    Math.max(4, Runtime.getRuntime().availableProcessors()),
                    new DefaultThreadFactory("nfs-program"));

    private final Admission admission;
    private final ConnectionLimit tcpConnections;

    private final RpcRdmaMetrics metrics = new RpcRdmaMetrics();

    /** Over RDMA a client loses its connection more easily than over TCP, and then sends its calls again. */
    private final DuplicateRequestCache duplicates =
            new BoundedDuplicateRequestCache(
                    REMEMBERED_CALLS,
                    REMEMBERED_REPLY_MAX,
                    (long) REMEMBERED_CALLS * REMEMBERED_REPLY_MAX,
                    Nfs3Program::isRemembered);

    private final List<Channel> channels = new ArrayList<>();
    private final RpcServerHandler nfs;
    private final RpcServerHandler mount;

    /**
     * A server to whom a client's root is root.
     *
     * @param export not closed with the server
     */
    public NfsServer(Export export) throws IOException {
        this(export, 0, false, Admission.usual());
    }

    /**
     * As above.
     *
     * @param directoryMax the most bytes of a directory in one reply, if that is more than usual: for clients that can
     *     take them ({@link org.rpcrdma.examples.common.ReliableReplies})
     * @param squashesRoot whether a client's root is nobody, if the server runs as root
     * @param admission who may connect
     */
    public NfsServer(Export export, int directoryMax, boolean squashesRoot, Admission admission)
            throws IOException {
        this.admission = admission;
        tcpConnections = new ConnectionLimit(admission, System::nanoTime);
        Caller.Policy policy = Caller.Policy.of(ownUid(), squashesRoot);
        Nfs3Service service = Nfs3Service.of(export, new FileLocks(), policy, directoryMax);
        nfs = new RpcServerHandler(Nfs3Program.of(service, policy, threads));
        mount = new RpcServerHandler(MountProgram.of(export, threads));
    }

    /**
     * Shows what the RDMA side of this server does.
     *
     * @param buckets of the times of calls
     */
    public void bindTo(MeterRegistry registry, Duration... buckets) {
        new RdmaMeterBinder(rdmaLoops).bindTo(registry);
        new RpcRdmaMeterBinder(metrics, Tags.empty(), buckets).bindTo(registry);
    }

    /** The counters of its connections over RDMA. */
    public RpcRdmaMetrics metrics() {
        return metrics;
    }

    /** NFS over RDMA. Parameters and result as with {@link #serveNfsOverTcp}. */
    public InetSocketAddress serveNfsOverRdma(InetSocketAddress address, RpcRdmaConfig config)
            throws IOException {
        return serveNfsOverRdma(address, config, channel -> {});
    }

    /** As above. Each new connection is shown to somebody before the codec is added, who may put a handler below it. */
    public InetSocketAddress serveNfsOverRdma(
            InetSocketAddress address, RpcRdmaConfig config, Consumer<Channel> first)
            throws IOException {
        return bind(
                config.applyTo(new ServerBootstrap())
                        .group(rdmaLoops)
                        .channel(RdmaServerChannel.class)
                        .option(RdmaChannelOption.ADMISSION_POLICY, admission.policy())
                        .handler(new ListenerProblems())
                        .childHandler(
                                new ChannelInitializer<Channel>() {
                                    @Override
                                    protected void initChannel(Channel channel) {
                                        first.accept(channel);
                                        channel.pipeline()
                                                .addLast(
                                                        new RpcRdmaCodec(
                                                                config, metrics, duplicates),
                                                        nfs);
                                    }
                                }),
                address);
    }

    /**
     * NFS over TCP.
     *
     * @param address with port 0 to have one chosen
     * @return where it listens
     * @throws IOException if the address cannot be used
     */
    public InetSocketAddress serveNfsOverTcp(InetSocketAddress address) throws IOException {
        return serveOverTcp(nfs, address);
    }

    /** MOUNT over TCP. Parameters and result as with {@link #serveNfsOverTcp}. */
    public InetSocketAddress serveMountOverTcp(InetSocketAddress address) throws IOException {
        return serveOverTcp(mount, address);
    }

    private InetSocketAddress serveOverTcp(RpcServerHandler program, InetSocketAddress address)
            throws IOException {
        return bind(
                new ServerBootstrap()
                        .group(tcpLoops)
                        .channel(NioServerSocketChannel.class)
                        .childOption(ChannelOption.SO_KEEPALIVE, true)
                        .childHandler(
                                new ChannelInitializer<Channel>() {
                                    @Override
                                    protected void initChannel(Channel channel) {
                                        addFraming(channel.pipeline(), tcpConnections);
                                        channel.pipeline().addLast(program);
                                    }
                                }),
                address);
    }

    /** What TCP has where RDMA has its codec, with the bounds that RDMA has by itself. */
    static void addFraming(ChannelPipeline pipeline, ConnectionLimit connections) {
        pipeline.addLast(
                connections,
                new RecordMarkingHandler(),
                new ConnectionUseHandler(connections),
                new OutstandingCallLimitHandler(TCP_CALLS_MAX));
    }

    private InetSocketAddress bind(ServerBootstrap bootstrap, InetSocketAddress address)
            throws IOException {
        Channel bound = Waits.listen(bootstrap, address);
        channels.add(bound);
        return (InetSocketAddress) bound.localAddress();
    }

    /** Closes the sockets and waits for the calls at work, for a few seconds at most. */
    @Override
    public void close() {
        channels.forEach(Channel::close);
        Shutdown.of(rdmaLoops, tcpLoops, threads);
    }

    /** Java does not tell whom a process runs as, but whom its files belong to. */
    private static int ownUid() throws IOException {
        Path self = Path.of("/proc/self");
        if (Files.exists(self)) {
            return (int) Files.getAttribute(self, "unix:uid");
        }
        Path probe = Files.createTempFile("rpcrdma", null);
        try {
            return (int) Files.getAttribute(probe, "unix:uid");
        } finally {
            Files.delete(probe);
        }
    }
}
