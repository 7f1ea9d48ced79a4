// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.ffm;

import io.netty.util.concurrent.DefaultThreadFactory;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/** Threads for calls that block over iWARP, created lazily. No thread waits for them. */
final class BlockingCallThreads {

    private static final ExecutorService THREADS =
            Executors.newCachedThreadPool(new DefaultThreadFactory("rdma-ffm-helper", true));

    private BlockingCallThreads() {}

    static CompletableFuture<Void> run(Runnable task) {
        return CompletableFuture.runAsync(task, THREADS);
    }

    static void runAfter(CompletableFuture<Void> other, Runnable task) {
        other.whenCompleteAsync((nothing, failure) -> task.run(), THREADS);
    }
}
