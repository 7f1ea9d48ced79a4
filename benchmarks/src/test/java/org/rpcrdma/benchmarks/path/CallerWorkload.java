// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.benchmarks.path;

import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.util.ResourceLeakDetector;
import io.netty.util.concurrent.Future;
import io.netty.util.concurrent.GenericFutureListener;
import io.netty.util.internal.PlatformDependent;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.function.Function;
import org.rpcrdma.callers.Caller;
import org.rpcrdma.callers.CallerByHand;
import org.rpcrdma.callers.ProgramByHand;
import org.rpcrdma.callers.TypedCaller;
import org.rpcrdma.callers.TypedProgram;
import org.rpcrdma.channel.PollMode;
import org.rpcrdma.channel.RdmaEventLoopGroup;
import org.rpcrdma.channel.RdmaServerChannel;
import org.rpcrdma.codec.RpcRdmaCodec;
import org.rpcrdma.codec.RpcRdmaConfig;
import org.rpcrdma.codec.client.RpcRdmaClient;
import org.rpcrdma.verbs.iwarp.IwarpConfig;
import org.rpcrdma.verbs.iwarp.SimulatedNetwork;

/**
 * Makes calls by the typed layer or by hand, otherwise as {@link PathWorkload}: from the event loop of an {@link
 * RpcRdmaClient} to another one.
 */
public final class CallerWorkload implements Function<String[], long[]> {

    private static final InetSocketAddress ADDRESS =
            new InetSocketAddress(InetAddress.getLoopbackAddress(), 20049);

    private static final int OUTSTANDING = 16;
    private static final int WARM_UP_CALLS = 1024;
    private static final int CALLS = 1024;
    private static final long PATIENCE_NANOS = TimeUnit.SECONDS.toNanos(1000);
    private static final RpcRdmaConfig CONFIG = RpcRdmaConfig.defaults();

    private final SimulatedNetwork network = SimulatedNetwork.even();
    private final GenericFutureListener<Future<Integer>> listener = this::answered;
    private Caller caller;
    private Thread requester;
    private Thread responder;
    private long replies;
    private boolean isOver;
    private Throwable failure;

    /**
     * @param names {@code typed} or another word
     * @return how many calls were counted; none where Netty has no Unsafe
     */
    @Override
    public long[] apply(String[] names) {
        ResourceLeakDetector.setLevel(ResourceLeakDetector.Level.DISABLED);
        if (!PlatformDependent.hasUnsafe()) {
            return new long[0];
        }
        boolean isTyped = names[0].equals("typed");
        RdmaEventLoopGroup servers = group();
        RdmaEventLoopGroup clients = group();
        try {
            listen(servers, isTyped);
            RpcRdmaClient client = RpcRdmaClient.builder(clients, ADDRESS).config(CONFIG).build();
            caller = isTyped ? new TypedCaller(client) : new CallerByHand(client);
            clients.next().execute(this::begin);
            answer(WARM_UP_CALLS);
            long before = replies;
            PathCounters.start(requester, responder);
            answer(before + CALLS);
            PathCounters.stop();
            return new long[] {replies - before, replies - before};
        } finally {
            isOver = true;
            servers.shutdownGracefully(0, 1, TimeUnit.SECONDS);
            clients.shutdownGracefully(0, 1, TimeUnit.SECONDS);
            network.runUntil(() -> network.threadCount() == 0, PATIENCE_NANOS);
        }
    }

    private RdmaEventLoopGroup group() {
        return new RdmaEventLoopGroup(
                1, network.executor(), network.provider(IwarpConfig.defaults()), PollMode.BLOCKING);
    }

    private void listen(RdmaEventLoopGroup group, boolean isTyped) {
        ServerBootstrap bootstrap =
                new ServerBootstrap()
                        .group(group)
                        .channel(RdmaServerChannel.class)
                        .childHandler(
                                new ChannelInitializer<>() {
                                    @Override
                                    protected void initChannel(Channel channel) {
                                        ChannelHandler program =
                                                isTyped
                                                        ? TypedProgram.handler()
                                                        : new ProgramByHand();
                                        channel.pipeline()
                                                .addLast(
                                                        new RpcRdmaCodec(CONFIG),
                                                        program,
                                                        new Watcher());
                                    }
                                });
        ChannelFuture bound = CONFIG.applyTo(bootstrap).bind(ADDRESS);
        runUntil("the server listens", bound::isDone);
    }

    private void begin() {
        requester = Thread.currentThread();
        for (int i = 0; i < OUTSTANDING; i++) {
            caller.call(listener);
        }
    }

    private void answered(Future<Integer> call) {
        if (isOver) {
            return;
        }
        failure = call.cause();
        isOver = failure != null;
        replies++;
        caller.call(listener);
    }

    private void answer(long count) {
        runUntil("calls are answered", () -> replies >= count);
    }

    private void runUntil(String what, BooleanSupplier condition) {
        if (!network.runUntil(condition, PATIENCE_NANOS) || failure != null) {
            throw new IllegalStateException("not so: " + what, failure);
        }
    }

    /** Knows the thread of the responder. */
    private final class Watcher extends ChannelInboundHandlerAdapter {
        @Override
        public void channelActive(ChannelHandlerContext ctx) {
            responder = Thread.currentThread();
            ctx.fireChannelActive();
        }
    }
}
