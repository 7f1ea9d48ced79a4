// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import org.rpcrdma.verbs.ConnectionRequest;

/**
 * Takes connection requests and hands each to the pipeline as a {@link RdmaChannel}.
 *
 * <p>The queue pair of a child belongs to the child's event loop and is made when the child is registered there; only
 * then is the request accepted. A peer's connect therefore completes when this channel reads (which it does by
 * itself unless {@code AUTO_READ} is off), not before.
 */
public final class RdmaServerChannel extends AbstractRdmaServerChannel {

    /** A channel that is not bound yet; bootstraps make it. */
    public RdmaServerChannel() {}

    @Override
    RdmaChannel child(ConnectionRequest request) {
        return new RdmaChannel(this, request);
    }
}
