// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.ffm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.rpcrdma.verbs.ConnectionRequest;
import org.rpcrdma.verbs.EventLoopVerbsContext;
import org.rpcrdma.verbs.Listener;
import org.rpcrdma.verbs.ListenerHandler;
import org.rpcrdma.verbs.QueuePair;
import org.rpcrdma.verbs.QueuePairConfig;
import org.rpcrdma.verbs.QueuePairHandler;
import org.rpcrdma.verbs.WorkStatus;

/** A request that cannot be moved to another event loop keeps nothing of the listener's. */
class FailedMigrationTest {

    private static final QueuePairConfig SIZE = new QueuePairConfig(16, 16, 8, 8);
    private static final long PATIENCE_NANOS = TimeUnit.SECONDS.toNanos(60);

    private final List<ConnectionRequest> requests = new ArrayList<>();
    private final List<Throwable> failures = new ArrayList<>();

    @AfterEach
    void migrateAgain() {
        SoftwareLibrary.failsToMigrate = false;
    }

    private static EventLoopVerbsContext context() throws IOException {
        return FfmProviderFactory.open(
                new FfmConfig(null, 1024, 0, 2000, false),
                () -> new SoftwareLibrary(SoftwareKernel.Kind.ROCE, false));
    }

    private static void until(BooleanSupplier condition, EventLoopVerbsContext... contexts) {
        long start = System.nanoTime();
        while (!condition.getAsBoolean()) {
            for (EventLoopVerbsContext context : contexts) {
                context.poll(64);
            }
            assertThat(System.nanoTime() - start)
                    .as("nanoseconds waited")
                    .isLessThan(PATIENCE_NANOS);
            Thread.onSpinWait();
        }
    }

    @Test
    void theShareOfTheListenersLoopIsGivenBack() throws IOException {
        SoftwareKernel kernel = SoftwareKernel.get(SoftwareKernel.Kind.ROCE);
        final Map<String, Integer> before = kernel.living();
        EventLoopVerbsContext client = context();
        EventLoopVerbsContext listening = context();
        EventLoopVerbsContext taking = context();
        try {
            Listener listener =
                    listening.listen(
                            new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
                            16,
                            new Requests());
            QueuePair active = client.createQueuePair(SIZE, new Handler());
            active.connect(listener.localAddress(), null, new byte[0]);
            until(() -> !requests.isEmpty(), client, listening);
            SoftwareLibrary.failsToMigrate = true;
            assertThatThrownBy(() -> taking.createQueuePair(requests.get(0), SIZE, new Handler()))
                    .isInstanceOf(IOException.class)
                    .hasMessageContaining("rdma_migrate_id");
            until(() -> !failures.isEmpty(), client, listening);
        } finally {
            client.close();
            listening.close();
            taking.close();
        }
        assertThat(kernel.living()).isEqualTo(before);
        assertThat(kernel.problems()).isEmpty();
    }

    private final class Requests implements ListenerHandler {

        @Override
        public void connectionRequested(ConnectionRequest request) {
            requests.add(request);
        }

        @Override
        public void acceptFailed(Throwable cause) {
            throw new AssertionError(cause);
        }
    }

    private final class Handler implements QueuePairHandler {

        @Override
        public void connected(byte[] privateData) {}

        @Override
        public void connectFailed(Throwable cause) {
            failures.add(cause);
        }

        @Override
        public void completed(long id, WorkStatus status, int length, int invalidatedKey) {}

        @Override
        public void disconnected(Throwable cause) {}
    }
}
