// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp.rdmap;

import java.nio.ByteBuffer;
import org.rpcrdma.verbs.WorkStatus;
import org.rpcrdma.verbs.iwarp.ddp.DdpSegmentHeader;
import org.rpcrdma.verbs.iwarp.mpa.StreamError;

/**
 * The Terminate message: RFC 5040, 4.8.
 *
 * @param layer the layer that found the error
 * @param type the error type
 * @param code the error code
 * @param opcode the RDMAP opcode of the message that caused it, -1 if unknown
 */
public record Terminate(int layer, int type, int code, int opcode) {

    private static final int FLAG_LENGTH = 0x80;
    private static final int FLAG_DDP_HEADER = 0x40;
    private static final int FLAG_RDMAP_HEADER = 0x20;
    private static final int RFC_FLAGS = FLAG_LENGTH | FLAG_DDP_HEADER | FLAG_RDMAP_HEADER;
    private static final int SWAPPED_FLAGS = 0x07;
    private static final int SWAPPED_DDP_HEADER = 0x02;
    private static final int CONTROL_BYTES = 4;
    private static final int UNKNOWN = 0x0f;

    /**
     * The ULPDU of a Terminate.
     *
     * @param cause the header of the segment at fault, or {@code null}
     * @param request the Read Request at fault, or {@code null}
     */
    public static byte[] encode(
            StreamError error, DdpSegmentHeader cause, ReadRequestHeader request) {
        // RFC 5040, 4.8: errors of the LLP and local ones say nothing about a segment.
        boolean local =
                error.layer() == StreamError.LAYER_LLP || error == RdmapError.LOCAL_CATASTROPHIC;
        boolean withDdp = !local && cause != null && cause.isPresent();
        boolean withRdmap =
                withDdp
                        && request != null
                        && error.layer() == StreamError.LAYER_RDMAP
                        && error.type() == RdmapError.PROTECTION_INVALID_STAG.type();
        ByteBuffer out =
                ByteBuffer.allocate(
                        DdpSegmentHeader.UNTAGGED_BYTES
                                + CONTROL_BYTES
                                + (withDdp ? 2 + cause.headerBytes : 0)
                                + (withRdmap ? ReadRequestHeader.BYTES : 0));
        DdpSegmentHeader.encodeUntagged(
                out,
                true,
                RdmapOpcodes.control(RdmapOpcodes.TERMINATE),
                0,
                RdmapOpcodes.QUEUE_TERMINATE,
                1,
                0);
        out.put((byte) ((error.layer() << 4) | error.type())).put((byte) error.code());
        out.put(
                (byte)
                        ((withDdp ? FLAG_LENGTH | FLAG_DDP_HEADER : 0)
                                | (withRdmap ? FLAG_RDMAP_HEADER : 0)));
        out.put((byte) 0);
        if (withDdp) {
            out.putShort((short) cause.ulpduLength());
            cause.encode(out);
        }
        if (withRdmap) {
            request.encode(out);
        }
        return out.array();
    }

    /**
     * Decodes a received Terminate. Soft-iWARP on little-endian hosts swaps the nibbles of the first byte and mirrors
     * the flags of the third, so what cannot be in the RFC's layout is taken in that one.
     *
     * @param at the index of the Terminate control field
     * @param length the bytes from there on; without the control field the result says 'unknown'
     * @param starting whether the peer has not yet answered any FPDU, which disambiguates two codes
     */
    static Terminate decode(ByteBuffer bytes, int at, int length, boolean starting) {
        if (length < CONTROL_BYTES) {
            return new Terminate(UNKNOWN, UNKNOWN, UNKNOWN, -1);
        }
        int first = bytes.get(at) & 0xff;
        int code = bytes.get(at + 1) & 0xff;
        int flags = bytes.get(at + 2) & 0xff;
        boolean swapped =
                (flags & RFC_FLAGS) == 0
                        && ((flags & SWAPPED_FLAGS) != 0 || swapped(first, code, starting));
        boolean header = (flags & (swapped ? SWAPPED_DDP_HEADER : FLAG_DDP_HEADER)) != 0;
        int opcode =
                header && length >= CONTROL_BYTES + 2 + DdpSegmentHeader.TAGGED_BYTES
                        ? RdmapOpcodes.opcode(bytes.get(at + CONTROL_BYTES + 3))
                        : -1;
        int high = first >>> 4;
        int low = first & 0x0f;
        return swapped
                ? new Terminate(low, high, code, opcode)
                : new Terminate(high, low, code, opcode);
    }

    private static boolean swapped(int first, int code, boolean starting) {
        return switch (first) {
            case 0x02 -> (code >= 2 && code <= 4) || (starting && (code == 6 || code == 7));
            case 0x20 -> !starting && (code == 5 || code == 6);
            case 0x21 -> true;
            default -> false;
        };
    }

    /**
     * Status of the work request to which the Terminate refers. Errors of the LLP, errors local to the peer and unknown
     * errors refer to no work request.
     */
    public WorkStatus status() {
        return switch (layer << 4 | type) {
            case 0x01, 0x11 -> WorkStatus.REMOTE_ACCESS_ERROR;
            case 0x02, 0x10, 0x12 -> WorkStatus.REMOTE_OPERATION_ERROR;
            default -> WorkStatus.FLUSHED;
        };
    }

    /** A sentence for a log or an exception. */
    public String describe() {
        String name =
                switch (layer) {
                    case StreamError.LAYER_RDMAP -> "RDMAP";
                    case StreamError.LAYER_DDP -> "DDP";
                    case StreamError.LAYER_LLP -> "MPA";
                    default -> "unknown layer";
                };
        return String.format(
                "The peer terminated the stream: %s layer %d, error type %d, code 0x%02x%s",
                name,
                layer,
                type,
                code,
                opcode < 0 ? "" : ", about a message with RDMAP opcode " + opcode);
    }
}
