// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.common;

import io.netty.bootstrap.AbstractBootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelFutureListener;
import io.netty.util.concurrent.Future;
import java.io.IOException;
import java.net.InetSocketAddress;

/** Waits for what event loops do, but not for ever: a loop whose thread is stuck or dead completes nothing. */
public final class Waits {

    /**
     * For a bind, and for a connect, which has a time-out of its own: the event loop may have to open its device first,
     * on a machine that is slow.
     */
    private static final long CHANNEL_MILLIS = 60_000;

    private static final String NO_ANSWER = "the event loop does not answer";

    private Waits() {}

    /**
     * Binds a server.
     *
     * @param address with port 0 to have one chosen
     * @throws IOException if the address cannot be used, or the event loop does not answer
     */
    public static Channel listen(AbstractBootstrap<?, ?> bootstrap, InetSocketAddress address)
            throws IOException {
        return listen(bootstrap, address, CHANNEL_MILLIS);
    }

    static Channel listen(AbstractBootstrap<?, ?> bootstrap, InetSocketAddress address, long millis)
            throws IOException {
        ChannelFuture bound = bootstrap.bind(address);
        if (!bound.awaitUninterruptibly(millis)) {
            bound.addListener(ChannelFutureListener.CLOSE);
            throw cannotListen(address, NO_ANSWER, null);
        } else if (!bound.isSuccess()) {
            throw cannotListen(address, bound.cause().getMessage(), bound.cause());
        }
        return bound.channel();
    }

    /** A listener for RDMA names its address itself, those of TCP do not. */
    private static IOException cannotListen(
            InetSocketAddress address, String reason, Throwable cause) {
        if (reason != null && reason.contains(":" + address.getPort())) {
            return new IOException(reason, cause);
        }
        return new IOException(
                "cannot listen on "
                        + address.getHostString()
                        + ":"
                        + address.getPort()
                        + ": "
                        + reason,
                cause);
    }

    /**
     * Waits for a connect, which has a time-out of its own.
     *
     * @return why it has failed; {@code null} if it has not
     */
    public static Throwable failure(Future<?> connect) {
        return failure(connect, CHANNEL_MILLIS);
    }

    static Throwable failure(Future<?> connect, long millis) {
        if (connect.awaitUninterruptibly(millis)) {
            return connect.cause();
        }
        connect.cancel(false);
        return new IOException(NO_ANSWER);
    }
}
