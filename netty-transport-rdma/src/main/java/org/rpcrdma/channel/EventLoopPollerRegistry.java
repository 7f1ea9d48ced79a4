// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import io.netty.channel.EventLoop;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** The pollers of all event loops that take RDMA channels, also of those that are Netty's own. Thread-safe. */
final class EventLoopPollerRegistry {

    /** By an event loop that is no {@link RdmaEventLoop}, until its end. */
    private static final Map<EventLoop, EventLoopDevicePoller> OTHERS = new ConcurrentHashMap<>();

    private EventLoopPollerRegistry() {}

    /** The poller of an event loop, {@code null} if it takes no RDMA channels. */
    static EventLoopDevicePoller of(EventLoop loop) {
        return loop instanceof RdmaEventLoop own ? own.poller() : OTHERS.get(loop);
    }

    static void add(EventLoop loop, EventLoopDevicePoller poller) {
        OTHERS.put(loop, poller);
    }

    static void remove(EventLoop loop) {
        OTHERS.remove(loop);
    }
}
