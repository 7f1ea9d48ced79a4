// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.benchmarks.path;

/** The end of a connection whose path is counted. */
enum Role {
    REQUESTER("requester"),
    RESPONDER("responder");

    final String label;

    Role(String label) {
        this.label = label;
    }
}
