// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import io.netty.channel.ChannelOption;
import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Socket options of one channel that have no effect over RDMA, accepted so that bootstraps written for sockets work.
 * Keeps the values for reading. Logs each option once per process: at level info if it is one of Netty's socket
 * options, at level warn if unknown. Any thread.
 */
final class IgnoredSocketOptions {

    private static final InternalLogger logger =
            InternalLoggerFactory.getInstance(IgnoredSocketOptions.class);

    /** Netty's socket options with their defaults. */
    private static final Map<ChannelOption<?>, Object> DEFAULTS =
            Map.of(
                    ChannelOption.TCP_NODELAY, true,
                    ChannelOption.SO_KEEPALIVE, false,
                    ChannelOption.SO_REUSEADDR, false,
                    ChannelOption.SO_SNDBUF, 0,
                    ChannelOption.SO_RCVBUF, 0,
                    ChannelOption.SO_LINGER, -1,
                    ChannelOption.SO_TIMEOUT, 0);

    private static final Set<ChannelOption<?>> LOGGED = ConcurrentHashMap.newKeySet();

    /** Replaced as a whole when an option is set. */
    private volatile Map<ChannelOption<?>, Object> values = Map.of();

    static boolean isSocketOption(ChannelOption<?> option) {
        return DEFAULTS.containsKey(option);
    }

    /** The value, or {@code null} for an option that was not set and is none of Netty's socket options. */
    @SuppressWarnings("unchecked")
    <T> T get(ChannelOption<T> option) {
        Object value = values.get(option);
        return (T) (value == null ? DEFAULTS.get(option) : value);
    }

    synchronized <T> void set(ChannelOption<T> option, T value) {
        Map<ChannelOption<?>, Object> changed = new HashMap<>(values);
        changed.put(option, value);
        values = Map.copyOf(changed);
        if (!LOGGED.add(option)) {
            return;
        }
        if (isSocketOption(option)) {
            logger.info("Channel option {} is of TCP sockets and has no effect over RDMA", option);
        } else {
            logger.warn("Unknown channel option {} has no effect over RDMA", option);
        }
    }
}
