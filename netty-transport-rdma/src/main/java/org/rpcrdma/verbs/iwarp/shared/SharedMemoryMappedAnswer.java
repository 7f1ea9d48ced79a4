// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp.shared;

import java.nio.ByteBuffer;
import java.util.UUID;

/**
 * Answer of a responder that has mapped the file of a {@link SharedMemoryOffer}.
 *
 * @param nonce written by the responder into the file
 */
public record SharedMemoryMappedAnswer(UUID nonce) {

    /** Bytes of the trailer. */
    public static final int BYTES = 28;

    private static final int KIND = 2;

    /** Private data with the answer behind. */
    public byte[] appendTo(byte[] privateData) {
        ByteBuffer out = PrivateDataTrailer.allocate(BYTES);
        out.putLong(nonce.getMostSignificantBits()).putLong(nonce.getLeastSignificantBits());
        return PrivateDataTrailer.append(privateData, out, KIND);
    }

    /** The answer behind private data, or {@code null} when there is none. */
    public static SharedMemoryMappedAnswer of(byte[] privateData) {
        ByteBuffer in = PrivateDataTrailer.find(privateData, KIND, BYTES);
        return in == null
                ? null
                : new SharedMemoryMappedAnswer(new UUID(in.getLong(), in.getLong()));
    }
}
