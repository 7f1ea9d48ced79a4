// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.rpcrdma.Proves;
import org.rpcrdma.codec.wire.RdmaErrorMessage;
import org.rpcrdma.codec.wire.ReadList;
import org.rpcrdma.codec.wire.SegmentList;
import org.rpcrdma.codec.wire.TransportHeader;
import org.rpcrdma.codec.wire.WriteList;

class TransportHeaderTest {

    private static final int MAX = 512;

    private static final String H1 = "1111AAAA";
    private static final String H2 = "2222BBBB";
    private static final String H3 = "3333CCCC";
    private static final String O1 = "00007F0000001000";
    private static final String O2 = "00007F0000002000";
    private static final String O3 = "00007F0000003000";

    private final TransportHeader header = new TransportHeader();

    static List<Trace> captured() {
        return Trace.all();
    }

    @ParameterizedTest
    @MethodSource("captured")
    @Proves({
        "V1-HDR-01",
        "V1-HDR-06",
        "V1-HDR-07",
        "V1-FRAME-01",
        "V1-FRAME-02",
        "V1-FRAME-03",
        "V1-FRAME-05",
        "V1-READ-01",
        "V1-WRITE-01"
    })
    void capturedHeadersDecodeAndEncodeByteForByte(Trace send) {
        ByteBuf in = send.buffer();
        int payload = decode(in);
        assertThat(payload).as(header.problem()).isEqualTo(send.headerBytes());
        assertThat(header.xid()).isEqualTo(send.xid());
        assertThat(header.version()).isEqualTo(send.version());
        assertThat(header.credit()).isEqualTo(send.credit());
        assertThat(header.proc()).isEqualTo(send.proc());
        assertThat(reads(header.reads())).isEqualTo(send.reads());
        assertThat(writes(header.writes())).isEqualTo(send.writes());
        assertThat(
                        header.reply().isPresent()
                                ? segments(header.reply(), 0, header.reply().segments())
                                : "-")
                .isEqualTo(send.reply());
        assertEncodesTo(ByteBufUtil.hexDump(in, 0, payload));
        if (payload < in.readableBytes()) {
            assertThat(in.getInt(payload)).isEqualTo(send.xid());
        }
    }

    @ParameterizedTest
    @MethodSource("captured")
    @Proves({"V1-ERR-09", "SEC-11", "SEC-16"})
    void everyTruncationOfACapturedHeaderIsMalformed(Trace send) {
        ByteBuf in = send.buffer();
        for (int end = TransportHeader.FIXED_BYTES; end < send.headerBytes(); end++) {
            assertThat(header.decodeLists(in, TransportHeader.FIXED_BYTES, end, MAX)).isNegative();
        }
    }

    @Test
    @Proves({"V1-READ-01", "V1-READ-02", "V1-CHUNK-10", "V1-READ-05"})
    void readChunkOfThreeSegments() {
        decodeHex(
                fixed("CAFE000D", "00000020", 0)
                        + "00000001 00000064 "
                        + H1
                        + "00000400"
                        + O1
                        + "00000001 00000064 "
                        + H2
                        + "00000400"
                        + O2
                        + "00000001 00000064 "
                        + H3
                        + "00000201"
                        + O3
                        + "00000000 00000000 00000000");
        assertThat(header.reads().segments()).isEqualTo(3);
        assertThat(header.reads().encodedBytes()).isEqualTo(76);
        assertThat(header.reads().chunkLength(100)).isEqualTo(0x400 + 0x400 + 0x201);
        assertThat(header.reads().hasChunkAt(0)).isFalse();
    }

    @Test
    @Proves({"V1-WRITE-01", "V1-WRITE-12"})
    void writeListsOfTheRfc() {
        String three =
                "00000003" + H1 + "00000400" + O1 + H2 + "00000400" + O2 + H3 + "00000400" + O3;
        String two = "00000002" + H1 + "00000100" + O1 + H2 + "00000100" + O2;
        decodeHex(
                fixed("CAFE000D", "00000020", 0)
                        + "00000000 00000001"
                        + three
                        + "00000001"
                        + two
                        + "00000000 00000000");
        assertThat(header.writes().encodedBytes()).isEqualTo(100);
        assertThat(header.writes().chunks()).isEqualTo(2);
        assertThat(header.writes().chunkLength(0)).isEqualTo(3 * 0x400);
        assertThat(header.writes().chunkLength(1)).isEqualTo(2 * 0x100);

        decodeHex(
                fixed("CAFE000D", "00000020", 0) + "00000000 00000001 00000000 00000000 00000000");
        assertThat(header.writes().encodedBytes()).isEqualTo(12);
        assertThat(header.writes().isEmptyChunk(0)).isTrue();
    }

