// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import io.netty.channel.ChannelOption;
import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** Options of TCP sockets that bootstraps commonly set. Over RDMA they mean nothing, and nobody is harmed by them. */
final class IgnoredSocketOptions {

    private static final InternalLogger logger =
            InternalLoggerFactory.getInstance(IgnoredSocketOptions.class);

    private static final Set<ChannelOption<?>> WITHOUT_EFFECT =
            Set.of(
                    ChannelOption.TCP_NODELAY,
                    ChannelOption.SO_KEEPALIVE,
                    ChannelOption.SO_REUSEADDR,
                    ChannelOption.SO_SNDBUF,
                    ChannelOption.SO_RCVBUF,
                    ChannelOption.SO_LINGER,
                    ChannelOption.SO_TIMEOUT,
                    ChannelOption.IP_TOS);

    private static final Set<ChannelOption<?>> SEEN = ConcurrentHashMap.newKeySet();

    private IgnoredSocketOptions() {}

    /** Whether the option is accepted without an effect; that is logged once for each. */
    static boolean ignores(ChannelOption<?> option) {
        if (!WITHOUT_EFFECT.contains(option)) {
            return false;
        }
        if (SEEN.add(option)) {
            logger.info("Channel option {} is of TCP sockets and has no effect over RDMA", option);
        }
        return true;
    }
}
