// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.rpcrdma.codec.RpcPair.on;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.rpcrdma.Device;
import org.rpcrdma.Proves;
import org.rpcrdma.channel.RemoteAccess;
import org.rpcrdma.codec.internal.CallAnsweredException;
import org.rpcrdma.codec.wire.TransportHeader;

/** The responder against a requester that is written by hand, well-behaved and not. */
class ResponderTest {

    private static final int GRANT = 16;

    private final AtomicInteger probes = new AtomicInteger(0x7000);
    private final List<ByteBuf> exposed = new ArrayList<>();
    private RpcPair pair;

    @BeforeEach
    void connect() throws Exception {
        RpcRdmaConfig server =
                RpcRdmaConfig.builder()
                        .grantedCredits(GRANT)
                        .maxSegmentsPerMessage(40)
                        .maxSegmentsPerChunk(20)
                        .maxChunkBytes(1 << 20)
                        .maxMessageBytes((1 << 20) + 4096)
                        .build();
        pair = RpcPair.rawClient(RpcRdmaConfig.defaults(), server);
    }

    @AfterEach
    void close() {
        pair.close();
        exposed.forEach(ByteBuf::release);
    }

    private static TransportHeader header(int xid, int proc) {
        return new TransportHeader().set(xid, 32, proc);
    }

    private static ByteBuf message(TransportHeader header, ByteBuf payload) {
        ByteBuf out = Unpooled.buffer();
        header.encode(out);
        out.writeBytes(payload);
        payload.release();
        return out;
    }

    private static ByteBuf none() {
        return Unpooled.buffer(0);
    }

    private int expose(ByteBuf memory, RemoteAccess access) throws Exception {
        exposed.add(memory);
        return on(
                pair.clientChannel,
                () -> pair.clientChannel.expose(memory, 0, memory.capacity(), access));
    }

    private ByteBuf memory(int capacity) throws Exception {
        return on(pair.clientChannel, () -> pair.clientChannel.registeredBuffer(capacity));
    }

    private long offset(int handle) throws Exception {
        return on(pair.clientChannel, () -> pair.clientChannel.exposedOffset(handle));
    }

    private boolean isExposed(int handle) throws Exception {
        return on(pair.clientChannel, () -> pair.clientChannel.isExposed(handle));
    }

    private static String hex(String words) {
        return words.replace(" ", "");
    }

    /** A call still goes through, and nothing else has come back. */
    private void assertAliveAndSilent() throws Exception {
        int xid = probes.incrementAndGet();
        pair.call(message(header(xid, 0), Rpc.echo(xid, 0)));
        assertThat(pair.server.takeXid()).isEqualTo(xid);
        pair.reply(Rpc.reply(xid));
        ByteBuf reply = pair.client.takeBuffer();
        assertThat(ByteBufUtil.hexDump(reply))
                .startsWith(hex(String.format("%08x 00000001 %08x 00000000", xid, GRANT)));
        reply.release();
    }

    private void assertErrChunk(ByteBuf message, int xid) throws Exception {
        pair.call(message);
        assertThat(ByteBufUtil.hexDump(pair.client.takeBytes()))
                .isEqualTo(hex(String.format("%08x 00000001 %08x 00000004 00000002", xid, GRANT)));
        assertAliveAndSilent();
    }

    /** Also in a version that longer messages are answered in with ERR_VERS. */
    @ParameterizedTest
    @ValueSource(ints = {1, 7})
    @Proves({"V1-ERR-01", "V1-HDR-13", "V1-ERR-14"})
    void shorterThanAHeaderIsDropped(int version) throws Exception {
        ByteBuf whole = message(header(9, 0), none()).setInt(4, version);
        for (int length = 1; length < 28; length++) {
            pair.call(whole.copy(0, length));
            if (length % GRANT == 0) {
                assertAliveAndSilent(); // the receives are ours to respect
            }
        }
        assertAliveAndSilent();
        assertThat(pair.serverConnection().value(RpcRdmaCounter.DROPPED_SHORT)).isEqualTo(27);
    }

