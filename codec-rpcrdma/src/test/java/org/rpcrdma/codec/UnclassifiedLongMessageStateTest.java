// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.rpcrdma.codec.UnclassifiedLongMessageState.Memory;
import org.rpcrdma.codec.UnclassifiedLongMessageState.State;
import org.rpcrdma.codec.wire.OncRpcHeaderDecoder;

/** The states of a long message whose kind only its payload tells, without a connection. */
class UnclassifiedLongMessageStateTest {

    private final UnclassifiedLongMessageState message =
            new UnclassifiedLongMessageState().begin(null);

    private void pull() {
        message.headerChecked(true, false);
        message.memoryAsked(Memory.TAKEN, false);
    }

    @ParameterizedTest
    @CsvSource({
        "true, false, RECEIVED",
        "true, true, RECEIVED",
        "false, false, REFUSED",
        "false, true, REPLY"
    })
    void aBadHeaderIsThatOfACallUnlessAReplyIsAwaited(
            boolean isValid, boolean isAwaited, State next) {
        assertThat(message.headerChecked(isValid, isAwaited)).isEqualTo(next);
        assertThat(message.state()).isEqualTo(next);
    }

    @ParameterizedTest
    @CsvSource({
        "TAKEN, false, PULLING",
        "TAKEN, true, PULLING",
        "LATER, false, WAITING",
        "LATER, true, WAITING",
        "NONE, false, REFUSED",
        "NONE, true, REPLY"
    })
    void memoryDecidesAtFirstAndAfterEachWait(Memory memory, boolean isAwaited, State next) {
        message.headerChecked(true, isAwaited);
        for (int waits = 0; waits < 3; waits++) {
            assertThat(message.memoryAsked(Memory.LATER, isAwaited)).isEqualTo(State.WAITING);
        }
        assertThat(message.memoryAsked(memory, isAwaited)).isEqualTo(next);
        message.begin(null).headerChecked(true, isAwaited);
        assertThat(message.memoryAsked(memory, isAwaited)).isEqualTo(next);
    }

    /** What is neither is left to the check of calls, which answers it. */
    @ParameterizedTest
    @CsvSource({"0, CALL", "1, REPLY", "2, CALL"})
    void thePayloadTells(int messageType, State next) {
        pull();
        assertThat(message.pulled(true, messageType)).isEqualTo(next);
    }

    @Test
    void whatCannotBeReadIsLost() {
        pull();
        assertThat(message.pulled(false, OncRpcHeaderDecoder.REPLY)).isEqualTo(State.LOST);
    }

    private static final List<Function<UnclassifiedLongMessageState, State>> EVENTS =
            Stream.of(true, false)
                    .flatMap(
                            is ->
                                    Stream.<Function<UnclassifiedLongMessageState, State>>of(
                                            m -> m.headerChecked(is, true),
                                            m -> m.memoryAsked(Memory.TAKEN, is),
                                            m -> m.memoryAsked(Memory.LATER, is),
                                            m -> m.memoryAsked(Memory.NONE, is),
                                            m -> m.pulled(is, OncRpcHeaderDecoder.CALL),
                                            m -> m.pulled(is, OncRpcHeaderDecoder.REPLY)))
                    .toList();

    /** A message in that state. */
    private static UnclassifiedLongMessageState in(State state) {
        UnclassifiedLongMessageState message = new UnclassifiedLongMessageState().begin(null);
        switch (state) {
            case RECEIVED -> {}
            case WAITING -> message.memoryAsked(Memory.LATER, false);
            case PULLING -> message.memoryAsked(Memory.TAKEN, false);
            case REFUSED -> message.memoryAsked(Memory.NONE, false);
            case REPLY -> message.memoryAsked(Memory.NONE, true);
            case CALL, LOST -> {
                message.memoryAsked(Memory.TAKEN, false);
                message.pulled(state == State.CALL, OncRpcHeaderDecoder.CALL);
            }
        }
        assertThat(message.state()).isEqualTo(state);
        return message;
    }

    /** All events in all states: either one of the edges that are drawn, or nothing has changed. */
    @ParameterizedTest
    @EnumSource
    void thereAreNoOtherEdges(State from) {
        Map<State, Set<State>> edges =
                Map.of(
                        State.RECEIVED,
                        EnumSet.of(
                                State.RECEIVED,
                                State.PULLING,
                                State.WAITING,
                                State.REPLY,
                                State.REFUSED),
                        State.WAITING,
                        EnumSet.of(State.PULLING, State.WAITING, State.REPLY, State.REFUSED),
                        State.PULLING,
                        EnumSet.of(State.CALL, State.REPLY, State.LOST));
        List<State> reached = new ArrayList<>();
        for (Function<UnclassifiedLongMessageState, State> event : EVENTS) {
            UnclassifiedLongMessageState message = in(from);
            try {
                reached.add(event.apply(message));
            } catch (IllegalStateException impossible) {
                assertThat(message.state()).isEqualTo(from);
            }
        }
        assertThat(Set.copyOf(reached)).isEqualTo(edges.getOrDefault(from, Set.of()));
    }

    @Test
    void anUnexpectedEventNamesTheState() {
        assertThatIllegalStateException()
                .isThrownBy(() -> message.pulled(true, OncRpcHeaderDecoder.CALL))
                .withMessageContaining("RECEIVED");
    }
}
