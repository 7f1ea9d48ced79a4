// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.internal;

import io.netty.buffer.ByteBuf;

/** Listener of the memory exposed to the peer of one connection. Event loop only. */
public interface ExposureListener {

    /**
     * Memory is exposed to the peer, until it is {@link #invalidated}.
     *
     * @param handle advertised to the peer
     * @param memory that is exposed
     * @param index of its first byte
     * @param length in bytes
     */
    void exposed(int handle, ByteBuf memory, int index, int length);

    /**
     * Memory is no longer exposed.
     *
     * @param handle of the memory
     */
    void invalidated(int handle);
}
