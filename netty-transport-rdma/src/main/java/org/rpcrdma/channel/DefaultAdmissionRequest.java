// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import io.netty.util.concurrent.Future;
import java.net.InetSocketAddress;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicReference;
import org.rpcrdma.channel.admission.AdmissionRequest;
import org.rpcrdma.verbs.ConnectionRequest;

/**
 * One connection request, from its admission until the end of its connection. Policies see it by the methods of {@link
 * AdmissionRequest}, on any thread; all others belong to the event loop of the server channel.
 */
final class DefaultAdmissionRequest implements AdmissionRequest {

    static final byte[] NO_DATA = {};

    private static final CompletableFuture<Void> OVER = CompletableFuture.completedFuture(null);

    private final ConnectionRequest request;
    private final Executor policies;

    /** What policies wait for; {@code null} while none has asked, and {@link #OVER} when none had at the end. */
    private final AtomicReference<CompletableFuture<Void>> ended = new AtomicReference<>();

    /** Ends the wait for a decision; {@code null} for none. */
    private Future<?> deadline;

    /**
     * @param policies runs policies, and what waits for the end
     */
    DefaultAdmissionRequest(ConnectionRequest request, Executor policies) {
        this.request = request;
        this.policies = policies;
    }

    @Override
    public InetSocketAddress localAddress() {
        return request.localAddress();
    }

    @Override
    public InetSocketAddress remoteAddress() {
        return request.remoteAddress();
    }

    @Override
    public byte[] privateData() {
        return request.privateData();
    }

    @Override
    public Executor executor() {
        return policies;
    }

    @Override
    public CompletionStage<Void> ended() {
        if (ended.get() == null) {
            ended.compareAndSet(null, new CompletableFuture<>());
        }
        return ended.get().minimalCompletionStage();
    }

    // ------------------------------------------------------------------ for the server channel

    ConnectionRequest request() {
        return request;
    }

    void deadline(Future<?> timer) {
        deadline = timer;
    }

    /** The policy has decided, or may not any more. */
    void decided() {
        if (deadline != null) {
            deadline.cancel(false);
            deadline = null;
        }
    }

    /** Refuses the peer. */
    void reject(byte[] privateData) {
        try {
            request.reject(privateData);
        } finally {
            end();
        }
    }

    /** The connection has ended, or was refused. Any thread. */
    void end() {
        if (ended.compareAndSet(null, OVER)) {
            return; // no policy waits for it
        }
        CompletableFuture<Void> waiting = ended.get();
        try {
            policies.execute(() -> waiting.complete(null));
        } catch (RejectedExecutionException e) {
            // The event loop of the server channel has ended before the connection.
            waiting.complete(null);
        }
    }

    /** For logs. */
    @Override
    public String toString() {
        return "connection request of " + request.remoteAddress();
    }
}