    @Test
    @Proves({"V1-HDR-11", "V1-OBS-05", "V1-ERR-14", "V1-ERR-13"})
    void errorsAndDoneAreDropped() throws Exception {
        for (int version : new int[] {1, 7}) {
            for (int code : new int[] {1, 2, 3}) {
                pair.call(
                        Unpooled.buffer()
                                .writeInt(9)
                                .writeInt(version)
                                .writeInt(8)
                                .writeInt(4)
                                .writeInt(code)
                                .writeZero(32));
            }
        }
        pair.call(Unpooled.buffer().writeInt(9).writeInt(1).writeInt(8).writeInt(3).writeZero(12));
        assertAliveAndSilent();
        assertThat(pair.server.errors).isEmpty();
        assertThat(pair.serverConnection().value(RpcRdmaCounter.DROPPED_UNKNOWN_XID)).isEqualTo(6);
        assertThat(pair.serverConnection().value(RpcRdmaCounter.DROPPED_PROCEDURE)).isEqualTo(1);
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 2, 3, 7, -1})
    @Proves({"V1-ERR-03", "V1-ERR-05", "V1-ERR-06", "V1-ERR-08", "V2-NEG-05"})
    void otherVersionsGetTheRangeSpoken(int version) throws Exception {
        pair.call(
                Unpooled.buffer()
                        .writeInt(0xCAFE0004)
                        .writeInt(version)
                        .writeInt(8)
                        .writeInt(0)
                        .writeZero(12));
        assertThat(ByteBufUtil.hexDump(pair.client.takeBytes()))
                .isEqualTo(
                        hex(
                                String.format(
                                        "cafe0004 %08x %08x 00000004 00000001 00000001 00000001",
                                        version, GRANT)));
        assertAliveAndSilent();
    }

    @ParameterizedTest
    @ValueSource(ints = {2, 5, 6, 0x7FFFFFFF, -1})
    @Proves({"V1-OBS-02", "V1-ERR-09"})
    void otherProcedures(int proc) throws Exception {
        assertErrChunk(
                Unpooled.buffer().writeInt(5).writeInt(1).writeInt(8).writeInt(proc).writeZero(20),
                5);
    }

    @Test
    @Proves({"V1-LONG-06", "V1-LONG-07", "V1-LONG-08", "V1-LONG-09", "V1-HDR-08"})
    void longCallsWithoutTheirChunk() throws Exception {
        assertErrChunk(message(header(5, 1), none()), 5);

        TransportHeader writeOnly = header(5, 1);
        writeOnly.writes().add(1, 100, 0);
        writeOnly.writes().endChunk();
        assertErrChunk(message(writeOnly, none()), 5);

        // What looks like a long reply, to a side that has called nobody.
        TransportHeader replyChunkOnly = header(5, 1);
        replyChunkOnly.reply().setPresent();
        assertErrChunk(message(replyChunkOnly, none()), 5);
        replyChunkOnly.reply().add(7, 4096, 0);
        assertErrChunk(message(replyChunkOnly, none()), 5);

        TransportHeader otherPosition = header(5, 1);
        otherPosition.reads().add(40, 1, 100, 0);
        assertErrChunk(message(otherPosition, none()), 5);

        TransportHeader zeroInline = header(5, 0);
        zeroInline.reads().add(0, 1, 100, 0);
        assertErrChunk(message(zeroInline, Rpc.echo(5, 8)), 5);

        for (int length : new int[] {0, 36, 41, 0x7FFFFFFC, -4}) {
            TransportHeader badLength = header(5, 1);
            badLength.reads().add(0, 1, Integer.toUnsignedLong(length), 0);
            assertErrChunk(message(badLength, none()), 5);
        }
    }

    @Test
    @Proves({"V1-HDR-03", "V1-HDR-16", "V1-READ-04", "V1-READ-16", "SEC-09", "SEC-11", "V1-ERR-09"})
    void whatIsWrongInTheHeader() throws Exception {
        assertErrChunk(message(header(5, 0), Rpc.echo(6, 8)), 5);
        assertErrChunk(message(header(5, 0), Unpooled.buffer().writeInt(5)), 5);
        assertErrChunk(message(header(5, 0), Unpooled.buffer().writeInt(5).writeInt(2)), 5);
        for (long position : new long[] {41, 0xFFFFFFFDL, 52, 0xFFFFFFFCL}) {
            TransportHeader bad = header(5, 0);
            bad.reads().add(position, 1, 100, 0);
            assertErrChunk(message(bad, Rpc.echo(5, 8)), 5);
        }
        TransportHeader wraps = header(5, 0);
        wraps.writes().add(1, 2, -1);
        wraps.writes().endChunk();
        assertErrChunk(message(wraps, Rpc.echo(5, 8)), 5);

        TransportHeader many = header(5, 0);
        for (int i = 0; i < 21; i++) {
            many.writes().add(i, 2, 0);
        }
        many.writes().endChunk();
        assertErrChunk(message(many, Rpc.echo(5, 8)), 5);

        TransportHeader tooLarge = header(5, 0);
        tooLarge.reads().add(40, 1, (1 << 20) + 1, 0);
        assertErrChunk(message(tooLarge, Rpc.echo(5, 8)), 5);
        assertThat(pair.serverConnection().value(RpcRdmaCounter.READ_BYTES)).isZero();
    }

    @Test
    @Proves({"SEC-16", "V1-ERR-09", "V1-FRAME-05"})
    void everyTruncationOfAChunkyCall() throws Exception {
        TransportHeader header = header(5, 0);
        header.reads().add(40, 1, 100, 0);
        header.writes().add(1, 2, 0);
        header.writes().endChunk();
        header.reply().setPresent();
        header.reply().add(1, 2, 0);
        ByteBuf whole = message(header, none());
        for (int length = 28; length < whole.readableBytes(); length++) {
            pair.call(whole.copy(0, length));
            assertThat(pair.client.takeBytes()).hasSize(20);
        }
        assertAliveAndSilent();
    }

    @Test
    @Proves({"ULB-02", "V1-CHUNK-14", "V1-CHUNK-01", "V1-GSS-02"})
    void reducedArgumentThatIsNotEligible() throws Exception {
        int handle = expose(memory(100), RemoteAccess.READ);
        TransportHeader unknownProgram = header(5, 0);
        unknownProgram.reads().add(44, handle, 100, offset(handle));
        assertErrChunk(message(unknownProgram, Rpc.echo(5, 4)), 5);

        // The file handle of an NFS WRITE, whose data would be eligible.
        TransportHeader fileHandle = header(7, 0);
        int third = expose(memory(28), RemoteAccess.READ);
        fileHandle.reads().add(44, third, 28, offset(third));
        ByteBuf write = Rpc.call(7, Rpc.NFS, 3, Rpc.WRITE).writeInt(28).writeZero(8);
        write.writeInt(4).writeInt(2).writeInt(4).writeInt(0x61626364);
        assertErrChunk(message(fileHandle, write), 7);

        TransportHeader integrity = header(6, 0);
        int second = expose(memory(100), RemoteAccess.READ);
        integrity.reads().add(68, second, 100, offset(second));
        assertErrChunk(message(integrity, Rpc.gssCall(6, Rpc.WRITE, 2).writeZero(12)), 6);
        assertThat(pair.server.messages).isEmpty();
    }

    @ParameterizedTest
    @CsvSource({"5003, 5003", "5003, 5004", "5, 5", "5, 8", "4, 4", "0, 0"})
    @Proves({
        "V1-READ-02",
        "V1-READ-05",
        "V1-READ-10",
        "V1-READ-11",
        "V1-READ-12",
        "V1-READ-14",
        "V1-READ-15",
        "V1-READ-17",
        "V1-CHUNK-09",
        "V1-CHUNK-11"
    })
    void readChunkInManySegmentsWithAndWithoutPadding(int length, int chunkLength)
            throws Exception {
        byte[] call = ByteBufUtil.getBytes(Rpc.write3(5, Rpc.random(length)));
        int position = call.length - ((length + 3) & ~3);
        ByteBuf data = memory(chunkLength + 10).writeBytes(call, position, chunkLength);
        int handle = expose(data, RemoteAccess.READ);
        TransportHeader header = header(5, 0);
        header.reads().add(position, 0x666, 0, 0); // an empty segment with a handle that nobody has
        int[] cuts = {
            0, Math.min(1, chunkLength), Math.min(8, chunkLength), chunkLength / 2 + 1, chunkLength
        };
        Arrays.sort(cuts);
        for (int i = 1; i < cuts.length; i++) {
            int from = Math.min(cuts[i - 1], chunkLength);
            int to = Math.min(cuts[i], chunkLength);
            header.reads().add(position, handle, to - from, offset(handle) + from);
        }
        pair.call(message(header, Unpooled.copiedBuffer(call, 0, position)));
        ByteBuf received = pair.server.takeBuffer();
        assertThat(received.nioBufferCount()).isEqualTo(1);
        assertThat(Rpc.bytes(received)).isEqualTo(call);
        pair.reply(Rpc.reply(5));
        assertThat(pair.client.takeBytes()).hasSize(28 + 24);
    }

    @ParameterizedTest
    @ValueSource(ints = {3, 4, 6, 12})
    @Proves({"V1-READ-13", "V1-ERR-10"})
    void chunkOfAnotherLengthThanItsItem(int chunkLength) throws Exception {
        ByteBuf call = Rpc.write3(5, Rpc.random(5));
        int position = call.readableBytes() - 8;
        int handle = expose(memory(16), RemoteAccess.READ);
        TransportHeader header = header(5, 0);
        header.reads().add(position, handle, chunkLength, offset(handle));
        pair.call(message(header, call.writerIndex(position)));
        assertThat(ByteBufUtil.hexDump(pair.client.takeBytes()))
                .isEqualTo(
                        hex(
                                "00000005 00000001 00000010 00000000 00000000 00000000 00000000"
                                        + "00000005 00000001 00000000 00000000 00000000 00000004"));
        assertAliveAndSilent();
    }

    @Test
    @Proves({"V1-READ-21", "V1-LONG-04", "V1-LONG-11", "V1-MR-06"})
    void positionZeroChunkWithAReadChunkInside() throws Exception {
        byte[] call = ByteBufUtil.getBytes(Rpc.write3(5, Rpc.random(5001)));
        int position = call.length - 5004;
        ByteBuf data = memory(5001).writeBytes(call, position, 5001);
        ByteBuf stream = memory(position).writeBytes(call, 0, position);
        int dataHandle = expose(data, RemoteAccess.READ);
        int streamHandle = expose(stream, RemoteAccess.READ);
        TransportHeader header = header(5, 1);
        header.reads().add(position, dataHandle, 5001, offset(dataHandle));
        header.reads().add(0, streamHandle, 13, offset(streamHandle));
        header.reads().add(0, streamHandle, position - 13, offset(streamHandle) + 13);
        pair.call(message(header, none()));
        assertThat(pair.server.takeBytes()).isEqualTo(call);
        pair.reply(Rpc.reply(5));
        pair.client.takeBytes();
        assertThat(isExposed(dataHandle)).isTrue();
    }

    @Test
    @Proves({"V1-HDR-03"})
    void positionZeroChunkOfAnotherCall() throws Exception {
        byte[] call = ByteBufUtil.getBytes(Rpc.echo(6, 100));
        int handle = expose(memory(call.length).writeBytes(call), RemoteAccess.READ);
        TransportHeader header = header(5, 1);
        header.reads().add(0, handle, call.length, offset(handle));
        assertErrChunk(message(header, none()), 5);
    }

    private ByteBuf sinkOf(int capacity) throws Exception {
        ByteBuf sink = memory(capacity);
        for (int i = 0; i < capacity; i++) {
            sink.setByte(i, 0x5A);
        }
        return sink;
    }

    @ParameterizedTest
    @CsvSource({
        "1281, 1024 257 0",
        "5, 5 0 0",
        "1024, 1024 0 0",
        "0, 0 0 0",
        "3072, 1024 1024 1024"
    })
    @Proves({
        "V1-READ-18",
        "V1-WRITE-03",
        "V1-WRITE-04",
        "V1-WRITE-05",
        "V1-WRITE-06",
        "V1-WRITE-08",
        "V1-WRITE-09",
        "V1-WRITE-12",
        "V1-WRITE-23",
        "V1-WRITE-24",
        "V1-REPLY-07"
    })
    void writeChunkIsFilledInOrderAndNotBeyond(int length, String returned) throws Exception {
        ByteBuf sink = sinkOf(3 * 1024);
        int handle = expose(sink, RemoteAccess.WRITE);
        TransportHeader header = header(5, 0);
        for (int i = 0; i < 3; i++) {
            header.writes().add(handle, 1024, offset(handle) + 1024L * i);
        }
        header.writes().endChunk();
        pair.call(message(header, Rpc.read3(5, 3072)));
        pair.server.takeBytes();
        byte[] data = Rpc.random(length);
        byte[] reply = ByteBufUtil.getBytes(Rpc.read3Reply(5, data));
        pair.reply(Unpooled.wrappedBuffer(reply));
        ByteBuf received = pair.client.takeBuffer();
        TransportHeader answered = new TransportHeader();
        answered.decodeFixed(received, 0);
        int payload = answered.decodeLists(received, 16, received.writerIndex(), 99);
        assertThat(answered.credit()).isEqualTo(GRANT);
        assertThat(answered.reads().segments()).isZero();
        String lengths = "";
        for (int i = 0; i < 3; i++) {
            lengths += (i == 0 ? "" : " ") + answered.writes().length(i);
            assertThat(answered.writes().handle(i)).isEqualTo(handle);
            assertThat(answered.writes().offset(i)).isEqualTo(header.writes().offset(i));
        }
        assertThat(lengths).isEqualTo(returned);
        int inline = reply.length - ((length + 3) & ~3);
        assertThat(ByteBufUtil.getBytes(received, payload, received.writerIndex() - payload))
                .isEqualTo(Arrays.copyOf(reply, inline));
        assertThat(ByteBufUtil.getBytes(sink, 0, length)).isEqualTo(data);
        for (int i = length; i < sink.capacity(); i++) {
            assertThat(sink.getByte(i)).isEqualTo((byte) 0x5A);
        }
        // All three segments name one handle, so the answer frees it.
        assertThat(isExposed(handle)).isEqualTo(!Device.can("remoteInvalidation"));
        received.release();
    }

    @Test
    @Proves({"V1-WRITE-21", "V1-WRITE-16", "V1-WRITE-20", "V1-WRITE-12", "ULB-26"})
    void emptyChunkKeepsTheResultInlineAndSpareChunksComeBackUnused() throws Exception {
        int handle = expose(sinkOf(1024), RemoteAccess.WRITE);
        TransportHeader header = header(5, 0);
        header.writes().endChunk();
        header.writes().add(handle, 1024, offset(handle));
        header.writes().endChunk();
        pair.call(message(header, Rpc.read3(5, 1000)));
        pair.server.takeBytes();
        byte[] reply = ByteBufUtil.getBytes(Rpc.read3Reply(5, Rpc.random(1000)));
        pair.reply(Unpooled.wrappedBuffer(reply));
        ByteBuf received = pair.client.takeBuffer();
        TransportHeader answered = new TransportHeader();
        int payload = answered.decodeLists(received, 16, received.writerIndex(), 99);
        assertThat(answered.writes().chunks()).isEqualTo(2);
        assertThat(answered.writes().isEmptyChunk(0)).isTrue();
        assertThat(answered.writes().chunkLength(1)).isZero();
        assertThat(answered.writes().mirrors(header.writes())).isTrue();
        assertThat(ByteBufUtil.getBytes(received, payload, received.writerIndex() - payload))
                .isEqualTo(reply);
        received.release();
    }

    @Test
    @Proves({"V1-WRITE-24", "V1-REPLY-14", "V1-REPLY-10", "SEC-10"})
    void chunksThatAreTooSmallAreNotTouched() throws Exception {
        ByteBuf sink = sinkOf(100);
        int handle = expose(sink, RemoteAccess.WRITE);
        TransportHeader header = header(5, 0);
        header.writes().add(handle, 100, offset(handle));
        header.writes().endChunk();
        pair.call(message(header, Rpc.read3(5, 101)));
        pair.server.takeBytes();
        assertThatThrownBy(() -> pair.reply(Rpc.read3Reply(5, Rpc.random(101))).sync())
                .isInstanceOf(OutboundReplyTooLongException.class);
        assertThat(pair.client.takeBytes()).hasSize(20);

        TransportHeader emptyReplyChunk = header(6, 0);
        emptyReplyChunk.reply().setPresent();
        pair.call(message(emptyReplyChunk, Rpc.echo(6, 8)));
        pair.server.takeBytes();
        pair.reply(Rpc.reply(6).writeZero(5000));
        assertThat(pair.client.takeBytes()).hasSize(20);
        assertThat(pair.serverConnection().value(RpcRdmaCounter.WRITE_BYTES_SENT)).isZero();
        assertThat(sink.getByte(0)).isEqualTo((byte) 0x5A);
        assertAliveAndSilent();
    }

    /** 20 segments of a chunk are taken, and 40 of a message. */
    @ParameterizedTest
    @CsvSource({"20 20, true", "21, false", "1 20, true", "14 13 14, false", "20 20 0, true"})
    @Proves("ULB-16")
    void moreSegmentsThanAreTakenAreAnErrorOfTheCall(String chunks, boolean isTaken)
            throws Exception {
        TransportHeader header = header(5, 0);
        for (String segments : chunks.split(" ", -1)) {
            for (int i = 0; i < Integer.parseInt(segments); i++) {
                header.writes().add(7, 100, 100L * i);
            }
            header.writes().endChunk();
        }
        if (isTaken) {
            pair.call(message(header, Rpc.echo(5, 8)));
            assertThat(pair.server.takeXid()).isEqualTo(5);
        } else {
            assertErrChunk(message(header, Rpc.echo(5, 8)), 5);
        }
    }

    /** As many as a client may use that does not know the server. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    @Proves("ULB-27")
    void chunksOfSixteenSegmentsAreTaken(boolean isLongReply) throws Exception {
        pair.close();
        pair = RpcPair.rawClient(RpcRdmaConfig.defaults(), RpcRdmaConfig.defaults());
        int length = 16_000;
        ByteBuf call = Rpc.call(5, Rpc.NFS, 4, 1).writeInt(0).writeInt(2).writeInt(2);
        call.writeInt(38).writeZero(16 + 8 + 4); // WRITE
        int position = call.readableBytes() + 4;
        Rpc.opaque(call, Rpc.random(length));
        call.writeInt(25).writeZero(16 + 8).writeInt(length); // READ
        byte[] sent = ByteBufUtil.getBytes(call);
        call.release();
        ByteBuf memory = memory(sent.length).writeBytes(sent);
        int source = expose(memory, RemoteAccess.READ);
        ByteBuf sink = sinkOf(3 * length);
        int target = expose(sink, RemoteAccess.WRITE);
        TransportHeader header = header(5, 1);
        int rest = sent.length - length;
        cut(header, 0, source, 0, position, 15);
        header.reads().add(0, source, rest - position, offset(source) + position + length);
        cut(header, position, source, position, length, 16);
        for (int i = 0; i < 16; i++) {
            header.writes().add(target, length / 16, offset(target) + (long) i * (length / 16));
        }
        header.writes().endChunk();
        header.reply().setPresent();
        for (int i = 0; i < 16; i++) {
            header.reply()
                    .add(target, length / 16, offset(target) + length + (long) i * (length / 16));
        }
        pair.call(message(header, none()));
        assertThat(pair.server.takeBytes()).isEqualTo(sent);
        byte[] data = Rpc.random(length + 1);
        ByteBuf reply = Rpc.reply(5).writeInt(0).writeInt(0).writeInt(2);
        reply.writeInt(38).writeInt(0).writeZero(8 + 8); // count, how, verifier
        reply.writeInt(25).writeInt(0).writeInt(1);
        Rpc.opaque(reply, Arrays.copyOf(data, length));
        pair.reply(isLongReply ? reply.writeZero(6000) : reply).sync();
        assertThat(pair.client.takeBytes()).isNotEmpty();
        assertThat(ByteBufUtil.getBytes(sink, 0, length)).isEqualTo(Arrays.copyOf(data, length));
        assertThat(pair.serverConnection().value(RpcRdmaCounter.WRITE_BYTES_SENT))
                .isGreaterThanOrEqualTo(length + (isLongReply ? 6000 : 0));
    }

    private void cut(
            TransportHeader header, int position, int handle, int from, int length, int parts)
            throws Exception {
        for (int i = 0; i < parts; i++) {
            int begin = length * i / parts;
            int end = length * (i + 1) / parts;
            header.reads().add(position, handle, end - begin, offset(handle) + from + begin);
        }
    }

    /** The last byte of the address space is a byte like others. */
    @ParameterizedTest
    @CsvSource({
        "-100, 100, true",
        "-100, 101, false",
        "-1, 1, true",
        "-1, 0, true",
        "-1, 2, false"
    })
    @Proves({"V1-CHUNK-09", "V1-CHUNK-11"})
    void aSegmentMayEndWhereTheAddressSpaceEnds(long offset, int length, boolean isLegal)
            throws Exception {
        TransportHeader header = header(5, 0);
        header.writes().add(7, length, offset);
        header.writes().endChunk();
        header.reply().setPresent();
        header.reply().add(8, length, offset);
        if (isLegal) {
            pair.call(message(header, Rpc.echo(5, 8)));
            assertThat(pair.server.takeXid()).isEqualTo(5);
            pair.reply(Rpc.reply(5));
            pair.client.takeBytes();
            assertAliveAndSilent();
        } else {
            assertErrChunk(message(header, Rpc.echo(5, 8)), 5);
        }
    }

    /** Behind the chunk the memory goes on: whatever is written past its end would be seen there. */
    @ParameterizedTest
    @CsvSource({"0, 1", "0, 3", "1, 1", "1, 3", "2, 1", "3, 3", "4, 1", "4, 3", "5, 1", "8, 3"})
    @Proves({"V1-REPLY-06", "V1-REPLY-10", "V1-REPLY-12", "RR-27", "SEC-10"})
    void aReplyChunkIsFilledToItsLastByteAndNotBeyond(int missing, int segments) throws Exception {
        byte[] reply = ByteBufUtil.getBytes(Rpc.reply(5).writeBytes(Rpc.random(4976)));
        int room = reply.length - missing;
        ByteBuf sink = sinkOf(reply.length + 64);
        int handle = expose(sink, RemoteAccess.WRITE);
        TransportHeader header = header(5, 0);
        header.reply().setPresent();
        for (int at = 0, i = 1; i <= segments; i++) {
            int length = i == segments ? room - at : room / segments;
            header.reply().add(handle, length, offset(handle) + at);
            at += length;
        }
        pair.call(message(header, Rpc.echo(5, 8)));
        pair.server.takeBytes();
        pair.reply(Unpooled.wrappedBuffer(reply));
        ByteBuf answer = pair.client.takeBuffer();
        byte[] untouched = new byte[sink.capacity()];
        Arrays.fill(untouched, (byte) 0x5A);
        if (missing > 0) {
            assertThat(ByteBufUtil.hexDump(answer))
                    .isEqualTo(
                            hex(String.format("00000005 00000001 %08x 00000004 00000002", GRANT)));
            assertThat(ByteBufUtil.getBytes(sink, 0, untouched.length)).isEqualTo(untouched);
        } else {
            TransportHeader answered = new TransportHeader();
            answered.decodeFixed(answer, 0);
            assertThat(answered.decodeLists(answer, 16, answer.writerIndex(), 99))
                    .isEqualTo(answer.writerIndex());
            assertThat(answered.proc()).isEqualTo(TransportHeader.RDMA_NOMSG);
            assertThat(answered.reply().chunkLength()).isEqualTo(reply.length);
            System.arraycopy(reply, 0, untouched, 0, reply.length);
            assertThat(ByteBufUtil.getBytes(sink, 0, untouched.length)).isEqualTo(untouched);
        }
        answer.release();
        assertAliveAndSilent();
    }

    @Test
    @Proves({"V1-REPLY-06", "V1-REPLY-07", "V1-REPLY-08", "V1-REPLY-09", "V1-WRITE-07"})
    void reducedLongReplyGoesIntoSegmentsOfAnyLength() throws Exception {
        int room = 5000;
        ByteBuf sink = sinkOf(6000);
        ByteBuf stream = sinkOf(room);
        int sinkHandle = expose(sink, RemoteAccess.WRITE);
        int streamHandle = expose(stream, RemoteAccess.WRITE);
        TransportHeader header = header(5, 0);
        header.writes().add(sinkHandle, 6000, offset(sinkHandle));
        header.writes().endChunk();
        header.reply().setPresent();
        int at = 0;
        for (int length : new int[] {1, 50, 0, 3000, room - 3051}) {
            header.reply().add(streamHandle, length, offset(streamHandle) + at);
            at += length;
        }
        pair.call(message(header, Rpc.read3(5, 6000)));
        pair.server.takeBytes();
        byte[] data = Rpc.random(5999);
        // Much follows the data, so that the reduced stream is still too long.
        byte[] reply = ByteBufUtil.getBytes(Rpc.read3Reply(5, data).writeBytes(Rpc.random(4400)));
        pair.reply(Unpooled.wrappedBuffer(reply));
        ByteBuf received = pair.client.takeBuffer();
        TransportHeader answered = new TransportHeader();
        answered.decodeFixed(received, 0);
        assertThat(answered.decodeLists(received, 16, received.writerIndex(), 99))
                .isEqualTo(received.writerIndex());
        assertThat(answered.proc()).isEqualTo(TransportHeader.RDMA_NOMSG);
        assertThat(answered.writes().chunkLength(0)).isEqualTo(5999);
        int inline = reply.length - 6000;
        assertThat(answered.reply().chunkLength()).isEqualTo(inline);
        assertThat(answered.reply().mirrors(header.reply())).isTrue();
        assertThat(ByteBufUtil.getBytes(sink, 0, 5999)).isEqualTo(data);
        assertThat(sink.getByte(5999)).isEqualTo((byte) 0x5A);
        int prefix = reply.length - 6000 - 4400;
        assertThat(ByteBufUtil.getBytes(stream, 0, prefix)).isEqualTo(Arrays.copyOf(reply, prefix));
        assertThat(ByteBufUtil.getBytes(stream, prefix, 4400))
                .isEqualTo(Arrays.copyOfRange(reply, reply.length - 4400, reply.length));
        assertThat(stream.getByte(inline)).isEqualTo((byte) 0x5A);
        // Two handles: the requester invalidates both itself.
        assertThat(isExposed(sinkHandle)).isTrue();
        received.release();
    }

    @Test
    @Proves({"V1-CRED-15", "SEC-12"})
    void moreCallsThanGrantedCostTheConnection() throws Exception {
        for (int xid = 1; xid <= GRANT; xid++) {
            pair.call(message(header(xid, 0), Rpc.echo(xid, 0)));
            assertThat(pair.server.takeXid()).isEqualTo(xid);
        }
        assertThat(pair.serverChannel.isOpen()).isTrue();
        pair.call(message(header(99, 0), Rpc.echo(99, 0)));
        assertThat(pair.client.awaitInactive()).isTrue();
        assertThat(pair.serverConnection().value(RpcRdmaCounter.CREDIT_OVERRUNS)).isEqualTo(1);
        assertThat(pair.server.messages).isEmpty();
    }

    @Test
    @Proves({"V1-CRED-03", "V1-CRED-05", "V1-CRED-06", "BIDI-09"})
    void theGrantIsTheSameInEveryReply() throws Exception {
        for (int requested : new int[] {0, 1, 16, 0x7FFFFFFF, -1}) {
            TransportHeader header = new TransportHeader().set(5, requested, 0);
            pair.call(message(header, Rpc.echo(5, 0)));
            pair.server.takeBytes();
            pair.reply(Rpc.reply(5));
            ByteBuf reply = pair.client.takeBuffer();
            assertThat(reply.getInt(8)).isEqualTo(GRANT);
            reply.release();
        }
    }

    @Test
    void callThatIsInProgressIsNotStartedAgain() throws Exception {
        pair.call(message(header(5, 0), Rpc.echo(5, 0)));
        pair.server.takeBytes();
        pair.call(message(header(5, 0), Rpc.echo(5, 4)));
        assertAliveAndSilent();
        assertThat(pair.serverConnection().value(RpcRdmaCounter.DROPPED_DUPLICATE_XID))
                .isEqualTo(1);
        pair.reply(Rpc.reply(5));
        assertThat(pair.client.takeBytes()).hasSize(52);
    }

    @Test
    @Proves({"V1-CORE-04", "V1-ERR-17"})
    void readThatFailsEndsTheConnectionAndLeavesNothing() throws Exception {
        TransportHeader header = header(5, 1);
        header.reads().add(0, 0xDEAD, 4000, 0x1000);
        pair.call(message(header, none()));
        assertThat(pair.client.awaitInactive()).isTrue();
        assertThat(pair.server.awaitInactive()).isTrue();
        assertThat(pair.server.messages).isEmpty();
    }

    @Test
    void repliesOfUnknownCallsAreTheUsersMistake() {
        assertThatThrownBy(() -> pair.reply(Rpc.reply(77)).sync())
                .isInstanceOf(CallAnsweredException.class);
        assertThat(pair.serverChannel.isOpen()).isTrue();
    }
}
