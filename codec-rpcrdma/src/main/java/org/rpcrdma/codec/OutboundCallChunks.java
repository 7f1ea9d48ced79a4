// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.buffer.ByteBuf;
import io.netty.util.ReferenceCountUtil;

/**
 * Chunks that an {@link OutboundCallState} advertises (RFC 8166, 3.4.4): memory for its reply, and the handles of that
 * memory and of the arguments, which are invalidated together. Reused for later calls.
 */
final class OutboundCallChunks {

    /** The Write chunks. */
    final WriteChunkSinks sinks = new WriteChunkSinks();

    /** Memory that the responder can access. */
    private final ExposedMessageMemory exposed = new ExposedMessageMemory();

    /** Whether {@link #exposed} is not empty. */
    private boolean isExposed;

    /** Bytes of the Reply chunk; 0 for none. */
    private int replyChunkBytes;

    /** Whether there is a Write chunk or a Reply chunk. */
    boolean hasRoom;

    /** Bytes of memory of ours for the reply. */
    private long ownBytes;

    /** The memory behind the Reply chunk. Owned. */
    private ByteBuf replySink;

    /** Bytes counted for this call in {@link RequesterState#maySend}. */
    private long countedBytes;

    /**
     * Completes the plan of the reply chunks, after all {@link #sinks} were added.
     *
     * @param replyChunk bytes of the Reply chunk; 0 for none
     * @param areSinksOwn whether the library owns the memory of the sinks; otherwise the user does
     */
    void planned(int replyChunk, boolean areSinksOwn) {
        int count = sinks.count;
        replyChunkBytes = replyChunk;
        hasRoom = replyChunk > 0 || count > 0;
        ownBytes = replyChunk;
        for (int i = areSinksOwn ? count - 1 : -1; i >= 0; i--) {
            ownBytes += sinks.length(i);
        }
    }

    /** Bytes of the Reply chunk; 0 for none. */
    int replyChunkBytes() {
        return replyChunkBytes;
    }

    /** Bytes of memory of ours for the reply. */
    long ownBytes() {
        return ownBytes;
    }

    /** Starts to count {@link #ownBytes} against the connection's memory; returns them. */
    long count() {
        countedBytes = ownBytes;
        return countedBytes;
    }

    /** Stops counting; returns the bytes that were counted. */
    long uncount() {
        long counted = countedBytes;
        countedBytes = 0;
        return counted;
    }

    /** Takes over the memory behind the Reply chunk. */
    void replySink(ByteBuf memory) {
        replySink = memory;
    }

    /** Returns the bytes that the responder has written into the Reply chunk; the caller owns them. */
    ByteBuf takeReplyChunk(int bytes) {
        ByteBuf taken = replySink.setIndex(0, bytes);
        replySink = null;
        return taken;
    }

    /** Records a handle that the responder can use from now on. */
    void expose(int handle) {
        isExposed = true;
        exposed.add(handle);
    }

    /** Takes over memory; it is released after its handle is invalidated. */
    void own(ByteBuf copy) {
        isExposed = true;
        exposed.own(copy);
    }

    /** Invalidates all handles (RFC 8166, 4.4.1). */
    void invalidate(ConnectionSharedState link) {
        if (isExposed) {
            isExposed = false;
            exposed.fence(link);
        }
    }

    /** Releases all memory. The handles must be {@linkplain #invalidate invalidated}, or the connection closed. */
    void clear() {
        if (sinks.count > 0) {
            sinks.clear();
        }
        if (isExposed) {
            exposed.clear();
            isExposed = false;
        }
        hasRoom = false;
        replyChunkBytes = 0;
        ownBytes = 0;
        ReferenceCountUtil.release(replySink);
        replySink = null;
        countedBytes = 0;
    }
}
