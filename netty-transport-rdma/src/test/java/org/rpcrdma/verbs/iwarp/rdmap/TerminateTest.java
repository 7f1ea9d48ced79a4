// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp.rdmap;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.rpcrdma.verbs.iwarp.ddp.DdpError;
import org.rpcrdma.verbs.iwarp.ddp.DdpSegmentHeader;
import org.rpcrdma.verbs.iwarp.mpa.MpaError;
import org.rpcrdma.verbs.iwarp.mpa.StreamError;
import org.rpcrdma.verbs.iwarp.mpa.StreamException;

/** The Terminate message: RFC 5040, 4.8, and soft-iWARP's own order of bits. */
class TerminateTest {

    private static final String TAGGED = "c140 12345678 0000000000001000";
    private static final String UNTAGGED = "4143 00000000 00000000 00000005 00000000";
    private static final String READ = "4141 00000000 00000001 00000001 00000000";
    private static final String READ_HEADER =
            "00abcd01 0000000000001000 00000bba 29b55e00 0000561385d8f010";

    private static byte[] hex(String... parts) {
        return HexFormat.of().parseHex(String.join("", parts).replace(" ", ""));
    }

    private static DdpSegmentHeader segment(String header, int payload) throws StreamException {
        byte[] bytes = hex(header);
        DdpSegmentHeader segment = new DdpSegmentHeader();
        segment.decode(ByteBuffer.wrap(bytes), 0, bytes.length + payload);
        return segment;
    }

    private static ReadRequestHeader request() {
        ReadRequestHeader request = new ReadRequestHeader();
        request.decode(ByteBuffer.wrap(hex(READ_HEADER)), 0, 1);
        return request;
    }

    static Stream<Arguments> errors() {
        return Stream.of(
                // error, control field, header of the offending segment, with its Read Request
                Arguments.of(MpaError.CRC, "20020000", TAGGED, false),
                Arguments.of(MpaError.FRAMING, "20030000", UNTAGGED, false),
                Arguments.of(MpaError.INVALID_FRAME, "20040000", null, false),
                Arguments.of(MpaError.INSUFFICIENT_IRD, "20060000", null, false),
                Arguments.of(MpaError.NO_MATCHING_RTR, "20070000", null, false),
                Arguments.of(DdpError.LOCAL_CATASTROPHIC, "1000c000", UNTAGGED, false),
                Arguments.of(DdpError.TAGGED_INVALID_STAG, "1100c000", TAGGED, false),
                Arguments.of(DdpError.TAGGED_BOUNDS, "1101c000", TAGGED, false),
                Arguments.of(DdpError.TAGGED_NOT_ASSOCIATED, "1102c000", TAGGED, false),
                Arguments.of(DdpError.TAGGED_WRAP, "1103c000", TAGGED, false),
                Arguments.of(DdpError.TAGGED_VERSION, "1104c000", TAGGED, false),
                Arguments.of(DdpError.UNTAGGED_QN, "1201c000", UNTAGGED, false),
                Arguments.of(DdpError.UNTAGGED_NO_BUFFER, "1202c000", UNTAGGED, false),
                Arguments.of(DdpError.UNTAGGED_MSN, "1203c000", UNTAGGED, false),
                Arguments.of(DdpError.UNTAGGED_MSN, "1203c000", READ, true),
                Arguments.of(DdpError.UNTAGGED_MO, "1204c000", UNTAGGED, false),
                Arguments.of(DdpError.UNTAGGED_TOO_LONG, "1205c000", UNTAGGED, false),
                Arguments.of(DdpError.UNTAGGED_VERSION, "1206c000", UNTAGGED, false),
                Arguments.of(RdmapError.LOCAL_CATASTROPHIC, "00ff0000", UNTAGGED, false),
                Arguments.of(RdmapError.PROTECTION_INVALID_STAG, "0100e000", READ, true),
                Arguments.of(RdmapError.PROTECTION_BOUNDS, "0101e000", READ, true),
                Arguments.of(RdmapError.PROTECTION_ACCESS, "0102e000", READ, true),
                Arguments.of(RdmapError.PROTECTION_ACCESS, "0102c000", TAGGED, false),
                Arguments.of(RdmapError.PROTECTION_NOT_ASSOCIATED, "0103e000", READ, true),
                Arguments.of(RdmapError.PROTECTION_WRAP, "0104e000", READ, true),
                Arguments.of(RdmapError.PROTECTION_CANNOT_INVALIDATE, "0109c000", UNTAGGED, false),
                Arguments.of(RdmapError.OPERATION_VERSION, "0205c000", UNTAGGED, false),
                Arguments.of(RdmapError.OPERATION_UNEXPECTED_OPCODE, "0206c000", UNTAGGED, false),
                Arguments.of(RdmapError.OPERATION_CATASTROPHIC_STREAM, "0207c000", READ, true),
                Arguments.of(RdmapError.OPERATION_CANNOT_INVALIDATE, "0209c000", UNTAGGED, false));
    }

