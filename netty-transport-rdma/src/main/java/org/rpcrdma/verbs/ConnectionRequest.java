// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs;

import java.net.InetSocketAddress;

/**
 * A peer's request for a connection. It may be handed to another thread once: to the one whose context makes a queue
 * pair of it.
 */
public interface ConnectionRequest {

    /** The private data that came with the request, empty when there was none. */
    byte[] privateData();

    InetSocketAddress localAddress();

    InetSocketAddress remoteAddress();

    /** Refuses the connection. */
    void reject(byte[] privateData);
}
