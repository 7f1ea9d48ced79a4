// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples;

import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.lang.invoke.MethodHandles;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import org.rpcrdma.examples.server.MetricsServer;

/** HTTP servers of the JDK. The first one of a JVM settles the limits of all, which {@link MetricsServer} says. */
public final class TestHttp {

    private TestHttp() {}

    /** One on a free port of the loopback, not started yet. */
    public static HttpServer create() throws IOException {
        try {
            MethodHandles.lookup().ensureInitialized(MetricsServer.class);
        } catch (IllegalAccessException e) {
            throw new AssertionError(e);
        }
        return HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    }
}
