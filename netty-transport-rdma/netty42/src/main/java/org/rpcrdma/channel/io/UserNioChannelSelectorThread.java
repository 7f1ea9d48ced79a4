// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel.io;

import io.netty.channel.IoHandle;
import io.netty.channel.IoHandler;
import io.netty.channel.IoHandlerContext;
import io.netty.channel.IoOps;
import io.netty.channel.IoRegistration;
import io.netty.channel.nio.NioIoHandler;
import io.netty.util.concurrent.DefaultThreadFactory;
import io.netty.util.concurrent.ThreadAwareExecutor;
import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import java.util.concurrent.Semaphore;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import org.rpcrdma.verbs.FailureLog;

/**
 * NIO channels on an event loop that waits for a device: a thread waits for their selector, then wakes the loop, which
 * runs Netty's handler for NIO. The selector is used by one of both at a time, in turns; keys may change in any turn.
 * Event loop only.
 */
final class UserNioChannelSelectorThread {

    private static final InternalLogger logger =
            InternalLoggerFactory.getInstance(UserNioChannelSelectorThread.class);

    private static final ThreadFactory THREADS = new DefaultThreadFactory("rdma-nio-select", true);

    /** After an error, which may come again at once and for ever; as long as Netty's handler waits. */
    private static final int PAUSE_SECONDS = 1;

    /** Lets the handler look, and never wait. */
    private static final IoHandlerContext LOOK =
            new IoHandlerContext() {
                @Override
                public boolean canBlock() {
                    return false;
                }

                @Override
                public long delayNanos(long currentTimeNanos) {
                    return 0;
                }

                @Override
                public long deadlineNanos() {
                    return -1;
                }
            };

    private final LastOpenedSelectorProvider provider = new LastOpenedSelectorProvider();
    private final IoHandler handler;
    private final Runnable wakeup;

    /** A permit for the thread to select. */
    private final Semaphore threadsTurn = new Semaphore(0);

    /** A permit for the event loop: the thread is not selecting. */
    private final Semaphore loopsTurn = new Semaphore(1);

    /** A permit ends the pause of the thread. */
    private final Semaphore pauseEnd = new Semaphore(0);

    /** Whether the thread is to pause before it selects. */
    private volatile boolean pauses;

    /** Whether the event loop has taken its permit. */
    private boolean isOurs;

    private volatile boolean isEnded;

    /**
     * @param loop the event loop of the channels
     * @param wakeup ends a wait of the loop for its device, on any thread
     */
    UserNioChannelSelectorThread(ThreadAwareExecutor loop, Runnable wakeup) {
        this.wakeup = wakeup;
        this.handler = NioIoHandler.newFactory(provider).newHandler(loop);
        handler.initialize();
        THREADS.newThread(this::select).start();
    }

    private void select() {
        while (true) {
            threadsTurn.acquireUninterruptibly();
            if (isEnded) {
                return;
            }
            try {
                if (pauses) {
                    pauses = false;
                    pauseEnd.tryAcquire(PAUSE_SECONDS, TimeUnit.SECONDS);
                }
                provider.selector().select();
                Thread.interrupted(); // otherwise no select would wait again
            } catch (Throwable t) {
                // The handler meets the same failure, and makes a new selector.
                logger.debug("Waiting for NIO channels failed", t);
            }
            loopsTurn.release();
            wakeup.run();
        }
    }

    /** Handles ready NIO channels, if the thread has seen one; returns their number. */
    int run() {
        if (!isOurs && !loopsTurn.tryAcquire()) {
            return 0;
        }
        isOurs = true;
        int handled = 0;
        try {
            handled = handler.run(LOOK);
        } catch (Throwable t) {
            // Netty's handler throws errors, with which all RDMA channels of the loop would end.
            pauseEnd.drainPermits();
            pauses = true;
            FailureLog.warn(logger, "NIO channels of an event loop pause, after an error", t);
        }
        giveTurn();
        return handled;
    }

    /** Waits for the thread to leave the selector, which it does at once. */
    private void takeTurn() {
        if (!isOurs) {
            provider.selector().wakeup();
            if (pauseEnd.availablePermits() == 0) {
                pauseEnd.release(); // one is enough, and nobody takes them while there is no pause
            }
            loopsTurn.acquireUninterruptibly();
            isOurs = true;
        }
    }

    private void giveTurn() {
        isOurs = false;
        threadsTurn.release();
    }

    /** The selector waits for the keys as they were when it began. */
    private void keysChanged() {
        if (!isOurs) {
            provider.selector().wakeup();
        }
    }

    IoRegistration register(IoHandle handle) throws Exception {
        boolean wasOurs = isOurs;
        takeTurn(); // the handler may have to select, for a key that was cancelled
        try {
            return new Registration(handler.register(handle));
        } finally {
            if (!wasOurs) {
                giveTurn();
            }
        }
    }

    void prepareToDestroy() {
        takeTurn();
        handler.prepareToDestroy();
    }

    void destroy() {
        takeTurn();
        isEnded = true;
        threadsTurn.release();
        handler.destroy();
    }

    /** Has the selector look at a changed key. */
    private final class Registration implements IoRegistration {
        private final IoRegistration registration;

        Registration(IoRegistration registration) {
            this.registration = registration;
        }

        @Override
        @SuppressWarnings("TypeParameterUnusedInFormals") // Netty's signature
        public <T> T attachment() {
            return registration.attachment();
        }

        @Override
        public long submit(IoOps ops) {
            long submitted = registration.submit(ops);
            keysChanged();
            return submitted;
        }

        @Override
        public boolean isValid() {
            return registration.isValid();
        }

        @Override
        public boolean cancel() {
            boolean isCancelled = registration.cancel();
            keysChanged();
            return isCancelled;
        }
    }
}
