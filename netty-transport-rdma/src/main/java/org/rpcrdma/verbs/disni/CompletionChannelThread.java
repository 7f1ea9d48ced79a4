// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.disni;

import com.ibm.disni.verbs.IbvCQ;
import com.ibm.disni.verbs.IbvCompChannel;
import com.ibm.disni.verbs.SVCReqNotify;
import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import java.io.IOException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * Waits in {@code getCqEvent} in the place of an event loop, which has other things to wait for too: DiSNI neither
 * shows the file descriptor nor lets anyone end the wait. It is the last one to use the queue and its channel, and so
 * destroys them.
 */
final class CompletionChannelThread {

    private static final InternalLogger logger =
            InternalLoggerFactory.getInstance(CompletionChannelThread.class);

    /** Nothing ends the wait from outside, so it ends by itself. */
    private static final int WAIT_MILLIS = 50;

    private final IbvCompChannel channel;
    private final IbvCQ queue;
    private final SVCReqNotify request;
    private final ThreadParker parker;
    private final Runnable atEnd;

    /** Whether the device is to tell of the next completion; falls when it has. */
    private volatile boolean armed;

    private volatile boolean stopped;

    /** @param atEnd run when the queue is destroyed */
    CompletionChannelThread(
            IbvCompChannel channel, IbvCQ queue, ThreadParker parker, Runnable atEnd)
            throws IOException {
        this.channel = channel;
        this.queue = queue;
        this.request = queue.reqNotification(false);
        this.parker = parker;
        this.atEnd = atEnd;
        Thread thread = new Thread(this::run, "rdma-disni-completions");
        thread.setDaemon(true);
        thread.start();
    }

    /** Has the next completion unpark the event loop. One that is there does not: look again after this call. */
    void arm() throws IOException {
        if (!armed) {
            armed = true; // first, since the completion may be told of before the call returns
            try {
                request.execute();
            } catch (IOException e) {
                armed = false;
                throw e;
            }
        }
    }

    /** Ends the thread soon, and with it the queue. No queue pair may use it any more. */
    void stop() {
        stopped = true;
    }

    private void run() {
        boolean fails = false;
        while (!stopped) {
            try {
                if (channel.getCqEvent(queue, WAIT_MILLIS)) {
                    queue.ackEvents(
                            1); // a queue with events that nobody has seen cannot be destroyed
                    armed = false;
                    parker.unpark();
                }
                fails = false;
            } catch (Throwable t) {
                // The queue is still in use: its owner looks for itself meanwhile.
                if (!fails) {
                    logger.warn("Completions are not notified", t);
                }
                fails = true;
                LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(WAIT_MILLIS));
                parker.unpark();
            }
        }
        try {
            request.free();
            queue.destroyCQ();
            channel.destroyCompChannel(); // after its queue, else it is busy
        } catch (IOException e) {
            logger.debug("A completion queue could not be destroyed", e);
        }
        atEnd.run();
    }
}
