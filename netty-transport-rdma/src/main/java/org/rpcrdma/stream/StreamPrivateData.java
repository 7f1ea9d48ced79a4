// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.stream;

import java.nio.ByteBuffer;
import java.util.Arrays;

/**
 * The connection private data of a stream, in a connection request and in its answer: 40 bytes, big-endian. It replaces
 * any other handshake.
 *
 * @param credits how many DATA messages may be sent at first, 1 to 65535
 * @param tableOffset where the target SGL is, unsigned
 * @param tableKey its key
 * @param tableEntries its entries, at least 2
 * @param bigEndianTable whether the entries of the target SGL are read in big-endian order
 * @param buffer the first receive buffer, which is entry 0 of the peer's own table
 */
public record StreamPrivateData(
        int credits,
        long tableOffset,
        int tableKey,
        int tableEntries,
        boolean bigEndianTable,
        ReceiveBufferAddress buffer) {

    /** The length in bytes. */
    public static final int BYTES = 40;

    private static final int VERSION = 1;

    /** Flag: the entries of my target SGL are read in big-endian order. */
    private static final int NET = 1;

    /** Flag: the byte that tells the number of iomap entries is valid. */
    private static final int IOMAP = 2;

    /** Of an end that reads its table in little-endian order. */
    public StreamPrivateData(
            int credits,
            long tableOffset,
            int tableKey,
            int tableEntries,
            ReceiveBufferAddress buffer) {
        this(credits, tableOffset, tableKey, tableEntries, false, buffer);
    }

    /** What goes to the peer. It offers no iomap. */
    public byte[] encode() {
        return ByteBuffer.allocate(BYTES)
                .put((byte) VERSION)
                .put((byte) (bigEndianTable ? IOMAP | NET : IOMAP))
                .putShort((short) credits)
                .putInt(0)
                .putLong(tableOffset)
                .putInt(tableKey)
                .putInt(tableEntries)
                .putLong(buffer.offset())
                .putInt(buffer.key())
                .putInt((int) buffer.length())
                .array();
    }

    /**
     * What came from the peer. Zeros of the connection manager may follow the 40 bytes.
     *
     * @param allowsBigEndian whether the peer may read its table in big-endian order, as over InfiniBand and RoCE;
     *     over iWARP ends of different orders cannot read each other's messages
     * @throws StreamProtocolException when the peer speaks something else, or offers less than is needed
     */
    public static StreamPrivateData decode(byte[] bytes, boolean allowsBigEndian)
            throws StreamProtocolException {
        if (bytes.length < BYTES) {
            throw new StreamProtocolException(
                    "The peer is no rsocket: it sent "
                            + bytes.length
                            + " bytes of connection private data, expected "
                            + BYTES);
        }
        ByteBuffer data = ByteBuffer.wrap(bytes);
        if (data.get() != VERSION) {
            throw new StreamProtocolException(
                    "The peer speaks version "
                            + (bytes[0] & 0xff)
                            + " of the rsocket protocol, expected "
                            + VERSION
                            + "; its private data: "
                            + Arrays.toString(bytes));
        }
        boolean isBigEndian = (data.get() & NET) != 0;
        if (isBigEndian && !allowsBigEndian) {
            throw new StreamProtocolException(
                    "The peer reads its target SGL in big-endian order (flag NET), which no end"
                            + " over iWARP may ask for");
        }
        int credits = Short.toUnsignedInt(data.getShort());
        data.getInt();
        StreamPrivateData peer =
                new StreamPrivateData(
                        credits,
                        data.getLong(),
                        data.getInt(),
                        data.getInt(),
                        isBigEndian,
                        new ReceiveBufferAddress(
                                data.getLong(),
                                data.getInt(),
                                Integer.toUnsignedLong(data.getInt())));
        peer.check();
        return peer;
    }

    private void check() throws StreamProtocolException {
        if (credits == 0 || buffer.length() == 0) {
            throw new StreamProtocolException(
                    "The peer offers "
                            + credits
                            + " credits and a receive buffer of "
                            + buffer.length()
                            + " bytes, expected more than 0 of both");
        }
        if (tableEntries < PeerReceiveBufferTable.ENTRIES) {
            throw new StreamProtocolException(
                    "The peer's target SGL has "
                            + tableEntries
                            + " entries, expected at least "
                            + PeerReceiveBufferTable.ENTRIES
                            + " and less than 2^31");
        }
    }
}
