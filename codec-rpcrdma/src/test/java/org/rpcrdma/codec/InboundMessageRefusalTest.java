// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** What follows from each refusal on the side that refuses, whoever answers. */
class InboundMessageRefusalTest {

    static Stream<Arguments> refusals() {
        return Stream.of(
                Arguments.of(
                        InboundMessageRefusal.drop(RpcRdmaCounter.DROPPED_SHORT, "short"),
                        List.of(RpcRdmaCounter.DROPPED_SHORT)),
                Arguments.of(
                        InboundMessageRefusal.unsupportedVersion(7),
                        List.of(RpcRdmaCounter.VERSION_ERRORS_SENT)),
                Arguments.of(
                        InboundMessageRefusal.chunkError("bad"),
                        List.of(RpcRdmaCounter.CHUNK_ERRORS_SENT)),
                Arguments.of(
                        InboundMessageRefusal.chunkError(RpcRdmaCounter.FATAL_XIDS_REFUSED, "bad"),
                        List.of(
                                RpcRdmaCounter.CHUNK_ERRORS_SENT,
                                RpcRdmaCounter.FATAL_XIDS_REFUSED)),
                Arguments.of(
                        InboundMessageRefusal.replyTooLong("long"),
                        List.of(RpcRdmaCounter.CHUNK_ERRORS_SENT)),
                Arguments.of(
                        InboundMessageRefusal.unknownOption(7),
                        List.of(RpcRdmaCounter.OPTION_ERRORS_SENT)),
                Arguments.of(
                        InboundMessageRefusal.garbageArguments("bad"),
                        List.of(RpcRdmaCounter.GARBAGE_ARGS_SENT)),
                Arguments.of(
                        InboundMessageRefusal.systemError(new IllegalStateException("bad")),
                        List.of(RpcRdmaCounter.SYSTEM_ERRORS_SENT)),
                Arguments.of(
                        InboundMessageRefusal.badReply(new ReplyPullException("bad")),
                        List.of(RpcRdmaCounter.BAD_REPLIES)),
                Arguments.of(
                        InboundMessageRefusal.close(RpcRdmaCounter.CREDIT_OVERRUNS, "bad"),
                        List.of(RpcRdmaCounter.CREDIT_OVERRUNS)));
    }

    /** Without those of the end of the connection, which comes when it comes. */
    private static List<RpcRdmaCounter> counted(RpcRdmaConnection connection) {
        List<RpcRdmaCounter> counted = new ArrayList<>();
        for (RpcRdmaCounter counter : RpcRdmaCounter.values()) {
            boolean isOfEnd = counter.name().startsWith("CONNECTIONS_");
            for (long i = isOfEnd ? 0 : connection.value(counter); i > 0; i--) {
                counted.add(counter);
            }
        }
        return counted;
    }

    @ParameterizedTest
    @MethodSource("refusals")
    void aRefusalIsCountedOnceAndOnlyOneKindCloses(
            InboundMessageRefusal refusal, List<RpcRdmaCounter> expected) throws Exception {
        try (RpcPair pair = RpcPair.of(RpcRdmaConfig.defaults(), RpcRdmaConfig.defaults())) {
            RpcRdmaConnection connection = pair.serverConnection();
            List<RpcRdmaCounter> before = counted(connection);
            RpcPair.on(
                    pair.serverChannel,
                    () -> {
                        connection.link().report(7, refusal);
                        return null;
                    });
            boolean isClosing = refusal.answer() == InboundMessageRefusal.Answer.CLOSE;
            if (isClosing) {
                assertThat(
                                pair.serverChannel
                                        .closeFuture()
                                        .await(RpcPair.PATIENCE_SECONDS, TimeUnit.SECONDS))
                        .isTrue();
            }
            assertThat(pair.serverChannel.isActive()).isEqualTo(!isClosing);
            List<RpcRdmaCounter> after = counted(connection);
            before.forEach(after::remove);
            assertThat(after).containsExactlyInAnyOrderElementsOf(expected);
        }
    }
}
