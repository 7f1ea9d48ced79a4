// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import java.net.InetAddress;
import java.net.UnknownHostException;
import org.jetbrains.lincheck.datastructures.IntGen;
import org.jetbrains.lincheck.datastructures.Operation;
import org.jetbrains.lincheck.datastructures.Param;
import org.junit.jupiter.api.Test;
import org.rpcrdma.concurrency.Interleavings;

/** Found: {@code add} without its lock. */
class FatalCallXidCacheTest {

    @Test
    void isLinearizable() {
        Interleavings.checkLinearizability(Xids.class);
    }

    @Param(name = "client", gen = IntGen.class, conf = "1:2")
    @Param(name = "xid", gen = IntGen.class, conf = "1:2")
    public static class Xids {

        private final FatalCallXidCache xids = new FatalCallXidCache(() -> 0);

        @Operation
        public void add(@Param(name = "client") int client, @Param(name = "xid") int xid) {
            xids.add(address(client), xid);
        }

        @Operation
        public boolean contains(@Param(name = "client") int client, @Param(name = "xid") int xid) {
            return xids.contains(address(client), xid);
        }
    }

    static InetAddress address(int client) {
        try {
            return InetAddress.getByAddress(new byte[] {10, 0, 0, (byte) client});
        } catch (UnknownHostException e) {
            throw new AssertionError(e);
        }
    }
}
