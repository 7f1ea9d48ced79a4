// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.ffm;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;

/**
 * Passes each asynchronous event of a device to whom it is for. The file descriptor is that of all event loops of the
 * process, so that one may read what is for another.
 */
final class AsyncEventRouter {

    /** By the address of the queue pair: whom to tell, by the name of the event, on any thread. */
    private static final Map<Long, Consumer<String>> OWNERS = new ConcurrentHashMap<>();

    private static final String[] NAMES = {"CQ_ERR", "QP_FATAL", "QP_REQ_ERR", "QP_ACCESS_ERR"};

    private AsyncEventRouter() {}

    static void add(long queuePair, Consumer<String> owner) {
        OWNERS.put(queuePair, owner);
    }

    static void remove(long queuePair) {
        OWNERS.remove(queuePair);
    }

    /**
     * The owner of the queue pair that an event says is broken, before the event is acknowledged: until then no other
     * queue pair gets its place in memory. What else there is harms no connection.
     *
     * @return {@code null} when it is for nobody
     */
    static Consumer<String> owner(int type, long element) {
        return type < 1 || type >= NAMES.length ? null : OWNERS.get(element);
    }

    /** Tells the owner, after the event is acknowledged. */
    static void tell(Consumer<String> owner, int type) {
        owner.accept("IBV_EVENT_" + NAMES[type]);
    }
}
