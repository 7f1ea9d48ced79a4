// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.wire;

import io.netty.buffer.ByteBuf;

/**
 * RDMA_ERROR message (RFC 8166, 4.5; draft-cel-nfsv4-rpcrdma-version-two-01, 4.2.3): decoder and encoder. Words 0 to 3
 * are those of {@link TransportHeader}; word 4 is the error code.
 *
 * @param code {@link #ERR_VERS}, {@link #ERR_CHUNK} or {@link #INVAL_OPTION}
 * @param lowest the lowest version that the responder speaks, unsigned; 0 unless the code is {@link #ERR_VERS}
 * @param highest the highest one
 */
public record RdmaErrorMessage(int code, int lowest, int highest) {

    /** The responder does not speak the version of the call. */
    public static final int ERR_VERS = 1;

    /** In version 2 the same number is RDMA2_ERR_BAD_HEADER. */
    public static final int ERR_CHUNK = 2;

    /** Version 2: an option type that the responder does not know, RDMA2_ERR_INVAL_OPTION. */
    public static final int INVAL_OPTION = 3;

    /** The bytes of an error without versions, which is the shortest one. */
    public static final int ERR_CHUNK_BYTES = TransportHeader.FIXED_BYTES + 4;

    /** The bytes of an error that names versions. */
    public static final int ERR_VERS_BYTES = ERR_CHUNK_BYTES + 8;

    private static final int CODE_INDEX = TransportHeader.FIXED_BYTES;
    private static final int LOWEST_INDEX = CODE_INDEX + 4;
    private static final int HIGHEST_INDEX = LOWEST_INDEX + 4;

    /**
     * Decodes an error.
     *
     * @param in its readable bytes are the whole message, at least {@link #ERR_CHUNK_BYTES}
     * @return {@code null} for an unknown code, and for an ERR_VERS without versions
     */
    public static RdmaErrorMessage decode(ByteBuf in) {
        int start = in.readerIndex();
        int code = in.getInt(start + CODE_INDEX);
        return switch (code) {
            case ERR_VERS ->
                    in.readableBytes() < ERR_VERS_BYTES
                            ? null
                            : new RdmaErrorMessage(
                                    code,
                                    in.getInt(start + LOWEST_INDEX),
                                    in.getInt(start + HIGHEST_INDEX));
            case ERR_CHUNK, INVAL_OPTION -> new RdmaErrorMessage(code, 0, 0);
            default -> null;
        };
    }

    /** Whether the error is ERR_VERS with an empty range. */
    public boolean isEmptyRange() {
        return code == ERR_VERS && Integer.compareUnsigned(lowest, highest) > 0;
    }

    /** Appends an error of {@link #ERR_CHUNK_BYTES}; XID and version are those of the request (RFC 8166, 4.5). */
    public static void encode(ByteBuf out, int xid, int version, int credit, int code) {
        TransportHeader.encodeFixed(out, xid, version, credit, TransportHeader.RDMA_ERROR);
        out.writeInt(code);
    }

    /**
     * Appends an ERR_VERS, which names the versions spoken here (RFC 8166, 4.5.1).
     *
     * @param highest the highest of these; the lowest is 1
     */
    public static void encodeVersions(ByteBuf out, int xid, int version, int credit, int highest) {
        encode(out, xid, version, credit, ERR_VERS);
        out.writeInt(TransportHeader.VERSION_ONE);
        out.writeInt(highest);
    }
}
