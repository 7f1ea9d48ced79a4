// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.disni;

import com.ibm.disni.verbs.RdmaCm;
import com.ibm.disni.verbs.RdmaCmEvent;
import com.ibm.disni.verbs.RdmaCmEvent.EventType;
import com.ibm.disni.verbs.RdmaCmId;
import com.ibm.disni.verbs.RdmaEventChannel;
import io.netty.util.concurrent.DefaultPromise;
import io.netty.util.concurrent.GlobalEventExecutor;
import io.netty.util.concurrent.Promise;
import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import java.io.IOException;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * The event channel of the connection manager, and the thread that waits for its events and hands each to the target of
 * its identifier. One for the whole process, as long as a context is open.
 *
 * <p>Identifiers of connections are destroyed here too, between two events: DiSNI finds an event's identifier by its
 * address in memory, which another one could have by then. A listener, whose address has to be free at once, is not:
 * what comes for it meanwhile is refused, whoever has its address then.
 */
final class CmEventChannelThread {

    private static final InternalLogger logger =
            InternalLoggerFactory.getInstance(CmEventChannelThread.class);

    /** Nothing ends the wait for an event, so it ends by itself. */
    private static final int WAIT_MILLIS = 20;

    /** What is done between two events waits for one of them, and not for ever for a thread that is stuck. */
    private static final long PATIENCE_MILLIS = 5000;

    private static final EventType[] TYPES = EventType.values();

    private static CmEventChannelThread instance;
    private static int users;

    private final RdmaEventChannel channel;
    private final Map<RdmaCmId, CmThreadEventHandler> targets = new ConcurrentHashMap<>();
    private final Queue<Runnable> tasks = new ConcurrentLinkedQueue<>();
    private volatile boolean stopped;

    private CmEventChannelThread() throws IOException {
        channel = RdmaEventChannel.createEventChannel();
        if (channel == null) {
            throw new IOException("the event channel of the connection manager could not be made");
        }
        DisniPrivateFields.makeThreadSafe(channel);
        Thread thread = new Thread(this::run, "rdma-disni-cm");
        thread.setDaemon(true);
        thread.start();
    }

    /** Takes a share of the channel; it is given back by {@link #release()}. */
    static synchronized CmEventChannelThread acquire() throws IOException {
        if (users == 0) {
            instance = new CmEventChannelThread();
        }
        users++;
        return instance;
    }

    static synchronized void release() {
        if (--users == 0) {
            instance.stopped = true;
            instance = null;
        }
    }

    /** A new identifier, without a target. */
    RdmaCmId newId() throws IOException {
        RdmaCmId id = channel.createId(RdmaCm.RDMA_PS_TCP);
        if (id == null) {
            throw new IOException("the connection manager has no identifier left");
        }
        return id;
    }

    /** Sets who is told of an identifier's events from now on. */
    void target(RdmaCmId id, CmThreadEventHandler target) {
        targets.put(id, target);
    }

    /** Nobody is told of an identifier any more; it is destroyed soon. */
    void destroy(RdmaCmId id) {
        targets.remove(id);
        tasks.add(() -> destroyId(id));
    }

    /**
     * As {@link #destroy}, but before it returns: so that the address is free. For listeners, who have no connections.
     */
    void destroyNow(RdmaCmId id) {
        targets.remove(id);
        destroyId(id);
    }

    /**
     * Has something done while no event is being taken, and waits for it: some milliseconds, since nothing ends the
     * wait for an event. What librdmacm does to a queue pair when it takes an event is safe from it.
     *
     * <p>A thread that does not answer, because it is stuck, takes no event either: then it is done without it.
     */
    void betweenEvents(Runnable action) {
        betweenEvents(action, PATIENCE_MILLIS);
    }

    void betweenEvents(Runnable action, long millis) {
        AtomicBoolean isBegun = new AtomicBoolean();
        Promise<Void> done = new DefaultPromise<>(GlobalEventExecutor.INSTANCE);
        Runnable once =
                () -> {
                    if (isBegun.compareAndSet(false, true)) {
                        action.run();
                    }
                };
        tasks.add(
                () -> {
                    try {
                        once.run();
                    } finally {
                        done.setSuccess(null);
                    }
                });
        if (!done.awaitUninterruptibly(millis)) {
            logger.warn(
                    "The thread for events of the connection manager has not answered within {} ms",
                    millis);
            once.run();
        }
    }

    private void destroyId(RdmaCmId id) {
        try {
            // As soon as it is destroyed its address may be that of another one.
            DisniPrivateFields.forget(channel, id);
            id.destroyId();
        } catch (IOException e) {
            logger.debug("An identifier could not be destroyed", e);
        }
    }

    private void run() {
        while (!stopped) {
            try {
                RdmaCmEvent event = channel.getCmEvent(WAIT_MILLIS);
                if (event != null) {
                    event.ackEvent();
                    dispatch(event);
                }
            } catch (Throwable t) {
                // A lack of memory too: without this thread no connection comes or goes any more.
                logger.warn("An event of the connection manager was lost", t);
            }
            runTasks();
        }
        runTasks();
        try {
            channel.destroyEventChannel();
        } catch (IOException e) {
            logger.debug("The event channel could not be destroyed", e);
        }
    }

    private void runTasks() {
        for (Runnable task = tasks.poll(); task != null; task = tasks.poll()) {
            try {
                task.run();
            } catch (Throwable t) {
                logger.warn("What was to be done between two events failed", t);
            }
        }
    }

    private void dispatch(RdmaCmEvent event) {
        if (event.getEvent() >= 0 && event.getEvent() < TYPES.length) {
            EventType type = TYPES[event.getEvent()];
            boolean isRequest = type == EventType.RDMA_CM_EVENT_CONNECT_REQUEST;
            RdmaCmId id = event.getConnIdPriv();
            dispatch(type, isRequest ? event.getListenIdPriv() : id, id);
        }
    }

    /**
     * Tells who is to be told.
     *
     * @param addressee of a request, what has the address of its listener now
     */
    void dispatch(EventType type, RdmaCmId addressee, RdmaCmId id) {
        CmThreadEventHandler target = addressee == null ? null : targets.get(addressee);
        boolean isRequest = type == EventType.RDMA_CM_EVENT_CONNECT_REQUEST;
        if (isRequest && (target == null || !target.isListener())) {
            destroyId(id);
        } else if (target != null) {
            target.happened(type, id);
        }
    }
}
