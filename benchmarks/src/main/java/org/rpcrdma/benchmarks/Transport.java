// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.benchmarks;

import io.netty.bootstrap.AbstractBootstrap;
import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.FixedRecvByteBufAllocator;
import io.netty.channel.SelectStrategy;
import io.netty.channel.ServerChannel;
import io.netty.channel.epoll.Epoll;
import io.netty.channel.epoll.EpollDomainSocketChannel;
import io.netty.channel.epoll.EpollEventLoopGroup;
import io.netty.channel.epoll.EpollServerDomainSocketChannel;
import io.netty.channel.epoll.EpollServerSocketChannel;
import io.netty.channel.epoll.EpollSocketChannel;
import io.netty.channel.nio.NioEventLoopGroup;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.channel.socket.nio.NioSocketChannel;
import io.netty.channel.unix.DomainSocketAddress;
import io.netty.handler.codec.ByteToMessageDecoder;
import io.netty.util.IntSupplier;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.nio.file.Path;
import java.util.function.Supplier;
import org.rpcrdma.channel.PollMode;
import org.rpcrdma.channel.Rdma;
import org.rpcrdma.channel.RdmaChannel;
import org.rpcrdma.channel.RdmaEventLoopGroup;
import org.rpcrdma.channel.RdmaServerChannel;
import org.rpcrdma.channel.RdmaServerStreamChannel;
import org.rpcrdma.channel.RdmaStreamChannel;
import org.rpcrdma.codec.RpcRdmaCodec;
import org.rpcrdma.codec.RpcRdmaConfig;
import org.rpcrdma.codec.rpc.RecordMarkingHandler;
import org.rpcrdma.verbs.VerbsProvider;
import org.rpcrdma.verbs.iwarp.IwarpConfig;
import org.rpcrdma.verbs.iwarp.IwarpProvider;

/** What carries the RPC messages: the one thing that differs between the runs of a benchmark. */
public enum Transport {
    /** RPC-over-RDMA; the event loops poll for a short while, then block. */
    RDMA(Kind.RDMA, PollMode.ADAPTIVE),
    /** RPC-over-RDMA; the event loops block at once. */
    RDMA_BLOCKING(Kind.RDMA, PollMode.BLOCKING),
    /** RPC-over-RDMA; the event loops never block. Wants a CPU for each loop. */
    RDMA_BUSY(Kind.RDMA, PollMode.BUSY),
    /** RPC-over-RDMA without long Sends, as towards peers that know none; the event loops never block. */
    RDMA_BUSY_USUAL(Kind.RDMA_USUAL, PollMode.BUSY),
    /** As {@link #RDMA_BUSY}; the caller lends its memory, where the peer places results by RDMA Write. */
    RDMA_BUSY_PLACED(Kind.RDMA, PollMode.BUSY),
    /** RPC-over-RDMA through memory that both ends have mapped; the event loops poll for a short while, then block. */
    SHARED(Kind.SHARED, PollMode.ADAPTIVE),
    /** The same; the event loops never block. Wants a CPU for each loop. */
    SHARED_BUSY(Kind.SHARED, PollMode.BUSY),
    /** As {@link #SHARED_BUSY}; the caller lends its memory for results. */
    SHARED_BUSY_PLACED(Kind.SHARED, PollMode.BUSY),
    /** Record marking on a byte stream over RDMA; the event loops poll for a short while, then block. */
    STREAM(Kind.STREAM, PollMode.ADAPTIVE),
    /** The same; the event loops never block. Wants a CPU for each loop. */
    STREAM_BUSY(Kind.STREAM, PollMode.BUSY),
    /** The same through memory that both ends have mapped; the event loops poll for a short while, then block. */
    SHARED_STREAM(Kind.SHARED_STREAM, PollMode.ADAPTIVE),
    /** The same; the event loops never block. Wants a CPU for each loop. */
    SHARED_STREAM_BUSY(Kind.SHARED_STREAM, PollMode.BUSY),
    /** Record marking on TCP by Netty's NIO transport. */
    NIO(Kind.NIO, PollMode.BLOCKING),
    /** Record marking on TCP by Netty's native epoll transport; Linux only. */
    EPOLL(Kind.EPOLL, PollMode.BLOCKING),
    /** The same; the event loops never block. Wants a CPU for each loop. */
    EPOLL_BUSY(Kind.EPOLL, PollMode.BUSY),
    /**
     * The same, tuned for large messages: fragments are not copied together, 1 MiB for a read, 4 MiB of socket buffers.
     */
    EPOLL_BUSY_TUNED(Kind.EPOLL_TUNED, PollMode.BUSY),
    /** Record marking on Unix domain sockets. */
    UNIX(Kind.UNIX, PollMode.BLOCKING),
    /** The same; the event loops never block. Wants a CPU for each loop. */
    UNIX_BUSY(Kind.UNIX, PollMode.BUSY);

