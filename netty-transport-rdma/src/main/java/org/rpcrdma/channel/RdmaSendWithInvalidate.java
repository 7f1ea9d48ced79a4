// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.DefaultByteBufHolder;

/**
 * A Send that also asks the peer's device to invalidate one of the handles the peer exposed (Send with Invalidate, RFC
 * 5040, 5.3). A Send without that is written as a plain {@link ByteBuf}.
 */
public final class RdmaSendWithInvalidate extends DefaultByteBufHolder {

    private final int invalidateHandle;

    /**
     * Sends a message and invalidates a handle of the peer with it.
     *
     * @param content the message; owned by this object from now on
     * @param invalidateHandle a handle that the peer has advertised as remotely invalidatable
     */
    public RdmaSendWithInvalidate(ByteBuf content, int invalidateHandle) {
        super(content);
        this.invalidateHandle = invalidateHandle;
    }

    /** {@return the peer's handle, an unsigned 32-bit number} */
    public int invalidateHandle() {
        return invalidateHandle;
    }

    @Override
    public RdmaSendWithInvalidate replace(ByteBuf content) {
        return new RdmaSendWithInvalidate(content, invalidateHandle);
    }

    @Override
    public String toString() {
        return String.format(
                "RdmaSendWithInvalidate(%s, invalidates 0x%08x)",
                contentToString(), invalidateHandle);
    }
}
