// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.rpc;

import io.netty.buffer.ByteBuf;
import java.nio.charset.StandardCharsets;
import java.util.Objects;

/**
 * Reads XDR (RFC 4506) of a peer from a buffer: each length is compared with its limit and with what is there before
 * anything is allocated, and truncated data are a {@link MalformedXdrException}, never an index out of bounds.
 *
 * <p>Borrows the buffer and moves its reader index. Not thread-safe.
 */
public final class XdrReader {

    private static final int MAXIMUM_PADDING = 3;

    private final ByteBuf in;

    /**
     * A reader of a buffer.
     *
     * @param in from its reader index on; stays the caller's
     */
    public XdrReader(ByteBuf in) {
        this.in = Objects.requireNonNull(in, "in");
    }

    /** {@return the bytes that were not read yet} */
    public int remaining() {
        return in.readableBytes();
    }

    /**
     * {@return the buffer, borrowed: its reader index is where this reader is}
     */
    public ByteBuf buffer() {
        return in;
    }

    /**
     * Reads an integer (RFC 4506, 4.1), or an enumeration (4.3).
     *
     * @return 4 bytes, signed
     * @throws MalformedXdrException if the data are truncated
     */
    public int readInt() throws MalformedXdrException {
        return readInt(in);
    }

    /**
     * Reads an unsigned integer (RFC 4506, 4.2).
     *
     * @return 0 to 2^32 - 1
     * @throws MalformedXdrException if the data are truncated
     */
    public long readUnsignedInt() throws MalformedXdrException {
        return Integer.toUnsignedLong(readInt(in));
    }

    /**
     * Reads a hyper integer (RFC 4506, 4.5), signed or unsigned.
     *
     * @return 8 bytes
     * @throws MalformedXdrException if the data are truncated
     */
    public long readLong() throws MalformedXdrException {
        require(in, 8);
        return in.readLong();
    }

    /**
     * Reads a boolean (RFC 4506, 4.4), or whether optional data follow (4.19).
     *
     * @return {@code true} for 1
     * @throws MalformedXdrException if the data are truncated, or neither 0 nor 1
     */
    public boolean readBoolean() throws MalformedXdrException {
        int value = readInt(in);
        if ((value & ~1) != 0) {
            throw new MalformedXdrException(
                    "boolean " + Integer.toUnsignedString(value) + " (expected: 0 or 1)");
        }
        return value != 0;
    }

    /**
     * Reads a number of elements that follow (RFC 4506, 4.13).
     *
     * @param maximum the most there may be
     * @param elementBytes the fewest bytes of an element, from 1: no more elements are there than fit the rest
     * @return 0 to {@code maximum}
     * @throws MalformedXdrException if there are more, or the data are truncated
     */
    public int readCount(int maximum, int elementBytes) throws MalformedXdrException {
        long count = readUnsignedInt();
        long most = Math.min(maximum, in.readableBytes() / elementBytes);
        if (count > most) {
            throw new MalformedXdrException(
                    count + " elements (expected: at most " + maximum + ", and " + most + " fit)");
        }
        return (int) count;
    }

    /**
     * Reads variable-length opaque data (RFC 4506, 4.10) into memory of their own.
     *
     * @param maximum the most bytes there may be
     * @return the data without padding
     * @throws MalformedXdrException if there are more, or the data are truncated
     */
    public byte[] readOpaque(int maximum) throws MalformedXdrException {
        return readOpaque(in, maximum);
    }

    /**
     * Reads variable-length opaque data without a copy.
     *
     * @param maximum the most bytes there may be
     * @return a slice of the message, with a reference of its own that the caller releases
     * @throws MalformedXdrException if there are more, or the data are truncated
     */
    public ByteBuf readOpaqueSlice(int maximum) throws MalformedXdrException {
        int length = readLength(in, maximum);
        ByteBuf data = in.readRetainedSlice(length);
        in.skipBytes(-length & MAXIMUM_PADDING);
        return data;
    }

    /**
     * Reads fixed-length opaque data (RFC 4506, 4.9).
     *
     * @param length in bytes, from 0
     * @return the data without padding
     * @throws MalformedXdrException if the data are truncated
     */
    public byte[] readFixedOpaque(int length) throws MalformedXdrException {
        require(in, length + MAXIMUM_PADDING & ~MAXIMUM_PADDING);
        return take(in, length);
    }

    /**
     * Reads a string (RFC 4506, 4.11) as UTF-8.
     *
     * @param maximum the most bytes there may be
     * @return the string; bytes that are not UTF-8 become U+FFFD
     * @throws MalformedXdrException if there are more, or the data are truncated
     */
    public String readString(int maximum) throws MalformedXdrException {
        int length = readLength(in, maximum);
        String text = in.toString(in.readerIndex(), length, StandardCharsets.UTF_8);
        in.skipBytes(length + MAXIMUM_PADDING & ~MAXIMUM_PADDING);
        return text;
    }

    /**
     * Skips data whose length is known.
     *
     * @param bytes from 0; a multiple of 4 in XDR
     * @throws MalformedXdrException if the data are truncated
     */
    public void skip(int bytes) throws MalformedXdrException {
        require(in, bytes);
        in.skipBytes(bytes);
    }

    @Override
    public String toString() {
        return "XdrReader(" + in.readableBytes() + " bytes left)";
    }

    static int readInt(ByteBuf in) throws MalformedXdrException {
        require(in, 4);
        return in.readInt();
    }

    static byte[] readOpaque(ByteBuf in, int maximum) throws MalformedXdrException {
        return take(in, readLength(in, maximum));
    }

    /** Skips variable-length opaque data, without memory for them. */
    static void skipOpaque(ByteBuf in, int maximum) throws MalformedXdrException {
        int length = readLength(in, maximum);
        in.skipBytes(length + MAXIMUM_PADDING & ~MAXIMUM_PADDING);
    }

    private static int readLength(ByteBuf in, int maximum) throws MalformedXdrException {
        long length = Integer.toUnsignedLong(readInt(in));
        if (length > maximum) {
            throw new MalformedXdrException(
                    "opaque data of " + length + " bytes (expected: at most " + maximum + ')');
        }
        require(in, length + MAXIMUM_PADDING & ~MAXIMUM_PADDING);
        return (int) length;
    }

    private static byte[] take(ByteBuf in, int length) {
        byte[] bytes = new byte[length];
        in.readBytes(bytes).skipBytes(-length & MAXIMUM_PADDING);
        return bytes;
    }

    private static void require(ByteBuf in, long bytes) throws MalformedXdrException {
        if (in.readableBytes() < bytes) {
            throw new MalformedXdrException(
                    "ends after " + in.readableBytes() + " bytes (expected: " + bytes + ')');
        }
    }
}
