// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelOutboundBuffer;
import io.netty.channel.FileRegion;
import java.util.ArrayDeque;

/**
 * Tracks the posted and the completed part of the outbound buffer. A message completes with its last byte.
 */
final class OutboundBufferProgress {

    /** Number of fully posted messages, and bytes posted of the next one. */
    private int count;

    private long begun;

    /** Completed bytes of the first message in the outbound buffer. */
    private long headDone;

    /**
     * Bytes of each posted {@link FileRegion}, which may write another number than its count, for example if it
     * encrypts.
     */
    private final ArrayDeque<Long> regions = new ArrayDeque<>();

    /** Number of fully posted messages in the outbound buffer. */
    int count() {
        return count;
    }

    /** Posted bytes of the message after those. */
    long begun() {
        return begun;
    }

    /** Adds posted bytes of that message. */
    void add(int bytes) {
        begun += bytes;
    }

    /** That message is fully posted. */
    void end(Object message) {
        if (message instanceof FileRegion) {
            regions.add(begun);
        }
        begun = 0;
        count++;
    }

    /**
     * Adds completed bytes, and completes the messages that end with them.
     *
     * @return whether any message was completed
     */
    boolean addCompletedBytes(ChannelOutboundBuffer outbound, long bytes) {
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
            if (rest > 0) {
                // A listener may flush: the message is still the first one, and counts as posted.
                outbound.progress(rest);
            }
            left -= rest;
            headDone = 0;
            count--;
            if (message instanceof FileRegion) {
                regions.remove();
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
