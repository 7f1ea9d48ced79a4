// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.channel.Channel;
import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import java.util.concurrent.TimeUnit;

/** Tells what a peer did wrong, at most once per second and connection: a hostile one shall not fill the disk. */
final class ProblemLog {

    private static final InternalLogger LOGGER =
            InternalLoggerFactory.getInstance(ProblemLog.class);
    private static final long INTERVAL = TimeUnit.SECONDS.toNanos(1);

    private final Channel channel;
    private long last = System.nanoTime() - INTERVAL;
    private long suppressed;

    ProblemLog(Channel channel) {
        this.channel = channel;
    }

    void report(String what, int xid, String action) {
        long now = System.nanoTime();
        if (now - last < INTERVAL) {
            suppressed++;
            return;
        }
        last = now;
        LOGGER.warn(
                "{} XID 0x{}: {}: {} ({} more not shown)",
                channel,
                Integer.toHexString(xid),
                what,
                action,
                suppressed);
        suppressed = 0;
    }
}
