// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.rpc;

import io.netty.channel.ConnectTimeoutException;
import java.net.ConnectException;
import java.net.InetSocketAddress;
import org.rpcrdma.codec.CallTimeoutException;
import org.rpcrdma.codec.ConnectionLostException;

/** Why there is no connection or no answer, in words for a person. */
final class ConnectFailure {

    private static final String REFUSED = "connection refused";

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

    /** Of a call; what is not the server's silence or its end stays as it is. */
    static Throwable ofCall(InetSocketAddress server, Throwable cause, long timeoutMillis) {
        String name = server.getHostString() + ":" + server.getPort();
        if (cause instanceof CallTimeoutException) {
            return new RpcException(
                    name + " has not answered within " + timeoutMillis / 1000 + " s", cause);
        } else if (cause instanceof ConnectionLostException) {
            return new RpcException("the connection to " + name + " was lost", cause);
        }
        return cause;
    }

    private static String reason(Throwable cause) {
        if (cause instanceof ConnectTimeoutException) {
            return "no answer within " + RpcClient.CONNECT_TIMEOUT_MILLIS + " ms";
        }
        String said = String.valueOf(cause.getMessage());
        // What somebody has accepted, and is no RDMA peer, the transport has a better word for.
        boolean isRefused = said.regionMatches(true, 0, REFUSED, 0, REFUSED.length());
        return cause instanceof ConnectException && isRefused ? REFUSED : said;
    }
}
