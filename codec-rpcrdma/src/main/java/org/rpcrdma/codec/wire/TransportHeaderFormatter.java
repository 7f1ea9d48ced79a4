// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.wire;

import io.netty.buffer.ByteBuf;
import java.util.HexFormat;

/** Formats transport headers in one line, for people, in the words of RFC 8166, 4. */
final class TransportHeaderFormatter {

    private static final String[] PROCEDURES = {
        "RDMA_MSG", "RDMA_NOMSG", "RDMA_MSGP", "RDMA_DONE", "RDMA_ERROR", "RDMA2_OPTIONAL"
    };

    /** No line is longer because a peer has sent more segments. */
    private static final int MOST_SEGMENTS = 8;

    private static final HexFormat HEX = HexFormat.of();

    private final StringBuilder out = new StringBuilder();

    private TransportHeaderFormatter() {}

    /** The fixed words and the lists. */
    static String of(TransportHeader header) {
        TransportHeaderFormatter text = new TransportHeaderFormatter();
        text.fixed(header);
        int proc = header.proc();
        if (proc == TransportHeader.RDMA_MSG || proc == TransportHeader.RDMA_NOMSG) {
            text.lists(header);
        }
        return text.out.toString();
    }

    /**
     * A whole message, as far as it can be read.
     *
     * @param message its readable bytes; left as they are
     */
    static String of(ByteBuf message) {
        int start = message.readerIndex();
        int end = message.writerIndex();
        if (end - start < TransportHeader.FIXED_BYTES) {
            return "message of " + (end - start) + " bytes, too short for a header";
        }
        TransportHeaderFormatter text = new TransportHeaderFormatter();
        TransportHeader header = new TransportHeader();
        header.decodeFixed(message, start);
        text.fixed(header);
        text.rest(header, message, start + TransportHeader.FIXED_BYTES, end);
        return text.out.toString();
    }

    private void rest(TransportHeader header, ByteBuf message, int index, int end) {
        switch (header.proc()) {
            case TransportHeader.RDMA_MSG, TransportHeader.RDMA_NOMSG -> {
                int payload = header.decodeLists(message, index, end, Integer.MAX_VALUE);
                if (payload < 0) {
                    out.append(", ").append(header.problem());
                    return;
                }
                lists(header);
                if (header.proc() == TransportHeader.RDMA_MSG) {
                    payload(message, payload, end);
                }
            }
            case TransportHeader.RDMA_ERROR -> error(message, index, end);
            default -> out.append(", ").append(end - index).append(" bytes more");
        }
    }

    private void fixed(TransportHeader header) {
        int proc = header.proc();
        out.append(
                proc >= 0 && proc < PROCEDURES.length
                        ? PROCEDURES[proc]
                        : "procedure " + Integer.toUnsignedString(proc));
        out.append(" version ").append(Integer.toUnsignedString(header.version()));
        out.append(" XID 0x").append(HEX.toHexDigits(header.xid()));
        out.append(" credits ").append(Integer.toUnsignedString(header.credit()));
    }

    private void lists(TransportHeader header) {
        ReadList reads = header.reads();
        if (reads.segments() > 0) {
            out.append(", Read");
            for (int i = 0; i < reads.segments() && i < MOST_SEGMENTS; i++) {
                out.append(" at ").append(reads.position(i));
                segment(reads, i);
            }
            more(reads.segments() - MOST_SEGMENTS);
        }
        WriteList writes = header.writes();
        for (int chunk = 0; chunk < writes.chunks() && chunk < MOST_SEGMENTS; chunk++) {
            out.append(", Write");
            segments(writes, writes.firstSegment(chunk), writes.endSegment(chunk));
        }
        if (header.reply().isPresent()) {
            out.append(", Reply");
            segments(header.reply(), 0, header.reply().segments());
        }
    }

    private void segments(SegmentList list, int from, int to) {
        for (int i = from; i < to && i < from + MOST_SEGMENTS; i++) {
            segment(list, i);
        }
        more(to - from - MOST_SEGMENTS);
    }

    private void segment(SegmentList list, int i) {
        out.append(" [0x").append(HEX.toHexDigits(list.handle(i)));
        out.append(' ').append(list.length(i)).append(" bytes at 0x");
        out.append(Long.toHexString(list.offset(i))).append(']');
    }

    private void more(int count) {
        if (count > 0) {
            out.append(" and ").append(count).append(" segments more");
        }
    }

    private void payload(ByteBuf message, int index, int end) {
        out.append(", ").append(end - index).append(" bytes inline");
        if (end - index >= OncRpcHeaderDecoder.DIRECTION_BYTES) {
            int type = message.getInt(index + 4);
            if (type == OncRpcHeaderDecoder.CALL
                    && end - index >= OncRpcHeaderDecoder.MINIMUM_CALL_BYTES) {
                out.append(": call of program ");
                out.append(Integer.toUnsignedString(message.getInt(index + 12)));
                out.append(" version ");
                out.append(Integer.toUnsignedString(message.getInt(index + 16)));
                out.append(" procedure ");
                out.append(Integer.toUnsignedString(message.getInt(index + 20)));
            } else if (type == OncRpcHeaderDecoder.REPLY) {
                out.append(": reply");
            }
        }
    }

    private void error(ByteBuf message, int index, int end) {
        if (end - index < 4) {
            out.append(", without a code");
            return;
        }
        int code = message.getInt(index);
        switch (code) {
            case RdmaErrorMessage.ERR_VERS -> {
                out.append(", ERR_VERS");
                if (end - index >= 12) {
                    out.append(' ').append(Integer.toUnsignedString(message.getInt(index + 4)));
                    out.append(" to ").append(Integer.toUnsignedString(message.getInt(index + 8)));
                }
            }
            case RdmaErrorMessage.ERR_CHUNK -> out.append(", ERR_CHUNK");
            default -> out.append(", code ").append(Integer.toUnsignedString(code));
        }
    }
}