    private enum Kind {
        RDMA(RdmaServerChannel.class, RdmaChannel.class),
        RDMA_USUAL(RdmaServerChannel.class, RdmaChannel.class),
        SHARED(RdmaServerChannel.class, RdmaChannel.class),
        STREAM(RdmaServerStreamChannel.class, RdmaStreamChannel.class),
        SHARED_STREAM(RdmaServerStreamChannel.class, RdmaStreamChannel.class),
        NIO(NioServerSocketChannel.class, NioSocketChannel.class),
        EPOLL(EpollServerSocketChannel.class, EpollSocketChannel.class),
        EPOLL_TUNED(EpollServerSocketChannel.class, EpollSocketChannel.class),
        UNIX(EpollServerDomainSocketChannel.class, EpollDomainSocketChannel.class);

        private final Class<? extends ServerChannel> server;
        private final Class<? extends Channel> client;

        Kind(Class<? extends ServerChannel> server, Class<? extends Channel> client) {
            this.server = server;
            this.client = client;
        }
    }

    /** Of this project; others need not initialize it. */
    private static final class Own {
        static final RpcRdmaConfig RPC_RDMA = RpcRdmaConfig.builder().build();
        static final RpcRdmaConfig USUAL = RpcRdmaConfig.builder().longSize(0).build();
        static final VerbsProvider SHARED_MEMORY =
                new IwarpProvider(IwarpConfig.builder().sharedMemory(true).build());
    }

    private static final int TUNED_READ = 1 << 20;
    private static final int TUNED_SOCKET_BUFFER = 4 << 20;

    private final Kind kind;
    private final PollMode mode;

    Transport(Kind kind, PollMode mode) {
        this.kind = kind;
        this.mode = mode;
    }

    private static int neverBlock(IntSupplier selectNow, boolean hasTasks) throws Exception {
        return hasTasks ? selectNow.get() : SelectStrategy.BUSY_WAIT;
    }

    /** Whether the event loops take a CPU each, whatever they have to do. */
    public boolean isBusy() {
        return mode == PollMode.BUSY;
    }

    /** Whether callers lend memory for results, see {@link org.rpcrdma.codec.RpcMessage#addSink}. */
    public boolean isPlaced() {
        return this == RDMA_BUSY_PLACED || this == SHARED_BUSY_PLACED;
    }

    /** Whether this machine has it. */
    public boolean isAvailable() {
        return switch (kind) {
            case RDMA, RDMA_USUAL, SHARED, STREAM, SHARED_STREAM, NIO -> true;
            case EPOLL, EPOLL_TUNED, UNIX -> Epoll.isAvailable();
        };
    }

    /** Whether it carries any bytes, not RPC messages alone, between addresses of the Internet. */
    public boolean isStream() {
        return switch (kind) {
            case STREAM, SHARED_STREAM, NIO, EPOLL -> true;
            case RDMA, RDMA_USUAL, SHARED, EPOLL_TUNED, UNIX -> false;
        };
    }

    /** The class of a channel that listens. */
    public Class<? extends ServerChannel> serverClass() {
        return kind.server;
    }

    /** The class of a client's channel. */
    public Class<? extends Channel> clientClass() {
        return kind.client;
    }

    /** A group of one event loop. */
    public EventLoopGroup newGroup() {
        return switch (kind) {
            case RDMA, RDMA_USUAL, STREAM -> new RdmaEventLoopGroup(1, Rdma.provider(), mode);
            case SHARED, SHARED_STREAM -> new RdmaEventLoopGroup(1, Own.SHARED_MEMORY, mode);
            case NIO -> new NioEventLoopGroup(1);
            case EPOLL, EPOLL_TUNED, UNIX ->
                    mode == PollMode.BUSY
                            ? new EpollEventLoopGroup(1, () -> Transport::neverBlock)
                            : new EpollEventLoopGroup(1);
        };
    }

    /**
     * Where a server listens.
     *
     * @param directory where the file of a Unix domain socket may be made
     */
    public SocketAddress serverAddress(Path directory) {
        return kind == Kind.UNIX
                ? new DomainSocketAddress(directory.resolve("rpc.socket").toFile())
                : new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
    }

