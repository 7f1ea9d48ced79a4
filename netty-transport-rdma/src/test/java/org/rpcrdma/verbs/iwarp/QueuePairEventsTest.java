// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.rpcrdma.verbs.QueuePairHandler;
import org.rpcrdma.verbs.WorkStatus;
import org.rpcrdma.verbs.iwarp.rdmap.RdmapOpcodes;
import org.rpcrdma.verbs.iwarp.rdmap.ReceiveQueue;
import org.rpcrdma.verbs.iwarp.rdmap.SendQueue;

/** What one handler throws is its queue pair's alone; the end of a connection is told without memory. */
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
        public void connectFailed(Throwable cause) {
            heard.add(cause);
        }

        @Override
        public void completed(long id, WorkStatus status, int length, int invalidatedKey) {
            heard.add(id);
            if (failure != null) {
                throw failure;
            }
        }

        @Override
        public void disconnected(Throwable cause) {
            heard.add(cause);
        }
    }

    /** A queue that finds no memory for longer arrays. */
    private static final class FullQueue extends PolledEventQueue {
        @Override
        void grow() {
            throw new OutOfMemoryError("no heap");
        }
    }

    private static final int SLOTS = 256;

    private final IOException end = new IOException("of the test");
    private final List<Object> told = new ArrayList<>();
    private final ReceiveQueue receives = new ReceiveQueue(1000);
    private SendQueue sends;
    private QueuePairEvents events;

    private QueuePairEvents events(PolledEventQueue queue, Runnable flush) {
        QueuePairEvents made =
                new QueuePairEvents(queue, new Handler(told, null), told::add, flush);
        made.open();
        return made;
    }

    private static void fill(QueuePairEvents events) {
        assertThatThrownBy(
                        () -> {
                            for (int i = 0; i <= SLOTS; i++) {
                                events.complete(i, WorkStatus.SUCCESS, 0, 0);
                            }
                        })
                .isInstanceOf(OutOfMemoryError.class);
    }

    private static void deliverAll(PolledEventQueue queue) {
        for (int i = 0; i < 100 && queue.size() > 0; i++) {
            queue.deliver(64);
        }
        assertThat(queue.size()).isZero();
    }

    /** As when another connection has taken all the room. */
    @Test
    void theEndIsToldWhereTheQueueIsFullAndCannotGrow() {
        PolledEventQueue queue = new FullQueue();
        QueuePairEvents other = events(queue, () -> {});
        QueuePairEvents ending = events(queue, () -> {});
        fill(other);
        ending.disconnected(end);
        other.disconnected(end);
        deliverAll(queue);
        assertThat(told).hasSize(SLOTS);
        assertThat(told.subList(SLOTS - 2, SLOTS)).containsExactly(end, end);
    }

    @Test
    void aFailureToConnectIsToldWhereTheQueueIsFull() {
        PolledEventQueue queue = new FullQueue();
        QueuePairEvents failing = events(queue, () -> {});
        fill(failing);
        failing.connectFailed(end);
        failing.disconnected(end);
        deliverAll(queue);
        assertThat(told).hasSize(SLOTS).endsWith(end);
        assertThat(told.indexOf(end)).isEqualTo(SLOTS - 1);
    }

    /** More work is left than the queue has room for: all of it completes, once and in order, then the end comes. */
    @Test
    void theEndIsToldBehindAllWorkWhereTheQueueCannotGrow() {
        int posted = 2 * SLOTS;
        PolledEventQueue queue = new FullQueue();
        events =
                events(
                        queue,
                        () -> {
                            sends.flush(WorkStatus.FLUSHED, WorkStatus.FLUSHED);
                            receives.flush(events, WorkStatus.FLUSHED);
                        });
        sends = new SendQueue(posted, events);
        for (int id = 0; id < posted; id++) {
            sends.open(id, RdmapOpcodes.SEND, 0, 0, 0);
            receives.post(posted + id, 1000, 8, 5);
        }
        sends.post();
        events.disconnected(end);
        deliverAll(queue);
        List<Object> expected = new ArrayList<>(LongStream.range(0, 2L * posted).boxed().toList());
        expected.add(end);
        assertThat(told).isEqualTo(expected);
    }

    /** The places of queue pairs that are closed are others' again, and half of all are left for completions. */
    @Test
    void aClosedQueuePairGivesItsPlaceUp() {
        PolledEventQueue queue = new FullQueue();
        for (int i = 0; i < 2 * SLOTS; i++) {
            QueuePairEvents closed = events(queue, () -> {});
            if (i % 2 == 0) {
                closed.disconnected(end);
            }
            closed.close();
            closed.close();
            deliverAll(queue);
        }
        QueuePairEvents last = null;
        for (int i = 0; i < SLOTS / 2; i++) {
            last = events(queue, () -> {});
        }
        assertThatThrownBy(() -> events(queue, () -> {})).isInstanceOf(OutOfMemoryError.class);
        for (int i = 0; i < SLOTS / 2; i++) {
            last.complete(i, WorkStatus.SUCCESS, 0, 0);
        }
        last.disconnected(end);
        deliverAll(queue);
        assertThat(told).hasSize(SLOTS / 2 + 1).endsWith(end);
    }

    @ParameterizedTest
    @MethodSource("errors")
    void anErrorIsToldAndCostsNoOtherEvent(Error error) {
        List<Object> heard = new ArrayList<>();
        PolledEventQueue queue = new PolledEventQueue();
        QueuePairEvents failing =
                new QueuePairEvents(queue, new Handler(heard, error), heard::add, () -> {});
        QueuePairEvents other =
                new QueuePairEvents(queue, new Handler(heard, null), heard::add, () -> {});
        failing.complete(1, WorkStatus.SUCCESS, 0, 0);
        other.complete(2, WorkStatus.SUCCESS, 0, 0);
        assertThat(queue.deliver(8)).isEqualTo(2);
        assertThat(heard).containsExactly(1L, error, 2L);
    }
}
