// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.DefaultByteBufHolder;

/**
 * An RDMA Read: reads the peer's memory into the readable bytes of the content, the sink; its indexes do not change.
 * The promise completes when the data have arrived. The sink must be memory of {@link RdmaChannel#registeredBuffer} or
 * another contiguous direct buffer.
 */
public final class RdmaRead extends DefaultByteBufHolder {

    private final int handle;
    private final long offset;

    /**
     * Fills the readable bytes from the memory that the peer has exposed.
     *
     * @param sink its readable bytes are overwritten; owned by this object from now on, so {@code retain()} it for use
     *     after the promise completes
     * @param handle the peer's handle, an unsigned 32-bit number
     * @param offset the peer's offset, an unsigned 64-bit number
     */
    public RdmaRead(ByteBuf sink, int handle, long offset) {
        super(sink);
        this.handle = handle;
        this.offset = offset;
    }

    /** {@return the peer's handle, an unsigned 32-bit number} */
    public int handle() {
        return handle;
    }

    /** {@return the peer's offset, an unsigned 64-bit number} */
    public long offset() {
        return offset;
    }

    @Override
    public RdmaRead replace(ByteBuf content) {
        return new RdmaRead(content, handle, offset);
    }

    @Override
    public String toString() {
        return String.format(
                "RdmaRead(%s, from 0x%08x at 0x%x)", contentToString(), handle, offset);
    }
}
