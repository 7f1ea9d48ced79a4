// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.client;

import io.netty.util.ReferenceCounted;
import io.netty.util.internal.PlatformDependent;
import java.util.Objects;
import java.util.Queue;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicIntegerFieldUpdater;
import org.rpcrdma.codec.rpc.CallMarshaller;
import org.rpcrdma.codec.rpc.CallOptions;
import org.rpcrdma.codec.rpc.ReplyOutcomeDecoder;
import org.rpcrdma.codec.rpc.RpcFuture;
import org.rpcrdma.codec.rpc.RpcPromise;

/**
 * Queue of calls from user threads to the event loop of the requester, which starts them in order of submission. One
 * task starts all calls that are in the queue when it runs.
 */
final class CallHandoverQueue {

    /** Starts calls, within an event. */
    interface Starter extends CallWithReplyFuture.Keeper {

        void start(CallWithReplyFuture<?> call);

        /** All queued calls were started: flush them. */
        void flush();
    }

    private static final AtomicIntegerFieldUpdater<CallHandoverQueue> OUTSTANDING =
            AtomicIntegerFieldUpdater.newUpdater(CallHandoverQueue.class, "outstanding");

    private final Starter starter;
    private final DefaultCallSettings settings;
    private final MovableRequesterEventLoop loop;
    private final Queue<CallWithReplyFuture<?>> submitted = PlatformDependent.newMpscQueue();
    private final AtomicBoolean isStarting = new AtomicBoolean();
    private final Runnable start = this::start;
    private volatile int outstanding;

    CallHandoverQueue(
            Starter starter, DefaultCallSettings settings, MovableRequesterEventLoop loop) {
        this.starter = starter;
        this.settings = settings;
        this.loop = loop;
    }

    /** Number of calls without an outcome. */
    int outstanding() {
        return outstanding;
    }

    /** A call has ended. */
    void ended() {
        OUTSTANDING.decrementAndGet(this);
    }

    // ------------------------------------------------------------------ any thread

    /**
     * Submits a message as a call.
     *
     * @param message taken over
     */
    <V extends ReferenceCounted, T> RpcFuture<T> submit(
            V message, CallOptions options, ReplyOutcomeDecoder<? super V, ? extends T> reader) {
        ReferenceCounted call = CallWithReplyFuture.withoutMark(message);
        String problem = CallWithReplyFuture.messageProblem(call);
        return problem == null
                ? submit(newCall(call, null, options, reader))
                : refused(call, problem);
    }

    /** Submits a call whose message is built after its XID is assigned. */
    <V extends ReferenceCounted, T> RpcFuture<T> submitMarshalled(
            CallMarshaller<V> marshaller,
            CallOptions options,
            ReplyOutcomeDecoder<? super V, ? extends T> reader) {
        Objects.requireNonNull(marshaller, "marshaller");
        return submit(newCall(null, marshaller, options, reader));
    }

    private <T> RpcFuture<T> submit(CallWithReplyFuture<T> call) {
        submitted.add(call);
        if (isStarting.compareAndSet(false, true)) {
            handOver();
        }
        return call;
    }

    private void handOver() {
        if (!loop.execute(start)) {
            isStarting.set(false);
            loop.seeTermination();
        }
    }

    @SuppressWarnings("unchecked") // the reply has the type of the call
    private <V extends ReferenceCounted, T> CallWithReplyFuture<T> newCall(
            ReferenceCounted message,
            CallMarshaller<V> marshaller,
            CallOptions options,
            ReplyOutcomeDecoder<? super V, ? extends T> reader) {
        Objects.requireNonNull(reader, "reader");
        OUTSTANDING.incrementAndGet(this);
        return new CallWithReplyFuture<>(
                starter,
                message,
                marshaller,
                (ReplyOutcomeDecoder<ReferenceCounted, ? extends T>) reader,
                options,
                settings.deadline(options));
    }

    private <T> RpcFuture<T> refused(ReferenceCounted message, String problem) {
        message.release();
        return RpcPromise.failed(loop.current(), new IllegalArgumentException(problem));
    }

    // ------------------------------------------------------------------ event loop only

    /** Starts a call at once on the current channel. It ends with that channel, regardless of its options. */
    <V extends ReferenceCounted, T> RpcFuture<T> startHere(
            V message, CallOptions options, ReplyOutcomeDecoder<? super V, ? extends T> reader) {
        ReferenceCounted call = CallWithReplyFuture.withoutMark(message);
        String problem = CallWithReplyFuture.messageProblem(call);
        return problem == null
                ? startHere(newCall(call, null, options, reader))
                : refused(call, problem);
    }

    /** As {@link #startHere(ReferenceCounted, CallOptions, ReplyOutcomeDecoder)}, with a marshaller. */
    <V extends ReferenceCounted, T> RpcFuture<T> startMarshalledHere(
            CallMarshaller<V> marshaller,
            CallOptions options,
            ReplyOutcomeDecoder<? super V, ? extends T> reader) {
        Objects.requireNonNull(marshaller, "marshaller");
        return startHere(newCall(null, marshaller, options, reader));
    }

    private <T> RpcFuture<T> startHere(CallWithReplyFuture<T> call) {
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
            handOver(); // the calls have moved to another event loop
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

    /** Starts all submitted calls. Within an event. */
    void startSubmitted() {
        isStarting.set(false);
        for (CallWithReplyFuture<?> call = submitted.poll();
                call != null;
                call = submitted.poll()) {
            starter.start(call);
        }
    }
}
