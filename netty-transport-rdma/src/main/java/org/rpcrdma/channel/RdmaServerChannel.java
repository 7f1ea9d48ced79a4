// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import org.rpcrdma.verbs.ConnectionRequest;

/**
 * Server channel: passes each connection request to the pipeline as a {@link RdmaChannel}.
 *
 * <p>The queue pair of a child belongs to the child's event loop and is created when the child is registered there;
 * only then is the request accepted. So a peer's connect completes only when this channel reads, which it does unless
 * {@code AUTO_READ} is off.
 */
public final class RdmaServerChannel extends AbstractRdmaServerChannel {

    /** An unbound channel, created by bootstraps. */
    public RdmaServerChannel() {}

    @Override
    RdmaChannel child(ConnectionRequest request) {
        return new RdmaChannel(this, request);
    }
}