    @ParameterizedTest(name = "{0}, {2}")
    @MethodSource("errors")
    void isEncodedAsTheRfcSays(StreamError error, String control, String header, boolean read)
            throws StreamException {
        DdpSegmentHeader cause = header == null ? null : segment(header, read ? 28 : 100);
        byte[] ulpdu = Terminate.encode(error, cause, read ? request() : null);
        String expected = "4147 00000000 00000002 00000001 00000000" + control;
        if (control.charAt(4) != '0') {
            expected += String.format("%04x", cause.ulpduLength()) + header;
        }
        if (control.charAt(4) == 'e') {
            expected += READ_HEADER;
        }
        assertThat(HexFormat.of().formatHex(ulpdu))
                .isEqualTo(HexFormat.of().formatHex(hex(expected)));
        // RFC 5040, 4.8: no other lengths are possible.
        assertThat(ulpdu.length).isIn(22, 38, 42, 70);
        // Our own layout is understood here, whenever it comes.
        Terminate decoded =
                Terminate.decode(
                        ByteBuffer.wrap(ulpdu),
                        18,
                        ulpdu.length - 18,
                        error.layer() == StreamError.LAYER_LLP);
        assertThat(decoded)
                .isEqualTo(
                        new Terminate(
                                error.layer(),
                                error.type(),
                                error.code(),
                                control.charAt(4) == '0' ? -1 : hex(header)[1] & 0x0f));
    }

    /** What has no flags can be of either layout; see the order of bits that soft-iWARP uses. */
    @ParameterizedTest(name = "{0}, starting {1}")
    @CsvSource({
        "02020000, false, 2, 0, 2",
        "02030000, false, 2, 0, 3",
        "02040000, true, 2, 0, 4",
        "02060000, true, 2, 0, 6",
        "02060000, false, 0, 2, 6",
        "02070000, true, 2, 0, 7",
        "02070000, false, 0, 2, 7",
        "02090000, false, 0, 2, 9",
        "20020000, false, 2, 0, 2",
        "20050000, true, 2, 0, 5",
        "20050000, false, 0, 2, 5",
        "20060000, false, 0, 2, 6",
        "21030000, false, 1, 2, 3",
        "12030000, false, 1, 2, 3",
        "11000000, false, 1, 1, 0",
        "11000300, false, 1, 1, 0",
        "21030300, false, 1, 2, 3",
        "10010700, false, 0, 1, 1",
        "1001e000, false, 1, 0, 1",
        "23020000, false, 2, 3, 2",
        "00ff0000, false, 0, 0, 255",
    })
    void isDecodedInBothLayouts(String control, boolean starting, int layer, int type, int code) {
        Terminate terminate = Terminate.decode(ByteBuffer.wrap(hex(control)), 0, 4, starting);
        assertThat(terminate).isEqualTo(new Terminate(layer, type, code, -1));
    }

    /** Nothing that can come makes decoding fail, or read behind its bytes. */
    @ParameterizedTest
    @CsvSource({"00ff0000", "1100c000", "11000300", "0100e000", "ffffffff"})
    void anyLengthIsDecoded(String control) {
        byte[] whole = hex(control, "002e", READ, READ_HEADER);
        for (int length = 0; length <= whole.length; length++) {
            Terminate terminate =
                    Terminate.decode(
                            ByteBuffer.wrap(Arrays.copyOf(whole, length)), 0, length, false);
            assertThat(terminate.layer() == 0x0f && terminate.type() == 0x0f)
                    .isEqualTo(length < 4 || control.startsWith("ff"));
            assertThat(terminate.describe()).isNotEmpty();
        }
    }
}
