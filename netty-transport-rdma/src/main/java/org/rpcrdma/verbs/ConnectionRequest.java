// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs;

import java.net.InetSocketAddress;

/**
 * A peer's request for a connection. May be passed to another thread once: that of the context which creates its queue
 * pair.
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
