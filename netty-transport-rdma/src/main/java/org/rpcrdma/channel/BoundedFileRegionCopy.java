// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import io.netty.buffer.ByteBuf;
import java.nio.ByteBuffer;
import java.nio.channels.WritableByteChannel;

/** Takes bytes of a file into a buffer, up to a number. */
final class BoundedFileRegionCopy implements WritableByteChannel {

    private ByteBuf target;
    private int left;
    private int taken;

    /** From now on bytes go there, until it is full or so many were taken. */
    void begin(ByteBuf buffer, int most) {
        target = buffer;
        left = Math.min(most, buffer.writableBytes());
        taken = 0;
    }

    /** The bytes that were taken since then. */
    int taken() {
        return taken;
    }

    @Override
    public int write(ByteBuffer source) {
        int bytes = Math.min(left, source.remaining());
        int limit = source.limit();
        target.writeBytes(source.limit(source.position() + bytes));
        source.limit(limit);
        left -= bytes;
        taken += bytes;
        return bytes;
    }

    @Override
    public boolean isOpen() {
        return true;
    }

    @Override
    public void close() {
        // It belongs to the stream.
    }
}
