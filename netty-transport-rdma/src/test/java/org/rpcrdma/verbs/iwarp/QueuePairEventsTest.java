// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.rpcrdma.verbs.QueuePairHandler;
import org.rpcrdma.verbs.WorkStatus;

/** What one handler throws is its queue pair's alone. */
class QueuePairEventsTest {

    static List<Error> errors() {
        return List.of(
                new OutOfMemoryError("no heap"),
                new StackOverflowError("no stack"),
                new LinkageError("no class"));
    }

    private record Handler(List<Object> heard, Error failure) implements QueuePairHandler {

        @Override
        public void connected(byte[] privateData) {}

        @Override
        public void connectFailed(Throwable cause) {}

        @Override
        public void completed(long id, WorkStatus status, int length, int invalidatedKey) {
            heard.add(id);
            if (failure != null) {
                throw failure;
            }
        }

        @Override
        public void disconnected(Throwable cause) {}
    }

    @ParameterizedTest
    @MethodSource("errors")
    void anErrorIsToldAndCostsNoOtherEvent(Error error) {
        List<Object> heard = new ArrayList<>();
        PolledEventQueue queue = new PolledEventQueue();
        QueuePairEvents failing = new QueuePairEvents(queue, new Handler(heard, error), heard::add);
        QueuePairEvents other = new QueuePairEvents(queue, new Handler(heard, null), heard::add);
        failing.complete(1, WorkStatus.SUCCESS, 0, 0);
        other.complete(2, WorkStatus.SUCCESS, 0, 0);
        assertThat(queue.deliver(8)).isEqualTo(2);
        assertThat(heard).containsExactly(1L, error, 2L);
    }
}
