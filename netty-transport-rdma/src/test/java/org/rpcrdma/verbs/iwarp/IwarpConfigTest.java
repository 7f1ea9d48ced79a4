// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Path;
import java.time.Duration;
import java.util.Set;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.rpcrdma.verbs.iwarp.mpa.CrcPolicy;
import org.rpcrdma.verbs.iwarp.mpa.Rtr;

class IwarpConfigTest {

    private static Arguments mistake(String message, UnaryOperator<IwarpConfig.Builder> setting) {
        return Arguments.of(message, setting);
    }

    static Stream<Arguments> mistakes() {
        return Stream.of(
                mistake("mpaRevision is 0, expected 1 to 2", b -> b.mpaRevision(0)),
                mistake("mpaRevision is 3, expected 1 to 2", b -> b.mpaRevision(3)),
                mistake("maxUlpdu is 127, expected 128 to 64768", b -> b.maxUlpdu(127)),
                mistake("maxUlpdu is 64769, expected 128 to 64768", b -> b.maxUlpdu(64_769)),
                mistake("maxPrivateData is 513, expected 0 to 512", b -> b.maxPrivateData(513)),
                mistake("maxPrivateData is -1, expected 0 to 512", b -> b.maxPrivateData(-1)),
                mistake(
                        "readyToReceive is empty, expected at least one message; for none use"
                                + " peerToPeer(false)",
                        b -> b.readyToReceive(Set.of())),
                mistake(
                        "responderTimeout is PT0S, expected more than 0 and at most a day",
                        b -> b.responderTimeout(Duration.ZERO)),
                mistake(
                        "initiatorTimeout is PT-1S, expected more than 0 and at most a day",
                        b -> b.initiatorTimeout(Duration.ofSeconds(-1))),
                mistake(
                        "drainTimeout is PT48H, expected more than 0 and at most a day",
                        b -> b.drainTimeout(Duration.ofDays(2))),
                mistake(
                        "wakeAfter is PT-1S, expected more than 0 and at most a day",
                        b -> b.wakeAfter(Duration.ofSeconds(-1))),
                mistake(
                        "frameTimeout is PT48H, expected more than 0 and at most a day",
                        b -> b.frameTimeout(Duration.ofDays(2))),
                mistake(
                        "messageTimeout is PT-1S, expected more than 0 and at most a day",
                        b -> b.messageTimeout(Duration.ofSeconds(-1))),
                mistake("maxHalfOpen is 0, expected 1 to 65536", b -> b.maxHalfOpen(0)),
                mistake("maxExposures is 0, expected 1 to 8388608", b -> b.maxExposures(0)),
                mistake("socketBuffer is -1, expected 0 to 2147483647", b -> b.socketBuffer(-1)),
                mistake(
                        "sharedRingBytes is 2048, expected 4096 to 16777216",
                        b -> b.sharedRingBytes(2048)),
                mistake(
                        "sharedRingBytes is 5000, expected a power of two",
                        b -> b.sharedRingBytes(5000)));
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("mistakes")
    void aMistakeGetsASentence(String message, UnaryOperator<IwarpConfig.Builder> setting) {
        assertThatThrownBy(() -> setting.apply(IwarpConfig.builder()))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage(message);
    }

    @Test
    void toBuilderKeepsEverySetting() {
        IwarpConfig config =
                IwarpConfig.builder()
                        .mpaRevision(1)
                        .crc(CrcPolicy.REQUIRE)
                        .markers(true)
                        .maxUlpdu(1442)
                        .peerToPeer(false)
                        .readyToReceive(Set.of(Rtr.ZERO_LENGTH_SEND))
                        .maxPrivateData(100)
                        .responderTimeout(Duration.ofSeconds(11))
                        .initiatorTimeout(Duration.ofSeconds(12))
                        .drainTimeout(Duration.ofSeconds(13))
                        .wakeAfter(Duration.ofSeconds(17))
                        .frameTimeout(Duration.ofSeconds(18))
                        .messageTimeout(Duration.ofSeconds(19))
                        .maxHalfOpen(14)
                        .maxExposures(15)
                        .socketBuffer(16)
                        .sharedMemory(true)
                        .sharedRingBytes(1 << 20)
                        .sharedDirectory(Path.of("elsewhere"))
                        .build();
        assertThat(config).usingRecursiveComparison().isNotEqualTo(IwarpConfig.defaults());
        IwarpConfig copy = config.toBuilder().build();
        assertThat(copy).usingRecursiveComparison().isEqualTo(config);
        assertThat(copy.mpaRevision()).isEqualTo(1);
        assertThat(copy.crc()).isEqualTo(CrcPolicy.REQUIRE);
        assertThat(copy.markers()).isTrue();
        assertThat(copy.maxUlpdu()).isEqualTo(1442);
        assertThat(copy.peerToPeer()).isFalse();
        assertThat(copy.readyToReceive()).containsExactly(Rtr.ZERO_LENGTH_SEND);
        assertThat(copy.maxPrivateData()).isEqualTo(100);
        assertThat(copy.responderTimeout()).isEqualTo(Duration.ofSeconds(11));
        assertThat(copy.initiatorTimeout()).isEqualTo(Duration.ofSeconds(12));
        assertThat(copy.drainTimeout()).isEqualTo(Duration.ofSeconds(13));
        assertThat(copy.wakeAfter()).isEqualTo(Duration.ofSeconds(17));
        assertThat(copy.frameTimeout()).isEqualTo(Duration.ofSeconds(18));
        assertThat(copy.messageTimeout()).isEqualTo(Duration.ofSeconds(19));
        assertThat(copy.maxHalfOpen()).isEqualTo(14);
        assertThat(copy.maxExposures()).isEqualTo(15);
        assertThat(copy.socketBuffer()).isEqualTo(16);
        assertThat(copy.sharedMemory()).isTrue();
        assertThat(copy.sharedRingBytes()).isEqualTo(1 << 20);
        assertThat(copy.sharedDirectory()).isEqualTo(Path.of("elsewhere"));
    }

    /** A capture shows nothing of what goes through memory, so it is asked for. */
    @Test
    void sharedMemoryIsOffUnlessAPropertySaysSo() {
        assertThat(IwarpConfig.defaults().sharedMemory())
                .isEqualTo(Boolean.getBoolean("org.rpcrdma.iwarp.sharedMemory"));
    }

    /** What soft-iWARP is used to: it asks for nothing that soft-iWARP refuses. */
    @Test
    void defaultsSuitSoftIwarp() {
        IwarpConfig defaults = IwarpConfig.defaults();
        assertThat(defaults.mpaRevision()).isEqualTo(2);
        assertThat(defaults.crc()).isEqualTo(CrcPolicy.ACCEPT);
        assertThat(defaults.markers()).isFalse();
        assertThat(defaults.peerToPeer()).isTrue();
        assertThat(defaults.maxPrivateData()).isEqualTo(251);
    }
}
