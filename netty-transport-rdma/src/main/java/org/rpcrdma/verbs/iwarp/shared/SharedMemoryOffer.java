// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp.shared;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.UUID;

/**
 * Offer of an initiator: a file that it has created and mapped.
 *
 * @param initiator its end of the TCP connection, as it sees it: behind a relay the responder sees another one
 * @param process the number of its process, which is in the file's name
 * @param file the rest of the name
 * @param nonce written by the initiator into the file
 * @param ringBytes the size of a ring
 */
public record SharedMemoryOffer(
        InetSocketAddress initiator, long process, UUID file, UUID nonce, int ringBytes) {

    /** Bytes of the trailer. */
    public static final int BYTES = 76;

    private static final int KIND = 1;
    private static final int ADDRESS_BYTES = 16;
    private static final int IPV4_AT = 12;

    /** Private data with the offer behind. */
    public byte[] appendTo(byte[] privateData) {
        ByteBuffer out = PrivateDataTrailer.allocate(BYTES);
        out.putLong(file.getMostSignificantBits()).putLong(file.getLeastSignificantBits());
        out.putLong(nonce.getMostSignificantBits()).putLong(nonce.getLeastSignificantBits());
        out.putLong(process);
        out.put(mapped(initiator.getAddress()));
        out.putInt(ringBytes).putShort((short) initiator.getPort());
        return PrivateDataTrailer.append(privateData, out, KIND);
    }

    /** IPv4 addresses are mapped into IPv6: RFC 4291, 2.5.5.2. */
    private static byte[] mapped(InetAddress address) {
        byte[] bytes = address.getAddress();
        if (bytes.length == ADDRESS_BYTES) {
            return bytes;
        }
        byte[] mapped = new byte[ADDRESS_BYTES];
        Arrays.fill(mapped, IPV4_AT - 2, IPV4_AT, (byte) 0xff);
        System.arraycopy(bytes, 0, mapped, IPV4_AT, bytes.length);
        return mapped;
    }

    /** The offer after private data, or {@code null} if there is none, or none that is acceptable. */
    public static SharedMemoryOffer of(byte[] privateData) {
        ByteBuffer in = PrivateDataTrailer.find(privateData, KIND, BYTES);
        if (in == null) {
            return null;
        }
        UUID file = new UUID(in.getLong(), in.getLong());
        UUID nonce = new UUID(in.getLong(), in.getLong());
        long process = in.getLong();
        byte[] address = new byte[ADDRESS_BYTES];
        in.get(address);
        int ringBytes = in.getInt();
        int port = in.getShort() & 0xffff;
        if (Integer.bitCount(ringBytes) != 1
                || ringBytes < SharedRingFileFactory.MIN_RING_BYTES
                || ringBytes > SharedRingFileFactory.MAX_RING_BYTES
                || process < 0) {
            return null;
        }
        try {
            return new SharedMemoryOffer(
                    new InetSocketAddress(InetAddress.getByAddress(address), port),
                    process,
                    file,
                    nonce,
                    ringBytes);
        } catch (UnknownHostException e) {
            throw new IllegalStateException(e); // it has 16 bytes
        }
    }
}
