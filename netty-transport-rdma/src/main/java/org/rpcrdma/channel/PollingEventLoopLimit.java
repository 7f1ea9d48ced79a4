// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import io.netty.util.NettyRuntime;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Limits how many adaptive event loops of a process poll at the same time, so that there are CPUs for its other
 * threads. Thread-safe.
 */
final class PollingEventLoopLimit {

    /** Two ends of a connection may share a process, and none gains when one of them is woken for each message. */
    private static final int LEAST = 2;

    /** Of all groups. */
    static final PollingEventLoopLimit PROCESS =
            new PollingEventLoopLimit(NettyRuntime.availableProcessors());

    private final int most;
    private final AtomicInteger polling = new AtomicInteger();

    /**
     * @param processors that are available; on a single one, whom the loop polls for would have to wait for it
     */
    PollingEventLoopLimit(int processors) {
        most = processors == 1 ? 0 : Math.max(LEAST, processors / 2);
    }

    /** Returns whether the caller may poll; then it calls {@link #leave} at the end. */
    boolean tryEnter() {
        if (polling.get() >= most) {
            return false;
        }
        if (polling.incrementAndGet() <= most) {
            return true;
        }
        polling.decrementAndGet();
        return false;
    }

    void leave() {
        polling.decrementAndGet();
    }
}
