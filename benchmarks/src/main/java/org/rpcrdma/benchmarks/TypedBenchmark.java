// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.benchmarks;

import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelInitializer;
import io.netty.util.concurrent.Future;
import io.netty.util.concurrent.GenericFutureListener;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;
import org.rpcrdma.callers.Caller;
import org.rpcrdma.callers.CallerByHand;
import org.rpcrdma.callers.ProgramByHand;
import org.rpcrdma.callers.TypedCaller;
import org.rpcrdma.callers.TypedProgram;
import org.rpcrdma.channel.RdmaEventLoopGroup;
import org.rpcrdma.channel.RdmaServerChannel;
import org.rpcrdma.codec.RpcRdmaCodec;
import org.rpcrdma.codec.RpcRdmaConfig;
import org.rpcrdma.codec.client.RpcRdmaClient;

/**
 * READ of 4 KiB over one connection of the loopback: by the typed layer of {@link org.rpcrdma.codec.rpc}, and by
 * programs that read and write each word, at either end. Round trips and pipelined runs are those of {@link
 * RpcBenchmark}.
 */
@State(Scope.Benchmark)
@Fork(1)
@Warmup(iterations = 3, time = 2)
@Measurement(iterations = 5, time = 2)
public class TypedBenchmark {

    private static final int WINDOW = 16;
    private static final int READ_LENGTH = 4096;
    private static final long REPLY_SECONDS = 60;

    /** How a program is written. */
    public enum Way {
        BY_HAND,
        TYPED
    }

    /** What makes the calls. */
    @Param public Way requester;

    /** What answers them. */
    @Param public Way responder;

    private final Semaphore window = new Semaphore(WINDOW);
    private final GenericFutureListener<Future<Integer>> listener = this::answered;
    private RdmaEventLoopGroup serverGroup;
    private RdmaEventLoopGroup clientGroup;
    private RpcRdmaClient client;
    private Caller caller;
    private volatile Throwable failure;

    @Setup
    public void start() {
        serverGroup = new RdmaEventLoopGroup(1);
        clientGroup = new RdmaEventLoopGroup(1);
        client = RpcRdmaClient.builder(clientGroup, listen()).build();
        caller = requester == Way.TYPED ? new TypedCaller(client) : new CallerByHand(client);
    }

    private InetSocketAddress listen() {
        RpcRdmaConfig config = RpcRdmaConfig.defaults();
        ServerBootstrap bootstrap =
                new ServerBootstrap()
                        .group(serverGroup)
                        .channel(RdmaServerChannel.class)
                        .childHandler(
                                new ChannelInitializer<>() {
                                    @Override
                                    protected void initChannel(Channel channel) {
                                        channel.pipeline()
                                                .addLast(
                                                        new RpcRdmaCodec(config),
                                                        responder == Way.TYPED
                                                                ? TypedProgram.handler()
                                                                : new ProgramByHand());
                                    }
                                });
        return (InetSocketAddress)
                config.applyTo(bootstrap)
                        .bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0))
                        .syncUninterruptibly()
                        .channel()
                        .localAddress();
    }

    @TearDown
    public void stop() {
        client.close();
        clientGroup.shutdownGracefully(0, 10, TimeUnit.SECONDS).syncUninterruptibly();
        serverGroup.shutdownGracefully(0, 10, TimeUnit.SECONDS).syncUninterruptibly();
    }

    /** Waits for the replies to all calls, so that none is counted in the next iteration. */
    @TearDown(Level.Iteration)
    public void drain() throws InterruptedException {
        acquire(WINDOW);
        window.release(WINDOW);
    }

    @Benchmark
    @BenchmarkMode(Mode.SampleTime)
    @OutputTimeUnit(TimeUnit.MICROSECONDS)
    public void roundTrip() throws InterruptedException {
        pipelined();
        drain();
    }

    @Benchmark
    @BenchmarkMode(Mode.Throughput)
    @OutputTimeUnit(TimeUnit.SECONDS)
    public void pipelined() throws InterruptedException {
        acquire(1);
        caller.call(listener);
    }

    private void answered(Future<Integer> call) {
        if (!call.isSuccess()) {
            failure = call.cause();
        } else if (call.getNow() != READ_LENGTH) {
            failure =
                    new IllegalStateException(
                            call.getNow() + " bytes (expected: " + READ_LENGTH + ")");
        }
        window.release();
    }

    private void acquire(int permits) throws InterruptedException {
        if (!window.tryAcquire(permits, REPLY_SECONDS, TimeUnit.SECONDS)) {
            throw new IllegalStateException("no reply within " + REPLY_SECONDS + " s");
        }
        if (failure != null) {
            throw new IllegalStateException("a call has failed", failure);
        }
    }
}
