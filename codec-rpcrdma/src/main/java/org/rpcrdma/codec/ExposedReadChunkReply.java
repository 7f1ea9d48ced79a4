// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.buffer.ByteBuf;

/** A reply in Read chunks, from the exposure of its memory until the pull completion. Used again for later ones. */
final class ExposedReadChunkReply {

    int xid;
    long deadline;

    /** The next one in the order of the deadlines, or of the spare ones. */
    ExposedReadChunkReply next;

    ExposedReadChunkReply previous;

    private final ExposedMemory exposed = new ExposedMemory();
    private int bytes;

    /** Memory that is exposed; owned from now on. */
    void add(int handle, ByteBuf memory, int length) {
        exposed.add(handle);
        exposed.own(memory);
        bytes += length;
    }

    int bytes() {
        return bytes;
    }

    void free(ConnectionContext link) {
        exposed.fence(link);
        bytes = 0;
    }
}
