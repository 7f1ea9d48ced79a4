// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.client;

import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelPromise;
import io.netty.channel.EventLoop;
import io.netty.channel.EventLoopGroup;
import io.netty.util.concurrent.AbstractEventExecutor;
import io.netty.util.concurrent.DefaultPromise;
import io.netty.util.concurrent.Future;
import io.netty.util.concurrent.ImmediateEventExecutor;
import io.netty.util.concurrent.Promise;
import java.util.ArrayDeque;
import java.util.Queue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;

/** What Netty promises of the tasks of an event loop, and no more; whichever thread calls it is the loop's. */
final class ModelEventLoop extends AbstractEventExecutor implements EventLoop {

    private final Queue<Runnable> tasks = new ArrayDeque<>();
    private final Promise<Void> termination = new DefaultPromise<>(ImmediateEventExecutor.INSTANCE);

    private volatile Thread thread;
    private volatile boolean terminated;
    private boolean isShutdown;

    /** Runs tasks until there is none. */
    void runTasks() {
        thread = Thread.currentThread();
        for (Runnable task = poll(); task != null; task = poll()) {
            task.run();
        }
        thread = null;
    }

    private synchronized Runnable poll() {
        return tasks.poll();
    }

    /** Refuses tasks, runs those that are there, and tells the listeners. */
    void terminate() {
        synchronized (this) {
            isShutdown = true;
        }
        runTasks();
        terminated = true;
        termination.setSuccess(null);
    }

    @Override
    public synchronized void execute(Runnable task) {
        if (isShutdown) {
            throw new RejectedExecutionException();
        }
        tasks.add(task);
    }

    @Override
    public boolean inEventLoop(Thread other) {
        return other == thread;
    }

    @Override
    public boolean isTerminated() {
        return terminated;
    }

    @Override
    public Future<?> terminationFuture() {
        return termination;
    }

    @Override
    public EventLoop next() {
        return this;
    }

    @Override
    public EventLoopGroup parent() {
        return null;
    }

    @Override
    public boolean isShuttingDown() {
        return terminated;
    }

    @Override
    public boolean isShutdown() {
        return terminated;
    }

    @Override
    public boolean awaitTermination(long timeout, TimeUnit unit) {
        throw new UnsupportedOperationException();
    }

    @Override
    public Future<?> shutdownGracefully(long quietPeriod, long timeout, TimeUnit unit) {
        throw new UnsupportedOperationException();
    }

    @Override
    @Deprecated
    public void shutdown() {
        throw new UnsupportedOperationException();
    }

    @Override
    public ChannelFuture register(Channel channel) {
        throw new UnsupportedOperationException();
    }

    @Override
    public ChannelFuture register(ChannelPromise promise) {
        throw new UnsupportedOperationException();
    }

    @Override
    @Deprecated
    public ChannelFuture register(Channel channel, ChannelPromise promise) {
        throw new UnsupportedOperationException();
    }
}
