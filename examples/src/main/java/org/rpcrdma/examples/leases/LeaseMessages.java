// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.leases;

import java.io.IOException;
import org.rpcrdma.codec.rpc.RpcServerCall;

/** The procedures of both directions: each has one string as argument, and no results. */
final class LeaseMessages {

    /** A program, or a client, that has no number of its own. */
    static final int PROGRAM = 0x20008167;

    static final int VERSION = 1;

    /** To the server: the client's name. It takes reverse calls on this connection from now on. */
    static final int HELLO = 1;

    /** To the server: a lease. The reply comes when nobody else has it. */
    static final int ACQUIRE = 2;

    /** To the client: a lease. The reply gives it back. */
    static final int RECALL = 3;

    private static final int LONGEST_NAME = 255;

    private LeaseMessages() {}

    static String argument(RpcServerCall call) throws IOException {
        return call.read(in -> in.readString(LONGEST_NAME));
    }
}
