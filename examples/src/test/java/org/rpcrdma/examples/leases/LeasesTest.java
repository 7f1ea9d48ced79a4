// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.leases;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.rpcrdma.channel.RdmaEventLoopGroup;

class LeasesTest {

    private final RdmaEventLoopGroup loops = new RdmaEventLoopGroup(1);
    private final List<String> events = new CopyOnWriteArrayList<>();

    @AfterEach
    void close() {
        loops.shutdownGracefully(0, 30, TimeUnit.SECONDS).syncUninterruptibly();
    }

    private LeaseClient client(LeaseServer server, String name) throws Exception {
        return new LeaseClient(
                loops, server.address(), name, lease -> events.add(name + " gives " + lease));
    }

    private static LeaseServer server() throws IOException {
        return new LeaseServer(
                new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
                LeaseServer.config().build());
    }

    @Test
    void aLeaseIsRecalledFromItsHolder() throws Exception {
        try (LeaseServer server = server();
                LeaseClient alice = client(server, "alice");
                LeaseClient bob = client(server, "bob")) {
            alice.acquire("x");
            alice.acquire("x");
            bob.acquire("y");
            assertThat(events).isEmpty();
            bob.acquire("x");
            alice.acquire("x");
            alice.acquire("y");
            assertThat(events).containsExactly("alice gives x", "bob gives x", "bob gives y");
        }
    }

    @Test
    void aHolderThatIsGoneLosesItsLease() throws Exception {
        try (LeaseServer server = server();
                LeaseClient bob = client(server, "bob")) {
            try (LeaseClient alice = client(server, "alice")) {
                alice.acquire("x");
            }
            bob.acquire("x");
            assertThat(events).isEmpty();
        }
    }
}
