// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.client;

import java.time.Instant;
import org.rpcrdma.codec.rpc.MalformedXdrException;
import org.rpcrdma.codec.rpc.XdrReader;

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

        static Type read(XdrReader in) throws MalformedXdrException {
            int value = in.readInt();
            if (value < 1 || value > values().length) {
                throw new MalformedXdrException("type " + value + " of a file (expected: 1 to 7)");
            }
            return values()[value - 1];
        }
    }

    static NfsAttributes read(XdrReader in) throws MalformedXdrException {
        Type type = Type.read(in);
        int mode = in.readInt();
        long links = in.readUnsignedInt();
        long uid = in.readUnsignedInt();
        long gid = in.readUnsignedInt();
        long size = in.readLong();
        in.skip(8 + 8 + 8);
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
    static NfsAttributes readOptional(XdrReader in) throws MalformedXdrException {
        return in.readBoolean() ? read(in) : null;
    }

    /** Skips {@code wcc_data}. */
    static void skipWcc(XdrReader in) throws MalformedXdrException {
        if (in.readBoolean()) {
            in.skip(8 + 8 + 8);
        }
        readOptional(in);
    }

    private static Instant readTime(XdrReader in) throws MalformedXdrException {
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
