// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.buffer.ByteBuf;

/** Reply in Read chunks, from the exposure of its memory until the pull completion. Reused for later replies. */
final class ExposedReadChunkReply {

    int xid;
    long deadline;

    /** Link in the deadline queue, or in the free list. */
    ExposedReadChunkReply next;

    ExposedReadChunkReply previous;

    private final ExposedMessageMemory exposed = new ExposedMessageMemory();
    private int bytes;

    /** Takes over memory that is exposed. */
    void add(int handle, ByteBuf memory, int length) {
        exposed.add(handle);
        exposed.own(memory);
        bytes += length;
    }

    int bytes() {
        return bytes;
    }

    void free(ConnectionSharedState link) {
        exposed.fence(link);
        bytes = 0;
    }
}
