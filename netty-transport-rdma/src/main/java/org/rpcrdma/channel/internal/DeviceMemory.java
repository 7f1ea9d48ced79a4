// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel.internal;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.CompositeByteBuf;

/** Memory of buffers, as a device sees it. Any thread. */
public final class DeviceMemory {

    private DeviceMemory() {}

    /**
     * Whether the buffer is direct and contiguous.
     *
     * @param buffer borrowed
     */
    public static boolean isInOnePiece(ByteBuf buffer) {
        return buffer.isDirect() && buffer.nioBufferCount() == 1;
    }

    /**
     * Whether the buffer can be registered, or written by a device: direct, contiguous and writable.
     *
     * @param buffer borrowed
     */
    public static boolean isWritable(ByteBuf buffer) {
        return isInOnePiece(buffer) && !isReadOnly(buffer);
    }

    /**
     * Whether the buffer's memory is read-only. A composite buffer, and a slice of one, does not say so of the memory
     * of its component.
     *
     * @param buffer borrowed; of several pieces only what it says of itself counts
     */
    public static boolean isReadOnly(ByteBuf buffer) {
        return buffer.isReadOnly()
                || (isComposite(buffer) && buffer.nioBuffer(buffer.readerIndex(), 0).isReadOnly());
    }

    private static boolean isComposite(ByteBuf buffer) {
        ByteBuf root = buffer;
        while (root.unwrap() != null) {
            root = root.unwrap();
        }
        return root instanceof CompositeByteBuf;
    }
}
