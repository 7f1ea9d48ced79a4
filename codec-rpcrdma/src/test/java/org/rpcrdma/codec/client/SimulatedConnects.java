// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.client;

import static org.rpcrdma.channel.SimulatedChannels.field;
import static org.rpcrdma.channel.SimulatedChannels.value;

import io.netty.util.concurrent.Future;
import java.lang.reflect.Field;

/** Asks for connections past {@link RpcRdmaClient#connect}, whose future a thread beside the loops completes. */
public final class SimulatedConnects {

    private static final Field CONNECTIONS = field(RpcRdmaClient.class, "connections");
    private static final Field CLOSED = field(ReconnectingClientConnection.class, "closed");

    private SimulatedConnects() {}

    /**
     * Returns what is done when the first connection of a client is there or is refused.
     *
     * @param client whose event loop is simulated
     */
    public static Future<Void> connect(RpcRdmaClient client) {
        return connections(client)[0].connectNow();
    }

    /** {@return whether each connection of a client has said that it is closed} */
    public static boolean isClosed(RpcRdmaClient client) {
        for (ReconnectingClientConnection each : connections(client)) {
            if (!((Future<?>) value(CLOSED, each)).isDone()) {
                return false;
            }
        }
        return true;
    }

    private static ReconnectingClientConnection[] connections(RpcRdmaClient client) {
        return (ReconnectingClientConnection[]) value(CONNECTIONS, client);
    }
}
