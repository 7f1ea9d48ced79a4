// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.wire;

import io.netty.buffer.ByteBuf;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;

/**
 * The transport header of RPC-over-RDMA version 1 (RFC 8166, 4) and version 2
 * (draft-cel-nfsv4-rpcrdma-version-two-01, 4). One object is decoded into, or encoded from, again and again; it holds
 * no reference to the buffer it came from.
 *
 * <p>Not safe for use by several threads.
 */
public final class TransportHeader {

    /** The protocol version in word 1 (RFC 8166, 4.2.2). */
    public static final int VERSION_ONE = 1;

    /** The protocol version of the version two draft. */
    public static final int VERSION_TWO = 2;

    /** Procedures in word 3 (RFC 8166, 4.2.4); version 2 has those with the numbers 0, 1 and 4. */
    public static final int RDMA_MSG = 0;

    public static final int RDMA_NOMSG = 1;

    /** Reserved; answered with ERR_CHUNK (RFC 8166, 4.6.1). */
    public static final int RDMA_MSGP = 2;

    /** Reserved; dropped (RFC 8166, 4.6.2). */
    public static final int RDMA_DONE = 3;

    public static final int RDMA_ERROR = 4;

    /** Version 2: an operation that the base protocol does not know (draft, 3.1). */
    public static final int RDMA2_OPTIONAL = 5;

    /** XID, version, credit and procedure. */
    public static final int FIXED_BYTES = 16;

    /** The shortest message that is not an error: the fixed words and three empty lists. In version 2 a word more. */
    public static final int MINIMUM_BYTES = FIXED_BYTES + 12;

    /** The bytes of three empty lists. */
    public static final int EMPTY_LISTS_BYTES = 12;

    /** The longest header of a message that has one chunk of one segment, of whichever kind, or none. */
    public static final int ONE_CHUNK_BYTES = MINIMUM_BYTES + 4 + 24;

    /** XID, version, credit and procedure of an RDMA_DONE, which has nothing else (RFC 5666, 4.1). */
    public static final int DONE_BYTES = FIXED_BYTES;

    private static final int NO_LIST_END = -1;

    /** A message of version 1 without chunks, with the XID and the type of the RPC message that follows. */
    private static final int PLAIN_BYTES = MINIMUM_BYTES + OncRpcHeaderDecoder.DIRECTION_BYTES;

