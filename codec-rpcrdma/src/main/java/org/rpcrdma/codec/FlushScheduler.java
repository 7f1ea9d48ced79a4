// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.channel.ChannelHandlerContext;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import org.rpcrdma.channel.RdmaChannel;
import org.rpcrdma.channel.internal.ChannelInternals;

/**
 * Flush scheduler of one connection: alone decides when written messages go to the device. Invariant: after each read
 * batch, task and timer no message that was written and flushed stays queued.
 *
 * <p>Each flush costs a system call or a doorbell. So flushes requested during a read batch are coalesced into one at
 * its end; the eighth request flushes at once, and so does the next message of the batch once the first request is 20
 * microseconds old. Messages of the codec itself ({@link #request}) are flushed at the end of the batch, or of the task
 * outside of a batch. Event loop only.
 */
final class FlushScheduler {

    /**
     * Number of messages whose processing costs about as much as one flush: fewer are not flushed early, more do not
     * wait.
     */
    static final int WORTH = 8;

    /** Longest time that a requested flush is deferred, checked when the next message of the batch is read. */
    private static final long LONGEST_NANOS = TimeUnit.MICROSECONDS.toNanos(20);

    private final RdmaChannel channel;
    private final ChannelInternals internals;
    private final Runnable task = this::endTask;

    /** Context to flush towards the network; {@code null} until the stage is in the pipeline. */
    private ChannelHandlerContext context;

    private boolean isReading;

    /** Messages written since the last flush; failed writes are included. */
    private int written;

    /** Deferred flushes of handlers, and the time of the first request. */
    private int waiting;

    private long waitingSince;

    /** Whether the codec has requested a flush. */
    private boolean isRequested;

    /** Whether {@link #task} is in the queue of the event loop. */
    private boolean isTaskDue;

    FlushScheduler(RdmaChannel channel) {
        this.channel = channel;
        internals = ChannelInternals.of(channel);
    }

    /** Sets the context from which flushes pass towards the network. */
    void attach(ChannelHandlerContext place) {
        context = place;
    }

    // ------------------------------------------------------------------ read batches

    /** A message of a read batch is about to be passed to the handlers. */
    void beginMessage() {
        if (waiting > 0 && internals.nanoTime() - waitingSince > LONGEST_NANOS) {
            flush();
        }
        isReading = true;
    }

    /** The batch has ended, or an exception has replaced its end. */
    void endBatch() {
        isReading = false;
        flushWaiting();
    }

    // ------------------------------------------------------------------ written and flushed

    /** A message was written; returns the messages written since the last flush, failed writes included. */
    int wrote() {
        return ++written;
    }

    /** A handler has flushed. */
    void flushed() {
        if (!isReading || ++waiting == WORTH) {
            flush();
        } else if (waiting == 1) {
            waitingSince = internals.nanoTime();
        }
    }

    /** Requests a flush of the codec's own messages at the end of the batch or of the task. */
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

    /** Flushes if the task that now ends has {@linkplain #request requested} a flush, unless a batch is being read. */
    void flushRequested() {
        if (isRequested && !isReading) {
            flush();
        }
    }

    /** Ends all deferral: the channel is about to close, or is not writable. */
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
