// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.conformance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.rpcrdma.verbs.QueuePair.REMOTE_WRITE;
import static org.rpcrdma.verbs.QueuePair.SIGNALED;

import java.io.IOException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.rpcrdma.verbs.VerbsProvider;
import org.rpcrdma.verbs.WorkStatus;
import org.rpcrdma.verbs.disni.software.SoftwareRdmaProvider;
import org.rpcrdma.verbs.ffm.SoftwareFfmProvider;

/** Keys that are used again and again, by whatever the device has for them: registrations or memory windows. */
class ExposureTest {

    /** The low eight bits of a window's key begin again. */
    private static final int ROUNDS = 600;

    private static final int LAST_ROUNDS = 60;

    private static final int PIECE = 100;

    static Stream<VerbsProvider> providers() {
        return ProviderConformanceTest.providers();
    }

    @AfterEach
    void nothingWasDoneThatALibraryDoesNotForgive() {
        assertThat(SoftwareRdmaProvider.install().problems()).isEmpty();
        assertThat(SoftwareFfmProvider.problems()).isEmpty();
    }

    /** The ways in which an exposure ends. */
    private enum Way {
        BY_THE_PEER,
        WHILE_IDLE,
        BEHIND_A_SEND;

        /** What ends behind a Send may not be used again. */
        static Way of(int round) {
            return values()[round % (round < ROUNDS - LAST_ROUNDS ? 2 : 3)];
        }
    }

    private static void write(Ends ends, int key, long id, int from) {
        write(ends, key, ends.passive.queuePair.exposedOffset(key), id, from);
    }

    private static void write(Ends ends, int key, long offset, long id, int from) {
        ends.active.queuePair.write(id, SIGNALED, offset, key);
        ends.active.gather(from, PIECE);
    }

    @ParameterizedTest
    @MethodSource("providers")
    void aKeyEndsInAnyWay(VerbsProvider provider) throws IOException {
        try (Ends ends = Ends.connected(provider)) {
            boolean mayPeer = ends.passiveContext.capabilities().remoteInvalidation();
            int before = 0;
            long offset = 0;
            for (int round = 0; round < ROUNDS; round++) {
                Way way = Way.of(round);
                ends.active.heard.clear();
                ends.passive.heard.clear();
                int key = ends.passive.expose(0, PIECE, REMOTE_WRITE);
                assertThat(key).isNotEqualTo(before);
                before = key;
                offset = ends.passive.queuePair.exposedOffset(key);
                ends.passive.receive(1, 1000, 10);
                ends.passiveContext.poll(1);
                ends.active.put(2000, (byte) round, (byte) ~round);
                write(ends, key, 2, 2000);
                if (way == Way.BY_THE_PEER && mayPeer) {
                    ends.active.queuePair.sendWithInvalidate(3, SIGNALED, key);
                } else {
                    ends.active.queuePair.send(3, SIGNALED);
                }
                ends.active.queuePair.doorbell();
                ends.until(() -> ends.passive.isComplete(1) && ends.active.isComplete(3));
                assertThat(ends.passive.get(0, 2)).containsExactly(round, ~round);
                assertThat(ends.passive.queuePair.isExposed(key))
                        .isEqualTo(way != Way.BY_THE_PEER || !mayPeer);
                if (way == Way.BEHIND_A_SEND) {
                    ends.active.receive(4, 3000, 10);
                    ends.activeContext.poll(1);
                    ends.passive.queuePair.send(5, SIGNALED);
                    ends.passive.queuePair.doorbell();
                    ends.passive.queuePair.invalidate(key);
                    ends.until(() -> ends.active.isComplete(4) && ends.passive.isComplete(5));
                } else {
                    ends.passive.queuePair.invalidate(key);
                }
                assertThat(ends.passive.queuePair.isExposed(key)).isFalse();
            }
            assertThat(ends.passive.hasEnded).isFalse();
            // The last one is over for the peer too.
            write(ends, before, offset, 9, 2000);
            ends.active.queuePair.doorbell();
            ends.until(() -> ends.active.hasEnded || ends.passive.hasEnded);
        }
    }

    @ParameterizedTest
    @MethodSource("providers")
    void manyRangesAreExposedAtATime(VerbsProvider provider) throws IOException {
        try (Ends ends = Ends.connected(provider)) {
            int count = Ends.SIZE.sendDepth();
            Set<Integer> keys = new HashSet<>();
            List<Integer> inOrder = new ArrayList<>();
            for (int i = 0; i < count; i++) {
                int key = ends.passive.expose(i * PIECE, PIECE, REMOTE_WRITE);
                keys.add(key);
                inOrder.add(key);
            }
            assertThat(keys).hasSize(count);
            for (int i = 0; i < count; i++) {
                ends.active.put(8000 + i * PIECE, (byte) (i + 1));
                write(ends, inOrder.get(i), i, 8000 + i * PIECE);
            }
            ends.active.queuePair.doorbell();
            ends.until(() -> ends.active.completions().size() == count);
            assertThat(ends.active.completions())
                    .extracting(End.Completion::status)
                    .containsOnly(WorkStatus.SUCCESS);
            for (int i = 0; i < count; i++) {
                int at = i * PIECE;
                byte expected = (byte) (i + 1);
                ends.until(() -> ends.passive.get(at, 1)[0] == expected);
            }
            ends.passive.region.deregister();
            for (int key : keys) {
                assertThat(ends.passive.queuePair.isExposed(key)).isFalse();
            }
        }
    }

