// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.hardware;

import io.netty.util.internal.PlatformDependent;
import java.util.ArrayDeque;
import java.util.Queue;
import org.rpcrdma.verbs.DeviceCapabilities;
import org.rpcrdma.verbs.QueuePairConfig;

/**
 * Device of one event loop: memory and deferred tasks of its connections. Names none of them.
 */
final class HardwareContextResources {

    /** Owner of receives that are handed to the device together. */
    interface ReceiveBatch {
        void postGathered();
    }

    private final NativeEventLoopDevice device;
    private final ProviderSettings config;
    private final MemoryRegistrar registrations;

    /** {@code null} where the device has none. */
    private final MemoryWindowPool windows;

    private final WorkRequestFlushDeadlines deadlines = new WorkRequestFlushDeadlines();

    /** Tasks of the next poll. */
    private final Queue<Runnable> pending = PlatformDependent.newMpscQueue();

    /** Those with receives that the device has not got yet. */
    private final ArrayDeque<ReceiveBatch> withReceives = new ArrayDeque<>();

    HardwareContextResources(NativeEventLoopDevice device, ProviderSettings config) {
        this.device = device;
        this.config = config;
        registrations = new MemoryRegistrar(device, config.registrationCache());
        windows = device.capabilities().remoteInvalidation() ? new MemoryWindowPool(device) : null;
    }

    NativeEventLoopDevice device() {
        return device;
    }

    ProviderSettings config() {
        return config;
    }

    DeviceCapabilities capabilities() {
        return device.capabilities();
    }

    MemoryRegistrar registrations() {
        return registrations;
    }

    MemoryWindowPool windows() {
        return windows;
    }

    WorkRequestFlushDeadlines deadlines() {
        return deadlines;
    }

    /** How many memory windows a queue pair may bind before the first of these work requests is complete. */
    int binds(QueuePairConfig size) {
        return windows == null ? 0 : Math.max(1, size.sendDepth());
    }

    /** How many entries of the completion queue a queue pair may take. */
    int completions(QueuePairConfig size) {
        return size.sendDepth() + binds(size) + size.receiveDepth();
    }

    ReadSinkKeys readSinks(int ranges) {
        return device.needsRemoteSinks()
                ? new IwarpReadSinkKeys(registrations, ranges)
                : ReadSinkKeys.LOCAL;
    }

    /** Has something done by the next poll. Callable from any thread. */
    void later(Runnable action) {
        pending.add(action);
        device.wakeup();
    }

    boolean hasPending() {
        return !pending.isEmpty();
    }

    /** Runs all tasks; tasks added meanwhile wait for the next poll. */
    int runPending(int budget) {
        int count = Math.min(pending.size(), budget);
        for (int i = 0; i < count; i++) {
            Runnable action = pending.poll();
            if (action == null) {
                return i; // one of them has closed the context
            }
            ConnectionErrorGuard.run(action, "What was left to do failed");
        }
        return count;
    }

    /** Has {@link ReceiveBatch#postGathered} called before the thread waits, and by the next poll. */
    void hasReceives(ReceiveBatch batch) {
        withReceives.add(batch);
    }

    void remove(ReceiveBatch batch) {
        withReceives.remove(batch);
    }

    void postReceives() {
        for (ReceiveBatch batch = withReceives.poll(); batch != null; batch = withReceives.poll()) {
            ConnectionErrorGuard.run(batch::postGathered, "Receives were not posted");
        }
    }

    /** Delivers all pending events, for a caller that cannot wait. Only within a poll. */
    void deliverEvents() {
        device.deliverEvents(Integer.MAX_VALUE);
    }

    void close() {
        if (windows != null) {
            windows.close();
        }
        registrations.close();
        pending.clear();
        device.close();
    }
}
