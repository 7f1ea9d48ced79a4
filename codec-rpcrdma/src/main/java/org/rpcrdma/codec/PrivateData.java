// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

/**
 * The connection private data of RPC-over-RDMA (RFC 8797): what each side can send and receive inline, and whether the
 * other may use Send With Invalidate.
 *
 * @param sendSize the longest Send of this side in bytes: a multiple of 1024, 1024 to 262144
 * @param receiveSize the size of this side's receives in bytes: a multiple of 1024, 1024 to 262144
 * @param remoteInvalidation whether this side takes Send With Invalidate
 */
public record PrivateData(int sendSize, int receiveSize, boolean remoteInvalidation) {

    /** The length of the message (RFC 8797, 4.1). */
    public static final int BYTES = 8;

    /** What a peer without private data gets: the default threshold both ways (RFC 8166, 3.3.3). */
    public static final PrivateData DEFAULT = new PrivateData(1024, 1024, false);

    private static final int MAGIC = 0xf6ab0e18;
    private static final int VERSION = 1;
    private static final int REMOTE_INVALIDATION = 1;
    private static final int UNIT = 1024;
    private static final int MAXIMUM = 256 * UNIT;

    public PrivateData {
        checkSize("sendSize", sendSize);
        checkSize("receiveSize", receiveSize);
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

    /** The eight bytes of the wire. */
    public byte[] encode() {
        return new byte[] {
            (byte) (MAGIC >>> 24),
            (byte) (MAGIC >>> 16),
            (byte) (MAGIC >>> 8),
            (byte) MAGIC,
            VERSION,
            (byte) (remoteInvalidation ? REMOTE_INVALIDATION : 0),
            (byte) (sendSize / UNIT - 1),
            (byte) (receiveSize / UNIT - 1)
        };
    }

    /**
     * Looks for the message anywhere in the private data, because other layers may have put theirs in front of it (RFC
     * 8797, 4.1.1).
     *
     * @return what was found; {@link #DEFAULT} when there is no such message or it has another version
     */
    public static PrivateData find(byte[] data) {
        for (int i = 0; i + BYTES <= data.length; i++) {
            if (magicAt(data, i) && data[i + 4] == VERSION) {
                return new PrivateData(
                        size(data[i + 6]),
                        size(data[i + 7]),
                        (data[i + 5] & REMOTE_INVALIDATION) != 0);
            }
        }
        return DEFAULT;
    }

    private static int size(byte code) {
        return (Byte.toUnsignedInt(code) + 1) * UNIT;
    }

    private static boolean magicAt(byte[] data, int i) {
        return data[i] == (byte) (MAGIC >>> 24)
                && data[i + 1] == (byte) (MAGIC >>> 16)
                && data[i + 2] == (byte) (MAGIC >>> 8)
                && data[i + 3] == (byte) MAGIC;
    }
}
