// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs;

import java.net.InetSocketAddress;

/** A bound address that takes connection requests. */
public interface Listener {

    /** {@return the bound address, with the port that was chosen if 0 was asked for} */
    InetSocketAddress localAddress();

    /** Stops listening. Requests that were not answered are refused. */
    void close();
}
