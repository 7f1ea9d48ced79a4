// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.buffer.ByteBuf;
import java.util.Arrays;

/** A reply in Read chunks, from the exposure of its memory until the pull completion. Used again for later ones. */
final class WaitingReply {

    int xid;
    long deadline;

    /** The next one in the order of the deadlines, or of the spare ones. */
    WaitingReply next;

    WaitingReply previous;

    private int bytes;
    private int[] handles = new int[1];
    private ByteBuf[] memory = new ByteBuf[1];
    private int segments;

    /** Memory that is exposed; owned from now on. */
    void add(int handle, ByteBuf exposed, int length) {
        if (segments == handles.length) {
            handles = Arrays.copyOf(handles, segments << 1);
            memory = Arrays.copyOf(memory, segments << 1);
        }
        handles[segments] = handle;
        memory[segments++] = exposed;
        bytes += length;
    }

    int bytes() {
        return bytes;
    }

    /** Takes the memory out of the requester's reach, then lets go of it (RFC 8166, 4.4.1). */
    void free(RpcRdmaConnection connection) {
        for (int i = 0; i < segments; i++) {
            connection.invalidate(handles[i]);
        }
        for (int i = 0; i < segments; i++) {
            memory[i].release();
            memory[i] = null;
        }
        segments = 0;
        bytes = 0;
    }
}
