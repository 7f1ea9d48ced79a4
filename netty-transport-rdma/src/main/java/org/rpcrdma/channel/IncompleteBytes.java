// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import java.net.InetSocketAddress;
import java.util.function.LongSupplier;
import java.util.function.Supplier;

/** The part of one channel in the {@link PeerAddressMemoryQuota} of its peer. Event loop only. */
final class IncompleteBytes {

    private final Supplier<InetSocketAddress> peer;
    private final LongSupplier limit;

    /** {@code null} before the first bytes, and after the last. */
    private PeerAddressMemoryQuota share;

    private long bytes;

    /**
     * @param peer gives the address of the peer, {@code null} while there is none
     * @param limit gives the most bytes of one address
     */
    IncompleteBytes(Supplier<InetSocketAddress> peer, LongSupplier limit) {
        this.peer = peer;
        this.limit = limit;
    }

    /**
     * Takes so much.
     *
     * @throws IllegalStateException when that is more than the peer's address may have
     */
    void take(int count) {
        InetSocketAddress address = peer.get();
        if (address == null || address.getAddress() == null) {
            return; // the device does not tell
        }
        if (share == null) {
            share = PeerAddressMemoryQuota.join(address.getAddress());
        }
        share.take(count, limit.getAsLong());
        bytes += count;
    }

    /** Gives back so much, or what is left of it: what there was has gone with the connection. */
    void give(int count) {
        long given = Math.min(count, bytes);
        if (given > 0) {
            share.give(given);
            bytes -= given;
        }
    }

    /** Gives back all. */
    void end() {
        if (share != null) {
            share.give(bytes);
            share.leave();
            share = null;
            bytes = 0;
        }
    }
}
