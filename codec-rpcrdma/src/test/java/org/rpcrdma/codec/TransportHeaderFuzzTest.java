// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.stream.Stream;
import org.rpcrdma.FuzzTarget;
import org.rpcrdma.codec.wire.InboundRpcMessageType;
import org.rpcrdma.codec.wire.OncRpcHeaderDecoder;
import org.rpcrdma.codec.wire.ReadList;
import org.rpcrdma.codec.wire.ReassembledPayloadStreamLayout;
import org.rpcrdma.codec.wire.ReplyChunk;
import org.rpcrdma.codec.wire.TransportHeader;
import org.rpcrdma.codec.wire.WriteList;

/**
 * The transport header with its chunk lists, where Read chunks go in a call, and the private data of a connection. An
 * input is one byte of choices and what came in a Send.
 */
class TransportHeaderFuzzTest extends FuzzTarget {

    private static final int FEW_SEGMENTS = 1;
    private static final int SMALL_CALLS = 2;

    private static final int MAX_CHUNK = 1 << 20;
    private static final int MAX_MESSAGE = MAX_CHUNK + 4096;

    /** Used for input after input, as a connection does. */
    private final TransportHeader header = new TransportHeader();

    private final ReassembledPayloadStreamLayout inPlace = new ReassembledPayloadStreamLayout();
    private final ReassembledPayloadStreamLayout apart = new ReassembledPayloadStreamLayout(true);

    @Override
    protected Stream<byte[]> seeds() {
        Stream<byte[]> sends =
                Trace.all().stream()
                        .map(
                                send ->
                                        ByteBufUtil.getBytes(
                                                send.buffer(),
                                                0,
                                                Math.min(
                                                        send.buffer().readableBytes(),
                                                        send.headerBytes() + 16)));
        return Stream.concat(sends, Stream.of(manyChunks(1), manyChunks(2), privateData()))
                .map(send -> ByteBuffer.allocate(1 + send.length).put((byte) 0).put(send).array());
    }

    /** Chunks of all kinds, in no order. */
    private static byte[] manyChunks(int version) {
        TransportHeader built =
                new TransportHeader().set(7, version, 8, TransportHeader.RDMA_MSG, 1);
        built.reads().add(8, 1, 1001, 0x1000);
        built.reads().add(4, 2, 0, 0x2000);
        built.reads().add(8, 3, 4, 0x3000);
        built.reads().add(0, 4, 100, 0x4000);
        built.writes().add(5, 1000, 0x5000);
        built.writes().add(6, 1001, -4);
        built.writes().endChunk();
        built.writes().endChunk();
        built.reply().setPresent();
        built.reply().add(7, 0xffffffffL, 0x7000);
        ByteBuf out = Unpooled.buffer();
        built.encode(out);
        return ByteBufUtil.getBytes(out.writeZero(40));
    }

    private static byte[] privateData() {
        byte[] data = new PrivateData(4096, 65536, true).encode();
        return ByteBuffer.allocate(12 + data.length).putInt(0xf6ab0e18).put(data).array();
    }

    @Override
    protected void check(byte[] input) {
        if (input.length == 0) {
            return;
        }
        byte[] send = Arrays.copyOfRange(input, 1, input.length);
        checkPrivateData(send);
        if (send.length >= TransportHeader.FIXED_BYTES) {
            checkHeader(send, input[0]);
        }
    }

    private static void checkPrivateData(byte[] data) {
        PrivateData found = PrivateData.find(data);
        assertThat(PrivateData.find(found.encode())).isEqualTo(found);
    }

    private void checkHeader(byte[] send, int choices) {
        ByteBuf in = Unpooled.wrappedBuffer(send);
        int maxSegments = (choices & FEW_SEGMENTS) != 0 ? 3 : 64;
        header.decodeFixed(in, 0);
        int payload = header.decodeLists(in, TransportHeader.FIXED_BYTES, send.length, maxSegments);
        assertThat(header.reads().segments()).isBetween(0, maxSegments);
        assertThat(header.writes().chunks()).isBetween(0, maxSegments);
        checkStart(in, payload);
        if (payload < 0) {
            assertThat(header.problem()).isNotEmpty();
            return;
        }
        assertThat(payload)
                .isBetween(
                        TransportHeader.listsOffset(header.version())
                                + TransportHeader.EMPTY_LISTS_BYTES,
                        send.length);
        ReadList reads = header.reads();
        WriteList writes = header.writes();
        ReplyChunk reply = header.reply();
        assertThat(reads.segments() + writes.segments() + reply.segments())
                .isLessThanOrEqualTo(maxSegments);
        // A marker is 0 or 1 and nothing is optional: every header has one form only.
        assertThat(encoded(header)).isEqualTo(Arrays.copyOf(send, payload));
        assertThat(reads.encodedBytes() + writes.encodedBytes() + reply.encodedBytes())
                .isEqualTo(payload - TransportHeader.listsOffset(header.version()));

        TransportHeader fresh = new TransportHeader();
        fresh.decodeFixed(in, 0);
        assertThat(fresh.decodeLists(in, TransportHeader.FIXED_BYTES, payload, maxSegments))
                .isEqualTo(payload);
        assertThat(encoded(fresh)).isEqualTo(encoded(header));
        assertThat(fresh.decodeLists(in, TransportHeader.FIXED_BYTES, payload - 1, maxSegments))
                .isNegative();

        checkLists(writes, reply);
        checkLayout(reads, send.length - payload, (choices & SMALL_CALLS) != 0);
        checkLayout(reads, reads.chunkLength(0), (choices & SMALL_CALLS) != 0);
    }

