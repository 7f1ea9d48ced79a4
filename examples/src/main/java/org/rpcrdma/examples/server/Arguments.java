// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.server;

import io.netty.buffer.ByteBuf;
import org.apache.hadoop.nfs.nfs3.Nfs3Constant;

/**
 * Checks the lengths in the arguments of a call (XDR, RFC 4506) before Hadoop's request classes read them: these
 * allocate whatever a length says. One letter for each field; everything after the last letter has a fixed length that
 * the request classes check by reading it.
 */
final class Arguments {

    /** A file handle. */
    private static final char HANDLE = 'h';

    /** A file name or a path; that it is too long for a name is for the procedure to say. */
    private static final char STRING = 's';

    /** New attributes ({@code sattr3}). */
    private static final char ATTRIBUTES = 'a';

    /** How a file is made ({@code createhow3}). */
    private static final char CREATION = 'c';

    private static final int PATH_MAX = 4096;
    private static final int HANDLE_LENGTH = 32;

    private Arguments() {}

    static boolean areWellFormed(String fields, ByteBuf arguments) {
        ByteBuf in = arguments.duplicate();
        for (int i = 0; i < fields.length(); i++) {
            boolean good =
                    switch (fields.charAt(i)) {
                        case HANDLE -> skipOpaque(in, Nfs3Constant.NFS3_FHSIZE);
                        case STRING -> skipOpaque(in, PATH_MAX);
                        case ATTRIBUTES -> skipAttributes(in);
                        case CREATION -> skipCreation(in);
                        default -> throw new AssertionError(fields);
                    };
            if (!good) {
                return false;
            }
        }
        return true;
    }

    /** Whether a handle of well-formed arguments is one of another server: Hadoop's class takes one length only. */
    static boolean nameForeignHandle(String fields, ByteBuf arguments) {
        ByteBuf in = arguments.duplicate();
        for (int i = 0; i < fields.length() && isHandleOrString(fields.charAt(i)); i++) {
            if (fields.charAt(i) == HANDLE && in.getInt(in.readerIndex()) != HANDLE_LENGTH) {
                return true;
            }
            skipOpaque(in, PATH_MAX);
        }
        return false;
    }

    private static boolean isHandleOrString(char field) {
        return field == HANDLE || field == STRING;
    }

    /** Whether a string of at most {@code max} bytes comes next. */
    static boolean skipOpaque(ByteBuf in, int max) {
        if (in.readableBytes() < 4) {
            return false;
        }
        int length = in.readInt();
        if (length < 0 || length > max || in.readableBytes() < (length + 3 & ~3)) {
            return false;
        }
        in.skipBytes(length + 3 & ~3);
        return true;
    }

    private static boolean skipCreation(ByteBuf in) {
        int how = in.isReadable(4) ? in.readInt() : -1;
        return switch (how) {
            case Nfs3Constant.CREATE_UNCHECKED, Nfs3Constant.CREATE_GUARDED -> skipAttributes(in);
            case Nfs3Constant.CREATE_EXCLUSIVE -> skip(in, Nfs3Constant.NFS3_CREATEVERFSIZE);
            default -> false;
        };
    }

    private static boolean skipAttributes(ByteBuf in) {
        for (AttributeField field : AttributeField.values()) {
            if (!in.isReadable(4)) {
                return false;
            }
            int arm = in.readInt();
            if (arm < 0
                    || arm > field.present
                    || (arm == field.present && !skip(in, field.length))) {
                return false;
            }
        }
        return true;
    }

    /** The arms of {@code sattr3}: the discriminant with which a value follows, and its length in bytes. */
    private enum AttributeField {
        MODE(1, 4),
        UID(1, 4),
        GID(1, 4),
        SIZE(1, 8),
        ATIME(2, 8),
        MTIME(2, 8);

        private final int present;
        private final int length;

        AttributeField(int present, int length) {
            this.present = present;
            this.length = length;
        }
    }

    private static boolean skip(ByteBuf in, int bytes) {
        if (!in.isReadable(bytes)) {
            return false;
        }
        in.skipBytes(bytes);
        return true;
    }
}
