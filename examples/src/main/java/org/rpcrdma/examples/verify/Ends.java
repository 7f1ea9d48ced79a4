// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.verify;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayDeque;
import java.util.Queue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.rpcrdma.verbs.ConnectionRequest;
import org.rpcrdma.verbs.EventLoopVerbsContext;
import org.rpcrdma.verbs.Listener;
import org.rpcrdma.verbs.ListenerHandler;
import org.rpcrdma.verbs.QueuePairConfig;
import org.rpcrdma.verbs.VerbsProvider;

/** Two contexts of a provider, which one thread polls, and connections between them. */
final class Ends implements AutoCloseable {

    static final byte[] NO_DATA = {};

    /** So long for what a device does in microseconds. */
    private static final long PATIENCE_SECONDS = 30;

    /** Software devices need processors, too. */
    private static final int IDLE_POLLS = 1000;

    private static final int DEPTH = 32;

    final EventLoopVerbsContext near;
    final EventLoopVerbsContext far;
    final QueuePairConfig size;
    private final Queue<ConnectionRequest> requests = new ArrayDeque<>();
    private final Queue<End> made = new ArrayDeque<>();
    private Throwable listenerFailure;
    final Listener listener;

    Ends(VerbsProvider provider, InetAddress address) throws IOException {
        near = provider.open();
        EventLoopVerbsContext second = null;
        try {
            second = provider.open();
            far = second;
            int reads = Math.min(DEPTH, near.capabilities().maxReadDepth());
            size = new QueuePairConfig(DEPTH, DEPTH, reads, reads);
            listener = listen(address);
        } catch (IOException | RuntimeException e) {
            near.close();
            if (second != null) {
                second.close();
            }
            throw e;
        }
    }

    /** An address where somebody has listened a moment ago. */
    InetSocketAddress unheardAddress(InetAddress address) throws IOException {
        Listener gone = listen(address);
        InetSocketAddress unheard = gone.localAddress();
        gone.close();
        return unheard;
    }

    private Listener listen(InetAddress address) throws IOException {
        return far.listen(
                new InetSocketAddress(address, 0),
                DEPTH,
                new ListenerHandler() {
                    @Override
                    public void connectionRequested(ConnectionRequest request) {
                        requests.add(request);
                    }

                    @Override
                    public void acceptFailed(Throwable cause) {
                        listenerFailure = cause;
                    }
                });
    }

    End newEnd(EventLoopVerbsContext context, int bytes) {
        End end = new End(context, bytes);
        made.add(end);
        return end;
    }

    /** An end that has begun to connect. */
    End connecting(int bytes, InetSocketAddress to, byte... data) throws IOException {
        End end = newEnd(near, bytes);
        end.queuePair = near.createQueuePair(size, end);
        end.queuePair.connect(to, null, data);
        return end;
    }

    /** The oldest request, which is awaited. */
    ConnectionRequest request() {
        until("a connection request", () -> !requests.isEmpty() || listenerFailure != null);
        if (requests.isEmpty()) {
            throw new IllegalStateException("the listener failed: " + listenerFailure);
        }
        return requests.remove();
    }

    /** Accepts the oldest request, by the context that listens. */
    End accept(int bytes) throws IOException {
        return accept(far, bytes);
    }

    /** Accepts the oldest request by a context. */
    End accept(EventLoopVerbsContext context, int bytes) throws IOException {
        End end = newEnd(context, bytes);
        end.queuePair = context.createQueuePair(request(), size, end);
        end.queuePair.accept(NO_DATA);
        return end;
    }

    /** Waits until both ends are connected. */
    void established(End first, End second) {
        until(
                "the connection",
                () ->
                        (first.peerData != null && second.peerData != null)
                                || first.failure != null
                                || second.failure != null);
        for (End end : new End[] {first, second}) {
            if (end.failure != null) {
                throw new IllegalStateException("no connection: " + end.failure.getMessage());
            }
        }
    }

    /** Polls both contexts until something holds. */
    void until(String what, BooleanSupplier holds) {
        long start = System.nanoTime();
        int idle = 0;
        while (!holds.getAsBoolean()) {
            if (near.poll(64) + far.poll(64) > 0) {
                idle = 0;
            } else if (++idle > IDLE_POLLS) {
                LockSupport.parkNanos(1);
                if (System.nanoTime() - start > TimeUnit.SECONDS.toNanos(PATIENCE_SECONDS)) {
                    throw new IllegalStateException(
                            what + " did not come in " + PATIENCE_SECONDS + " seconds");
                }
            }
        }
    }

    /** Closes all connections. */
    void closeAll() {
        requests.forEach(request -> request.reject(NO_DATA));
        requests.clear();
        made.forEach(End::close);
        made.clear();
    }

    @Override
    public void close() {
        closeAll();
        near.close();
        far.close();
    }
}
