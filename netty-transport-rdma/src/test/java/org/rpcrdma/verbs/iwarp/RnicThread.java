// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp;

import java.io.IOException;
import java.util.Queue;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.function.Consumer;
import org.rpcrdma.verbs.EventLoopVerbsContext;

/**
 * A software RNIC with a thread of its own, to which all others give their work: libraries may be called by any thread.
 */
public final class RnicThread {

    private final OpenRnic rnic;
    private final EventLoopVerbsContext context;
    private final Consumer<String> problems;
    private final Queue<Runnable> tasks = new ConcurrentLinkedQueue<>();
    private final Thread thread;

    /** @param problems hears of what must not happen */
    public RnicThread(Consumer<String> problems) throws IOException {
        this.problems = problems;
        rnic = new OpenRnic(IwarpConfig.defaults());
        context = rnic.context();
        thread = new Thread(this::run, "software-rdma-device");
        thread.setDaemon(true);
        thread.start();
    }

    public OpenRnic rnic() {
        return rnic;
    }

    public EventLoopVerbsContext context() {
        return context;
    }

    private void run() {
        while (true) {
            try {
                int done = 0;
                for (Runnable task = tasks.poll(); task != null; task = tasks.poll()) {
                    done++;
                    task.run();
                }
                done += context.poll(256);
                if (done == 0) {
                    context.await(-1);
                }
            } catch (IOException | RuntimeException e) {
                problems.accept("The device has failed: " + e);
            }
        }
    }

    /** Has something done soon, after all that was given before. */
    public void execute(Runnable task) {
        tasks.add(task);
        context.wakeup();
    }

    /** Has something done, and waits for it. */
    public <T> T call(Callable<T> action) throws IOException {
        FutureTask<T> task = new FutureTask<>(action);
        if (Thread.currentThread() == thread) {
            task.run();
        } else {
            execute(task);
        }
        boolean interrupted = false;
        try {
            while (true) {
                try {
                    return task.get();
                } catch (InterruptedException e) {
                    interrupted = true;
                }
            }
        } catch (ExecutionException e) {
            throw e.getCause() instanceof IOException io ? io : new IOException(e.getCause());
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }
}
