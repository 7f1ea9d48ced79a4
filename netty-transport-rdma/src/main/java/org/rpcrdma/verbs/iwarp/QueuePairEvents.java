// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp;

import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import java.util.Objects;
import java.util.function.Consumer;
import org.rpcrdma.verbs.QueuePairHandler;
import org.rpcrdma.verbs.ReceiveMemoryRange;
import org.rpcrdma.verbs.WorkStatus;
import org.rpcrdma.verbs.iwarp.rdmap.OnDemandInboundMemorySupplier;
import org.rpcrdma.verbs.iwarp.rdmap.WorkCompletionHandler;

/**
 * Queues the completions and connection events of one queue pair, and delivers them to its handler in that order. The
 * end of the connection is delivered behind the last completion.
 */
final class QueuePairEvents
        implements DequeuedEventHandler, WorkCompletionHandler, OnDemandInboundMemorySupplier {

    private static final InternalLogger LOGGER =
            InternalLoggerFactory.getInstance(QueuePairEvents.class);

    private final PolledEventQueue queue;
    private final QueuePairHandler handler;
    private final Consumer<Error> onLost;
    private int undelivered;
    private boolean closed;

    /** @param onLost called when an event is lost because of an error, such as a lack of memory */
    QueuePairEvents(PolledEventQueue queue, QueuePairHandler handler, Consumer<Error> onLost) {
        this.queue = queue;
        this.handler = Objects.requireNonNull(handler, "handler");
        this.onLost = onLost;
    }

    void connected(byte[] privateData) {
        queue.add(this, Kind.CONNECTED, privateData);
    }

    void connectFailed(Throwable cause) {
        queue.add(this, Kind.CONNECT_FAILED, cause);
    }

    void disconnected(Throwable cause) {
        queue.add(this, Kind.DISCONNECTED, cause);
    }

    @Override
    public void complete(long id, WorkStatus status, int length, int invalidatedKey) {
        undelivered++;
        queue.add(this, Kind.COMPLETED, status, id, length, invalidatedKey);
    }

    @Override
    public ReceiveMemoryRange memory(long id, int length) {
        return handler.receiveMemory(id, length);
    }

    @Override
    public ReceiveMemoryRange writeMemory(int key, int start, int length) {
        return handler.writeMemory(key, start, length);
    }

    @Override
    public long unannounced() {
        return handler.unannounced();
    }

    @Override
    public boolean receivesFollow() {
        return undelivered > 0 || handler.receivesFollow();
    }

    @Override
    public void deliver(Kind kind, Object argument, long id, int length, int key) {
        if (kind == Kind.COMPLETED) {
            undelivered--;
        }
        if (closed) {
            return;
        }
        try {
            switch (kind) {
                case COMPLETED -> handler.completed(id, (WorkStatus) argument, length, key);
                case CONNECTED -> handler.connected((byte[]) argument);
                case CONNECT_FAILED -> handler.connectFailed((Throwable) argument);
                case DISCONNECTED -> deliverEnd((Throwable) argument);
                default -> throw new IllegalStateException(kind.toString());
            }
        } catch (RuntimeException e) {
            LOGGER.warn("A queue pair handler failed", e);
        } catch (Error e) {
            onLost.accept(e);
        }
    }

    private void deliverEnd(Throwable cause) {
        if (undelivered > 0) {
            // The handler has posted work meanwhile; its completions go first.
            disconnected(cause);
        } else {
            handler.disconnected(cause);
        }
    }

    /** Delivers nothing any more. */
    void close() {
        closed = true;
    }
}