    @Test
    @Proves({"V1-REPLY-02", "V1-REPLY-03", "V1-REPLY-14"})
    void replyChunks() {
        decodeHex(
                fixed("CAFE000D", "00000020", 1)
                        + "00000000 00000000 00000001 00000002"
                        + H1
                        + "00000400"
                        + O1
                        + H2
                        + "00000400"
                        + O2);
        assertThat(header.reply().encodedBytes()).isEqualTo(40);
        assertThat(header.reply().chunkLength()).isEqualTo(0x800);

        decodeHex(fixed("CAFE000D", "00000020", 0) + "00000000 00000000 00000001 00000000");
        assertThat(header.reply().isPresent()).isTrue();
        assertThat(header.reply().chunkLength()).isZero();

        decodeHex(fixed("CAFE000D", "00000020", 0) + "00000000 00000000 00000000");
        assertThat(header.reply().isPresent()).isFalse();
        assertThat(header.encodedBytes()).isEqualTo(28);
    }

    @Test
    @Proves({"V1-HDR-04", "V1-HDR-05", "V1-HDR-08", "V1-LONG-02", "V1-LONG-10", "V1-HDR-13"})
    void wholeMessages() {
        String call =
                "CAFE0001 00000001 00000020 00000000 00000000 00000000 00000000 CAFE0001 00000000"
                        + " 00000002 000186A300000003 00000000 00000000 00000000 00000000 00000000";
        assertThat(decodeHex(call)).isEqualTo(28);
        assertThat(header.credit()).isEqualTo(32);
        assertThat(bytes(call).readableBytes()).isEqualTo(68);

        String longCall =
                "CAFE0002 00000001 00000020 00000001 00000001 00000000 "
                        + H1
                        + " 00000800 "
                        + O1
                        + "00000000 00000000 00000001 00000001 "
                        + H2
                        + "00001000"
                        + O2;
        assertThat(decodeHex(longCall)).isEqualTo(72);
        assertThat(header.reads().hasChunkAt(0)).isTrue();
        assertThat(header.reads().chunkLength(0)).isEqualTo(2048);
        assertThat(header.reply().chunkLength()).isEqualTo(4096);

        String longReply =
                "CAFE0002 00000001 00000010 00000001 00000000 00000000 00000001 00000001"
                        + H2
                        + "000005DC"
                        + O2;
        assertThat(decodeHex(longReply)).isEqualTo(48);
        assertThat(header.reply().chunkLength()).isEqualTo(1500);
    }

    @Test
    @Proves({"V1-WRITE-05", "V1-WRITE-06", "V1-WRITE-16"})
    void mirroredWriteChunks() {
        TransportHeader offered = new TransportHeader();
        offered.writes().add(0x1111AAAA, 0x400, 0x7F0000001000L);
        offered.writes().add(0x2222BBBB, 0x400, 0x7F0000002000L);
        offered.writes().endChunk();
        String partly =
                fixed("CAFE000D", "00000010", 0)
                        + "00000000 00000001 00000002"
                        + H1
                        + "00000400"
                        + O1
                        + H2
                        + "00000101"
                        + O2
                        + "00000000 00000000";
        assertThat(decodeHex(partly)).isEqualTo(68);
        assertThat(header.writes().mirrors(offered.writes())).isTrue();
        assertThat(header.writes().chunkLength(0)).isEqualTo(1281);
        assertThat(
                        decodeHex(
                                partly.replace("00000400", "00000000")
                                        .replace("00000101", "00000000")))
                .isEqualTo(68);
        assertThat(header.writes().mirrors(offered.writes())).isTrue();
        assertThat(header.writes().chunkLength(0)).isZero();
    }

    @ParameterizedTest
    @Proves("V1-WRITE-25")
    @ValueSource(
            strings = {
                "00000001 00000001 1111AAAA 00000400 00007F0000001000 00000000", // a segment is
                // missing
                "00000001 00000002 1111AAAB 00000400 00007F0000001000 2222BBBB 00000101"
                        + " 00007F0000002000 00000000",
                "00000001 00000002 1111AAAA 00000400 00007F0000001001 2222BBBB 00000101"
                        + " 00007F0000002000 00000000",
                "00000001 00000002 1111AAAA 00000401 00007F0000001000 2222BBBB 00000101"
                        + " 00007F0000002000 00000000",
                "00000001 00000002 1111AAAA 000003FF 00007F0000001000 2222BBBB 00000001"
                        + " 00007F0000002000 00000000",
                "00000001 00000001 1111AAAA 00000400 00007F0000001000 00000001 00000001 2222BBBB"
                        + " 0000010100007F0000002000 00000000",
                "00000000"
            })
    void writeListsThatDoNotMirrorTheOffer(String list) {
        TransportHeader offered = new TransportHeader();
        offered.writes().add(0x1111AAAA, 0x400, 0x7F0000001000L);
        offered.writes().add(0x2222BBBB, 0x400, 0x7F0000002000L);
        offered.writes().endChunk();
        assertThat(decodeHex(fixed("CAFE000D", "00000010", 0) + "00000000" + list + "00000000"))
                .isPositive();
        assertThat(header.writes().mirrors(offered.writes())).isFalse();
    }

