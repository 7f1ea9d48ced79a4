// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.internal;

import io.netty.buffer.ByteBuf;

/** Listener of the memory that the peer of one connection may reach. Event loop only. */
public interface ExposureListener {

    /**
     * The peer may reach this memory, until it is {@link #invalidated}.
     *
     * @param handle that the peer is told
     * @param memory that is exposed
     * @param index of its first byte
     * @param length in bytes
     */
    void exposed(int handle, ByteBuf memory, int index, int length);

    /**
     * The peer cannot reach that memory any more.
     *
     * @param handle of the memory
     */
    void invalidated(int handle);
}
