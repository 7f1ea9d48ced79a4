// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.nfs;

import java.util.Arrays;
import org.rpcrdma.codec.rpc.MalformedXdrException;
import org.rpcrdma.codec.rpc.XdrEncodable;
import org.rpcrdma.codec.rpc.XdrReader;
import org.rpcrdma.codec.rpc.XdrWriter;

/** A file as the server names it: up to 64 bytes that mean nothing to a client (RFC 1813, 2.3.3). */
public final class NfsHandle implements XdrEncodable {

    private static final int LENGTH_MAX = 64;

    private final byte[] bytes;

    /** @param bytes kept, not copied */
    public NfsHandle(byte[] bytes) {
        this.bytes = bytes;
    }

    public static NfsHandle read(XdrReader in) throws MalformedXdrException {
        return new NfsHandle(in.readOpaque(LENGTH_MAX));
    }

    /** Not copied. */
    public byte[] bytes() {
        return bytes;
    }

    @Override
    public void writeTo(XdrWriter out) {
        out.writeOpaque(bytes);
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
