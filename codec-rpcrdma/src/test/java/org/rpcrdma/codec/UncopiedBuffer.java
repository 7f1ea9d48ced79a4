// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.buffer.UnpooledHeapByteBuf;

/** Memory that can be looked at, but not copied. */
final class UncopiedBuffer extends UnpooledHeapByteBuf {

    private UncopiedBuffer(int bytes) {
        super(UnpooledByteBufAllocator.DEFAULT, bytes, bytes);
    }

    /** A buffer full of zeroes. */
    static ByteBuf of(int bytes) {
        return new UncopiedBuffer(bytes).writerIndex(bytes);
    }

    @Override
    public byte[] array() {
        throw new IllegalStateException("no copy of it");
    }
}
