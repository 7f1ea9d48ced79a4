// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.rpcrdma.verbs.WorkStatus;

class PolledEventQueueTest {

    private static final List<WorkStatus> STATUSES = List.of(WorkStatus.values());

    /** All of an event stays together, wherever the oldest one is when the ring grows. */
    @ParameterizedTest
    @ValueSource(ints = {0, 1, 100, 255, 256})
    void growthKeepsTheEventsAndTheirOrder(int delivered) {
        PolledEventQueue queue = new PolledEventQueue();
        List<String> heard = new ArrayList<>();
        List<String> expected = new ArrayList<>();
        for (int i = 0; i < delivered; i++) {
            add(queue, heard, expected, i);
        }
        assertThat(queue.deliver(delivered)).isEqualTo(delivered);
        for (int i = delivered; i < delivered + 600; i++) {
            add(queue, heard, expected, i);
        }
        assertThat(queue.deliver(1000)).isEqualTo(600);
        assertThat(heard).isEqualTo(expected);
        assertThat(queue.size()).isZero();
    }

    /** A queue that keeps places grows before it is full. */
    @Test
    void growthInBetweenKeepsTheEvents() {
        PolledEventQueue queue = new PolledEventQueue();
        List<String> heard = new ArrayList<>();
        List<String> expected = new ArrayList<>();
        for (int i = 0; i < 100; i++) {
            add(queue, heard, expected, i);
        }
        assertThat(queue.deliver(90)).isEqualTo(90);
        for (int i = 0; i < 1000; i++) {
            queue.keepPlace();
        }
        for (int i = 100; i < 2000; i++) {
            add(queue, heard, expected, i);
        }
        assertThat(queue.deliver(5000)).isEqualTo(1910);
        assertThat(heard).isEqualTo(expected);
        assertThat(queue.size()).isZero();
    }

    private static void add(
            PolledEventQueue queue, List<String> heard, List<String> expected, int i) {
        DequeuedEventHandler target =
                (kind, argument, id, length, key) ->
                        heard.add(i + " " + kind + argument + id + " " + length + " " + key);
        WorkStatus status = STATUSES.get(i % STATUSES.size());
        queue.add(target, DequeuedEventHandler.Kind.COMPLETED, status, i, i + 1, i + 2);
        expected.add(i + " COMPLETED" + status + i + " " + (i + 1) + " " + (i + 2));
    }
}
