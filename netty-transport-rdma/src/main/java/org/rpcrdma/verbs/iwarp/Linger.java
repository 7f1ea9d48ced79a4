// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.SocketChannel;

/**
 * The end of a socket whose stream is over: sends a last message, shuts the output down, and discards what still comes
 * until the peer's end or a deadline. Closed at once, a socket with unread input is reset, and the reset can overtake
 * the last message.
 */
final class Linger implements Selectable, Timer, AutoCloseable {

    private static final int DISCARD_BYTES = 8 * 1024;

    private final IwarpContext context;
    private final SocketChannel channel;
    private final ByteBuffer last;
    private final ByteBuffer discarded = ByteBuffer.allocate(DISCARD_BYTES);
    private final long deadline;

    Linger(IwarpContext context, SocketChannel channel, SelectionKey key, ByteBuffer last) {
        this.context = context;
        this.channel = channel;
        this.last = last;
        this.deadline = System.nanoTime() + context.config.drainTimeout().toNanos();
        context.addStartup(this);
        context.timers.add(this);
        key.attach(this);
        try {
            ready(key);
        } catch (IOException | RuntimeException e) {
            failed(e);
        }
    }

    @Override
    public void ready(SelectionKey key) throws IOException {
        if (last.hasRemaining()) {
            channel.write(last);
            if (!last.hasRemaining()) {
                channel.shutdownOutput();
            }
        }
        key.interestOps(SelectionKey.OP_READ | (last.hasRemaining() ? SelectionKey.OP_WRITE : 0));
        if (channel.read(discarded.clear()) < 0) {
            close();
        }
    }

    @Override
    public void failed(Exception cause) {
        close();
    }

    @Override
    public long deadline() {
        return deadline;
    }

    @Override
    public void expired() {
        close();
    }

    @Override
    public void close() {
        context.timers.remove(this);
        context.removeStartup(this);
        Sockets.close(channel);
    }
}
