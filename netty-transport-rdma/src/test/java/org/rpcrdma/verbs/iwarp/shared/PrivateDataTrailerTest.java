// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp.shared;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.UUID;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What stands behind the private data, and that users never see it. */
class PrivateDataTrailerTest {

    private static final UUID FILE = new UUID(0x0102030405060708L, 0x090a0b0c0d0e0f10L);
    private static final UUID NONCE = new UUID(0x1112131415161718L, 0x191a1b1c1d1e1f20L);
    private static final byte[] DATA = {1, 2, 3};

    private static final String OFFER =
            "0102030405060708090a0b0c0d0e0f10" // file
                    + "1112131415161718191a1b1c1d1e1f20" // nonce
                    + "0000000000001234" // process
                    + "00000000000000000000ffff7f000001" // address
                    + "00040000" // bytes of a ring
                    + "cafe 0000" // port
                    + "02 01 004c d37270637368 6d0a"; // version, kind, length, magic number

    private static final String ANSWER =
            "1112131415161718191a1b1c1d1e1f20" // nonce
                    + "02 02 001c d37270637368 6d0a";

    private static byte[] hex(String text) {
        return HexFormat.of().parseHex(text.replace(" ", ""));
    }

    private static byte[] behind(byte[] data, byte[] trailer) {
        byte[] both = Arrays.copyOf(data, data.length + trailer.length);
        System.arraycopy(trailer, 0, both, data.length, trailer.length);
        return both;
    }

    private static SharedMemoryOffer offer(String address) throws UnknownHostException {
        return new SharedMemoryOffer(
                new InetSocketAddress(InetAddress.getByName(address), 0xcafe),
                0x1234,
                FILE,
                NONCE,
                1 << 18);
    }

    @Test
    void anOfferIsThese76Bytes() throws UnknownHostException {
        byte[] sent = offer("127.0.0.1").appendTo(DATA);
        assertThat(HexFormat.of().formatHex(sent))
                .isEqualTo(HexFormat.of().formatHex(behind(DATA, hex(OFFER))));
        assertThat(sent).hasSize(DATA.length + SharedMemoryOffer.BYTES);
    }

    @Test
    void anAnswerIsThese28Bytes() {
        byte[] sent = new SharedMemoryMappedAnswer(NONCE).appendTo(DATA);
        assertThat(HexFormat.of().formatHex(sent))
                .isEqualTo(HexFormat.of().formatHex(behind(DATA, hex(ANSWER))));
        assertThat(sent).hasSize(DATA.length + SharedMemoryMappedAnswer.BYTES);
    }

    @ParameterizedTest
    @ValueSource(strings = {"127.0.0.1", "::1", "10.1.2.3", "2001:db8::5"})
    void theyAreFoundBehindPrivateDataAndTakenOff(String address) throws UnknownHostException {
        SharedMemoryOffer offer = offer(address);
        for (byte[] data : new byte[][] {{}, DATA, new byte[400]}) {
            byte[] sent = offer.appendTo(data);
            assertThat(SharedMemoryOffer.of(sent)).isEqualTo(offer);
            assertThat(SharedMemoryMappedAnswer.of(sent)).isNull();
            assertThat(PrivateDataTrailer.cutOff(sent)).isEqualTo(data);
            byte[] answered = new SharedMemoryMappedAnswer(NONCE).appendTo(data);
            assertThat(SharedMemoryMappedAnswer.of(answered))
                    .isEqualTo(new SharedMemoryMappedAnswer(NONCE));
            assertThat(SharedMemoryOffer.of(answered)).isNull();
            assertThat(PrivateDataTrailer.cutOff(answered)).isEqualTo(data);
        }
    }

    static Stream<Arguments> others() {
        return Stream.of(
                Arguments.of("another version", OFFER.replace("02 01 004c", "01 01 004c")),
                Arguments.of("another kind", OFFER.replace("02 01 004c", "02 03 004c")),
                Arguments.of("a longer one", "00" + OFFER.replace("004c", "004d")),
                Arguments.of("not a power of two", OFFER.replace("00040000", "00040001")),
                Arguments.of("no ring", OFFER.replace("00040000", "00000000")),
                Arguments.of("a small ring", OFFER.replace("00040000", "00000800")),
                Arguments.of("a large ring", OFFER.replace("00040000", "02000000")),
                Arguments.of("a negative ring", OFFER.replace("00040000", "80000000")),
                Arguments.of(
                        "a negative process",
                        OFFER.replace("0000000000001234", "f000000000001234")));
    }

    /** Of what another release sends, users shall not see anything either. */
    @ParameterizedTest(name = "{0}")
    @MethodSource("others")
    void whatCannotBeTakenIsTakenOffAllTheSame(String name, String trailer) {
        byte[] sent = behind(DATA, hex(trailer));
        assertThat(SharedMemoryOffer.of(sent)).isNull();
        assertThat(SharedMemoryMappedAnswer.of(sent)).isNull();
        assertThat(PrivateDataTrailer.cutOff(sent)).isEqualTo(DATA);
    }

    static Stream<Arguments> nothing() {
        return Stream.of(
                Arguments.of("nothing", ""),
                Arguments.of("the magic number alone", "d372706373686d0a"),
                Arguments.of("another magic number", OFFER.replace("6d0a", "6d0b")),
                Arguments.of("something behind", OFFER + "00"),
                Arguments.of("longer than all", OFFER.replace("004c", "004d")),
                Arguments.of("shorter than its footer", OFFER.replace("004c", "000b")),
                Arguments.of("a negative length", OFFER.replace("004c", "ff00")));
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("nothing")
    void otherDataAreTheUsersOwn(String name, String data) {
        assertThat(SharedMemoryOffer.of(hex(data))).isNull();
        assertThat(SharedMemoryMappedAnswer.of(hex(data))).isNull();
        assertThat(PrivateDataTrailer.cutOff(hex(data))).isEqualTo(hex(data));
    }
}
