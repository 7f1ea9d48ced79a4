// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelOutboundBuffer;
import io.netty.channel.FileRegion;
import java.util.ArrayDeque;

/**
 * Tracks which part of the outbound buffer is posted and which is complete: a message completes with its last byte.
 */
final class OutboundBufferProgress {

    /** Messages that are posted to their end, and how much of the next one is. */
    private int count;

    private long begun;

    /** How much of the outbound buffer's first message is done. */
    private long headDone;

    /** The bytes of each posted {@link FileRegion}: it need not write as many as it counts, when it encrypts. */
    private final ArrayDeque<Long> regions = new ArrayDeque<>();

    /** Messages of the outbound buffer that are posted to their end. */
    int count() {
        return count;
    }

    /** How many bytes of the message behind them are posted. */
    long begun() {
        return begun;
    }

    /** So many more bytes of that message are posted. */
    void add(int bytes) {
        begun += bytes;
    }

    /** All of that message is posted. */
    void end(Object message) {
        if (message instanceof FileRegion) {
            regions.add(begun);
        }
        begun = 0;
        count++;
    }

    /**
     * So many bytes are done: completes the messages that end with them.
     *
     * @return whether any did
     */
    boolean done(ChannelOutboundBuffer outbound, long bytes) {
        long left = bytes;
        boolean hasCompleted = false;
        for (Object message = outbound.current(); message != null; message = outbound.current()) {
            if (message == Unpooled.EMPTY_BUFFER) {
                // Cancelled before it was flushed; what the user writes empty is Traffic.NOTHING.
                outbound.remove();
                continue;
            }
            long rest = count == 0 ? Long.MAX_VALUE : length(message) - headDone;
            if (left < rest) {
                headDone += left;
                if (left > 0) {
                    outbound.progress(left);
                }
                return hasCompleted;
            }
            left -= rest;
            headDone = 0;
            count--;
            if (message instanceof FileRegion) {
                regions.remove();
            }
            if (rest > 0) {
                outbound.progress(rest);
            }
            hasCompleted = true;
            outbound.remove();
        }
        return hasCompleted;
    }

    private long length(Object message) {
        if (message instanceof ByteBuf buffer) {
            return buffer.readableBytes();
        }
        return message instanceof FileRegion ? regions.element() : 0;
    }
}
