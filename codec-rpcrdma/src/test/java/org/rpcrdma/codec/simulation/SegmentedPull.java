// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.simulation;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import java.util.Random;
import java.util.function.Consumer;
import org.rpcrdma.channel.RdmaChannel;
import org.rpcrdma.channel.RdmaRead;
import org.rpcrdma.codec.wire.ReadList;

/** Reads a Position Zero Read chunk, each segment of it in two pieces. */
final class SegmentedPull {

    private final RdmaChannel to;
    private final ReadList list;
    private final Random random;
    private final ByteBuf memory;
    private Consumer<byte[]> whenRead;
    private boolean isWhole = true;

    /** One more than the Reads that have not ended, until all are posted. */
    private int reads = 1;

    SegmentedPull(RdmaChannel to, ReadList list, Random random) {
        this.to = to;
        this.list = list;
        this.random = random;
        int length = (int) list.chunkLength(0);
        memory = to.registeredBuffer(length).writerIndex(length);
    }

    /**
     * Reads it. On the event loop.
     *
     * @param action gets the bytes, or {@code null} when a Read has failed
     */
    void read(Consumer<byte[]> action) {
        whenRead = action;
        int at = 0;
        for (int i = 0; i < list.segments(); i++) {
            int length = (int) list.length(i);
            int first = length == 0 ? 0 : random.nextInt(length);
            read(i, 0, first, at);
            read(i, first, length - first, at + first);
            at += length;
        }
        to.flush();
        ended(true);
    }

    private void read(int segment, int from, int length, int at) {
        if (length == 0) {
            return;
        }
        reads++;
        ByteBuf slice = memory.retainedSlice(at, length);
        to.write(new RdmaRead(slice, list.handle(segment), list.offset(segment) + from))
                .addListener(read -> ended(read.isSuccess()));
    }

    private void ended(boolean isSuccess) {
        isWhole &= isSuccess;
        if (--reads == 0) {
            byte[] bytes = isWhole ? ByteBufUtil.getBytes(memory) : null;
            memory.release();
            whenRead.accept(bytes);
        }
    }
}
