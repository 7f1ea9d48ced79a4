// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.client;

import io.netty.buffer.ByteBuf;
import java.time.Instant;

/**
 * The attributes of a file ({@code fattr3}, RFC 1813, 2.6).
 *
 * @param mode the permission bits
 * @param size in bytes
 */
public record NfsAttributes(
        Type type,
        int mode,
        long links,
        long uid,
        long gid,
        long size,
        long fileId,
        Instant accessed,
        Instant modified,
        Instant changed) {

    /** {@code ftype3}, in the order of its values, which start at 1. */
    public enum Type {
        FILE('-'),
        DIRECTORY('d'),
        BLOCK_DEVICE('b'),
        CHARACTER_DEVICE('c'),
        SYMBOLIC_LINK('l'),
        SOCKET('s'),
        PIPE('p');

        private final char letter;

        Type(char letter) {
            this.letter = letter;
        }
    }

    static NfsAttributes read(ByteBuf in) {
        Type type = Type.values()[in.readInt() - 1];
        int mode = in.readInt();
        long links = in.readUnsignedInt();
        long uid = in.readUnsignedInt();
        long gid = in.readUnsignedInt();
        long size = in.readLong();
        in.skipBytes(8 + 8 + 8);
        return new NfsAttributes(
                type,
                mode & 07777,
                links,
                uid,
                gid,
                size,
                in.readLong(),
                readTime(in),
                readTime(in),
                readTime(in));
    }

    /** {@code post_op_attr}: {@code null} if the server does not say. */
    static NfsAttributes readOptional(ByteBuf in) {
        return in.readInt() == 0 ? null : read(in);
    }

    /** Skips {@code wcc_data}. */
    static void skipWcc(ByteBuf in) {
        if (in.readInt() != 0) {
            in.skipBytes(8 + 8 + 8);
        }
        readOptional(in);
    }

    private static Instant readTime(ByteBuf in) {
        return Instant.ofEpochSecond(in.readUnsignedInt(), in.readUnsignedInt());
    }

    /** As {@code ls} shows it: {@code drwxr-xr-x}. */
    public String modeText() {
        StringBuilder text = new StringBuilder(10).append(type.letter);
        for (int shift = 6; shift >= 0; shift -= 3) {
            int bits = mode >>> shift;
            text.append((bits & 4) != 0 ? 'r' : '-').append((bits & 2) != 0 ? 'w' : '-');
            boolean special = (mode >>> 9 & (1 << (shift / 3))) != 0;
            char executable = shift == 0 ? 't' : 's';
            boolean execute = (bits & 1) != 0;
            if (special) {
                text.append(execute ? executable : Character.toUpperCase(executable));
            } else {
                text.append(execute ? 'x' : '-');
            }
        }
        return text.toString();
    }
}
