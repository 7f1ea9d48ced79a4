// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.disni.software;

import java.io.IOException;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.atomic.AtomicLong;
import org.rpcrdma.verbs.VerbsContext;
import org.rpcrdma.verbs.iwarp.IwarpConfig;
import org.rpcrdma.verbs.iwarp.OpenRnic;

/** A software RNIC with a thread of its own, to which all others give their work: DiSNI may be called by any thread. */
final class SoftwareDevice {

    static final int EBUSY = 16;

    final SoftwareRdmaProvider provider;
    final OpenRnic rnic;
    final AtomicLong registered = new AtomicLong();

    /** How many there are of what has to be destroyed. */
    final Map<String, Integer> living = new ConcurrentHashMap<>();

    /** By local key. */
    final Map<Integer, SoftwareMr> regions = new ConcurrentHashMap<>();

    private final VerbsContext context;
    private final Queue<Runnable> tasks = new ConcurrentLinkedQueue<>();
    private final Thread thread;

    SoftwareDevice(SoftwareRdmaProvider provider) throws IOException {
        this.provider = provider;
        rnic = new OpenRnic(IwarpConfig.defaults());
        context = rnic.context();
        thread = new Thread(this::run, "software-rdma-device");
        thread.setDaemon(true);
        thread.start();
    }

    /** Something was made that has to be destroyed. */
    void made(Object thing) {
        living.merge(thing.getClass().getSimpleName(), 1, Integer::sum);
    }

    void destroyed(Object thing) {
        living.computeIfPresent(
                thing.getClass().getSimpleName(), (name, count) -> count == 1 ? null : count - 1);
    }

    VerbsContext context() {
        return context;
    }

    long registeredBytes() {
        return registered.get();
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
                provider.problem("The device has failed: " + e);
            }
        }
    }

    /** Has something done soon, after all that was given before. */
    void execute(Runnable task) {
        tasks.add(task);
        context.wakeup();
    }

    /** Has something done, and waits for it. */
    <T> T call(Callable<T> action) throws IOException {
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
