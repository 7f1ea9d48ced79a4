// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.client;

import io.netty.util.concurrent.Future;
import io.netty.util.concurrent.ImmediateEventExecutor;
import java.net.SocketAddress;
import java.util.List;
import org.rpcrdma.Experimental;
import org.rpcrdma.codec.rpcbind.RpcbindClient;

/**
 * Finds the addresses of one service (RFC 8166, 5). A client tries them in turn: the first connection goes to the first
 * address, and after a failed attempt or a lost connection the next one is tried, by the back-off of the client. After
 * the last address the service is located again. {@code toString} names the service in messages.
 *
 * <p>Called on the event loop of a connection, and must not block; one locator may serve any number of clients.
 */
@Experimental
@FunctionalInterface
public interface ResponderLocator {

    /**
     * Locates the service.
     *
     * @return the addresses, at least one; may complete on any thread, within the connect time-out of the client
     */
    Future<? extends List<? extends SocketAddress>> locate();

    /**
     * Fixed addresses of one service, with the same state behind all of them: a call that was lost with a connection is
     * retransmitted on the next.
     *
     * @param addresses at least one
     * @return a locator
     */
    static ResponderLocator of(List<? extends SocketAddress> addresses) {
        List<SocketAddress> all = List.copyOf(addresses);
        if (all.isEmpty()) {
            throw new IllegalArgumentException("addresses: none (expected: at least one)");
        }
        return new ResponderLocator() {
            @Override
            public Future<List<SocketAddress>> locate() {
                return ImmediateEventExecutor.INSTANCE.newSucceededFuture(all);
            }

            @Override
            public String toString() {
                return all.size() == 1 ? all.get(0).toString() : all.toString();
            }
        };
    }

    /**
     * The addresses that are registered with an rpcbind as netid {@code rdma}, then {@code rdma6}.
     *
     * @param rpcbind of the machine of the service
     * @param program the RPC program, unsigned
     * @param version of the program, unsigned
     * @return a locator
     */
    static ResponderLocator of(RpcbindClient rpcbind, int program, int version) {
        return new ResponderLocator() {
            @Override
            public Future<? extends List<? extends SocketAddress>> locate() {
                return rpcbind.find(program, version);
            }

            @Override
            public String toString() {
                return "program " + Integer.toUnsignedString(program) + " of " + rpcbind;
            }
        };
    }
}
