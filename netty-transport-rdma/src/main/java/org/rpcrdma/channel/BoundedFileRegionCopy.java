// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import io.netty.buffer.ByteBuf;
import java.nio.ByteBuffer;
import java.nio.channels.WritableByteChannel;

/** Copies bytes of a file region into a buffer, up to a limit. */
final class BoundedFileRegionCopy implements WritableByteChannel {

    private ByteBuf target;
    private int left;
    private int taken;

    /** Sets the target buffer and the limit. */
    void begin(ByteBuf buffer, int most) {
        target = buffer;
        left = Math.min(most, buffer.writableBytes());
        taken = 0;
    }

    /** Bytes copied since {@link #begin}. */
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
        // The stream owns the buffer.
    }
}
