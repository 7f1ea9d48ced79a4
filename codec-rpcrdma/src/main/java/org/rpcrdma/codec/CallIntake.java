// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

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
final class CallIntake {

    /** Whoever starts calls. Within an event. */
    interface Starter extends ClientCall.Keeper {

        void start(ClientCall<?> call);

        /** All are started that there are. */
        void flush();
    }

    private static final AtomicIntegerFieldUpdater<CallIntake> OUTSTANDING =
            AtomicIntegerFieldUpdater.newUpdater(CallIntake.class, "outstanding");

    private final Starter starter;
    private final CallSettings settings;
    private final CallLoop loop;
    private final Queue<ClientCall<?>> submitted = PlatformDependent.newMpscQueue();
    private final AtomicBoolean isStarting = new AtomicBoolean();
    private final Runnable start = this::start;
    private volatile int outstanding;

    CallIntake(Starter starter, CallSettings settings, CallLoop loop) {
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
     * @param payload what it begins with
     */
    <V extends ReferenceCounted> Future<V> submit(V message, ByteBuf payload, CallOptions options) {
        String problem = ClientCall.messageProblem(payload);
        return problem == null
                ? submit(newCall(message, null, options))
                : refused(message, problem);
    }

    /** Makes a call whose message is encoded when its XID is known. */
    <V extends ReferenceCounted> Future<V> submit(CallEncoder<V> encoder, CallOptions options) {
        return submit(newCall(null, Objects.requireNonNull(encoder, "encoder"), options));
    }

    private <V extends ReferenceCounted> Future<V> submit(ClientCall<V> call) {
        submitted.add(call);
        if (isStarting.compareAndSet(false, true) && !loop.execute(start)) {
            isStarting.set(false);
            loop.seeTermination();
        }
        return call;
    }

    private <V extends ReferenceCounted> ClientCall<V> newCall(
            V message, CallEncoder<V> encoder, CallOptions options) {
        OUTSTANDING.incrementAndGet(this);
        return new ClientCall<>(starter, message, encoder, options, settings.deadline(options));
    }

    private <V extends ReferenceCounted> Future<V> refused(V message, String problem) {
        message.release();
        return loop.current().newFailedFuture(new IllegalArgumentException(problem));
    }

    // ------------------------------------------------------------------ event loop only

    /** Starts a call at once. It goes out on the channel that there is and ends with it, whatever the options say. */
    Future<ByteBuf> startHere(ByteBuf message, CallOptions options) {
        String problem = ClientCall.messageProblem(message);
        return problem == null
                ? startHere(newCall(message, null, options))
                : refused(message, problem);
    }

    /** As {@link #startHere(ByteBuf, CallOptions)}. */
    <V extends ReferenceCounted> Future<V> startHere(CallEncoder<V> encoder, CallOptions options) {
        return startHere(newCall(null, Objects.requireNonNull(encoder, "encoder"), options));
    }

    private <V extends ReferenceCounted> Future<V> startHere(ClientCall<V> call) {
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
        for (ClientCall<?> call = submitted.poll(); call != null; call = submitted.poll()) {
            starter.start(call);
        }
    }
}
