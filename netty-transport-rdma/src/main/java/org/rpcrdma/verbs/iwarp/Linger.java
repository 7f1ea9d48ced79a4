// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp;

import java.io.IOException;
import java.nio.ByteBuffer;

/**
 * The end of a carrier whose stream is over: sends a last message, shuts the output down, and discards what still comes
 * until the peer's end or a deadline. Closed at once, a socket with unread input is reset, and the reset can overtake
 * the last message.
 */
final class Linger implements Carried, Timer, AutoCloseable {

    private static final int DISCARD_BYTES = 8 * 1024;

    private final IwarpContext context;
    private final Carrier carrier;
    private final ByteBuffer last;
    private final ByteBuffer discarded = ByteBuffer.allocate(DISCARD_BYTES);
    private final long deadline;

    Linger(IwarpContext context, Carrier carrier, ByteBuffer last) {
        this.context = context;
        this.carrier = carrier;
        this.last = last;
        this.deadline = System.nanoTime() + context.config.drainTimeout().toNanos();
        context.addStartup(this);
        context.timers.add(this);
        carrier.carry(this);
        writable();
    }

    @Override
    public void writable() {
        try {
            carrier.write(last);
            if (!last.hasRemaining()) {
                carrier.shutdownOutput();
            }
            carrier.await(true, last.hasRemaining());
        } catch (IOException | RuntimeException e) {
            failed(e);
        }
    }

    @Override
    public boolean readable() {
        try {
            int read = carrier.read(discarded.clear());
            if (read < 0) {
                close();
            }
            return read > 0;
        } catch (IOException | RuntimeException e) {
            failed(e);
            return false;
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
        carrier.close();
    }
}
