// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.simulation;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.rpcrdma.channel.RdmaChannel;
import org.rpcrdma.channel.RemoteAccess;
import org.rpcrdma.codec.wire.SegmentList;
import org.rpcrdma.codec.wire.TransportHeader;

/**
 * A {@link SegmentedCall} as it is sent once: its chunks, each of several segments with gaps between them, and the
 * memory behind them, each byte of which is known when the reply has come.
 */
final class SegmentedTransmission {

    private static final int MOST_SEGMENTS = 5;
    private static final int MOST_CHUNKS = 5;
    private static final int MOST_GAP = 24;
    private static final int MOST_INLINE = 400;
    private static final int MOST_CREDITS = 8;

    /** Of a reply that fits a Send for sure, and one that does not for sure, of 1024 bytes. */
    private static final int SURELY_INLINE = 500;

    private static final byte UNTOUCHED = (byte) 0xA5;

    /** A segment of this transmission: where it is in the memory. */
    private record Piece(int index, int length) {}

    final SegmentedCall call;
    private final RdmaChannel to;
    private final Random random;
    private final ByteBuf memory;
    private final byte[] expected;
    private final List<Integer> handles = new ArrayList<>();
    private final TransportHeader header = new TransportHeader();
    private final List<Piece> result = new ArrayList<>();
    private final List<Piece> unused = new ArrayList<>();
    private final List<Piece> whole = new ArrayList<>();

    /** One handle for all segments of a kind; 0 for one of each segment. */
    private final int readHandle;

    private final int writeHandle;
    private final byte[] inline;
    private int next;

    /**
     * @param call what is sent
     * @param to where; on its event loop
     * @throws RuntimeException when there is no memory; nothing is left then
     */
    SegmentedTransmission(SegmentedCall call, RdmaChannel to, Random random) {
        this.call = call;
        this.to = to;
        this.random = random;
        int most = call.message().length + 2 * call.reply().length + call.resultBytes();
        int bytes = most + 2 * MOST_CHUNKS * (MOST_SEGMENTS + 1) * MOST_GAP;
        memory = to.registeredBuffer(bytes);
        expected = new byte[bytes];
        Arrays.fill(expected, UNTOUCHED);
        memory.setBytes(0, expected);
        try {
            boolean isShared = random.nextBoolean();
            readHandle = isShared ? expose(0, bytes, RemoteAccess.READ) : 0;
            writeHandle = isShared ? expose(0, bytes, RemoteAccess.WRITE) : 0;
            inline = addArguments();
            addRoom();
        } catch (Throwable t) {
            free();
            throw t;
        }
    }

    // ------------------------------------------------------------------ chunks

    private int expose(int index, int length, RemoteAccess access) {
        int handle = to.expose(memory, index, length, access);
        handles.add(handle);
        return handle;
    }

    /** Adds the Read chunks; returns what is inline. */
    private byte[] addArguments() {
        boolean mayReduce = call.hasBinding() && call.argumentBytes() > 0;
        boolean isReduced =
                mayReduce && (call.argumentBytes() > MOST_INLINE || random.nextInt(3) != 0);
        byte[] stream = isReduced ? call.reducedMessage() : call.message();
        boolean isLong = stream.length > MOST_INLINE || random.nextInt(4) == 0;
        header.set(
                call.number(),
                1 + random.nextInt(MOST_CREDITS),
                isLong ? TransportHeader.RDMA_NOMSG : TransportHeader.RDMA_MSG);
        if (isLong) {
            addRead(0, stream);
        }
        if (isReduced) {
            int from = SegmentedCall.ARGUMENT_AT;
            addRead(from, Arrays.copyOfRange(call.message(), from, from + call.argumentBytes()));
        }
        return isLong ? new byte[0] : stream;
    }

    private void addRead(int position, byte[] data) {
        int done = 0;
        for (Piece piece : cut(data.length)) {
            memory.setBytes(piece.index, data, done, piece.length);
            System.arraycopy(data, done, expected, piece.index, piece.length);
            done += piece.length;
            int handle = handle(piece, readHandle, RemoteAccess.READ);
            header.reads().add(position, handle, piece.length, offset(piece, handle));
        }
    }

    /** Adds Write chunks, of which the first one is for the result, and the Reply chunk; either may be just enough. */
    private void addRoom() {
        boolean isInWriteChunk = call.hasBinding() && random.nextInt(3) != 0;
        if (isInWriteChunk) {
            addWrites(room(call.resultBytes()), header.writes(), result);
            header.writes().endChunk();
            if (random.nextInt(3) == 0) {
                addWrites(1 + random.nextInt(100), header.writes(), unused);
                header.writes().endChunk();
            }
        }
        boolean isNeeded = !isInWriteChunk && call.reply().length > SURELY_INLINE;
        if (isNeeded || random.nextInt(3) == 0) {
            header.reply().setPresent();
            addWrites(room(call.reply().length), header.reply(), whole);
        }
    }

    /** Just enough, more, or one byte too little. */
    private int room(int needed) {
        return switch (random.nextInt(8)) {
            case 0 -> Math.max(0, needed - 1);
            case 1, 2, 3 -> needed;
            default -> needed + random.nextInt(200);
        };
    }

