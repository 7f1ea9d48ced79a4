// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.ffm;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Passes each asynchronous event of a device to whom it is for. The file descriptor is that of all event loops of the
 * process, so that one may read what is for another.
 */
final class AsyncEventRouter {

    private record Owner(FfmEventLoopDevice loop, long id) {}

    /** By the address of the queue pair. */
    private static final Map<Long, Owner> OWNERS = new ConcurrentHashMap<>();

    private static final String[] NAMES = {"CQ_ERR", "QP_FATAL", "QP_REQ_ERR", "QP_ACCESS_ERR"};

    private AsyncEventRouter() {}

    static void add(long queuePair, FfmEventLoopDevice loop, long id) {
        OWNERS.put(queuePair, new Owner(loop, id));
    }

    static void remove(long queuePair) {
        OWNERS.remove(queuePair);
    }

    /** Tells the owner of a queue pair that it is broken; what else there is harms no connection. */
    static void happened(int type, long element) {
        if (type < 1 || type >= NAMES.length) {
            return;
        }
        Owner owner = OWNERS.get(element);
        if (owner != null) {
            owner.loop.later(
                    () -> owner.loop.connections().broken(owner.id, "IBV_EVENT_" + NAMES[type]));
        }
    }
}
