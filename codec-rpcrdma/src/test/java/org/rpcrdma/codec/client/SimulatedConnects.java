// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.client;

import io.netty.util.concurrent.Future;
import java.lang.reflect.Field;

/** Asks for connections past {@link RpcRdmaClient#connect}, whose future a thread beside the loops completes. */
public final class SimulatedConnects {

    private static final Field CONNECTIONS;

    static {
        try {
            CONNECTIONS = RpcRdmaClient.class.getDeclaredField("connections");
            CONNECTIONS.setAccessible(true);
        } catch (NoSuchFieldException e) {
            throw new LinkageError(e.getMessage(), e);
        }
    }

    private SimulatedConnects() {}

    /**
     * Returns what is done when the first connection of a client is there or is refused.
     *
     * @param client whose event loop is simulated
     */
    public static Future<Void> connect(RpcRdmaClient client) {
        try {
            return ((ReconnectingClientConnection[]) CONNECTIONS.get(client))[0].connectNow();
        } catch (IllegalAccessException e) {
            throw new LinkageError(e.getMessage(), e);
        }
    }
}
