// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.benchmarks.verbs;

/** Both sides of one connection over the loopback, or of several; each side is busy on a thread of its own. */
public interface Exchange extends AutoCloseable {

    /**
     * Sends so many messages; the other end sends each back. No more than {@code window} are out at a time on each
     * connection.
     */
    void sends(int count, int window) throws Exception;

    /** Places so much data in the other end's memory and tells it; it does the same back. */
    void writes(int count, int window) throws Exception;

    /** Fetches data from the other end. */
    void reads(int count, int window) throws Exception;

    @Override
    void close() throws Exception;
}
