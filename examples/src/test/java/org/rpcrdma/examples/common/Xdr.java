// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.common;

import io.netty.buffer.ByteBuf;
import java.nio.charset.StandardCharsets;

/** Variable-length XDR types (RFC 4506, 4.9 to 4.11): length, bytes, zeros up to a multiple of four. */
public final class Xdr {

    private Xdr() {}

    public static void writeOpaque(ByteBuf out, byte[] bytes) {
        out.writeInt(bytes.length).writeBytes(bytes).writeZero(-bytes.length & 3);
    }

    /** In UTF-8. */
    public static void writeString(ByteBuf out, String text) {
        writeOpaque(out, text.getBytes(StandardCharsets.UTF_8));
    }

    /**
     * @param max the most bytes there may be
     * @throws IndexOutOfBoundsException if there are more, or fewer than announced
     */
    public static byte[] readOpaque(ByteBuf in, int max) {
        byte[] bytes = new byte[readLength(in, max)];
        in.readBytes(bytes).skipBytes(-bytes.length & 3);
        return bytes;
    }

    /** From UTF-8; otherwise as {@link #readOpaque}. */
    public static String readString(ByteBuf in, int max) {
        return new String(readOpaque(in, max), StandardCharsets.UTF_8);
    }

    /**
     * The length of what follows.
     *
     * @throws IndexOutOfBoundsException if it is more than {@code max} or than there is
     */
    public static int readLength(ByteBuf in, int max) {
        int length = in.readInt();
        if (length < 0 || length > max || in.readableBytes() < length) {
            throw new IndexOutOfBoundsException(
                    "length "
                            + Integer.toUnsignedString(length)
                            + " (expected: at most "
                            + max
                            + " and "
                            + in.readableBytes()
                            + ")");
        }
        return length;
    }
}
