// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import static io.netty.util.internal.ObjectUtil.checkNotNull;

import io.netty.channel.EventLoop;
import io.netty.channel.MultithreadEventLoopGroup;
import io.netty.util.concurrent.DefaultThreadFactory;
import io.netty.util.concurrent.RejectedExecutionHandlers;
import io.netty.util.concurrent.ThreadPerTaskExecutor;
import java.io.IOException;
import java.util.concurrent.Executor;
import java.util.concurrent.ThreadFactory;
import org.rpcrdma.verbs.VerbsProvider;

/** Event loops for {@link RdmaChannel} and {@link RdmaServerChannel}. */
public final class RdmaEventLoopGroup extends MultithreadEventLoopGroup {

    /** As many event loops as Netty's default, on the best available provider. */
    public RdmaEventLoopGroup() {
        this(0);
    }

    /**
     * @param threads the number of event loops; 0 for Netty's default
     */
    public RdmaEventLoopGroup(int threads) {
        this(threads, Rdma.provider(), PollMode.ADAPTIVE);
    }

    /**
     * @param threads the number of event loops; 0 for Netty's default, which {@link PollMode#BUSY} does not allow
     * @param provider the device, see {@link Rdma#provider(String)}
     * @param mode how the loops wait
     */
    public RdmaEventLoopGroup(int threads, VerbsProvider provider, PollMode mode) {
        this(
                threads,
                new DefaultThreadFactory(RdmaEventLoopGroup.class, Thread.MAX_PRIORITY),
                provider,
                mode);
    }

    /**
     * @param threads the number of event loops; 0 for Netty's default, which {@link PollMode#BUSY} does not allow
     * @param threadFactory makes the threads of the loops
     * @param provider the device, see {@link Rdma#provider(String)}
     * @param mode how the loops wait
     */
    public RdmaEventLoopGroup(
            int threads, ThreadFactory threadFactory, VerbsProvider provider, PollMode mode) {
        super(
                checkThreads(threads, mode),
                new ThreadPerTaskExecutor(checkNotNull(threadFactory, "threadFactory")),
                checkNotNull(provider, "provider"),
                mode);
    }

    private static int checkThreads(int threads, PollMode mode) {
        if (checkNotNull(mode, "mode") == PollMode.BUSY && threads <= 0) {
            throw new IllegalArgumentException(
                    "threads: "
                            + threads
                            + " (expected: > 0, because each busy event loop takes a whole CPU)");
        }
        return threads;
    }

    @Override
    protected EventLoop newChild(Executor executor, Object... args) throws IOException {
        VerbsProvider provider = (VerbsProvider) args[0];
        provider.ensureAvailability();
        return new RdmaEventLoop(
                this,
                executor,
                provider.open(),
                (PollMode) args[1],
                RejectedExecutionHandlers.reject());
    }
}
