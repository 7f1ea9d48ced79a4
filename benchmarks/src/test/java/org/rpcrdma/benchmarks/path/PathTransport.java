// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.benchmarks.path;

/** What carries the calls. */
enum PathTransport {
    /** RPC-over-RDMA on the software RNIC over TCP. */
    RDMA("RDMA"),
    /** Record marking on a byte stream on the software RNIC over TCP. */
    STREAM("stream"),
    /** Record marking on TCP by Netty's NIO transport, to compare with. */
    NIO("TCP");

    final String label;

    PathTransport(String label) {
        this.label = label;
    }

    /** {@return whether it is one of this project, whose paths have ceilings} */
    boolean isOurs() {
        return this != NIO;
    }
}
