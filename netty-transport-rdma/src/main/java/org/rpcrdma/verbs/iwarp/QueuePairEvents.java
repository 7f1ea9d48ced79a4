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
 * end of the connection is delivered behind the last completion, and is told where there is no memory.
 */
final class QueuePairEvents
        implements DequeuedEventHandler, WorkCompletionHandler, OnDemandInboundMemorySupplier {

    private static final InternalLogger LOGGER =
            InternalLoggerFactory.getInstance(QueuePairEvents.class);

    private final PolledEventQueue queue;
    private final QueuePairHandler handler;
    private final Consumer<Error> onLost;
    private final Runnable flush;
    private int undelivered;

    /** Whether the queue keeps a place for the end: it has not been told. */
    private boolean hasPlace;

    /** Whether work is left that found no memory to be completed at the end. */
    private boolean isFlushDue;

    private boolean closed;

    /**
     * @param onLost called when an event is lost because of an error, such as a lack of memory
     * @param flush completes all work that is left when the connection has ended; where it fails, called again
     */
    QueuePairEvents(
            PolledEventQueue queue,
            QueuePairHandler handler,
            Consumer<Error> onLost,
            Runnable flush) {
        this.queue = queue;
        this.handler = Objects.requireNonNull(handler, "handler");
        this.onLost = onLost;
        this.flush = flush;
    }

    /** Keeps a place for the end. Nothing is told before, and nothing of the end without. */
    void open() {
        queue.keepPlace();
        hasPlace = true;
    }

    void connected(byte[] privateData) {
        queue.add(this, Kind.CONNECTED, privateData);
    }

    /** An end, as {@link #disconnected} is: the first one counts. Needs no memory. */
    void connectFailed(Throwable cause) {
        end(Kind.CONNECT_FAILED, cause);
    }

    /** Flushes, and queues the end. Needs no memory: what finds none now is flushed before the end is delivered. */
    void disconnected(Throwable cause) {
        tryFlush();
        end(Kind.DISCONNECTED, cause);
    }

    private void tryFlush() {
        isFlushDue = true;
        try {
            flush.run();
            isFlushDue = false;
        } catch (OutOfMemoryError ignored) {
            // What is queued makes room when it is delivered.
        }
    }

    private void end(Kind kind, Throwable cause) {
        if (hasPlace) {
            hasPlace = false;
            queue.addToPlace(this, kind, cause);
        }
    }

    @Override
    public void complete(long id, WorkStatus status, int length, int invalidatedKey) {
        queue.add(this, Kind.COMPLETED, status, id, length, invalidatedKey);
        // Behind it: one that is counted and not queued would hold up the end for ever.
        undelivered++;
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
        if (undelivered == 0 && !isFlushDue) {
            handler.disconnected(cause);
            return;
        }
        queue.keepPlaceAgain();
        hasPlace = true;
        // What is delivered until now has made room for it.
        if (isFlushDue) {
            tryFlush();
        }
        // The handler may have posted work meanwhile, too; all completions go first.
        end(Kind.DISCONNECTED, cause);
    }

    /** Delivers nothing any more. */
    void close() {
        if (!closed) {
            closed = true;
            queue.giveUpPlace(hasPlace);
            hasPlace = false;
        }
    }
}
