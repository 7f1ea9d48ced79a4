// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.rpc;

import io.netty.util.ReferenceCountUtil;
import io.netty.util.concurrent.DefaultPromise;
import io.netty.util.concurrent.EventExecutor;
import io.netty.util.concurrent.Future;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.locks.LockSupport;

/**
 * A writable {@link RpcFuture}, for implementations of {@link RpcTransport}.
 *
 * @param <T> the outcome
 */
public class RpcPromise<T> extends DefaultPromise<T> implements RpcFuture<T> {

    /**
     * A promise without an outcome.
     *
     * @param executor notifies the listeners
     */
    public RpcPromise(EventExecutor executor) {
        super(executor);
    }

    /**
     * A future that has failed.
     *
     * @param <T> the outcome that there is not
     * @param executor notifies the listeners
     * @param cause of the failure
     * @return the future
     */
    public static <T> RpcFuture<T> failed(EventExecutor executor, Throwable cause) {
        RpcPromise<T> promise = new RpcPromise<>(executor);
        promise.setFailure(cause);
        return promise;
    }

    @Override
    public T join() throws IOException {
        if (!isDone()) {
            checkDeadLock();
            park();
        }
        Throwable cause = cause();
        if (cause == null) {
            return getNow();
        }
        throw asIoException(cause);
    }

    /** A monitor, as {@link #await} has it, would hold the carrier of a virtual thread before Java 24. */
    private void park() throws InterruptedIOException {
        Thread waiter = Thread.currentThread();
        addListener(done -> LockSupport.unpark(waiter));
        boolean isInterrupted = false;
        boolean isGivenUp = false;
        while (!isDone()) {
            LockSupport.park(this);
            if (Thread.interrupted()) {
                isInterrupted = true;
                isGivenUp |= cancel(false);
            }
        }
        if (isInterrupted) {
            waiter.interrupt();
        }
        if (isGivenUp) {
            throw new InterruptedIOException("interrupted while waiting for a reply");
        }
    }

    private static IOException asIoException(Throwable cause) {
        if (cause instanceof IOException named) {
            return named;
        } else if (cause instanceof CancellationException cancelled) {
            throw cancelled;
        } else if (cause instanceof IllegalArgumentException mistake) {
            throw mistake;
        }
        return new IOException(cause.toString(), cause);
    }

    @Override
    public CompletableFuture<T> toCompletableFuture() {
        CompletableFuture<T> stage =
                new CompletableFuture<>() {
                    @Override
                    public boolean cancel(boolean mayInterruptIfRunning) {
                        boolean isCancelled = super.cancel(mayInterruptIfRunning);
                        if (isCancelled) {
                            RpcPromise.this.cancel(mayInterruptIfRunning);
                        }
                        return isCancelled;
                    }
                };
        addListener(
                (Future<T> done) -> {
                    if (!done.isSuccess()) {
                        stage.completeExceptionally(done.cause());
                    } else if (!stage.complete(done.getNow())) {
                        ReferenceCountUtil.release(done.getNow());
                    }
                });
        return stage;
    }
}
