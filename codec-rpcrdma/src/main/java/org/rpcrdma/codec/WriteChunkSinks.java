// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.buffer.ByteBuf;
import io.netty.util.ReferenceCountUtil;
import java.util.Arrays;

/**
 * Write chunks of a call in order, each with its memory (sink), which the library or the user owns. Reused for later
 * calls.
 */
final class WriteChunkSinks {

    private int[] lengths = new int[2];
    private ByteBuf[] memory = new ByteBuf[2];
    int count;

    /** Bytes of a sink, without round-up; negative if they exceed {@code Integer.MAX_VALUE}. */
    int length(int sink) {
        return lengths[sink];
    }

    void add(int length) {
        if (count == lengths.length) {
            lengths = Arrays.copyOf(lengths, count << 1);
            memory = Arrays.copyOf(memory, count << 1);
        }
        lengths[count++] = length;
    }

    /** Removes the last sink, which has no memory yet. */
    void removeLast() {
        count--;
    }

    void length(int sink, int length) {
        lengths[sink] = length;
    }

    /** Sets the memory of a sink of the library, and takes it over. Not for sinks of the user. */
    void memory(int sink, ByteBuf buffer) {
        memory[sink] = buffer;
    }

    ByteBuf memory(int sink) {
        return memory[sink];
    }

    /** Transfers the memory to the caller. */
    ByteBuf take(int sink) {
        ByteBuf taken = memory[sink];
        memory[sink] = null;
        return taken;
    }

    void clear() {
        for (int i = 0; i < count; i++) {
            ReferenceCountUtil.release(take(i));
        }
        count = 0;
    }
}
