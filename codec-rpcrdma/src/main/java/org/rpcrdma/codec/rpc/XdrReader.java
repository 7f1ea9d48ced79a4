// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.rpc;

import io.netty.buffer.ByteBuf;

/** Reads XDR (RFC 4506) from a peer: what is not all there is malformed, and never an index out of bounds. */
final class XdrReader {

    private XdrReader() {}

    static int readInt(ByteBuf in) throws MalformedHeaderException {
        require(in, 4);
        return in.readInt();
    }

    /** Variable-length opaque data (RFC 4506, 4.10): allocated only when they are all there. */
    static byte[] readOpaque(ByteBuf in, int maximum) throws MalformedHeaderException {
        long length = Integer.toUnsignedLong(readInt(in));
        if (length > maximum) {
            throw new MalformedHeaderException(
                    "opaque data of " + length + " bytes (expected: at most " + maximum + ')');
        }
        require(in, (int) length + 3 & ~3);
        byte[] bytes = new byte[(int) length];
        in.readBytes(bytes).skipBytes(-bytes.length & 3);
        return bytes;
    }

    private static void require(ByteBuf in, int bytes) throws MalformedHeaderException {
        if (in.readableBytes() < bytes) {
            throw new MalformedHeaderException(
                    "ends after " + in.readableBytes() + " bytes (expected: " + bytes + ')');
        }
    }
}
