// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.rpc;

import io.netty.channel.ConnectTimeoutException;
import java.net.ConnectException;
import java.net.InetSocketAddress;

/** Why there is no connection, in words for a person. */
final class ConnectFailure {

    private ConnectFailure() {}

    static void checkResolved(InetSocketAddress server) throws RpcException {
        if (server.isUnresolved()) {
            throw new RpcException("unknown host " + server.getHostString());
        }
    }

    static RpcException of(InetSocketAddress server, Throwable cause) {
        return new RpcException(
                "cannot connect to "
                        + server.getHostString()
                        + ":"
                        + server.getPort()
                        + ": "
                        + reason(cause),
                cause);
    }

    private static String reason(Throwable cause) {
        if (cause instanceof ConnectTimeoutException) {
            return "no answer within " + RpcClient.CONNECT_TIMEOUT_MILLIS + " ms";
        } else if (cause instanceof ConnectException) {
            return "connection refused";
        }
        return cause.getMessage();
    }
}
