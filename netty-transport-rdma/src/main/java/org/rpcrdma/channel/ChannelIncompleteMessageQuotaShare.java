// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import java.net.InetAddress;
import java.util.function.LongSupplier;
import java.util.function.Supplier;

/**
 * Share of one channel in the {@link PeerIncompleteMessageQuota}, which bounds the memory for data that peers of one
 * address have announced but not delivered. Event loop only.
 */
final class ChannelIncompleteMessageQuotaShare {

    private final Supplier<InetAddress> peer;
    private final LongSupplier limit;

    /** {@code null} while the channel has no share. */
    private PeerIncompleteMessageQuota share;

    private long bytes;

    /**
     * @param peer supplies the address of the peer, {@code null} while unknown
     * @param limit supplies the most bytes of one address
     */
    ChannelIncompleteMessageQuotaShare(Supplier<InetAddress> peer, LongSupplier limit) {
        this.peer = peer;
        this.limit = limit;
    }

    /**
     * Takes bytes of the quota.
     *
     * @throws IllegalStateException when the quota of the peer's address is exceeded
     */
    void take(int count) {
        InetAddress address = peer.get();
        if (address == null) {
            return; // the device does not report it
        }
        if (share == null) {
            share = PeerIncompleteMessageQuota.join(address);
        }
        share.take(count, limit.getAsLong());
        bytes += count;
    }

    /** Gives bytes back, at most the current share: the end of the connection may have given back all. */
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
