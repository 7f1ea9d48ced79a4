// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.benchmarks.compare;

/**
 * One line of JSON that a {@link Worker} reads.
 *
 * @param address of the server, for {@code CONNECT}
 * @param work for {@code RUN}
 * @param millis how long {@code RUN} lasts
 */
record Request(Command command, String address, Work work, long millis) {

    enum Command {
        LISTEN,
        CONNECT,
        RUN,
        COST,
        QUIT
    }

    static Request of(Command command) {
        return new Request(command, null, null, 0);
    }
}
