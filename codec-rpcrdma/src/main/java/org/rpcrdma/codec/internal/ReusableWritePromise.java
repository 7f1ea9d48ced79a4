// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.internal;

import io.netty.channel.Channel;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelPromise;
import io.netty.channel.DefaultChannelPromise;
import io.netty.util.concurrent.Future;
import io.netty.util.concurrent.GenericFutureListener;
import java.util.concurrent.TimeUnit;

/**
 * A reusable promise without state and listeners: reports the outcome of a write by {@link #ended}. A void promise, so
 * a handler that needs a listener calls {@link #unvoid()}.
 */
public abstract class ReusableWritePromise implements ChannelPromise {

    private final Channel channel;

    public ReusableWritePromise(Channel channel) {
        this.channel = channel;
    }

    /**
     * Reports the end of a write, once for each.
     *
     * @param cause of its failure; {@code null} when it has succeeded
     */
    public abstract void ended(Throwable cause);

    @Override
    public Channel channel() {
        return channel;
    }

    @Override
    public boolean isVoid() {
        return true;
    }

    @Override
    public ChannelPromise unvoid() {
        return new DefaultChannelPromise(channel)
                .addListener((ChannelFutureListener) write -> ended(write.cause()));
    }

    // ------------------------------------------------------------------ the end

    @Override
    public boolean trySuccess() {
        ended(null);
        return true;
    }

    @Override
    public boolean trySuccess(Void result) {
        return trySuccess();
    }

    @Override
    public ChannelPromise setSuccess() {
        ended(null);
        return this;
    }

    @Override
    public ChannelPromise setSuccess(Void result) {
        return setSuccess();
    }

    @Override
    public boolean tryFailure(Throwable cause) {
        ended(cause);
        return true;
    }

    @Override
    public ChannelPromise setFailure(Throwable cause) {
        ended(cause);
        return this;
    }

    // ------------------------------------------------------------------ no state

    @Override
    public boolean setUncancellable() {
        return true;
    }

    @Override
    public boolean isCancellable() {
        return false;
    }

    @Override
    public boolean cancel(boolean mayInterruptIfRunning) {
        return false;
    }

    @Override
    public boolean isCancelled() {
        return false;
    }

    @Override
    public boolean isDone() {
        return false;
    }

    @Override
    public boolean isSuccess() {
        return false;
    }

    @Override
    public Throwable cause() {
        return null;
    }

    @Override
    public Void getNow() {
        return null;
    }

    // ------------------------------------------------------------------ nobody waits

    private static IllegalStateException isVoidFuture() {
        return new IllegalStateException("void promise (expected: unvoid() of it)");
    }

    @Override
    public ChannelPromise addListener(
            GenericFutureListener<? extends Future<? super Void>> listener) {
        throw isVoidFuture();
    }

    @Override
    @SafeVarargs
    public final ChannelPromise addListeners(
            GenericFutureListener<? extends Future<? super Void>>... listeners) {
        throw isVoidFuture();
    }

    @Override
    public ChannelPromise removeListener(
            GenericFutureListener<? extends Future<? super Void>> listener) {
        return this;
    }

    @Override
    @SafeVarargs
    public final ChannelPromise removeListeners(
            GenericFutureListener<? extends Future<? super Void>>... listeners) {
        return this;
    }

    @Override
    public ChannelPromise sync() {
        throw isVoidFuture();
    }

    @Override
    public ChannelPromise syncUninterruptibly() {
        throw isVoidFuture();
    }

    @Override
    public ChannelPromise await() {
        throw isVoidFuture();
    }

    @Override
    public ChannelPromise awaitUninterruptibly() {
        throw isVoidFuture();
    }

    @Override
    public boolean await(long timeout, TimeUnit unit) {
        throw isVoidFuture();
    }

    @Override
    public boolean await(long timeoutMillis) {
        throw isVoidFuture();
    }

    @Override
    public boolean awaitUninterruptibly(long timeout, TimeUnit unit) {
        throw isVoidFuture();
    }

    @Override
    public boolean awaitUninterruptibly(long timeoutMillis) {
        throw isVoidFuture();
    }

    @Override
    public Void get() {
        throw isVoidFuture();
    }

    @Override
    public Void get(long timeout, TimeUnit unit) {
        throw isVoidFuture();
    }
}
