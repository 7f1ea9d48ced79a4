// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.channel.ChannelHandlerContext;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import org.rpcrdma.channel.RdmaChannel;

/**
 * Flush scheduler of one connection, the only one that decides when what was written goes to the device. Its invariant:
 * after the end of each read batch, task and timer nothing written and flushed stays behind.
 *
 * <p>Each flush costs a system call or a doorbell. So those that are requested during a read batch become one at its
 * end; the eighth of them does not wait, and neither do those that have waited for 20 microseconds when the next
 * message is read. What the codec itself writes ({@link #request}) is flushed in the same way, or, outside of a batch,
 * at the end of the task: it is enough to ask. Event loop only.
 */
final class FlushConsolidation {

    /** A flush costs about as much as so many calls: fewer do not go early, and more do not wait. */
    static final int WORTH = 8;

    /** When another message is read and the first flush has waited longer, it waits for no more handlers. */
    private static final long LONGEST_NANOS = TimeUnit.MICROSECONDS.toNanos(20);

    private final RdmaChannel channel;
    private final Runnable task = this::endTask;

    /** Where flushes go on to the network; {@code null} until the stage is in the pipeline. */
    private ChannelHandlerContext context;

    private boolean isReading;

    /** About how many messages are written and have not gone: one that fails counts too. */
    private int written;

    /** The flushes of handlers that wait, and when the first one was requested. */
    private int waiting;

    private long waitingSince;

    /** Something of the codec waits. */
    private boolean isRequested;

    /** {@link #task} is in the queue of the event loop. */
    private boolean isTaskDue;

    FlushConsolidation(RdmaChannel channel) {
        this.channel = channel;
    }

    /** Begins: flushes go on from here to the network. */
    void attach(ChannelHandlerContext place) {
        context = place;
    }

    // ------------------------------------------------------------------ read batches

    /** Another message of a batch is about to be read. */
    void beginMessage() {
        if (waiting > 0 && channel.nanoTime() - waitingSince > LONGEST_NANOS) {
            flush();
        }
        isReading = true;
    }

    /** The batch has ended, or nobody will say so. */
    void endBatch() {
        isReading = false;
        flushWaiting();
    }

    // ------------------------------------------------------------------ written and flushed

    /** A message was written; returns about how many have not gone. */
    int wrote() {
        return ++written;
    }

    /** A handler has flushed. */
    void flushed() {
        if (!isReading || ++waiting == WORTH) {
            flush();
        } else if (waiting == 1) {
            waitingSince = channel.nanoTime();
        }
    }

    /** The codec has written something: it goes at the end of the batch or of the task. */
    void request() {
        isRequested = true;
        if (isReading || isTaskDue) {
            return;
        }
        try {
            channel.eventLoop().execute(task);
            isTaskDue = true;
        } catch (RejectedExecutionException e) {
            flush(); // the event loop ends
        }
    }

    private void endTask() {
        isTaskDue = false;
        flushRequested();
    }

    /** A task that has {@linkplain #request requested} a flush ends; a batch goes on. */
    void flushRequested() {
        if (isRequested && !isReading) {
            flush();
        }
    }

    /** Nothing waits any longer, because the channel is about to close, or is filled. */
    void flushWaiting() {
        if (waiting > 0 || isRequested) {
            flush();
        }
    }

    /** Flushes all that was written. */
    void flush() {
        waiting = 0;
        written = 0;
        isRequested = false;
        context.flush();
    }
}