    @Test
    @Proves("V1-CORE-01")
    void largestHandleLengthAndOffset() {
        String hex =
                fixed("FFFFFFFF", "FFFFFFFF", 0)
                        + "00000001 FFFFFFFC FFFFFFFF FFFFFFFF FFFFFFFFFFFFFFFF 00000000 00000000"
                        + " 00000000";
        decodeHex(hex);
        assertThat(header.reads().position(0)).isEqualTo(0xFFFFFFFCL);
        assertThat(header.reads().length(0)).isEqualTo(0xFFFFFFFFL);
        assertThat(header.reads().handle(0)).isEqualTo(-1);
        assertThat(header.reads().offset(0)).isEqualTo(-1L);
        assertThat(header.reads().anyWraps()).isTrue();
        assertEncodesTo(hex);
    }

    @ParameterizedTest
    @ValueSource(strings = {"00000002", "FFFFFFFF", "80000000", "00000100"})
    @Proves("V1-HDR-14")
    void markersOtherThanZeroAndOne(String marker) {
        String start = fixed("CAFE000D", "00000020", 0);
        String tail = "00000000".repeat(20);
        assertThat(decodeHex(start + marker + tail)).isNegative();
        assertThat(decodeHex(start + "00000000" + marker + tail)).isNegative();
        assertThat(decodeHex(start + "0000000000000000" + marker + tail)).isNegative();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "00000005",
                "10000000",
                "10000001",
                "7FFFFFFF",
                "80000000",
                "FFFFFFFF",
                "0FFFFFFF"
            })
    @Proves({"SEC-11", "V1-ERR-09"})
    void segmentCountsBeyondTheMessage(String count) {
        String start = fixed("CAFE000D", "00000020", 0);
        String tail = "00000000".repeat(16);
        assertThat(decodeHex(start + "00000000 00000001" + count + tail)).isNegative();
        assertThat(decodeHex(start + "00000000 00000000 00000001" + count + tail)).isNegative();
    }

    @Test
    @Proves("SEC-09")
    void moreSegmentsThanAllowed() {
        String read = "00000001 00000064 " + H1 + "00000400" + O1;
        String chunk = "00000001 00000001" + H1 + "00000400" + O1;
        String start = fixed("CAFE000D", "00000020", 0);
        assertThat(decodeHex(start + read.repeat(3) + "00000000 00000000 00000000", 3))
                .isPositive();
        assertThat(decodeHex(start + read.repeat(4) + "00000000 00000000 00000000", 3))
                .isNegative();
        assertThat(
                        decodeHex(
                                start
                                        + read.repeat(2)
                                        + "00000000"
                                        + chunk.repeat(2)
                                        + "00000000 00000000",
                                3))
                .isNegative();
        assertThat(
                        decodeHex(
                                start
                                        + "00000000"
                                        + "0000000100000000".repeat(4)
                                        + "00000000 00000000",
                                3))
                .isNegative();
    }

    @Test
    @Proves({"V1-ERR-05", "V1-ERR-06", "V1-ERR-07", "V1-ERR-09"})
    void errorMessages() {
        ByteBuf out = Unpooled.buffer();
        RdmaErrorMessage.encode(out, 0xCAFE0003, 1, 16, RdmaErrorMessage.ERR_CHUNK);
        assertHex(out, "CAFE0003 00000001 00000010 00000004 00000002");
        out.clear();
        RdmaErrorMessage.encodeVersions(out, 0xCAFE0004, 2, 16, 1);
        assertHex(out, "CAFE0004 00000002 00000010 00000004 00000001 00000001 00000001");
    }

    @Property(tries = 300)
    @Proves({"V1-CHUNK-09", "V1-CHUNK-11"})
    void whatIsEncodedDecodesToTheSame(@ForAll("headers") TransportHeader built) {
        ByteBuf out = Unpooled.buffer();
        built.encode(out);
        assertThat(out.readableBytes()).isEqualTo(built.encodedBytes());
        header.decodeFixed(out, 0);
        assertThat(header.decodeLists(out, 16, out.writerIndex(), MAX))
                .isEqualTo(out.writerIndex());
        assertThat(reads(header.reads())).isEqualTo(reads(built.reads()));
        assertThat(writes(header.writes())).isEqualTo(writes(built.writes()));
        assertEncodesTo(ByteBufUtil.hexDump(out));
    }

    @Property(tries = 2000)
    @Proves("SEC-16")
    void garbageNeverEscapesTheMessage(@ForAll("garbage") byte[] garbage) {
        ByteBuf in = Unpooled.wrappedBuffer(garbage);
        int payload = header.decodeLists(in, 0, garbage.length, MAX);
        assertThat(payload).isLessThanOrEqualTo(garbage.length);
        assertThat(
                        header.reads().segments()
                                + header.writes().segments()
                                + header.reply().segments())
                .isLessThanOrEqualTo(garbage.length / 16);
    }

    @Provide
    Arbitrary<byte[]> garbage() {
        // Words of few values, so that markers and counts are often plausible.
        return Arbitraries.of(0, 1, 2, 3, 0x64, -1, 0x10000000)
                .list()
                .ofMaxSize(60)
                .map(
                        words -> {
                            ByteBuf out = Unpooled.buffer();
                            words.forEach(out::writeInt);
                            return ByteBufUtil.getBytes(out);
                        });
    }

    @Provide
    Arbitrary<TransportHeader> headers() {
        return Arbitraries.randomValue(
                random -> {
                    TransportHeader built =
                            new TransportHeader()
                                    .set(random.nextInt(), random.nextInt(), random.nextInt(2));
                    for (int i = random.nextInt(6); i > 0; i--) {
                        built.reads()
                                .add(
                                        random.nextInt(),
                                        random.nextInt(),
                                        random.nextInt(),
                                        random.nextLong());
                    }
                    for (int chunk = random.nextInt(4); chunk > 0; chunk--) {
                        for (int i = random.nextInt(4); i > 0; i--) {
                            built.writes()
                                    .add(random.nextInt(), random.nextInt(), random.nextLong());
                        }
                        built.writes().endChunk();
                    }
                    if (random.nextBoolean()) {
                        built.reply().setPresent();
                        for (int i = random.nextInt(4); i > 0; i--) {
                            built.reply()
                                    .add(random.nextInt(), random.nextInt(), random.nextLong());
                        }
                    }
                    return built;
                });
    }

    private int decodeHex(String hex) {
        return decodeHex(hex, MAX);
    }

    private int decodeHex(String hex, int maxSegments) {
        ByteBuf in = bytes(hex);
        header.decodeFixed(in, 0);
        return header.decodeLists(in, TransportHeader.FIXED_BYTES, in.readableBytes(), maxSegments);
    }

    private int decode(ByteBuf in) {
        header.decodeFixed(in, 0);
        return header.decodeLists(in, TransportHeader.FIXED_BYTES, in.readableBytes(), MAX);
    }

    private void assertEncodesTo(String hex) {
        ByteBuf out = Unpooled.buffer();
        header.encode(out);
        assertHex(out, hex);
    }

    private static void assertHex(ByteBuf out, String hex) {
        assertThat(ByteBufUtil.hexDump(out)).isEqualToIgnoringCase(hex.replace(" ", ""));
    }

    private static String fixed(String xid, String credit, int proc) {
        return xid + "00000001" + credit + "0000000" + proc;
    }

    private static ByteBuf bytes(String hex) {
        return Unpooled.wrappedBuffer(ByteBufUtil.decodeHexDump(hex.replace(" ", "")));
    }

    private static String reads(ReadList list) {
        return IntStream.range(0, list.segments())
                .mapToObj(i -> Long.toHexString(list.position(i)) + ':' + segments(list, i, i + 1))
                .collect(Collectors.joining(","));
    }

    private static String writes(WriteList list) {
        return IntStream.range(0, list.chunks())
                .mapToObj(i -> segments(list, list.firstSegment(i), list.endSegment(i)))
                .collect(Collectors.joining(";"));
    }

    private static String segments(SegmentList list, int from, int to) {
        return IntStream.range(from, to)
                .mapToObj(
                        i ->
                                Integer.toHexString(list.handle(i))
                                        + ':'
                                        + Long.toHexString(list.length(i))
                                        + ':'
                                        + Long.toHexString(list.offset(i)))
                .collect(Collectors.joining(","));
    }
}