    private static final VarHandle INT =
            MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.BIG_ENDIAN);
    private static final VarHandle LONG =
            MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.BIG_ENDIAN);

    private ReadList reads = new ReadList();
    private WriteList writes = new WriteList();
    private ReplyChunk reply = new ReplyChunk();

    private int xid;
    private int version;
    private int credit;
    private int proc;
    private int direction;

    /**
     * Whether what was decoded last, by {@link #decodeStart}, is an RDMA_MSG of version 1 with three empty lists and at
     * least the XID and the type of an RPC message.
     */
    public boolean isPlain;

    /** The XID of the RPC message behind a header that is {@linkplain #isPlain plain}. */
    public int payloadXid;

    private int payloadType;
    private String problem = "";

    /** The first bytes of a message, as it was received or is to be sent. */
    private final byte[] start = new byte[PLAIN_BYTES];

    /** Word 0: the XID of the RPC message. */
    public int xid() {
        return xid;
    }

    /** Word 1: the protocol version, unsigned. */
    public int version() {
        return version;
    }

    /** Word 2: credits requested (call) or granted (reply), unsigned. */
    public int credit() {
        return credit;
    }

    /** Word 3: the procedure, unsigned. */
    public int proc() {
        return proc;
    }

    /** Version 2, RDMA2_MSG and RDMA2_NOMSG: 0 for a call, 1 for a reply (draft, 4.2.2); unsigned. */
    public int direction() {
        return direction;
    }

    public ReadList reads() {
        return reads;
    }

    public WriteList writes() {
        return writes;
    }

    public ReplyChunk reply() {
        return reply;
    }

    /** Error found by {@link #decodeLists}, as text for the log. */
    public String problem() {
        return problem;
    }

    /** An RDMA_MSG or RDMA_NOMSG of version 1. */
    public TransportHeader set(int xid, int credit, int proc) {
        return set(xid, VERSION_ONE, credit, proc, 0);
    }

    public TransportHeader set(int xid, int version, int credit, int proc, int direction) {
        this.xid = xid;
        this.version = version;
        this.credit = credit;
        this.proc = proc;
        this.direction = direction;
        return this;
    }

    /** Where the Read list of an RDMA_MSG or RDMA_NOMSG begins: after the direction word, if the version has one. */
    public static int listsOffset(int version) {
        return version == VERSION_TWO ? FIXED_BYTES + 4 : FIXED_BYTES;
    }

    /** The type of the RPC message behind a header that is {@linkplain #isPlain plain}. */
    public InboundRpcMessageType payloadDirection() {
        return InboundRpcMessageType.ofWord(payloadType);
    }

    /** Exchanges the lists and all words for those of another header, without a copy. */
    public void swap(TransportHeader other) {
        ReadList ownReads = reads;
        WriteList ownWrites = writes;
        ReplyChunk ownReply = reply;
        int ownXid = xid;
        int ownVersion = version;
        int ownCredit = credit;
        int ownProc = proc;
        int ownDirection = direction;
        reads = other.reads;
        writes = other.writes;
        reply = other.reply;
        set(other.xid, other.version, other.credit, other.proc, other.direction);
        isPlain = false;
        other.isPlain = false;
        other.reads = ownReads;
        other.writes = ownWrites;
        other.reply = ownReply;
        other.set(ownXid, ownVersion, ownCredit, ownProc, ownDirection);
    }

    /** Whether a list has anything in it: there may be chunks without segments. */
    public boolean hasChunks() {
        return reads.count > 0 || writes.chunks > 0 || reply.present;
    }

    public void clear() {
        // Also clears partly decoded elements, such as a chunk without its end.
        if (hasChunks() || writes.count > 0 || reply.count > 0) {
            reads.clear();
            writes.clear();
            reply.clear();
        }
    }

    /**
     * Takes words 0 to 3, and sees whether the message is {@linkplain #isPlain plain}: such a one has no lists to
     * decode. Its words are taken out of the buffer at once, which checks bounds and references for each access.
     *
     * @param index of word 0; at least {@link #FIXED_BYTES} bytes have to be there
     * @param end after the last byte of the message
     */
    public void decodeStart(ByteBuf in, int index, int end) {
        if (end - index < PLAIN_BYTES) {
            decodeFixed(in, index);
            return;
        }
        in.getBytes(index, start, 0, PLAIN_BYTES);
        xid = (int) INT.get(start, 0);
        version = (int) INT.get(start, 4);
        credit = (int) INT.get(start, 8);
        proc = (int) INT.get(start, 12);
        isPlain =
                version == VERSION_ONE
                        && proc == RDMA_MSG
                        && (long) LONG.get(start, FIXED_BYTES) == 0
                        && (int) INT.get(start, FIXED_BYTES + 8) == 0;
        payloadXid = (int) INT.get(start, MINIMUM_BYTES);
        payloadType = (int) INT.get(start, MINIMUM_BYTES + 4);
    }

    /**
     * Takes words 0 to 3, which never move (RFC 8166, 7).
     *
     * @param index of word 0; at least {@link #FIXED_BYTES} bytes have to be there
     */
    public void decodeFixed(ByteBuf in, int index) {
        isPlain = false;
        xid = in.getInt(index);
        version = in.getInt(index + 4);
        credit = in.getInt(index + 8);
        proc = in.getInt(index + 12);
    }

    /**
     * Takes the direction word of version 2.
     *
     * @param index of the word
     */
    void decodeDirection(ByteBuf in, int index) {
        direction = in.getInt(index);
    }

    /**
     * Takes what follows word 3 in RDMA_MSG and RDMA_NOMSG: the direction of version 2, and three chunk lists.
     * Nothing is trusted: each count is checked against the bytes that are left before anything is stored (RFC
     * 8166, 4.5.2).
     *
     * @param index of word 4
     * @param end after the last byte of the message
     * @param maxSegments the most segments, and the most Write chunks, taken in all
     * @return the index after the lists, where the payload begins; negative when the lists are malformed, see
     *     {@link #problem()}
     */
    public int decodeLists(ByteBuf in, int index, int end, int maxSegments) {
        clear();
        isPlain = false;
        int at = index;
        if (version == VERSION_TWO) {
            if (end - at < 4) {
                return malformed("no direction");
            }
            decodeDirection(in, at);
            at += 4;
        }
        at = decodeReads(in, at, end, maxSegments);
        if (at >= 0) {
            at = decodeWrites(in, at, end, maxSegments);
        }
        if (at >= 0) {
            at = decodeReply(in, at, end, maxSegments);
        }
        return at;
    }

    private int decodeReads(ByteBuf in, int index, int end, int maxSegments) {
        int at = index;
        while (true) {
            int marker = marker(in, at, end);
            if (marker != 1) {
                return marker == 0 ? at + 4 : malformed("Read list: bad marker or end of message");
            }
            if (end - at < ReadList.ENTRY_BYTES) {
                return malformed("Read list: segment past the end of the message");
            }
            if (reads.segments() == maxSegments) {
                return malformed("Read list: too many segments");
            }
            reads.decodeEntry(in, at + 4);
            at += ReadList.ENTRY_BYTES;
        }
    }

    private int decodeWrites(ByteBuf in, int index, int end, int maxSegments) {
        int at = index;
        while (true) {
            int marker = marker(in, at, end);
            if (marker != 1) {
                return marker == 0 ? at + 4 : malformed("Write list: bad marker or end of message");
            }
            if (writes.chunks() == maxSegments) {
                return malformed("Write list: too many chunks");
            }
            at =
                    decodeChunk(
                            writes,
                            in,
                            at + 4,
                            end,
                            maxSegments - writes.segments() - reads.segments());
            if (at < 0) {
                return at;
            }
            writes.endChunk();
        }
    }

    private int decodeReply(ByteBuf in, int index, int end, int maxSegments) {
        int marker = marker(in, index, end);
        if (marker != 1) {
            return marker == 0 ? index + 4 : malformed("Reply chunk: bad marker or end of message");
        }
        reply.setPresent();
        return decodeChunk(
                reply, in, index + 4, end, maxSegments - writes.segments() - reads.segments());
    }

    private int decodeChunk(SegmentList list, ByteBuf in, int index, int end, int maxSegments) {
        if (end - index < 4) {
            return malformed("chunk: no segment count");
        }
        long count = in.getUnsignedInt(index);
        // In 64 bits: a count of 2^28 and more cannot wrap to a small number of bytes.
        if (count * SegmentList.SEGMENT_BYTES > end - index - 4) {
            return malformed("chunk: segment count past the end of the message");
        }
        if (count > maxSegments) {
            return malformed("chunk: too many segments");
        }
        int at = index + 4;
        for (int i = 0; i < count; i++) {
            list.decodeSegment(in, at);
            at += SegmentList.SEGMENT_BYTES;
        }
        return at;
    }

    /** An optional-data marker (RFC 4506, 4.19): 0 or 1, or -1 when it is anything else or not there. */
    private static int marker(ByteBuf in, int index, int end) {
        if (end - index < 4) {
            return NO_LIST_END;
        }
        int marker = in.getInt(index);
        return marker == 0 || marker == 1 ? marker : NO_LIST_END;
    }

    private int malformed(String what) {
        problem = what;
        return NO_LIST_END;
    }

    /** The bytes of an RDMA_MSG or RDMA_NOMSG header with the lists as they are now. */
    public int encodedBytes() {
        if (!hasChunks()) {
            return listsOffset(version) + EMPTY_LISTS_BYTES;
        }
        return listsOffset(version)
                + reads.encodedBytes()
                + writes.encodedBytes()
                + reply.encodedBytes();
    }

    /** The bytes of the lists that a reply to this call repeats, and of an empty Read list. */
    public int replyListsBytes() {
        return 4 + writes.encodedBytes() + reply.encodedBytes();
    }

    /** Appends an RDMA_MSG or RDMA_NOMSG header. */
    public void encode(ByteBuf out) {
        if (version == VERSION_ONE && !hasChunks()) {
            // A buffer checks each access: one for all words.
            byte[] words = start;
            INT.set(words, 0, xid);
            INT.set(words, 4, version);
            INT.set(words, 8, credit);
            INT.set(words, 12, proc);
            LONG.set(words, FIXED_BYTES, 0L);
            INT.set(words, FIXED_BYTES + 8, 0);
            out.writeBytes(words, 0, MINIMUM_BYTES);
            return;
        }
        encodeFixed(out, xid, version, credit, proc);
        if (version == VERSION_TWO) {
            out.writeInt(direction);
        }
        if (!hasChunks()) {
            out.writeLong(0).writeInt(0);
            return;
        }
        reads.encode(out);
        writes.encode(out);
        reply.encode(out);
    }

    static void encodeFixed(ByteBuf out, int xid, int version, int credit, int proc) {
        out.writeLong(words(xid, version));
        out.writeLong(words(credit, proc));
    }

    /** Two words in one: a buffer checks each access, however wide. */
    private static long words(int first, int second) {
        return (long) first << 32 | Integer.toUnsignedLong(second);
    }

    /** Appends an RDMA_DONE of version 1, the pull completion (draft-cel-nfsv4-rpcrdma-reliable-reply-04, 4.1.3). */
    public static void encodeDone(ByteBuf out, int xid, int credit) {
        encodeFixed(out, xid, VERSION_ONE, credit, RDMA_DONE);
    }

    /**
     * A message in one line, for people: its header as far as it can be read, and which call or reply is inline.
     *
     * @param message from the transport header on; its readable bytes are looked at and left as they are
     */
    public static String describe(ByteBuf message) {
        return TransportHeaderFormatter.of(message);
    }

    /** In one line, for people. */
    @Override
    public String toString() {
        return TransportHeaderFormatter.of(this);
    }
}
