// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.channel.Channel;
import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import org.rpcrdma.codec.internal.LogRateLimiter;

/**
 * Rate-limited log of protocol violations: one line per second and connection, so that a hostile peer cannot fill the
 * disk.
 */
final class ProtocolViolationLog {

    private static final InternalLogger LOGGER =
            InternalLoggerFactory.getInstance(ProtocolViolationLog.class);

    private final Channel channel;
    private final LogRateLimiter limit = new LogRateLimiter(System::nanoTime);

    ProtocolViolationLog(Channel channel) {
        this.channel = channel;
    }

    void report(String what, int xid, String action) {
        long suppressed = limit.take();
        if (suppressed < 0) {
            return;
        }
        LOGGER.warn(
                "{} XID 0x{}: {}: {} ({} more not shown)",
                channel,
                Integer.toHexString(xid),
                what,
                action,
                suppressed);
    }
}
