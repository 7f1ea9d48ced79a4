// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.rpc;

import io.netty.channel.Channel;
import io.netty.util.Attribute;
import io.netty.util.AttributeKey;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicReference;

/**
 * Calls of a connection that wait in the queue of an executor. The queue has no bound, and its tasks cannot be taken
 * out of it: when the connection is lost the calls give up their messages here, and the tasks find nothing to do.
 *
 * <p>Calls are added on the event loop, and taken on any thread. Who takes a call out ends it.
 */
final class QueuedCalls {

    private static final AttributeKey<QueuedCalls> KEY =
            AttributeKey.valueOf(QueuedCalls.class, "QUEUED_CALLS");

    private final Set<QueuedCall> calls = ConcurrentHashMap.newKeySet();

    /** What a task has of a call. When it is dropped the task has nothing left of it, nor of its channel. */
    static final class QueuedCall {

        private final AtomicReference<RpcServerCall> call;
        private final QueuedCalls queue;

        QueuedCall(RpcServerCall call, QueuedCalls queue) {
            this.call = new AtomicReference<>(call);
            this.queue = queue;
        }

        /** {@return the call, which is the caller's to end; null where another one has it} */
        RpcServerCall take() {
            queue.calls.remove(this);
            return call.getAndSet(null);
        }
    }

    /** On the event loop of the channel. */
    static QueuedCalls of(Channel channel) {
        Attribute<QueuedCalls> attribute = channel.attr(KEY);
        QueuedCalls queued = attribute.get();
        if (queued == null) {
            queued = new QueuedCalls();
            attribute.set(queued);
        }
        return queued;
    }

    QueuedCall add(RpcServerCall call) {
        QueuedCall queued = new QueuedCall(call, this);
        calls.add(queued);
        return queued;
    }

    /** When Netty has emptied the pipeline, which it is doing now: only then the call knows whether it is awaited. */
    static void connectionLost(Channel channel) {
        QueuedCalls queued = channel.attr(KEY).get();
        if (queued == null || queued.calls.isEmpty()) {
            return;
        }
        try {
            channel.eventLoop().execute(queued::dropUnawaited);
        } catch (RejectedExecutionException e) {
            // The event loop has ended. The calls are dropped in their turn.
        }
    }

    void dropUnawaited() {
        for (QueuedCall queued : calls) {
            RpcServerCall call = queued.call.get();
            if (call != null && !call.isAwaited() && queued.take() != null) {
                call.tryDrop();
            }
        }
    }
}
