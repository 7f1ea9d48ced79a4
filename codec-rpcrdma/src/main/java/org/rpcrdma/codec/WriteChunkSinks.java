// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.buffer.ByteBuf;
import io.netty.util.ReferenceCountUtil;
import java.util.Arrays;

/** The Write chunks that a call offers, in their order, and the memory behind them. Used again for later calls. */
final class WriteChunkSinks {

    private int[] lengths = new int[2];
    private ByteBuf[] memory = new ByteBuf[2];
    private int count;

    int count() {
        return count;
    }

    /** The bytes that a sink has to take, without round-up; negative when an {@code int} does not hold them. */
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

    /** The memory behind it was not set yet. */
    void removeLast() {
        count--;
    }

    void length(int sink, int length) {
        lengths[sink] = length;
    }

    /** Memory of ours behind a sink; taken over. There is none behind a sink of the user. */
    void memory(int sink, ByteBuf buffer) {
        memory[sink] = buffer;
    }

    ByteBuf memory(int sink) {
        return memory[sink];
    }

    /** Gives the memory away. */
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
