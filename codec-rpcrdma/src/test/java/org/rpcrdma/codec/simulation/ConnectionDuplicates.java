// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.simulation;

import io.netty.buffer.ByteBuf;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import org.rpcrdma.codec.DuplicateRequestCache;

/** The duplicate request cache of a server as one connection uses it: sees who waits, and which calls are abandoned. */
final class ConnectionDuplicates implements DuplicateRequestCache {

    private final DuplicateRequestCache cache;
    private final Set<Integer> abandoned;
    private final Map<Waiter, Waiter> waiting = new LinkedHashMap<>();

    /**
     * @param cache of the server
     * @param abandoned takes the XIDs of calls that may be executed again
     */
    ConnectionDuplicates(DuplicateRequestCache cache, Set<Integer> abandoned) {
        this.cache = cache;
        this.abandoned = abandoned;
    }

    /** Whether a call of the connection waits. */
    boolean isWaiting() {
        return !waiting.isEmpty();
    }

    @Override
    public boolean covers(int program, int version, int procedure) {
        return cache.covers(program, version, procedure);
    }

    @Override
    public Lookup begin(Call call, Waiter waiter) {
        Waiter known = new KnownWaiter(waiter);
        Lookup found = cache.begin(call, known);
        if (found.progress() == Progress.IN_PROGRESS) {
            waiting.put(waiter, known);
        }
        return found;
    }

    @Override
    public void done(Call call, ByteBuf reply) {
        cache.done(call, reply);
    }

    @Override
    public void abandon(Call call) {
        abandoned.add(call.xid());
        cache.abandon(call);
    }

    @Override
    public void withdraw(Call call, Waiter waiter) {
        cache.withdraw(call, waiting.remove(waiter));
    }

    private final class KnownWaiter implements Waiter {

        private final Waiter waiter;

        KnownWaiter(Waiter waiter) {
            this.waiter = waiter;
        }

        @Override
        public void answered(ByteBuf reply) {
            waiting.remove(waiter);
            waiter.answered(reply);
        }

        @Override
        public void abandoned() {
            waiting.remove(waiter);
            waiter.abandoned();
        }
    }
}
