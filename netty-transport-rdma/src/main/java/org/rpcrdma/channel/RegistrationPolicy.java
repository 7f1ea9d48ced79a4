// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

/**
 * Granularity of the handles that are advertised to a peer, and of the registrations behind them. Set by {@link
 * RdmaChannelOption#REGISTRATION}.
 */
public enum RegistrationPolicy {

    /**
     * Every handle is new and gives access to exactly the exposed bytes, on every device. If the device can expose a
     * part of a registration, the channel's own memory needs no further registration; otherwise, and for memory of the
     * user, exactly those bytes are registered for the time of the exposure. The default.
     */
    EXACT,

    /**
     * Avoids registration for single exposures: memory of the user is copied into the channel's own, {@link
     * RdmaChannel#registeredBuffer}. Memory that the peer writes cannot be copied: a sink of the user is registered for
     * the time of its exposure. <b>If the device cannot expose a part of a registration, as through DiSNI, a handle is
     * that of the slab, and the peer can access the whole slab, including messages of other connections, as long as the
     * slab is registered</b> (RFC 8166, 8.1.2). Use only with trusted peers, on devices with slow registration.
     */
    POOLED
}
