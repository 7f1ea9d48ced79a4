// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.conformance;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.rpcrdma.verbs.ConnectionRequest;
import org.rpcrdma.verbs.EventLoopVerbsContext;
import org.rpcrdma.verbs.Listener;
import org.rpcrdma.verbs.ListenerHandler;
import org.rpcrdma.verbs.QueuePairConfig;
import org.rpcrdma.verbs.VerbsProvider;

/** An active and a passive end, on a context each, polled by the thread of the test. */
final class Ends implements AutoCloseable {

    static final QueuePairConfig SIZE = new QueuePairConfig(16, 16, 8, 8);

    static final int BYTES = 1 << 16;

    static final byte[] NO_DATA = {};

    private static final long PATIENCE_NANOS = TimeUnit.SECONDS.toNanos(60);

    final EventLoopVerbsContext activeContext;
    final EventLoopVerbsContext passiveContext;
    final List<ConnectionRequest> requests = new ArrayList<>();
    final List<Throwable> acceptFailures = new ArrayList<>();
    Listener listener;
    End active;
    End passive;

    Ends(VerbsProvider provider) throws IOException {
        activeContext = provider.open();
        passiveContext = provider.open();
    }

    static Ends connected(VerbsProvider provider) throws IOException {
        Ends ends = new Ends(provider);
        ends.listen();
        ends.connect();
        return ends;
    }

    void listen() throws IOException {
        listen(InetAddress.getLoopbackAddress());
    }

    void listen(InetAddress address) throws IOException {
        listener =
                passiveContext.listen(
                        new InetSocketAddress(address, 0),
                        16,
                        new ListenerHandler() {
                            @Override
                            public void connectionRequested(ConnectionRequest request) {
                                requests.add(request);
                            }

                            @Override
                            public void acceptFailed(Throwable cause) {
                                acceptFailures.add(cause);
                            }
                        });
    }

    End newActive() throws IOException {
        End end = new End(activeContext, BYTES);
        end.queuePair = activeContext.createQueuePair(SIZE, end);
        return end;
    }

    void connect() throws IOException {
        active = newActive();
        active.queuePair.connect(listener.localAddress(), null, NO_DATA);
        passive = accept();
        until(() -> active.isConnected && passive.isConnected);
    }

    /** For the oldest request, which is awaited. */
    End newPassive() throws IOException {
        until(() -> !requests.isEmpty());
        End end = new End(passiveContext, BYTES);
        end.queuePair = passiveContext.createQueuePair(requests.remove(0), SIZE, end);
        return end;
    }

    End accept() throws IOException {
        End end = newPassive();
        end.queuePair.accept(NO_DATA);
        return end;
    }

    /** Polls both contexts until a condition holds. */
    void until(BooleanSupplier condition) {
        long start = System.nanoTime();
        while (!condition.getAsBoolean()) {
            if (activeContext.poll(64) + passiveContext.poll(64) == 0) {
                assertThat(System.nanoTime() - start)
                        .as("nanoseconds waited")
                        .isLessThan(PATIENCE_NANOS);
                Thread.onSpinWait();
            }
        }
    }

    @Override
    public void close() {
        activeContext.close();
        passiveContext.close();
    }
}