    /** What is taken out of the buffer at once is what is read word by word. */
    private void checkStart(ByteBuf in, int payload) {
        TransportHeader started = new TransportHeader();
        started.decodeStart(in, 0, in.writerIndex());
        assertThat(started.xid()).isEqualTo(header.xid());
        assertThat(started.version()).isEqualTo(header.version());
        assertThat(started.credit()).isEqualTo(header.credit());
        assertThat(started.proc()).isEqualTo(header.proc());
        boolean isPlain =
                header.version() == TransportHeader.VERSION_ONE
                        && header.proc() == TransportHeader.RDMA_MSG
                        && payload == TransportHeader.MINIMUM_BYTES
                        && in.writerIndex() - payload >= OncRpcHeaderDecoder.DIRECTION_BYTES;
        assertThat(started.isPlain).isEqualTo(isPlain);
        if (isPlain) {
            assertThat(started.payloadXid).isEqualTo(in.getInt(payload));
            assertThat(started.payloadDirection())
                    .isEqualTo(InboundRpcMessageType.of(header, in, payload));
        }
    }

    private static byte[] encoded(TransportHeader header) {
        ByteBuf out = Unpooled.buffer();
        header.encode(out);
        return ByteBufUtil.getBytes(out);
    }

    /** What a reply may say about chunks: the same, or less. */
    private static void checkLists(WriteList writes, ReplyChunk reply) {
        WriteList answer = new WriteList();
        answer.copy(writes);
        assertThat(answer.mirrors(writes)).isTrue();
        int segments = 0;
        for (int chunk = 0; chunk < writes.chunks(); chunk++) {
            assertThat(writes.firstSegment(chunk)).isEqualTo(segments);
            segments = writes.endSegment(chunk);
            assertThat(writes.chunkLength(chunk)).isBetween(0L, 0xffffffffL * writes.segments());
        }
        assertThat(segments).isEqualTo(writes.segments());
        for (int i = 0; i < writes.segments(); i++) {
            answer.copy(writes);
            if (writes.length(i) != 0xffffffffL) {
                answer.length(i, writes.length(i) + 1);
                assertThat(answer.mirrors(writes)).isFalse();
            }
        }
        ReplyChunk answered = new ReplyChunk();
        answered.copy(reply);
        assertThat(answered.mirrors(reply)).isEqualTo(reply.isPresent());
        assertThat(reply.chunkLength()).isBetween(0L, 0xffffffffL * reply.segments());
        assertThat(reply.anyWraps() && reply.segments() == 0).isFalse();
    }

    private void checkLayout(ReadList reads, long streamLength, boolean isSmall) {
        int maxChunk = isSmall ? 1000 : MAX_CHUNK;
        int maxMessage = isSmall ? 2000 : MAX_MESSAGE;
        String problem = inPlace.compute(reads, streamLength, 16, maxChunk, maxMessage);
        assertThat(apart.compute(reads, streamLength, 16, maxChunk, maxMessage)).isEqualTo(problem);
        if (problem != null) {
            assertThat(problem).isNotEmpty();
            return;
        }
        assertThat(inPlace.total()).isBetween(0, maxMessage);
        assertThat(inPlace.memoryBytes()).isEqualTo(inPlace.total());
        assertThat(apart.memoryBytes()).isEqualTo((int) streamLength);
        checkPlaces(inPlace, reads, streamLength);
        checkPlaces(apart, reads, streamLength);
    }

    /** Pieces, chunks and pads fill the memory; nothing is on top of another. */
    private static void checkPlaces(
            ReassembledPayloadStreamLayout layout, ReadList reads, long streamLength) {
        byte[] memory = new byte[layout.total()];
        int stream = 0;
        for (int piece = 0; piece < layout.pieces(); piece++) {
            stream += layout.pieceLength(piece);
            fill(memory, layout.pieceStart(piece), layout.pieceLength(piece));
        }
        assertThat(stream).isEqualTo((int) streamLength);
        for (int chunk = 0; chunk < layout.chunks(); chunk++) {
            int position = layout.position(chunk);
            assertThat(layout.isReduced(position, 0, layout.length(chunk))).isTrue();
            assertThat(layout.length(chunk)).isEqualTo((int) reads.chunkLength(position));
            assertThat(layout.pad(chunk)).isBetween(0, 3);
            fill(memory, layout.chunkStart(chunk), layout.length(chunk) + layout.pad(chunk));
        }
        for (byte once : memory) {
            if (once != 1) {
                throw new AssertionError(
                        "memory of a call has a byte that is set " + once + " times");
            }
        }
    }

    private static void fill(byte[] memory, int start, int length) {
        assertThat(length).isNotNegative();
        for (int i = 0; i < length; i++) {
            memory[start + i]++;
        }
    }
}
