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

    /** Made beforehand: where the heap is full, a connection can be ended only by what needs none of it. */
    @SuppressWarnings("StaticAssignmentOfThrowable") // it has no stack trace
    private static final IOException NO_MEMORY = new NoMemoryException();

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

    /** The reason why a connection ends that has met with an error, mostly a lack of memory. Never throws. */
    static IOException ended(Throwable e) {
        try {
            boolean isLack = e instanceof OutOfMemoryError || e instanceof IllegalStateException;
            String what = isLack ? "No memory is left: " : "An error: ";
            return new IOException(what + e.getMessage(), e);
        } catch (Error none) {
            return NO_MEMORY;
        }
    }

    static void close(Channel channel) {
        try {
            channel.close();
        } catch (IOException e) {
            LOGGER.debug("Closing {} failed", channel, e);
        }
    }

    /** One for all connections, so without a stack trace. */
    private static final class NoMemoryException extends IOException {

        private static final long serialVersionUID = 1L;

        NoMemoryException() {
            super("No memory is left", null);
        }

        @Override
        public synchronized Throwable fillInStackTrace() {
            return this;
        }
    }
}
