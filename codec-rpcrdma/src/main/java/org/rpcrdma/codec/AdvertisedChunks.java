// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.buffer.ByteBuf;
import io.netty.util.ReferenceCountUtil;

/**
 * Chunks that an {@link OutboundCall} advertises (RFC 8166, 3.4.4): the room for its reply, and the handles under which
 * the responder reaches that and the arguments, invalidated as one. Used again for later calls.
 */
final class AdvertisedChunks {

    /** The Write chunks. */
    final WriteChunkSinks sinks = new WriteChunkSinks();

    /** What the responder can reach. */
    private final ExposedMemory exposed = new ExposedMemory();

    /** Whether there is anything in {@link #exposed}. */
    private boolean isExposed;

    /** Bytes of the Reply chunk; 0 for none. */
    private int replyChunkBytes;

    /** Whether there is a Write chunk or a Reply chunk. */
    private boolean hasRoom;

    /** Bytes of memory of ours for the reply. */
    private long ownBytes;

    /** The memory behind the Reply chunk. Owned. */
    private ByteBuf replySink;

    /** What it counts for in {@link RequesterState#hasRoom}. */
    private long countedBytes;

    /**
     * Ends the planning, when all {@link #sinks} are known.
     *
     * @param replyChunk bytes of the Reply chunk; 0 for none
     * @param areSinksOwn whether the memory of the sinks is ours, and not the user's
     */
    void planned(int replyChunk, boolean areSinksOwn) {
        int count = sinks.count();
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

    /** Whether there is room for the reply beside the Send of it. */
    boolean hasRoom() {
        return hasRoom;
    }

    /** Bytes of memory of ours for the reply. */
    long ownBytes() {
        return ownBytes;
    }

    /** Counts for {@link #ownBytes} of the connection's memory from now on; returns them. */
    long count() {
        countedBytes = ownBytes;
        return countedBytes;
    }

    /** Ends to count; returns what it has counted for. */
    long uncount() {
        long counted = countedBytes;
        countedBytes = 0;
        return counted;
    }

    /** Takes over the memory behind the Reply chunk. */
    void replySink(ByteBuf memory) {
        replySink = memory;
    }

    /** Gives away what the responder has written into the Reply chunk. */
    ByteBuf takeReplyChunk(int bytes) {
        ByteBuf taken = replySink.setIndex(0, bytes);
        replySink = null;
        return taken;
    }

    /** The responder reaches memory under this handle. */
    void expose(int handle) {
        isExposed = true;
        exposed.add(handle);
    }

    /** Takes over memory that nobody else owns: it is released once nobody reaches it. */
    void own(ByteBuf copy) {
        isExposed = true;
        exposed.own(copy);
    }

    /** Takes all of it out of the responder's reach (RFC 8166, 4.4.1). */
    void invalidate(ConnectionContext link) {
        if (isExposed) {
            isExposed = false;
            exposed.fence(link);
        }
    }

    /** Releases all memory, which was {@linkplain #invalidate invalidated}, or went with its connection. */
    void clear() {
        sinks.clear();
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
