// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs;

import java.net.InetSocketAddress;

/**
 * A peer's request for a connection. It may be handed to another thread once: to the one whose context makes a queue
 * pair of it.
 */
public interface ConnectionRequest {

    /** {@return the private data that came with the request, empty when there was none} */
    byte[] privateData();

    /** {@return the address that the peer has asked for} */
    InetSocketAddress localAddress();

    /** {@return the address that the peer asks from} */
    InetSocketAddress remoteAddress();

    /**
     * Refuses the connection.
     *
     * @param privateData for the peer, empty for none; see {@link DeviceCapabilities#rejectWithData()}
     */
    void reject(byte[] privateData);
}
