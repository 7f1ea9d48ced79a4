// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import java.nio.ByteBuffer;

/**
 * The connection private data of RPC-over-RDMA (RFC 8797): what each side can send and receive inline, and whether the
 * other may use Send With Invalidate. Behind these eight octets, which any implementation knows, this project puts
 * eight of its own, which others do not look at: identifier 0x6e52444d, version 1, flags, and in two octets, the higher
 * one first, the long size in units of 1024 bytes. Flag 1 says that replies in Read chunks are taken and sent
 * ({@link ReadChunkReplyConfig}).
 *
 * @param sendSize the longest Send of this side in bytes: a multiple of 1024, 1024 to 262144
 * @param receiveSize the size of this side's receives in bytes: a multiple of 1024, 1024 to 262144
 * @param remoteInvalidation whether this side takes Send With Invalidate
 * @param readChunkReplies whether this side takes replies in Read chunks as requester, and pull completions
 *     as responder
 * @param longSize the longest Send in bytes that this side sends to, and takes from, one that has announced a long size
 *     too: a multiple of 1024, 1024 to 262144; 0 when it is no other than for anybody
 */
public record PrivateData(
        int sendSize,
        int receiveSize,
        boolean remoteInvalidation,
        boolean readChunkReplies,
        int longSize) {

    /** The length of the message of RFC 8797 (4), and of the one behind it. */
    public static final int BYTES = 8;

    /** What a peer without private data gets: the default threshold both ways (RFC 8166, 3.3.3). */
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
     * @param remoteInvalidation either
     * @param readChunkReplies either
     */
    public PrivateData {
        checkSize("sendSize", sendSize);
        checkSize("receiveSize", receiveSize);
        if (longSize != 0) {
            checkSize("longSize", longSize);
        }
    }

    /**
     * What any implementation may announce.
     *
     * @param sendSize the longest Send in bytes
     * @param receiveSize the size of each receive in bytes
     * @param remoteInvalidation whether Send With Invalidate is understood
     */
    public PrivateData(int sendSize, int receiveSize, boolean remoteInvalidation) {
        this(sendSize, receiveSize, remoteInvalidation, false, 0);
    }

    /** The same on a device that lets no peer invalidate. */
    PrivateData withoutInvalidation() {
        return new PrivateData(sendSize, receiveSize, false, readChunkReplies, longSize);
    }

    /** The same with a long size, 0 for none. */
    PrivateData withLongSize(int bytes) {
        return new PrivateData(sendSize, receiveSize, remoteInvalidation, readChunkReplies, bytes);
    }

    /** So many bytes, or what is a little less and has a code. */
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

    /** {@return the octets of the wire: eight, and eight more when there is something to say in them} */
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

    /**
     * Puts this in the place of what {@link #find(byte[])} finds; what other layers have put around it stays.
     *
     * @return the private data as they are when there is no message in them
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
     * Looks for the messages anywhere in the private data, because other layers may have put theirs in front of them.
     *
     * @param data of a connection request or its answer, from a peer that may be hostile; not kept
     * @return what was found; {@link #DEFAULT} when there is no message of RFC 8797 or it has another version
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

    /** Where a message with this identifier and a version known here begins; negative when there is none. */
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
