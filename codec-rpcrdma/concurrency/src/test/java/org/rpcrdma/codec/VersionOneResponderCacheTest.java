// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import java.net.InetSocketAddress;
import java.util.concurrent.atomic.AtomicLong;
import org.jetbrains.lincheck.datastructures.IntGen;
import org.jetbrains.lincheck.datastructures.Operation;
import org.jetbrains.lincheck.datastructures.Param;
import org.junit.jupiter.api.Test;
import org.rpcrdma.concurrency.Interleavings;

/** Found: {@code add} that is not synchronized. */
class VersionOneResponderCacheTest {

    @Test
    void isLinearizable() {
        Interleavings.checkLinearizability(Cache.class);
    }

    @Param(name = "peer", gen = IntGen.class, conf = "1:2")
    public static class Cache {

        private final AtomicLong clock = new AtomicLong();
        private final VersionOneResponderCache cache = new VersionOneResponderCache(clock::get);

        @Operation
        public void add(@Param(name = "peer") int peer) {
            cache.add(socketAddress(peer));
        }

        @Operation
        public boolean contains(@Param(name = "peer") int peer) {
            return cache.contains(socketAddress(peer), 2);
        }

        @Operation
        public void tick() {
            clock.incrementAndGet();
        }

        private static InetSocketAddress socketAddress(int peer) {
            return new InetSocketAddress(FatalCallXidCacheTest.address(peer), 20049);
        }
    }
}
