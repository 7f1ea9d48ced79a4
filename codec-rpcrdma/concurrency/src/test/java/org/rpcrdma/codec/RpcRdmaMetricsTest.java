// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import org.jetbrains.lincheck.datastructures.IntGen;
import org.jetbrains.lincheck.datastructures.Operation;
import org.jetbrains.lincheck.datastructures.Param;
import org.junit.jupiter.api.Test;
import org.rpcrdma.concurrency.Interleavings;

/** Found: {@code closed} that is not synchronized: a count that is doubled or missing for a moment. */
class RpcRdmaMetricsTest {

    @Test
    void isLinearizable() {
        Interleavings.checkLinearizability(Metrics.class);
    }

    @Param(name = "connection", gen = IntGen.class, conf = "0:1")
    public static class Metrics {

        private final RpcRdmaMetrics all = new RpcRdmaMetrics();
        private final ConnectionMetrics[] connections = {newConnection(), newConnection()};

        private ConnectionMetrics newConnection() {
            ConnectionMetrics connection = new ConnectionMetrics(all);
            connection.increment(RpcRdmaCounter.CALLS_SENT);
            return connection;
        }

        @Operation
        public void open(@Param(name = "connection") int connection) {
            all.opened(connections[connection]);
        }

        @Operation
        public void close(@Param(name = "connection") int connection) {
            all.closed(connections[connection], RpcRdmaCounter.CONNECTIONS_CLOSED);
        }

        @Operation
        public int connections() {
            return all.connections();
        }

        @Operation
        public long callsSent() {
            return all.value(RpcRdmaCounter.CALLS_SENT);
        }
    }
}
