// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.client;

import io.netty.buffer.ByteBuf;
import io.netty.util.ReferenceCounted;
import io.netty.util.concurrent.Future;
import io.netty.util.internal.PlatformDependent;
import java.util.Objects;
import java.util.Queue;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicIntegerFieldUpdater;

/**
 * Makes calls of what users hand in on any thread, and has them started on their event loop, in the order in which they
 * came. One task there starts all that have come by then.
 */
final class CallSubmissionQueue {

    /** Whoever starts calls. Within an event. */
    interface Starter extends CallReplyFuture.Keeper {

        void start(CallReplyFuture<?> call);

        /** All are started that there are. */
        void flush();
    }

    private static final AtomicIntegerFieldUpdater<CallSubmissionQueue> OUTSTANDING =
            AtomicIntegerFieldUpdater.newUpdater(CallSubmissionQueue.class, "outstanding");

    private final Starter starter;
    private final DefaultCallSettings settings;
    private final EventLoopAffinity loop;
    private final Queue<CallReplyFuture<?>> submitted = PlatformDependent.newMpscQueue();
    private final AtomicBoolean isStarting = new AtomicBoolean();
    private final Runnable start = this::start;
    private volatile int outstanding;

    CallSubmissionQueue(Starter starter, DefaultCallSettings settings, EventLoopAffinity loop) {
        this.starter = starter;
        this.settings = settings;
        this.loop = loop;
    }

    /** The calls that are not over. */
    int outstanding() {
        return outstanding;
    }

    /** A call is over. */
    void ended() {
        OUTSTANDING.decrementAndGet(this);
    }

    // ------------------------------------------------------------------ any thread

    /**
     * Makes a call of a message.
     *
     * @param message taken over
     */
    <V extends ReferenceCounted> Future<V> submit(V message, CallOptions options) {
        V call = CallReplyFuture.withoutMark(message);
        String problem = CallReplyFuture.messageProblem(call);
        return problem == null ? submit(newCall(call, null, options)) : refused(call, problem);
    }

    /** Makes a call whose message is encoded when its XID is known. */
    <V extends ReferenceCounted> Future<V> submit(CallMarshaller<V> encoder, CallOptions options) {
        return submit(newCall(null, Objects.requireNonNull(encoder, "encoder"), options));
    }

    private <V extends ReferenceCounted> Future<V> submit(CallReplyFuture<V> call) {
        submitted.add(call);
        if (isStarting.compareAndSet(false, true) && !loop.execute(start)) {
            isStarting.set(false);
            loop.seeTermination();
        }
        return call;
    }

    private <V extends ReferenceCounted> CallReplyFuture<V> newCall(
            V message, CallMarshaller<V> encoder, CallOptions options) {
        OUTSTANDING.incrementAndGet(this);
        return new CallReplyFuture<>(
                starter, message, encoder, options, settings.deadline(options));
    }

    private <V extends ReferenceCounted> Future<V> refused(V message, String problem) {
        message.release();
        return loop.current().newFailedFuture(new IllegalArgumentException(problem));
    }

    // ------------------------------------------------------------------ event loop only

    /** Starts a call at once. It goes out on the channel that there is and ends with it, whatever the options say. */
    Future<ByteBuf> startHere(ByteBuf message, CallOptions options) {
        ByteBuf call = CallReplyFuture.withoutMark(message);
        String problem = CallReplyFuture.messageProblem(call);
        return problem == null ? startHere(newCall(call, null, options)) : refused(call, problem);
    }

    /** As {@link #startHere(ByteBuf, CallOptions)}. */
    <V extends ReferenceCounted> Future<V> startHere(
            CallMarshaller<V> encoder, CallOptions options) {
        return startHere(newCall(null, Objects.requireNonNull(encoder, "encoder"), options));
    }

    private <V extends ReferenceCounted> Future<V> startHere(CallReplyFuture<V> call) {
        call.isOfOneChannel = true;
        loop.event(
                () -> {
                    starter.start(call);
                    starter.flush();
                });
        return call;
    }

    private void start() {
        if (!loop.isHere()) {
            loop.execute(start); // it is another one since
            return;
        }
        loop.outcomes().begin();
        try {
            startSubmitted();
            starter.flush();
        } finally {
            loop.outcomes().end();
        }
    }

    /** Starts what has come by now. Within an event. */
    void startSubmitted() {
        isStarting.set(false);
        for (CallReplyFuture<?> call = submitted.poll(); call != null; call = submitted.poll()) {
            starter.start(call);
        }
    }
}