    private void addWrites(int length, SegmentList list, List<Piece> pieces) {
        for (Piece piece : cut(length)) {
            int handle = handle(piece, writeHandle, RemoteAccess.WRITE);
            list.add(handle, piece.length, offset(piece, handle));
            pieces.add(piece);
        }
    }

    private int handle(Piece piece, int shared, RemoteAccess access) {
        return shared == 0 ? expose(piece.index, piece.length, access) : shared;
    }

    private long offset(Piece piece, int handle) {
        boolean isShared = handle == readHandle || handle == writeHandle;
        return to.exposedOffset(handle) + (isShared ? piece.index : 0);
    }

    /** Cuts memory for so many bytes into segments of any sizes, with gaps before, between and behind them. */
    private List<Piece> cut(int length) {
        List<Piece> pieces = new ArrayList<>();
        int left = length;
        while (left > 0) {
            boolean isLast = pieces.size() == MOST_SEGMENTS - 1;
            int part = isLast ? left : 1 + random.nextInt(left);
            next += random.nextInt(MOST_GAP);
            pieces.add(new Piece(next, part));
            next += part;
            left -= part;
        }
        next += random.nextInt(MOST_GAP);
        return pieces;
    }

    /** The Send. */
    ByteBuf message() {
        ByteBuf out = Unpooled.buffer();
        header.encode(out);
        return out.writeBytes(inline);
    }

    // ------------------------------------------------------------------ reply

    /** Whether an error is right: the result is longer than its chunk, or the reply than all that there is for it. */
    boolean mayBeRefused() {
        if (isPlaced(call.resultBytes())) {
            return call.resultBytes() > sum(result);
        }
        return call.reply().length > SURELY_INLINE && call.reply().length > sum(whole);
    }

    private boolean isPlaced(int bytes) {
        return sum(result) > 0 && bytes > 0;
    }

    private static int sum(List<Piece> pieces) {
        return pieces.stream().mapToInt(Piece::length).sum();
    }

    /** The payload stream that has to come, in the Send or elsewhere. */
    private byte[] stream() {
        return isPlaced(call.resultBytes()) ? call.reducedReply() : call.reply();
    }

    /**
     * What is wrong with a reply; {@code null} for nothing.
     *
     * @param reply its header
     * @param came the payload stream that was inline or was read; {@code null} when it is in the Reply chunk
     */
    String problem(TransportHeader reply, byte[] came) {
        boolean isInReplyChunk = came == null;
        byte[] stream = stream();
        if (!isInReplyChunk && !Arrays.equals(came, stream)) {
            return "has a wrong payload of " + came.length + " bytes, not of " + stream.length;
        }
        byte[] data =
                Arrays.copyOfRange(
                        call.reply(),
                        SegmentedCall.RESULT_AT,
                        SegmentedCall.RESULT_AT + call.resultBytes());
        String lists = mirrored(reply);
        if (lists != null) {
            return lists;
        }
        String problem =
                place(isPlaced(data.length) ? data : new byte[0], result, reply.writes(), 0);
        if (problem == null) {
            problem = place(new byte[0], unused, reply.writes(), result.size());
        }
        if (problem == null) {
            problem = place(isInReplyChunk ? stream : new byte[0], whole, reply.reply(), 0);
        }
        if (problem == null
                && !Arrays.equals(expected, ByteBufUtil.getBytes(memory, 0, expected.length))) {
            problem = "has memory that is not what the reply says";
        }
        return problem;
    }

    private String mirrored(TransportHeader reply) {
        boolean isRight =
                reply.writes().mirrors(header.writes())
                        && (!reply.reply().isPresent() || reply.reply().mirrors(header.reply()));
        return isRight ? null : "has lists that are not those of the call";
    }

    /** Where the data has to be: in the first segments, each of which is full before the next one is used. */
    private String place(byte[] data, List<Piece> pieces, SegmentList told, int first) {
        if (told.segments() < first + pieces.size()) {
            return data.length == 0 ? null : "has lost its chunk";
        }
        int done = 0;
        for (int i = 0; i < pieces.size(); i++) {
            int part = Math.min(pieces.get(i).length, data.length - done);
            if (told.length(first + i) != part) {
                return "has " + told.length(first + i) + " bytes in a segment, not " + part;
            }
            System.arraycopy(data, done, expected, pieces.get(i).index, part);
            done += part;
        }
        return done == data.length ? null : "is not whole";
    }

    // ------------------------------------------------------------------ end

    /** Takes the memory out of reach and gives it back. On the event loop. */
    void free() {
        if (memory.refCnt() == 0) {
            return;
        }
        for (int handle : handles) {
            if (to.isExposed(handle)) {
                to.invalidate(handle);
            }
        }
        memory.release();
    }

    /** Without handles and offsets, which are random numbers. */
    @Override
    public String toString() {
        return call
                + (inline.length == 0 ? ", long" : "")
                + lengths(", Read", header.reads())
                + lengths(", Write", header.writes())
                + lengths(", Reply", header.reply());
    }

    private static String lengths(String of, SegmentList list) {
        StringBuilder out = new StringBuilder();
        for (int i = 0; i < list.segments(); i++) {
            out.append(i == 0 ? of : "").append(' ').append(list.length(i));
        }
        return out.toString();
    }
}
