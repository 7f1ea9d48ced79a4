// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.common;

import io.netty.util.concurrent.EventExecutorGroup;
import io.netty.util.concurrent.Future;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/** Ends event loops, and waits for it, but not for ever: a loop whose thread is stuck or dead never ends. */
public final class Shutdown {

    /** What calls at work and sockets that close are given. */
    private static final long GRACE_SECONDS = 1;

    /** How long is waited, all in all. A loop that ends at all has ended long before. */
    private static final long LIMIT_SECONDS = 5;

    private Shutdown() {}

    /**
     * Ends all of these, which closes their channels, and waits for it, a few seconds at most.
     *
     * @return whether they have ended
     */
    public static boolean of(EventExecutorGroup... groups) {
        List<? extends Future<?>> ends =
                Stream.of(groups)
                        .map(group -> group.shutdownGracefully(0, GRACE_SECONDS, TimeUnit.SECONDS))
                        .toList();
        long begin = System.nanoTime();
        boolean hasEnded = true;
        for (Future<?> end : ends) {
            long left = TimeUnit.SECONDS.toNanos(LIMIT_SECONDS) - (System.nanoTime() - begin);
            hasEnded &= end.awaitUninterruptibly(Math.max(0, left), TimeUnit.NANOSECONDS);
        }
        return hasEnded;
    }

    /** Waits for one thing that ends, as long as {@link #of} does; returns whether it has ended. */
    public static boolean await(Future<?> end) {
        return end.awaitUninterruptibly(LIMIT_SECONDS, TimeUnit.SECONDS);
    }
}
