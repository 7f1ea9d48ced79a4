// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel.admission;

import java.net.InetSocketAddress;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;

/** Connection request that an {@link AdmissionPolicy} decides on. Thread-safe. */
public interface AdmissionRequest {

    /** {@return the address that the peer has asked for} */
    InetSocketAddress localAddress();

    /** {@return the address that the peer asks from} */
    InetSocketAddress remoteAddress();

    /**
     * {@return the connection private data of the peer, a copy; empty where it has sent none or the device carries
     * none} InfiniBand pads it with zeros.
     */
    byte[] privateData();

    /** {@return the event loop of the server channel, which calls policies} */
    Executor executor();

    /**
     * {@return the end of the request and of its connection} Completes once, on the event loop: when the request was
     * refused, by whichever policy or for any other reason, or when its connection has ended, even before it was
     * established. A policy that takes something for each connection gives it back then.
     */
    CompletionStage<Void> ended();
}
