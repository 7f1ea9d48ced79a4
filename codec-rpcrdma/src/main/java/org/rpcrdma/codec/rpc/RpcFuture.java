// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.rpc;

import io.netty.util.concurrent.Future;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.util.concurrent.CompletableFuture;

/**
 * The outcome of a call: a Netty future that a thread can also wait for with {@link #join}, and that turns into a
 * {@link java.util.concurrent.CompletionStage} with {@link #toCompletableFuture}. An outcome with a reference count,
 * such as a buffer, belongs to whoever takes it.
 *
 * @param <T> the outcome
 */
public interface RpcFuture<T> extends Future<T> {

    /**
     * Waits for the outcome. Parks the thread: a virtual thread does not hold its carrier meanwhile.
     *
     * @return the outcome
     * @throws InterruptedIOException if the thread is interrupted; its flag stays set, and the call is cancelled
     * @throws IOException why the call has failed
     * @throws java.util.concurrent.CancellationException if the call was cancelled
     * @throws io.netty.util.concurrent.BlockingOperationException on the event loop, which cannot wait for itself
     */
    T join() throws IOException;

    /**
     * {@return a stage that completes with the outcome, on the event loop: use the methods with {@code Async} for what
     * blocks. Cancelling it cancels the call; then an outcome that comes all the same is released}
     */
    CompletableFuture<T> toCompletableFuture();
}
