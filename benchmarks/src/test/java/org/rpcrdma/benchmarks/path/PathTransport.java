// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.benchmarks.path;

/** What carries the calls. */
enum PathTransport {
    /** RPC-over-RDMA on the software RNIC over TCP. */
    RDMA,
    /** Record marking on TCP by Netty's NIO transport, to compare with. */
    NIO
}
