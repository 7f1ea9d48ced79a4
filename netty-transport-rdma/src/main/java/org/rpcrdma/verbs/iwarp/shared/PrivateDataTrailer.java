// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp.shared;

import java.nio.ByteBuffer;
import java.util.Arrays;

/**
 * Trailer behind the users' private data, exchanged between two ends of this project. It ends in its length and a
 * magic number, so that it is found and taken off whatever is in it: users never see it.
 */
public final class PrivateDataTrailer {

    /** Kind, version, length and magic number, big-endian, at the end. */
    static final int FOOTER_BYTES = 12;

    private PrivateDataTrailer() {}

    /** A buffer for a trailer; the caller writes the content before the footer. */
    static ByteBuffer allocate(int bytes) {
        return ByteBuffer.allocate(bytes);
    }

    /** Private data with a trailer. */
    static byte[] append(byte[] privateData, ByteBuffer trailer, int kind) {
        int length = trailer.capacity();
        trailer.put(length - FOOTER_BYTES, (byte) SharedRingFile.VERSION);
        trailer.put(length - FOOTER_BYTES + 1, (byte) kind);
        trailer.putShort(length - Short.BYTES - Long.BYTES, (short) length);
        trailer.putLong(length - Long.BYTES, SharedRingFile.MAGIC);
        byte[] both = Arrays.copyOf(privateData, privateData.length + length);
        trailer.get(0, both, privateData.length, length);
        return both;
    }

    /** The length of the trailer after private data, 0 for none. */
    private static int length(byte[] data) {
        if (data.length < FOOTER_BYTES) {
            return 0;
        }
        ByteBuffer all = ByteBuffer.wrap(data);
        int length = all.getShort(data.length - Short.BYTES - Long.BYTES);
        return all.getLong(data.length - Long.BYTES) == SharedRingFile.MAGIC
                        && length >= FOOTER_BYTES
                        && length <= data.length
                ? length
                : 0;
    }

    /** The trailer of a kind, or {@code null} when there is none of this version and length. */
    static ByteBuffer find(byte[] data, int kind, int bytes) {
        int length = length(data);
        int footer = data.length - FOOTER_BYTES;
        return length == bytes && data[footer] == SharedRingFile.VERSION && data[footer + 1] == kind
                ? ByteBuffer.wrap(data, data.length - length, length).slice()
                : null;
    }

    /** Private data as its user has sent them. */
    public static byte[] cutOff(byte[] data) {
        int length = length(data);
        return length == 0 ? data : Arrays.copyOf(data, data.length - length);
    }
}
