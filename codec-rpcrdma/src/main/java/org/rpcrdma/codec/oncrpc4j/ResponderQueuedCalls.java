// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.oncrpc4j;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicReference;

/**
 * Calls of a connection that wait in the queue of an executor. The queue has no bound, and its tasks cannot be taken
 * out of it: when the connection is lost the tasks give up their calls here, and find nothing to do.
 *
 * <p>Calls are added on the event loop, and taken on any thread. Who takes a call out ends it.
 */
final class ResponderQueuedCalls {

    private final Set<Task> tasks = ConcurrentHashMap.newKeySet();

    /** When its call is dropped it has nothing left of it, nor of its channel. */
    private static final class Task implements Runnable {

        private final AtomicReference<Runnable> call;
        private final Set<Task> queue;

        Task(Runnable call, Set<Task> queue) {
            this.call = new AtomicReference<>(call);
            this.queue = queue;
        }

        Runnable take() {
            queue.remove(this);
            return call.getAndSet(null);
        }

        @Override
        public void run() {
            Runnable taken = take();
            if (taken != null) {
                taken.run();
            }
        }
    }

    /** Throws what the executor throws, unless it has begun to execute the call nevertheless. */
    void execute(Executor executor, Runnable call) {
        Task task = new Task(call, tasks);
        tasks.add(task);
        try {
            executor.execute(task);
        } catch (Throwable t) {
            // An executor that has failed may have the task in its queue.
            if (task.take() != null) {
                throw t;
            }
        }
    }

    boolean isEmpty() {
        return tasks.isEmpty();
    }

    void drop() {
        tasks.forEach(Task::take);
    }
}