    /** Each piece of what is written gets memory of its own, however large the Writes are. */
    @ParameterizedTest
    @MethodSource("providers")
    void aRangeWithoutMemoryGetsItAsBytesArrive(VerbsProvider provider) throws IOException {
        try (Ends ends = Ends.connected(provider)) {
            if (!ends.passiveContext.capabilities().exposesWithoutMemory()) {
                assertThatThrownBy(() -> ends.passive.queuePair.expose(PIECE))
                        .isInstanceOf(UnsupportedOperationException.class);
                return;
            }
            ends.active.put(2000, (byte) 1, (byte) 2, (byte) 3, (byte) 4);
            int key = ends.passive.queuePair.expose(PIECE);
            long offset = ends.passive.queuePair.exposedOffset(key);
            assertThat(ends.passive.queuePair.isExposed(key)).isTrue();
            ends.passive.waits = 3;
            ends.passive.receive(1, 1000, 10);
            ends.active.queuePair.write(2, 0, offset, key);
            ends.active.gather(2000, 3);
            // One of no length is nowhere.
            ends.active.queuePair.write(3, 0, offset + 500, key);
            ends.active.queuePair.write(4, SIGNALED, offset + 3, key);
            ends.active.gather(2003, 1);
            ends.active.gather(2000, 4);
            ends.active.queuePair.send(5, SIGNALED);
            ends.active.queuePair.doorbell();
            ends.until(() -> ends.passive.isComplete(1));
            assertThat(ends.passive.waits).isZero();
            assertThat(ends.passive.given)
                    .containsExactly(new End.Given(key, 0, 3), new End.Given(key, 3, 5));
            assertThat(ends.passive.get(End.GIVEN, 3)).containsExactly(1, 2, 3);
            assertThat(ends.passive.get(End.GIVEN + 100, 5)).containsExactly(4, 1, 2, 3, 4);
            ends.passive.queuePair.invalidate(key);
            assertThat(ends.passive.queuePair.isExposed(key)).isFalse();
        }
    }

    /** What was written is not to be changed, and nothing is to be left out. */
    @ParameterizedTest
    @MethodSource("providers")
    void aRangeWithoutMemoryIsWrittenOnceAndInOrder(VerbsProvider provider) throws IOException {
        int[][] second = {{0, 1}, {2, 1}, {2, 3}, {4, 1}, {3, PIECE}, {PIECE, 1}, {-1, 1}};
        for (int[] write : second) {
            try (Ends ends = Ends.connected(provider)) {
                if (!ends.passiveContext.capabilities().exposesWithoutMemory()) {
                    return;
                }
                int key = ends.passive.queuePair.expose(PIECE);
                long offset = ends.passive.queuePair.exposedOffset(key);
                ends.passive.receive(1, 1000, 10);
                ends.active.queuePair.write(2, 0, offset, key);
                ends.active.gather(2000, 3);
                ends.active.queuePair.write(3, SIGNALED, offset + write[0], key);
                ends.active.gather(2000, write[1]);
                ends.active.queuePair.send(4, SIGNALED);
                ends.active.queuePair.doorbell();
                ends.until(() -> ends.passive.hasEnded);
                assertThat(ends.passive.endedBy).hasMessageContaining("is not inside STag");
                assertThat(ends.passive.given).containsExactly(new End.Given(key, 0, 3));
                assertThat(ends.passive.completion(1).status()).isEqualTo(WorkStatus.FLUSHED);
            }
        }
    }

    /** Who exposes without end is told so, and nothing is lost by it. */
    @ParameterizedTest
    @MethodSource("providers")
    void moreThanTheDeviceTakesAreRefused(VerbsProvider provider) throws IOException {
        try (Ends ends = Ends.connected(provider)) {
            List<Integer> keys = new ArrayList<>();
            try {
                for (int i = 0; i < 4 * Ends.SIZE.sendDepth(); i++) {
                    keys.add(ends.passive.expose(0, PIECE, REMOTE_WRITE));
                }
            } catch (IllegalStateException e) {
                assertThat(e).hasMessageContaining("sendDepth");
                assertThat(keys).hasSizeGreaterThanOrEqualTo(Ends.SIZE.sendDepth());
            }
            keys.forEach(ends.passive.queuePair::invalidate);
            ends.active.receive(1, 0, 10);
            ends.activeContext.poll(1);
            ends.passive.queuePair.send(2, SIGNALED);
            ends.passive.queuePair.doorbell();
            ends.until(() -> ends.active.isComplete(1) && ends.passive.isComplete(2));
            int key = ends.passive.expose(0, PIECE, REMOTE_WRITE);
            write(ends, key, 3, 2000);
            ends.active.queuePair.doorbell();
            ends.until(() -> ends.active.isComplete(3));
            assertThat(ends.active.completion(3).status()).isEqualTo(WorkStatus.SUCCESS);
        }
    }
}
