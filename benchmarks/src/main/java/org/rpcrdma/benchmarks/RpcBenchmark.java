// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.benchmarks;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.PooledByteBufAllocator;
import io.netty.channel.Channel;
import io.netty.channel.EventLoopGroup;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.AuxCounters;
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

/**
 * NULL and READ of 1 MiB over one connection of the loopback, one caller, one event loop on each side.
 *
 * <p>A round trip has one call outstanding and its caller blocks: its sample time is the latency. The pipelined runs
 * keep {@link #WINDOW} calls outstanding and give the rate; {@code megabytes} is the payload's rate in MB/s.
 */
@State(Scope.Benchmark)
@Fork(1)
@Warmup(iterations = 3, time = 2)
@Measurement(iterations = 5, time = 2)
public class RpcBenchmark {

    private static final int WINDOW = 16;
    private static final int READ_LENGTH = 1 << 20;
    private static final long REPLY_SECONDS = 60;

    /** What carries the messages. {@link Transport#RDMA_BUSY} has to be asked for: it wants three CPUs. */
    @Param({"RDMA", "RDMA_BLOCKING", "NIO", "EPOLL"})
    public Transport transport;

    private final Semaphore window = new Semaphore(WINDOW);
    private EventLoopGroup serverGroup;
    private EventLoopGroup clientGroup;
    private ByteBuf file;
    private Path directory;
    private Channel channel;
    private int xid;
    private int expectedLength;
    private volatile Throwable failure;

    /** Payload moved, shown as a rate. */
    @AuxCounters
    @State(Scope.Thread)
    public static class Payload {
        private long bytes;

        /** Starts each iteration at nothing. */
        @Setup(Level.Iteration)
        public void reset() {
            bytes = 0;
        }

        /** In units of 10^6 bytes. */
        public double megabytes() {
            return bytes / 1e6;
        }
    }

    @Setup
    public void start() throws IOException {
        directory = Files.createTempDirectory("rpcrdma-benchmark");
        file = PooledByteBufAllocator.DEFAULT.directBuffer(READ_LENGTH).writeZero(READ_LENGTH);
        serverGroup = transport.newGroup();
        clientGroup = transport.newGroup();
        Channel server =
                transport
                        .server(serverGroup, () -> new ResponderHandler(file))
                        .bind(transport.serverAddress(directory))
                        .syncUninterruptibly()
                        .channel();
        channel =
                transport
                        .client(clientGroup, () -> new RequesterHandler(new Replies()))
                        .connect(server.localAddress())
                        .syncUninterruptibly()
                        .channel();
    }

    @TearDown
    public void stop() throws IOException {
        channel.close().syncUninterruptibly();
        clientGroup.shutdownGracefully(0, 10, TimeUnit.SECONDS).syncUninterruptibly();
        serverGroup.shutdownGracefully(0, 10, TimeUnit.SECONDS).syncUninterruptibly();
        file.release();
        Files.deleteIfExists(directory.resolve("rpc.socket"));
        Files.delete(directory);
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
    public void nullRoundTrip() throws InterruptedException {
        callNull();
        drain();
    }

    @Benchmark
    @BenchmarkMode(Mode.Throughput)
    @OutputTimeUnit(TimeUnit.SECONDS)
    public void nullPipelined() throws InterruptedException {
        callNull();
    }

    @Benchmark
    @BenchmarkMode(Mode.SampleTime)
    @OutputTimeUnit(TimeUnit.MICROSECONDS)
    public void readRoundTrip() throws InterruptedException {
        callRead();
        drain();
    }

    @Benchmark
    @BenchmarkMode(Mode.Throughput)
    @OutputTimeUnit(TimeUnit.SECONDS)
    public void readPipelined(Payload payload) throws InterruptedException {
        callRead();
        payload.bytes += READ_LENGTH;
    }

    private void callNull() throws InterruptedException {
        acquire(1);
        expectedLength = Nfs3Messages.NULL_REPLY_LENGTH;
        channel.writeAndFlush(Nfs3Messages.nullCall(channel.alloc(), ++xid), channel.voidPromise());
    }

    private void callRead() throws InterruptedException {
        acquire(1);
        expectedLength = Nfs3Messages.READ_REPLY_OVERHEAD + READ_LENGTH;
        channel.writeAndFlush(
                Nfs3Messages.readCall(channel.alloc(), ++xid, READ_LENGTH), channel.voidPromise());
    }

    private void acquire(int permits) throws InterruptedException {
        if (!window.tryAcquire(permits, REPLY_SECONDS, TimeUnit.SECONDS)) {
            throw new IllegalStateException(
                    "no reply within " + REPLY_SECONDS + " s on " + transport);
        }
        if (failure != null) {
            throw new IllegalStateException("the connection failed on " + transport, failure);
        }
    }

    private final class Replies implements RequesterHandler.Listener {
        @Override
        public void replied(int length) {
            if (length != expectedLength) {
                failed(
                        new IllegalStateException(
                                "reply of "
                                        + length
                                        + " bytes (expected: "
                                        + expectedLength
                                        + ")"));
            }
            window.release();
        }

        @Override
        public void failed(Throwable cause) {
            failure = cause;
            window.release(WINDOW); // whoever waits finds the failure
        }
    }
}