    /** An address that a server has told, in words of {@link #toText}. */
    public SocketAddress fromText(String text) {
        return kind == Kind.UNIX
                ? new DomainSocketAddress(text)
                : new InetSocketAddress(InetAddress.getLoopbackAddress(), Integer.parseInt(text));
    }

    /** An address in words that another process understands. */
    public String toText(SocketAddress address) {
        return kind == Kind.UNIX
                ? ((DomainSocketAddress) address).path()
                : Integer.toString(((InetSocketAddress) address).getPort());
    }

    /** A server whose connections end in a handler each. */
    public ServerBootstrap server(EventLoopGroup group, Supplier<ChannelHandler> handlers) {
        return bareServer(group, pipeline(handlers));
    }

    /**
     * A server without any framing.
     *
     * @param initializer of its connections
     */
    public ServerBootstrap bareServer(EventLoopGroup group, ChannelHandler initializer) {
        ServerBootstrap bootstrap =
                new ServerBootstrap().group(group).channel(kind.server).childHandler(initializer);
        switch (kind) {
            case RDMA, SHARED -> Own.RPC_RDMA.applyTo(bootstrap);
            case RDMA_USUAL -> Own.USUAL.applyTo(bootstrap);
            case EPOLL_TUNED -> {
                tune(bootstrap.childOption(ChannelOption.TCP_NODELAY, true));
                bootstrap
                        .childOption(
                                ChannelOption.RCVBUF_ALLOCATOR,
                                new FixedRecvByteBufAllocator(TUNED_READ))
                        .childOption(ChannelOption.SO_SNDBUF, TUNED_SOCKET_BUFFER);
            }
            case NIO, EPOLL -> bootstrap.childOption(ChannelOption.TCP_NODELAY, true);
            case STREAM, SHARED_STREAM, UNIX -> {}
        }
        return bootstrap;
    }

    /** A client whose connections end in a handler each. */
    public Bootstrap client(EventLoopGroup group, Supplier<ChannelHandler> handlers) {
        return bareClient(group, pipeline(handlers));
    }

    /**
     * A client without any framing.
     *
     * @param initializer of its connections
     */
    public Bootstrap bareClient(EventLoopGroup group, ChannelHandler initializer) {
        Bootstrap bootstrap =
                new Bootstrap().group(group).channel(kind.client).handler(initializer);
        switch (kind) {
            case RDMA, SHARED -> Own.RPC_RDMA.applyTo(bootstrap);
            case RDMA_USUAL -> Own.USUAL.applyTo(bootstrap);
            case EPOLL_TUNED ->
                    tune(
                            bootstrap
                                    .option(ChannelOption.TCP_NODELAY, true)
                                    .option(
                                            ChannelOption.RCVBUF_ALLOCATOR,
                                            new FixedRecvByteBufAllocator(TUNED_READ))
                                    .option(ChannelOption.SO_SNDBUF, TUNED_SOCKET_BUFFER));
            case NIO, EPOLL -> bootstrap.option(ChannelOption.TCP_NODELAY, true);
            case STREAM, SHARED_STREAM, UNIX -> {}
        }
        return bootstrap;
    }

    /** Both sides set it before TCP scales its window: the server on the channel that listens. */
    private static void tune(AbstractBootstrap<?, ?> bootstrap) {
        bootstrap.option(ChannelOption.SO_RCVBUF, TUNED_SOCKET_BUFFER);
    }

    private ChannelInitializer<Channel> pipeline(Supplier<ChannelHandler> handlers) {
        return new ChannelInitializer<>() {
            @Override
            protected void initChannel(Channel channel) {
                channel.pipeline().addLast(framing(), handlers.get());
            }
        };
    }

    /** What turns the transport's messages or bytes into whole RPC messages and back. */
    private ChannelHandler framing() {
        return switch (kind) {
            case RDMA, SHARED -> new RpcRdmaCodec(Own.RPC_RDMA);
            case RDMA_USUAL -> new RpcRdmaCodec(Own.USUAL);
            case EPOLL_TUNED ->
                    new RecordMarkingHandler(
                            RecordMarkingHandler.DEFAULT_RECORD_BYTES,
                            ByteToMessageDecoder.COMPOSITE_CUMULATOR);
            case STREAM, SHARED_STREAM, NIO, EPOLL, UNIX -> new RecordMarkingHandler();
        };
    }
}
