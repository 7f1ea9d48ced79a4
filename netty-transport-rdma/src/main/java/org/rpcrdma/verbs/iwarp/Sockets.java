// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp;

import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import java.io.IOException;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.Channel;
import java.nio.channels.SocketChannel;

/** Operations common to all sockets. */
final class Sockets {

    private static final InternalLogger LOGGER = InternalLoggerFactory.getInstance(Sockets.class);

    private Sockets() {}

    static void configure(SocketChannel channel, IwarpConfig config) throws IOException {
        channel.configureBlocking(false);
        channel.setOption(StandardSocketOptions.TCP_NODELAY, true);
        if (config.socketBuffer() > 0) {
            channel.setOption(StandardSocketOptions.SO_SNDBUF, config.socketBuffer());
            channel.setOption(StandardSocketOptions.SO_RCVBUF, config.socketBuffer());
        }
    }

    /** Sends a start-up frame whole, which the empty buffer of a new socket has room for. */
    static void send(SocketChannel channel, byte[] frame) throws IOException {
        if (channel.write(ByteBuffer.wrap(frame)) < frame.length) {
            throw new IOException("The socket takes no " + frame.length + " bytes");
        }
    }

    /** The reason why a connection ends that has met with an error, mostly a lack of memory. */
    static IOException ended(Error e) {
        String what = e instanceof OutOfMemoryError ? "No memory is left: " : "An error: ";
        return new IOException(what + e.getMessage(), e);
    }

    static void close(Channel channel) {
        try {
            channel.close();
        } catch (IOException e) {
            LOGGER.debug("Closing {} failed", channel, e);
        }
    }
}
