// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.client;

import io.netty.buffer.ByteBuf;
import java.util.Arrays;
import org.rpcrdma.examples.rpc.Xdr;

/** A file as the server names it: up to 64 bytes that mean nothing to a client (RFC 1813, 2.3.3). */
public final class NfsHandle {

    private static final int LENGTH_MAX = 64;

    static final int WIRE_LENGTH_MAX = 4 + LENGTH_MAX;

    private final byte[] bytes;

    /** @param bytes kept, not copied */
    public NfsHandle(byte[] bytes) {
        this.bytes = bytes;
    }

    static NfsHandle read(ByteBuf in) {
        return new NfsHandle(Xdr.readOpaque(in, LENGTH_MAX));
    }

    /** In bytes, with length and pad. */
    int wireLength() {
        return 4 + (bytes.length + 3 & ~3);
    }

    public void writeTo(ByteBuf out) {
        Xdr.writeOpaque(out, bytes);
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof NfsHandle handle && Arrays.equals(bytes, handle.bytes);
    }

    @Override
    public int hashCode() {
        return Arrays.hashCode(bytes);
    }
}
