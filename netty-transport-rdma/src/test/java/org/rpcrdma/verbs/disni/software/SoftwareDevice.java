// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.disni.software;

import java.io.IOException;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import org.rpcrdma.verbs.EventLoopVerbsContext;
import org.rpcrdma.verbs.iwarp.OpenRnic;
import org.rpcrdma.verbs.iwarp.RnicThread;

/** The device, and what is made of it and has to be destroyed. */
final class SoftwareDevice {

    static final int EBUSY = 16;

    final SoftwareRdmaProvider provider;
    final OpenRnic rnic;
    final AtomicLong registered = new AtomicLong();

    /** How many there are of what has to be destroyed. */
    final Map<String, Integer> living = new ConcurrentHashMap<>();

    /** By local key. */
    final Map<Integer, SoftwareMr> regions = new ConcurrentHashMap<>();

    private final RnicThread thread;

    SoftwareDevice(SoftwareRdmaProvider provider) throws IOException {
        this.provider = provider;
        thread = new RnicThread(provider::problem);
        rnic = thread.rnic();
    }

    /** Something was made that has to be destroyed. */
    void made(Object thing) {
        living.merge(thing.getClass().getSimpleName(), 1, Integer::sum);
    }

    void destroyed(Object thing) {
        living.computeIfPresent(
                thing.getClass().getSimpleName(), (name, count) -> count == 1 ? null : count - 1);
    }

    EventLoopVerbsContext context() {
        return thread.context();
    }

    long registeredBytes() {
        return registered.get();
    }

    /** Has something done soon, after all that was given before. */
    void execute(Runnable task) {
        thread.execute(task);
    }

    /** Has something done, and waits for it. */
    <T> T call(Callable<T> action) throws IOException {
        return thread.call(action);
    }
}
