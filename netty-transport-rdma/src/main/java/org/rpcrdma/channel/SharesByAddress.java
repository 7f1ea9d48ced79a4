// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import java.net.InetAddress;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.function.Function;

/**
 * One object for each address of a peer, shared by all channels of the JVM to that address while there are any.
 * Thread-safe.
 *
 * @param <T> class of the objects
 */
final class SharesByAddress<T> {

    private final ConcurrentMap<InetAddress, Share<T>> shares = new ConcurrentHashMap<>();
    private final Function<InetAddress, T> factory;

    private static final class Share<T> {
        final T value;

        /** Guarded by the map's compute methods. */
        int users;

        Share(T value) {
            this.value = value;
        }
    }

    /** @param factory makes the object of an address when its first user joins */
    SharesByAddress(Function<InetAddress, T> factory) {
        this.factory = factory;
    }

    /** Returns the object of an address, valid until {@link #leave}. */
    T join(InetAddress address) {
        return shares.compute(
                        address,
                        (key, known) -> {
                            Share<T> share =
                                    known == null ? new Share<>(factory.apply(key)) : known;
                            share.users++;
                            return share;
                        })
                .value;
    }

    /** Ends one {@link #join}. */
    void leave(InetAddress address) {
        shares.computeIfPresent(address, (key, known) -> --known.users == 0 ? null : known);
    }

    /** Number of addresses in use. */
    int size() {
        return shares.size();
    }
}
