// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import java.net.InetAddress;
import java.util.function.Supplier;

/**
 * Share of one channel in the {@link PeerUnsentQuota}, counted in steps, so that few messages change what all loops
 * count. Event loop only.
 */
final class ChannelUnsentQuotaShare {

    /** Less than this is not counted: more than some long Sends in flight, which cost no more then. A power of two. */
    static final int STEP = 2 << 20;

    private final Supplier<InetAddress> peer;

    /** {@code null} until something is counted, and behind the end. */
    private PeerUnsentQuota quota;

    /** Bytes that count for the address. Only {@link #set} writes it. */
    long counted;

    /** Handlers still write to a channel without a connection. */
    private boolean hasEnded;

    /** @param peer supplies the address of the peer, {@code null} while unknown */
    ChannelUnsentQuotaShare(Supplier<InetAddress> peer) {
        this.peer = peer;
    }

    /** Counts nothing any more. */
    void end() {
        set(0);
        hasEnded = true;
        if (quota != null) {
            quota.leave();
            quota = null;
        }
    }

    /** @param bytes unsent now */
    void set(long bytes) {
        long steps = hasEnded ? 0 : bytes & -STEP;
        if (steps == counted) {
            return;
        }
        if (quota == null) {
            InetAddress address = peer.get();
            if (address == null) {
                return; // the device does not report it
            }
            try {
                quota = PeerUnsentQuota.join(address);
            } catch (OutOfMemoryError e) {
                return; // a connection does not end for what it would count
            }
        }
        quota.add(steps - counted);
        counted = steps;
    }

    /** Whether the channels of the peer's address have more than their threshold, and this one is among them. */
    boolean isExceeded() {
        return counted > 0 && quota.isExceeded();
    }
}
