// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.benchmarks.compare;

import java.util.Map;

/**
 * One line of JSON that a {@link Worker} writes.
 *
 * @param problem what went wrong; {@code null} when nothing did
 * @param addresses where it listens
 * @param window what {@code RUN} has found
 * @param cost of the process
 * @param bytes of memory that are in use
 */
record Answer(
        String problem, Map<Application, String> addresses, Window window, Cost cost, long bytes) {

    static Answer nothing() {
        return new Answer(null, null, null, null, 0);
    }
}
