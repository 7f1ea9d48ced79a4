// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.internal;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.CompositeByteBuf;

/** Joins a header, or a record mark, with what follows it. */
public final class MessageJoin {

    private MessageJoin() {}

    /**
     * The header and the body, in one buffer.
     *
     * @param header taken over, and released where this fails
     * @param body stays the caller's, with its indices
     * @param isCopied whether the body is copied behind the header; otherwise a reference to it is added
     */
    public static ByteBuf join(ByteBuf header, ByteBuf body, boolean isCopied) {
        ByteBuf owned = header;
        try {
            if (isCopied) {
                return header.writeBytes(body, body.readerIndex(), body.readableBytes());
            }
            CompositeByteBuf whole = header.alloc().compositeBuffer(2);
            owned = whole;
            // Netty releases by itself what it cannot add.
            return whole.addComponent(true, header).addComponent(true, body.retain());
        } catch (Throwable t) {
            owned.release();
            throw t;
        }
    }
}
