// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import java.nio.ByteBuffer;
import java.util.Arrays;

/**
 * The connection private data of RPC-over-RDMA (RFC 8797): inline thresholds of each side, and whether the peer may use
 * Send With Invalidate. After these eight octets this project appends eight of its own, which other implementations
 * ignore: identifier 0x6e52444d, version 1, flags, and the long size in units of 1024 bytes as two octets in network
 * byte order. Flag 1 announces support of replies in Read chunks ({@link ReadChunkReplyConfig}).
 *
 * @param sendSize the longest Send of this side in bytes: a multiple of 1024, 1024 to 262144
 * @param receiveSize the size of this side's receives in bytes: a multiple of 1024, 1024 to 262144
 * @param remoteInvalidation whether this side accepts Send With Invalidate
 * @param readChunkReplies whether this side accepts replies in Read chunks as requester, and pull completions as
 *     responder
 * @param longSize the longest Send in bytes to and from a peer that also announces a long size: a multiple of 1024,
 *     1024 to 262144; 0 for none
 */
public record PrivateData(
        int sendSize,
        int receiveSize,
        boolean remoteInvalidation,
        boolean readChunkReplies,
        int longSize) {

    /** Length of the message of RFC 8797 (4), and of the message of this project. */
    public static final int BYTES = 8;

    /** Assumed of a peer without private data: the default threshold both ways (RFC 8166, 3.3.3). */
    public static final PrivateData DEFAULT = new PrivateData(1024, 1024, false);

    private static final int MAGIC = 0xf6ab0e18;
    private static final int OWN_MAGIC = 0x6e52444d;
    private static final int VERSION = 1;
    private static final int REMOTE_INVALIDATION = 1;
    private static final int READ_CHUNK_REPLIES = 1;
    private static final int UNIT = 1024;
    private static final int MAXIMUM = 256 * UNIT;

    /**
     * Checks the sizes.
     *
     * @param sendSize a multiple of 1024, 1024 to 262144
     * @param receiveSize a multiple of 1024, 1024 to 262144
     * @param longSize a multiple of 1024, 1024 to 262144, or 0
     * @param remoteInvalidation any
     * @param readChunkReplies any
     */
    public PrivateData {
        checkSize("sendSize", sendSize);
        checkSize("receiveSize", receiveSize);
        if (longSize != 0) {
            checkSize("longSize", longSize);
        }
    }

    /**
     * Private data of RFC 8797 alone, without the octets of this project.
     *
     * @param sendSize the longest Send in bytes
     * @param receiveSize the size of each receive in bytes
     * @param remoteInvalidation whether Send With Invalidate is understood
     */
    public PrivateData(int sendSize, int receiveSize, boolean remoteInvalidation) {
        this(sendSize, receiveSize, remoteInvalidation, false, 0);
    }

    /** A copy without remote invalidation, for a device that cannot do it. */
    PrivateData withoutInvalidation() {
        return new PrivateData(sendSize, receiveSize, false, readChunkReplies, longSize);
    }

    /** A copy with another long size, 0 for none. */
    PrivateData withLongSize(int bytes) {
        return new PrivateData(sendSize, receiveSize, remoteInvalidation, readChunkReplies, bytes);
    }

    /** Rounds a size down to one that can be encoded. */
    static int roundDown(long bytes) {
        return (int) Math.min(bytes, MAXIMUM) / UNIT * UNIT;
    }

    static void checkSize(String name, int size) {
        if (size < UNIT || size > MAXIMUM || size % UNIT != 0) {
            throw new IllegalArgumentException(
                    name
                            + ": "
                            + size
                            + " (expected: a multiple of "
                            + UNIT
                            + ", "
                            + UNIT
                            + " to "
                            + MAXIMUM
                            + ')');
        }
    }

    /** {@return the encoded octets: eight, or sixteen if there is a flag or a long size to announce} */
    public byte[] encode() {
        boolean saysMore = readChunkReplies || longSize > 0;
        ByteBuffer out = ByteBuffer.allocate(saysMore ? 2 * BYTES : BYTES);
        out.putInt(MAGIC).put((byte) VERSION);
        out.put((byte) (remoteInvalidation ? REMOTE_INVALIDATION : 0));
        out.put((byte) (sendSize / UNIT - 1)).put((byte) (receiveSize / UNIT - 1));
        if (saysMore) {
            out.putInt(OWN_MAGIC).put((byte) VERSION);
            out.put((byte) (readChunkReplies ? READ_CHUNK_REPLIES : 0));
            out.putShort((short) (longSize / UNIT));
        }
        return out.array();
    }

    /** Whether both are encoded to the same octets. The first {@code equals} of a record costs a process 90 ms. */
    boolean isEncodedAs(PrivateData other) {
        return Arrays.equals(encode(), other.encode());
    }

    /**
     * Replaces the messages that {@link #find(byte[])} finds by this one, and keeps the private data of other layers
     * around them.
     *
     * @return the same array if there is no message in the private data
     */
    byte[] replaceIn(byte[] data) {
        int at = find(data, MAGIC);
        if (at < 0) {
            return data;
        }
        int end = at + BYTES;
        if (find(data, OWN_MAGIC) == end) {
            end += BYTES;
        }
        byte[] own = encode();
        return ByteBuffer.allocate(at + own.length + data.length - end)
                .put(data, 0, at)
                .put(own)
                .put(data, end, data.length - end)
                .array();
    }

    /**
     * Finds the messages anywhere in the private data, because other layers may prepend their own.
     *
     * @param data of a connection request or its answer, from a peer that may be hostile; not kept
     * @return the announced values; {@link #DEFAULT} without a message of RFC 8797, or if it has another version
     */
    public static PrivateData find(byte[] data) {
        int at = find(data, MAGIC);
        if (at < 0) {
            return DEFAULT;
        }
        int own = find(data, OWN_MAGIC);
        return new PrivateData(
                size(data[at + 6]),
                size(data[at + 7]),
                (data[at + 5] & REMOTE_INVALIDATION) != 0,
                own >= 0 && (data[own + 5] & READ_CHUNK_REPLIES) != 0,
                own >= 0 ? longSize(data[own + 6], data[own + 7]) : 0);
    }

    /** Index of a message with this identifier and a known version; negative if none. */
    private static int find(byte[] data, int magic) {
        ByteBuffer in = ByteBuffer.wrap(data);
        for (int i = 0; i + BYTES <= data.length; i++) {
            if (in.getInt(i) == magic && in.get(i + 4) == VERSION) {
                return i;
            }
        }
        return -1;
    }

    private static int longSize(byte high, byte low) {
        int units = (Byte.toUnsignedInt(high) << 8) | Byte.toUnsignedInt(low);
        return roundDown((long) units * UNIT);
    }

    private static int size(byte code) {
        return (Byte.toUnsignedInt(code) + 1) * UNIT;
    }
}
