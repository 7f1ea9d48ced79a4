// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp;

import java.io.IOException;
import java.nio.ByteBuffer;

/**
 * Closes the transport of an ended stream: sends the last message, if any, shuts the output down, and discards input
 * until the peer's end, or until the peer has accepted no byte for the drain time-out. Closed at once, a socket with
 * unread input is reset, and the reset can overtake the last message, and all that was sent before it.
 */
final class LingeringClose implements ByteTransportEventHandler, DeadlineTask, AutoCloseable {

    /** How often a peer may have the drain time anew by taking a few bytes. */
    private static final int MOST_DRAINS = 10;

    private static final ByteBuffer NO_MESSAGE = ByteBuffer.allocate(0);

    private static final int DISCARD_BYTES = 8 * 1024;

    private final IwarpContextResources loop;
    private final ByteTransport carrier;
    private final ByteBuffer last;
    private final ByteBuffer discarded = ByteBuffer.allocate(DISCARD_BYTES);
    private final long start;
    private long deadline;

    /** Sends only bytes already written to the transport. */
    LingeringClose(IwarpContextResources loop, ByteTransport carrier) {
        this(loop, carrier, NO_MESSAGE);
    }

    /** Where this fails, the caller still has to close the transport: it may fail before it has begun. */
    LingeringClose(IwarpContextResources loop, ByteTransport carrier, ByteBuffer last) {
        this.loop = loop;
        this.carrier = carrier;
        this.last = last;
        start = loop.nanoTime();
        boolean lingers = false;
        try {
            loop.lingering.add(this);
            startTimer();
            carrier.carry(this);
            writable();
            lingers = true;
        } finally {
            if (!lingers) {
                close();
            }
        }
    }

    private void startTimer() {
        long drain = loop.config.drainTimeout().toNanos();
        long next = loop.nanoTime() + drain;
        deadline = next - start > MOST_DRAINS * drain ? start + MOST_DRAINS * drain : next;
        loop.timers.add(this);
    }

    @Override
    public void writable() {
        try {
            // With nothing left the output may be shut, where even an empty write is an error.
            if (last.hasRemaining() && carrier.write(last) > 0) {
                startTimer();
            }
            if (!last.hasRemaining()) {
                carrier.shutdownOutput();
            }
            carrier.await(true, last.hasRemaining());
        } catch (IOException | RuntimeException e) {
            failed(e);
        }
    }

    @Override
    public boolean readAvailable() {
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
        loop.timers.remove(this);
        loop.lingering.remove(this);
        carrier.close();
    }
}
