// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.rpcrdma.verbs.ConnectionRequest;
import org.rpcrdma.verbs.Listener;
import org.rpcrdma.verbs.ListenerHandler;
import org.rpcrdma.verbs.QueuePairConfig;

/** Two contexts, an initiator and a responder, connected over loopback and polled by the thread of the test. */
final class Pair implements AutoCloseable {

    static final QueuePairConfig SIZE = new QueuePairConfig(64, 64, 8, 8);

    private static final long PATIENCE_NANOS = TimeUnit.SECONDS.toNanos(60);

    final IwarpContext initiatorContext;
    final IwarpContext responderContext;
    Endpoint initiator;
    Endpoint responder;
    Listener listener;
    ConnectionRequest request;

    /** Where the initiator connects to, if not to the listener itself. */
    Relay relay;

    Pair(IwarpConfig initiatorConfig, IwarpConfig responderConfig) throws IOException {
        this(new IwarpContext(initiatorConfig), new IwarpContext(responderConfig));
    }

    /** Closes both. */
    Pair(IwarpContext initiatorContext, IwarpContext responderContext) {
        this.initiatorContext = initiatorContext;
        this.responderContext = responderContext;
    }

    static Pair connected(IwarpConfig config, int bytes) throws IOException {
        return connected(config, config, bytes);
    }

    static Pair connected(IwarpConfig initiatorConfig, IwarpConfig responderConfig, int bytes)
            throws IOException {
        Pair pair = new Pair(initiatorConfig, responderConfig);
        pair.listen(InetAddress.getLoopbackAddress());
        pair.connect(SIZE, SIZE, bytes);
        return pair;
    }

    void listen(InetAddress address) throws IOException {
        listener =
                responderContext.listen(
                        new InetSocketAddress(address, 0),
                        16,
                        new ListenerHandler() {
                            @Override
                            public void connectionRequested(ConnectionRequest asked) {
                                request = asked;
                            }

                            @Override
                            public void acceptFailed(Throwable cause) {
                                throw new AssertionError(cause);
                            }
                        });
    }

    void connect(QueuePairConfig initiatorSize, QueuePairConfig responderSize, int bytes)
            throws IOException {
        initiator = new Endpoint(initiatorContext, bytes);
        responder = new Endpoint(responderContext, bytes);
        initiator.queuePair = initiatorContext.createQueuePair(initiatorSize, initiator);
        initiator.queuePair.connect(
                relay == null ? listener.localAddress() : relay.address(),
                null,
                new byte[] {1, 2, 3});
        request = null;
        until(() -> request != null || initiator.connectFailure != null);
        assertThat(initiator.connectFailure).isNull();
        responder.queuePair = responderContext.createQueuePair(request, responderSize, responder);
        responder.queuePair.accept(new byte[] {4, 5});
        until(() -> initiator.isConnected() && responder.isConnected());
    }

    /** Polls both contexts until a condition holds. */
    void until(BooleanSupplier condition) {
        until(
                () -> {
                    if (relay != null) {
                        relay.pump();
                    }
                    return condition.getAsBoolean();
                },
                initiatorContext,
                responderContext);
    }

    static void until(BooleanSupplier condition, IwarpContext... contexts) {
        long start = System.nanoTime();
        while (!condition.getAsBoolean()) {
            int done = 0;
            for (IwarpContext context : contexts) {
                done += context.poll(64);
            }
            if (done == 0) {
                assertThat(System.nanoTime() - start)
                        .as("nanoseconds waited")
                        .isLessThan(PATIENCE_NANOS);
                Thread.onSpinWait();
            }
        }
    }

    @Override
    public void close() {
        initiatorContext.close();
        responderContext.close();
    }
}
