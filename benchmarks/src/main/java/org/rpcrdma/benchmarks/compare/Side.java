// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.benchmarks.compare;

import org.HdrHistogram.Histogram;

/**
 * The server or the client of one application, in a {@link Worker}. For the worker's main thread alone.
 */
interface Side extends AutoCloseable {

    /** Begins to serve. */
    String listen() throws Exception;

    /** Has so many connections to the server, from now on. */
    void connect(String address, int connections) throws Exception;

    /**
     * @param end when no more calls are made, of {@link System#nanoTime}
     * @param latencies takes nanoseconds
     * @return the calls that were answered
     */
    long run(Work work, long end, Histogram latencies) throws Exception;

    @Override
    default void close() throws Exception {}
}
