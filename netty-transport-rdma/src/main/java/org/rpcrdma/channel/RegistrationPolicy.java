// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

/**
 * Granularity of the handles that are advertised to a peer, and of the registrations behind them. Set by {@link
 * RdmaChannelOption#REGISTRATION}.
 */
public enum RegistrationPolicy {

    /**
     * Every handle is fresh and gives access to exactly the bytes that are exposed, on every device. Where the device
     * can expose a part of a registration, the channel's own memory costs no registration; elsewhere, and for memory of
     * the user, exactly those bytes are registered for the time of the exposure. The default.
     */
    EXACT,

    /**
     * Nothing is registered for a single exposure, where that can be avoided: memory that is not the channel's own is
     * better copied into it, as {@link RdmaChannel#exposesInPlace} says. Memory that the peer is to write into cannot
     * be copied: a user's own sink is registered for the time of its exposure. <b>Where the device cannot expose a part
     * of a registration without registering it anew, as through DiSNI, a handle is that of the slab, and a peer reaches
     * the whole slab of memory, with other connections' messages in it, for as long as that device pleases</b> (RFC
     * 8166, 8.1.2); so this is for peers that are trusted with it, and for devices where registering is slow.
     */
    POOLED
}
