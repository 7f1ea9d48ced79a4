// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.benchmarks.compare;

import java.util.Map;

/**
 * One line of JSON that a {@link Worker} reads.
 *
 * @param addresses of the server, for {@code CONNECT}
 * @param work for {@code RUN} and {@code MEMORY}
 * @param millis how long {@code RUN} lasts
 */
record Request(Command command, Map<Application, String> addresses, Work work, long millis) {

    enum Command {
        LISTEN,
        CONNECT,
        RUN,
        COST,
        MEMORY,
        QUIT
    }

    static Request of(Command command) {
        return new Request(command, null, null, 0);
    }
}
