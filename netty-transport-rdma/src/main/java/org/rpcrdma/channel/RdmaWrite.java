// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.DefaultByteBufHolder;

/**
 * An RDMA Write: writes the readable bytes of the content to the peer's memory. The promise completes when the content
 * may be reused; only a later message of the peer proves that the data have arrived (RFC 8166, 2.3.2).
 */
public final class RdmaWrite extends DefaultByteBufHolder {

    private final int handle;
    private final long offset;

    /**
     * Writes all readable bytes to the memory that the peer has exposed.
     *
     * @param content the data; owned by this object from now on
     * @param handle the peer's handle, an unsigned 32-bit number
     * @param offset the peer's offset, an unsigned 64-bit number
     */
    public RdmaWrite(ByteBuf content, int handle, long offset) {
        super(content);
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
    public RdmaWrite replace(ByteBuf content) {
        return new RdmaWrite(content, handle, offset);
    }

    @Override
    public String toString() {
        return String.format("RdmaWrite(%s, to 0x%08x at 0x%x)", contentToString(), handle, offset);
    }
}
