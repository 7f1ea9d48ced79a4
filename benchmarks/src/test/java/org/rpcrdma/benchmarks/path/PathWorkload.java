// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.benchmarks.path;

import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.PooledByteBufAllocator;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.nio.NioEventLoopGroup;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.channel.socket.nio.NioSocketChannel;
import io.netty.util.ResourceLeakDetector;
import io.netty.util.internal.PlatformDependent;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.function.Function;
import org.rpcrdma.channel.PollMode;
import org.rpcrdma.channel.RdmaChannel;
import org.rpcrdma.channel.RdmaEventLoopGroup;
import org.rpcrdma.channel.RdmaServerChannel;
import org.rpcrdma.channel.RdmaServerStreamChannel;
import org.rpcrdma.channel.RdmaStreamChannel;
import org.rpcrdma.codec.RpcRdmaCodec;
import org.rpcrdma.codec.RpcRdmaConfig;
import org.rpcrdma.codec.rpc.RecordMarkingHandler;
import org.rpcrdma.verbs.iwarp.IwarpConfig;
import org.rpcrdma.verbs.iwarp.SimulatedNetwork;

/**
 * Makes calls of one kind from one event loop to another, both of which block, on a {@link SimulatedNetwork} without
 * chance: batches are the same each time, and the sockets' own work is not counted. Lives in a {@link
 * CountingClassLoader}.
 */
public final class PathWorkload implements Function<String[], long[]> {

    private static final InetSocketAddress ADDRESS =
            new InetSocketAddress(InetAddress.getLoopbackAddress(), 20049);

    private static final int OUTSTANDING = 16;
    private static final int WARM_UP_CALLS = 2048;
    private static final int CALLS = PathCounters.HAS_TREES ? 256 : 2048;
    private static final long PATIENCE_NANOS = TimeUnit.SECONDS.toNanos(1000);
    private static final RpcRdmaConfig CONFIG = RpcRdmaConfig.builder().build();

    private final SimulatedNetwork network = SimulatedNetwork.even();
    private PathTransport transport;
    private PathRequester requester;
    private PathResponder responder;

    /**
     * @param names of a {@link PathTransport} and a {@link PathCall}
     * @return how many calls were counted at the requester and the responder; none where Netty has no Unsafe
     */
    @Override
    public long[] apply(String[] names) {
        ResourceLeakDetector.setLevel(ResourceLeakDetector.Level.DISABLED);
        if (!PlatformDependent.hasUnsafe()) {
            return new long[0];
        }
        transport = PathTransport.valueOf(names[0]);
        PathCall call = PathCall.valueOf(names[1]);
        ByteBuf data = PooledByteBufAllocator.DEFAULT.directBuffer(1 + call.bytes);
        data.writeZero(call.bytes);
        requester = new PathRequester(call, data);
        responder = new PathResponder(call, data);
        EventLoopGroup server = group();
        EventLoopGroup client = group();
        long[] counts;
        try {
            connect(server, client);
            counts = count();
        } finally {
            server.shutdownGracefully(0, 1, TimeUnit.SECONDS);
            client.shutdownGracefully(0, 1, TimeUnit.SECONDS);
            runUntil("the event loops end", () -> network.threadCount() == 0);
        }
        if (!data.release()) {
            throw new IllegalStateException("the data of " + call + " are still in use");
        }
        return counts;
    }

    private EventLoopGroup group() {
        return transport.isOurs()
                ? new RdmaEventLoopGroup(
                        1,
                        network.executor(),
                        network.provider(IwarpConfig.defaults()),
                        PollMode.BLOCKING)
                : new NioEventLoopGroup(1, network.executor(), network);
    }

    private void connect(EventLoopGroup server, EventLoopGroup client) {
        ServerBootstrap listening =
                new ServerBootstrap().group(server).childHandler(pipeline(responder));
        Bootstrap connecting = new Bootstrap().group(client).handler(pipeline(requester));
        switch (transport) {
            case RDMA -> {
                CONFIG.applyTo(listening.channel(RdmaServerChannel.class));
                CONFIG.applyTo(connecting.channel(RdmaChannel.class));
            }
            case STREAM -> {
                listening.channel(RdmaServerStreamChannel.class);
                connecting.channel(RdmaStreamChannel.class);
            }
            case NIO -> {
                listening.channelFactory(() -> new NioServerSocketChannel(network));
                connecting.channelFactory(() -> new NioSocketChannel(network));
            }
            default -> throw new IllegalStateException(transport.label);
        }
        await("the server listens", listening.bind(ADDRESS));
        await("the client connects", connecting.connect(ADDRESS));
    }

    private ChannelHandler pipeline(ChannelHandler last) {
        return new ChannelInitializer<>() {
            @Override
            protected void initChannel(Channel channel) {
                boolean hasMessages = transport == PathTransport.RDMA;
                channel.pipeline()
                        .addLast(
                                hasMessages ? new RpcRdmaCodec(CONFIG) : new RecordMarkingHandler(),
                                last);
            }
        };
    }

    private long[] count() {
        requester.start(OUTSTANDING);
        answer(WARM_UP_CALLS);
        long replies = requester.replies();
        long calls = responder.calls();
        PathCounters.start(requester.thread(), responder.thread());
        answer(replies + CALLS);
        PathCounters.stop();
        return new long[] {requester.replies() - replies, responder.calls() - calls};
    }

    private void answer(long count) {
        runUntil("calls are answered", () -> requester.replies() >= count);
    }

    private void await(String what, ChannelFuture future) {
        runUntil(what, future::isDone);
        if (!future.isSuccess()) {
            throw new IllegalStateException("not so: " + what, future.cause());
        }
    }

    private void runUntil(String what, BooleanSupplier condition) {
        boolean isMet = network.runUntil(condition, PATIENCE_NANOS);
        Throwable failure = requester.failure() == null ? responder.failure() : requester.failure();
        if (!isMet || failure != null) {
            throw new IllegalStateException("not so: " + what, failure);
        }
    }
}
