// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.benchmarks.compare;

/** What is spoken on a connection; each has a server of its own. */
enum Application {
    /** ONC RPC: NULL, READ and WRITE of NFSv3. */
    RPC,
    /** Bytes with nothing but their number in front. */
    BYTES,
    HTTP1,
    HTTP2,
    GRPC
}
