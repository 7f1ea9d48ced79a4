// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.benchmarks.compare;

import org.HdrHistogram.Histogram;
import org.rpcrdma.benchmarks.verbs.Exchange;

/** The client's process has both ends of a floor. A latency is the mean of a batch. */
final class FloorSide implements Side {

    private static final int BATCH_BYTES = 4 << 20;
    private static final int BATCH = 200;

    /** A batch begins and ends with nothing outstanding, which must be little of it. */
    private static final int LEAST_WINDOWS = 12;

    private final Floor floor;
    private Exchange exchange;
    private int bytes = -1;
    private int connections;

    FloorSide(Floor floor) {
        this.floor = floor;
    }

    @Override
    public String listen() {
        return "";
    }

    @Override
    public void connect(String address, int count) {
        // Each length of messages, and each number of connections, has its own.
    }

    @Override
    public long run(Work work, long end, Histogram latencies) throws Exception {
        if (exchange == null || bytes != work.bytes() || connections != work.connections()) {
            close();
            exchange = floor.exchange(work);
            bytes = work.bytes();
            connections = work.connections();
        }
        int outstanding = work.outstanding() * connections;
        int batch =
                Math.max(
                        LEAST_WINDOWS * outstanding,
                        Math.min(BATCH, BATCH_BYTES / Math.max(1, bytes)));
        long calls = 0;
        for (long now = System.nanoTime(); calls == 0 || now - end < 0; ) {
            floor.exchange(exchange, work, batch);
            long next = System.nanoTime();
            latencies.recordValue((next - now) * outstanding / batch);
            calls += batch;
            now = next;
        }
        return calls;
    }

    @Override
    public void close() throws Exception {
        if (exchange != null) {
            exchange.close();
            exchange = null;
        }
    }
}
