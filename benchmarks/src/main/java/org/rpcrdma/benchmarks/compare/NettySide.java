// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.benchmarks.compare;

import io.netty.bootstrap.ServerBootstrap;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.HdrHistogram.Histogram;
import org.rpcrdma.benchmarks.Transport;

/** A side whose calls are made on event loops of Netty. */
abstract class NettySide implements Side {

    private static final long PATIENCE_SECONDS = 120;

    /** What the drivers tell: the calls of a finished window, or a failure. */
    private final BlockingQueue<Object> told = new LinkedBlockingQueue<>();

    private final List<Driver> drivers = new ArrayList<>();

    /** Has a server listen; returns the text of its address. */
    static String bind(Transport transport, ServerBootstrap server, Tools tools) throws Exception {
        return transport.toText(
                server.bind(transport.serverAddress(tools.directory()))
                        .sync()
                        .channel()
                        .localAddress());
    }

    /** One more connection. */
    abstract Driver open(String address, Driver.Listener listener) throws Exception;

    @Override
    public final void connect(String address, int connections) throws Exception {
        while (drivers.size() < connections) {
            drivers.add(open(address, new Told()));
        }
    }

    @Override
    public final long run(Work work, long end, Histogram latencies) throws InterruptedException {
        List<Driver> busy = drivers.subList(0, work.connections());
        busy.forEach(driver -> driver.loop().execute(() -> driver.start(work, end, latencies)));
        long calls = 0;
        for (Driver ignored : busy) {
            Object said =
                    told.poll(
                            end - System.nanoTime() + TimeUnit.SECONDS.toNanos(PATIENCE_SECONDS),
                            TimeUnit.NANOSECONDS);
            if (!(said instanceof Long finished)) {
                throw new IllegalStateException(
                        work.label() + " has failed",
                        said == null
                                ? new IllegalStateException("no reply for a long time")
                                : (Throwable) said);
            }
            calls += finished;
        }
        return calls;
    }

    private final class Told implements Driver.Listener {
        @Override
        public void finished(long calls) {
            told.add(calls);
        }

        @Override
        public void failed(Throwable cause) {
            told.add(cause);
        }
    }
}
