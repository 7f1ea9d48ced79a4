// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.conformance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;
import static org.rpcrdma.verbs.QueuePair.FENCE;
import static org.rpcrdma.verbs.QueuePair.REMOTE_READ;
import static org.rpcrdma.verbs.QueuePair.REMOTE_WRITE;
import static org.rpcrdma.verbs.QueuePair.SHARED;
import static org.rpcrdma.verbs.QueuePair.SIGNALED;
import static org.rpcrdma.verbs.conformance.Ends.NO_DATA;
import static org.rpcrdma.verbs.conformance.Ends.SIZE;

import java.io.IOException;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.NetworkInterface;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.rpcrdma.verbs.CompletionError;
import org.rpcrdma.verbs.DeviceCounter;
import org.rpcrdma.verbs.EventLoopVerbsContext;
import org.rpcrdma.verbs.Listener;
import org.rpcrdma.verbs.QueuePair;
import org.rpcrdma.verbs.RejectedException;
import org.rpcrdma.verbs.VerbsProvider;
import org.rpcrdma.verbs.WorkStatus;
import org.rpcrdma.verbs.disni.software.SoftwareDisniProvider;
import org.rpcrdma.verbs.disni.software.SoftwareRdmaProvider;
import org.rpcrdma.verbs.ffm.SoftwareFfmProvider;
import org.rpcrdma.verbs.ffm.SoftwareRoceProvider;
import org.rpcrdma.verbs.iwarp.IwarpProvider;

/** What the SPI promises, on each provider. What a provider says it cannot do is not asked of it. */
class ProviderConformanceTest {

    static Stream<VerbsProvider> providers() {
        return Stream.of(
                        new IwarpProvider(),
                        new SoftwareDisniProvider(),
                        new SoftwareFfmProvider(),
                        new SoftwareFfmProvider(false, false),
                        new SoftwareRoceProvider(),
                        new SoftwareFfmProvider(true, true))
                .filter(VerbsProvider::isAvailable);
    }

    @AfterAll
    static void aRealDeviceWouldNotHaveMinded() {
        assertThat(SoftwareRdmaProvider.install().problems()).isEmpty();
        assertThat(SoftwareFfmProvider.problems()).isEmpty();
    }

    @ParameterizedTest
    @MethodSource("providers")
    void bothEndsKnowTheAddressesOfTheConnection(VerbsProvider provider) throws IOException {
        try (Ends ends = Ends.connected(provider)) {
            InetSocketAddress listening = ends.listener.localAddress();
            assertThat(listening.getPort()).isPositive();
            assertThat(ends.active.queuePair.remoteAddress()).isEqualTo(listening);
            assertThat(ends.passive.queuePair.localAddress()).isEqualTo(listening);
            assertThat(ends.passive.queuePair.remoteAddress())
                    .isEqualTo(ends.active.queuePair.localAddress());
            assertThat(ends.active.queuePair.outboundReads()).isEqualTo(SIZE.outboundReads());
            assertThat(ends.passive.queuePair.outboundReads()).isEqualTo(SIZE.outboundReads());
            assertThat(ends.active.heard).containsExactly("connected");
            assertThat(ends.passive.heard).containsExactly("connected");
        }
    }

    @ParameterizedTest
    @MethodSource("providers")
    void aSendArrivesInTheOldestReceive(VerbsProvider provider) throws IOException {
        try (Ends ends = Ends.connected(provider)) {
            ends.passive.receive(1, 0, 100);
            ends.passive.receive(2, 100, 100);
            ends.active.put(0, new byte[] {1, 2, 3, 4, 5});
            ends.active.queuePair.send(10, SIGNALED);
            ends.active.gather(0, 5);
            ends.active.queuePair.send(11, SIGNALED);
            ends.active.gather(1, 2);
            // The receives go to the device with the next poll at the latest.
            ends.passiveContext.poll(1);
            ends.active.queuePair.doorbell();
            ends.until(() -> ends.passive.isComplete(2) && ends.active.isComplete(11));
            assertThat(ends.passive.completions())
                    .containsExactly(
                            new End.Completion(1, WorkStatus.SUCCESS, 5, 0),
                            new End.Completion(2, WorkStatus.SUCCESS, 2, 0));
            assertThat(ends.passive.get(0, 5)).containsExactly(1, 2, 3, 4, 5);
            assertThat(ends.passive.get(100, 2)).containsExactly(2, 3);
            assertThat(ends.active.completions())
                    .extracting(End.Completion::id)
                    .containsExactly(10L, 11L);
        }
    }

    private static Ends connectedWithImmediates(VerbsProvider provider) throws IOException {
        Ends ends = Ends.connected(provider);
        boolean isPossible = ends.activeContext.capabilities().writesWithImmediate();
        if (!isPossible) {
            ends.close();
        }
        assumeTrue(isPossible);
        ends.passive.takesImmediates = true;
        return ends;
    }

    /** The receive that it uses up may be without memory, or with some, which stays as it is. */
    @ParameterizedTest
    @MethodSource("providers")
    void aWriteWithImmediateWritesAndTells(VerbsProvider provider) throws IOException {
        try (Ends ends = connectedWithImmediates(provider)) {
            int key = ends.passive.expose(1000, 100, REMOTE_WRITE);
            long offset = ends.passive.queuePair.exposedOffset(key);
            ends.passive.receive(1, 0, 0);
            ends.passive.receive(2, 0, 100);
            ends.passive.receive(3, 200, 100);
            ends.passiveContext.poll(1);
            ends.active.put(0, new byte[] {1, 2, 3, 4, 5, 6, 7, 8});
            ends.active.queuePair.writeWithImmediate(10, 0, offset + 10, key, 0x80000180);
            ends.active.gather(0, 5);
            ends.active.gather(5, 3);
            ends.active.queuePair.writeWithImmediate(11, SIGNALED, 0, 0, -2);
            ends.active.queuePair.send(12, SIGNALED);
            ends.active.gather(6, 2);
            ends.active.queuePair.doorbell();
            ends.until(() -> ends.passive.isComplete(3) && ends.active.isComplete(12));
            assertThat(ends.passive.heard)
                    .containsExactly(
                            "connected",
                            new End.Written(1, 8, 0x80000180),
                            new End.Written(2, 0, -2),
                            new End.Completion(3, WorkStatus.SUCCESS, 2, 0));
            assertThat(ends.passive.get(1010, 8)).containsExactly(1, 2, 3, 4, 5, 6, 7, 8);
            assertThat(ends.passive.get(0, 8)).containsOnly(0);
            assertThat(ends.passive.get(200, 2)).containsExactly(7, 8);
            assertThat(ends.active.completions())
                    .extracting(End.Completion::id)
                    .containsExactly(11L, 12L);
        }
    }

    /** A peer must not pass off what lies in a receive, or what it has written, as a message. */
    @ParameterizedTest
    @MethodSource("providers")
    void anImmediateThatNobodyExpectsEndsTheConnection(VerbsProvider provider) throws IOException {
        try (Ends ends = connectedWithImmediates(provider)) {
            ends.passive.takesImmediates = false;
            ends.passive.receive(1, 0, 100);
            ends.passive.receive(2, 100, 100);
            ends.passiveContext.poll(1);
            ends.active.queuePair.writeWithImmediate(10, SIGNALED, 0, 0, 5);
            ends.active.queuePair.doorbell();
            ends.until(() -> ends.passive.hasEnded);
            assertThat(ends.passive.heard)
                    .containsExactly(
                            "connected",
                            new End.Written(1, 0, 5),
                            new End.Completion(1, WorkStatus.FLUSHED, 0, 0),
                            new End.Completion(2, WorkStatus.FLUSHED, 0, 0),
                            "disconnected");
            assertThat(ends.passive.endedBy).hasMessageContaining("RDMA Write with Immediate");
        }
    }

    @ParameterizedTest
    @MethodSource("providers")
    void aDeviceWithoutImmediatesSaysSo(VerbsProvider provider) throws IOException {
        try (Ends ends = Ends.connected(provider)) {
            assumeTrue(!ends.activeContext.capabilities().writesWithImmediate());
            assertThatThrownBy(() -> ends.active.queuePair.writeWithImmediate(1, SIGNALED, 0, 0, 7))
                    .isInstanceOf(UnsupportedOperationException.class)
                    .hasMessageContaining("writesWithImmediate");
            // Nothing of it was posted.
            ends.passive.receive(1, 0, 10);
            ends.passiveContext.poll(1);
            ends.active.queuePair.send(2, SIGNALED);
            ends.active.queuePair.doorbell();
            ends.until(() -> ends.passive.isComplete(1) && ends.active.isComplete(2));
        }
    }

    @ParameterizedTest
    @MethodSource("providers")
    void receivesMayBePostedBeforeTheConnectionExists(VerbsProvider provider) throws IOException {
        try (Ends ends = new Ends(provider)) {
            ends.listen();
            End active = ends.newActive();
            active.receive(1, 0, 10);
            active.queuePair.connect(ends.listener.localAddress(), null, NO_DATA);
            End passive = ends.accept();
            ends.until(() -> passive.isConnected);
            passive.put(0, new byte[] {7});
            passive.queuePair.send(2, SIGNALED);
            passive.gather(0, 1);
            // An iWARP responder speaks second.
            ends.until(() -> active.isConnected);
            ends.passiveContext.poll(1);
            passive.receive(3, 100, 10);
            ends.passiveContext.poll(1);
            active.queuePair.send(4, 0);
            active.gather(20, 1);
            active.queuePair.doorbell();
            passive.queuePair.doorbell();
            ends.until(() -> active.isComplete(1));
            assertThat(active.get(0, 1)).containsExactly(7);
        }
    }

    @ParameterizedTest
    @MethodSource("providers")
    void aWorkRequestGathersAsManyRangesAsTheDeviceTakes(VerbsProvider provider)
            throws IOException {
        try (Ends ends = Ends.connected(provider)) {
            int most = ends.activeContext.capabilities().maxScatterGather();
            ends.passive.receive(1, 0, 1000);
            ends.passiveContext.poll(1);
            QueuePair queuePair = ends.active.queuePair;
            queuePair.send(2, SIGNALED);
            for (int i = 0; i < most; i++) {
                ends.active.put(10 * i, (byte) (i + 1));
                ends.active.gather(10 * i, 1);
            }
            assertThatThrownBy(() -> ends.active.gather(0, 1))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("at most " + most);
            queuePair.doorbell();
            ends.until(() -> ends.passive.isComplete(1));
            assertThat(ends.passive.completion(1).length()).isEqualTo(most);
            for (int i = 0; i < most; i++) {
                assertThat(ends.passive.get(i, 1)).containsExactly(i + 1);
            }
        }
    }

    @ParameterizedTest
    @MethodSource("providers")
    void anEmptySendArrives(VerbsProvider provider) throws IOException {
        try (Ends ends = Ends.connected(provider)) {
            ends.passive.receive(1, 0, 10);
            ends.passiveContext.poll(1);
            ends.active.queuePair.send(2, SIGNALED);
            ends.active.queuePair.doorbell();
            ends.until(() -> ends.passive.isComplete(1));
            assertThat(ends.passive.completion(1).length()).isZero();
        }
    }

    @ParameterizedTest
    @MethodSource("providers")
    void aWriteAndAReadMoveExactlyWhatIsNamed(VerbsProvider provider) throws IOException {
        try (Ends ends = Ends.connected(provider)) {
            byte[] data = new byte[5000];
            new Random(1).nextBytes(data);
            ends.active.put(0, data);
            int sink = ends.passive.expose(100, 5000, REMOTE_WRITE);
            int source = ends.passive.expose(200, 1000, REMOTE_READ);
            QueuePair queuePair = ends.active.queuePair;
            queuePair.write(1, 0, ends.passive.queuePair.exposedOffset(sink), sink);
            ends.active.gather(0, 5000);
            queuePair.read(2, SIGNALED, ends.passive.queuePair.exposedOffset(source) + 1, source);
            ends.active.gather(10_000, 999);
            queuePair.doorbell();
            ends.until(() -> ends.active.isComplete(2));
            assertThat(ends.passive.get(100, 5000)).isEqualTo(data);
            assertThat(ends.passive.get(99, 1)).containsExactly(0);
            assertThat(ends.passive.get(5100, 1)).containsExactly(0);
            assertThat(ends.active.get(10_000, 999)).isEqualTo(ends.passive.get(201, 999));
            assertThat(ends.active.completions()).as("unsignalled").hasSize(1);
        }
    }

    @ParameterizedTest
    @MethodSource("providers")
    void aReadFillsAllItsRangesAndCompletesOnce(VerbsProvider provider) throws IOException {
        try (Ends ends = Ends.connected(provider)) {
            int most = ends.activeContext.capabilities().maxScatterGather();
            byte[] data = new byte[most * (most + 1) / 2];
            new Random(2).nextBytes(data);
            ends.passive.put(0, data);
            int key = ends.passive.expose(0, data.length, REMOTE_READ);
            QueuePair queuePair = ends.active.queuePair;
            queuePair.read(1, SIGNALED, ends.passive.queuePair.exposedOffset(key), key);
            for (int i = 0; i < most; i++) {
                ends.active.gather(1000 * i, i + 1);
            }
            assertThatThrownBy(() -> ends.active.gather(0, 1))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("at most " + most);
            queuePair.read(2, 0, ends.passive.queuePair.exposedOffset(key), key);
            ends.active.gather(50_000, 2);
            ends.active.gather(51_000, 2);
            queuePair.write(3, SIGNALED, 0, 0);
            queuePair.doorbell();
            ends.until(() -> ends.active.isComplete(3));
            assertThat(ends.active.completions())
                    .extracting(End.Completion::id)
                    .containsExactly(1L, 3L);
            int at = 0;
            for (int i = 0; i < most; i++) {
                assertThat(ends.active.get(1000 * i, i + 1))
                        .isEqualTo(Arrays.copyOfRange(data, at, at + i + 1));
                at += i + 1;
            }
            assertThat(ends.active.get(50_000, 2)).isEqualTo(Arrays.copyOfRange(data, 0, 2));
            assertThat(ends.active.get(51_000, 2)).isEqualTo(Arrays.copyOfRange(data, 2, 4));
        }
    }

    @ParameterizedTest
    @MethodSource("providers")
    void aReadOfSeveralRangesFailsOnce(VerbsProvider provider) throws IOException {
        try (Ends ends = Ends.connected(provider)) {
            int key = ends.passive.expose(0, 10, REMOTE_WRITE);
            ends.active.queuePair.read(1, 0, ends.passive.queuePair.exposedOffset(key), key);
            ends.active.gather(0, 1);
            ends.active.gather(10, 1);
            ends.active.queuePair.doorbell();
            ends.until(() -> ends.active.hasEnded);
            assertThat(ends.active.completions())
                    .containsExactly(new End.Completion(1, WorkStatus.REMOTE_ACCESS_ERROR, 0, 0));
        }
    }

    @ParameterizedTest
    @MethodSource("providers")
    void aReadCompletesBeforeWhatWasPostedBehindIt(VerbsProvider provider) throws IOException {
        try (Ends ends = Ends.connected(provider)) {
            ends.passive.put(0, new byte[] {1, 2, 3});
            int key = ends.passive.expose(0, 3, REMOTE_READ);
            for (int i = 0; i < 3; i++) {
                ends.passive.receive(i, 100, 10);
            }
            ends.passiveContext.poll(1);
            QueuePair queuePair = ends.active.queuePair;
            queuePair.send(1, 0);
            queuePair.read(2, SIGNALED, ends.passive.queuePair.exposedOffset(key), key);
            ends.active.gather(10, 3);
            queuePair.send(3, 0);
            queuePair.send(4, SIGNALED);
            queuePair.doorbell();
            ends.until(() -> ends.active.isComplete(2) && ends.active.isComplete(4));
            assertThat(ends.active.completions())
                    .extracting(End.Completion::id)
                    .containsExactly(2L, 4L);
            assertThat(ends.active.get(10, 3)).containsExactly(1, 2, 3);
        }
    }

    @ParameterizedTest
    @MethodSource("providers")
    void eachExposureHasAKeyOfItsOwn(VerbsProvider provider) throws IOException {
        try (Ends ends = Ends.connected(provider)) {
            int first = ends.active.expose(0, 10, REMOTE_READ);
            int second = ends.active.expose(0, 10, REMOTE_WRITE);
            assertThat(first).isNotEqualTo(second);
            ends.active.queuePair.invalidate(first);
            assertThat(ends.active.queuePair.isExposed(first)).isFalse();
            assertThat(ends.active.queuePair.isExposed(second)).isTrue();
            ends.active.queuePair.invalidate(first);
            assertThatThrownBy(() -> ends.active.queuePair.exposedOffset(first))
                    .isInstanceOf(IllegalArgumentException.class);
        }
    }

    @ParameterizedTest
    @MethodSource("providers")
    void onlyOneRightAndOnlyWhatIsRegisteredIsExposed(VerbsProvider provider) throws IOException {
        try (Ends ends = Ends.connected(provider)) {
            for (int access : new int[] {0, REMOTE_READ | REMOTE_WRITE, SHARED}) {
                assertThatThrownBy(() -> ends.active.expose(0, 1, access))
                        .isInstanceOf(IllegalArgumentException.class);
            }
            assertThatThrownBy(() -> ends.active.expose(1, Ends.BYTES, REMOTE_READ))
                    .isInstanceOf(IllegalArgumentException.class);
            assertThatThrownBy(() -> ends.active.expose(-1, 1, REMOTE_READ))
                    .isInstanceOf(IllegalArgumentException.class);
            assertThatThrownBy(
                            () ->
                                    ends.active.queuePair.expose(
                                            ends.passive.region, ends.passive.base, 1, REMOTE_READ))
                    .isInstanceOf(IllegalArgumentException.class);
        }
    }

    @ParameterizedTest
    @MethodSource("providers")
    void aSharedKeyIsGoodForEachRangeUntilAllAreInvalidated(VerbsProvider provider)
            throws IOException {
        try (Ends ends = Ends.connected(provider)) {
            QueuePair owner = ends.passive.queuePair;
            int first = ends.passive.expose(0, 10, REMOTE_WRITE | SHARED);
            long firstOffset = owner.exposedOffset(first);
            int second = ends.passive.expose(100, 10, REMOTE_WRITE | SHARED);
            long secondOffset = owner.exposedOffset(second);
            ends.active.put(0, (byte) 1, (byte) 2);
            ends.active.queuePair.write(1, 0, firstOffset, first);
            ends.active.gather(0, 1);
            ends.active.queuePair.write(2, 0, secondOffset, second);
            ends.active.gather(1, 1);
            ends.active.queuePair.send(3, SIGNALED);
            ends.passive.receive(4, 200, 10);
            ends.passiveContext.poll(1);
            ends.active.queuePair.doorbell();
            ends.until(() -> ends.passive.isComplete(4));
            assertThat(ends.passive.get(0, 1)).containsExactly(1);
            assertThat(ends.passive.get(100, 1)).containsExactly(2);
            owner.invalidate(first);
            assertThat(owner.isExposed(second)).isTrue();
            owner.invalidate(second);
            assertThat(owner.isExposed(second)).isFalse();
        }
    }

    /** A peer's key beyond its bounds, after its end, or without the right costs the connection and reaches nothing. */
    @ParameterizedTest
    @MethodSource("providers")
    void aPeerReachesNothingElse(VerbsProvider provider) throws IOException {
        for (String fault : List.of("beyond", "invalidated", "deregistered", "right")) {
            try (Ends ends = Ends.connected(provider)) {
                int key =
                        ends.passive.expose(
                                100, 10, fault.equals("right") ? REMOTE_READ : REMOTE_WRITE);
                long offset = ends.passive.queuePair.exposedOffset(key);
                if (fault.equals("invalidated")) {
                    ends.passive.queuePair.invalidate(key);
                } else if (fault.equals("deregistered")) {
                    ends.passive.region.deregister();
                    assertThat(ends.passive.queuePair.isExposed(key)).isFalse();
                }
                ends.active.put(0, (byte) 9);
                ends.active.queuePair.write(
                        1, SIGNALED, offset + (fault.equals("beyond") ? 10 : 0), key);
                ends.active.gather(0, 1);
                ends.active.queuePair.doorbell();
                ends.until(() -> ends.active.hasEnded && ends.passive.hasEnded);
                assertThat(ends.passive.get(90, 40)).as(fault).containsOnly(0);
                if (ends.activeContext.capabilities().disconnectCause()) {
                    assertThat(ends.active.endedBy).as(fault).isInstanceOf(IOException.class);
                }
            }
        }
    }

    @ParameterizedTest
    @MethodSource("providers")
    void aRefusedReadFailsAloneAndWhatFollowsIsFlushed(VerbsProvider provider) throws IOException {
        try (Ends ends = Ends.connected(provider)) {
            int key = ends.passive.expose(0, 10, REMOTE_WRITE);
            ends.active.receive(9, 0, 10);
            ends.active.queuePair.read(1, 0, ends.passive.queuePair.exposedOffset(key), key);
            ends.active.gather(0, 1);
            ends.active.queuePair.send(2, FENCE);
            ends.active.gather(0, 1);
            ends.active.queuePair.doorbell();
            ends.until(() -> ends.active.hasEnded);
            assertThat(ends.active.completion(1).status())
                    .isEqualTo(WorkStatus.REMOTE_ACCESS_ERROR);
            assertThat(ends.active.completion(2).status()).isEqualTo(WorkStatus.FLUSHED);
            assertThat(ends.active.completion(9).status()).isEqualTo(WorkStatus.FLUSHED);
            assertThat(ends.active.heard).endsWith("disconnected");
            long failed = ends.activeContext.value(DeviceCounter.COMPLETIONS_FAILED);
            assertThat(failed).isIn(-1L, 1L);
            assertThat(ends.activeContext.value(CompletionError.REMOTE_ACCESS)).isEqualTo(failed);
        }
    }

    /** The completion in error must be that of the right queue pair, although others of the context are at work. */
    @ParameterizedTest
    @MethodSource("providers")
    void anErrorEndsItsOwnConnectionOnly(VerbsProvider provider) throws IOException {
        try (Ends ends = Ends.connected(provider)) {
            End goodActive = ends.active;
            End goodPassive = ends.passive;
            ends.connect();
            goodPassive.receive(1, 0, 10);
            goodPassive.receive(2, 0, 10);
            ends.passiveContext.poll(1);
            ends.active.queuePair.read(7, SIGNALED, 0, 0x1234);
            ends.active.gather(0, 1);
            goodActive.queuePair.send(8, SIGNALED);
            goodActive.queuePair.doorbell();
            ends.active.queuePair.doorbell();
            ends.until(() -> ends.active.hasEnded && goodActive.isComplete(8));
            goodActive.queuePair.send(9, SIGNALED);
            goodActive.queuePair.doorbell();
            ends.until(() -> goodActive.isComplete(9) && goodPassive.isComplete(2));
            assertThat(ends.active.completion(7).status()).isNotEqualTo(WorkStatus.SUCCESS);
            assertThat(goodActive.completions())
                    .extracting(End.Completion::status)
                    .containsOnly(WorkStatus.SUCCESS);
            assertThat(goodActive.hasEnded).isFalse();
        }
    }

    @ParameterizedTest
    @MethodSource("providers")
    void aMessageLongerThanItsReceiveIsAnError(VerbsProvider provider) throws IOException {
        try (Ends ends = Ends.connected(provider)) {
            ends.passive.receive(1, 0, 10);
            ends.passiveContext.poll(1);
            ends.active.queuePair.send(2, SIGNALED);
            ends.active.gather(0, 11);
            ends.active.queuePair.doorbell();
            ends.until(() -> ends.passive.hasEnded);
            assertThat(ends.passive.completion(1).status())
                    .isEqualTo(WorkStatus.LOCAL_LENGTH_ERROR);
        }
    }

    @ParameterizedTest
    @MethodSource("providers")
    void sendWithInvalidateNamesTheKey(VerbsProvider provider) throws IOException {
        try (Ends ends = Ends.connected(provider)) {
            assumeTrue(
                    ends.passiveContext.capabilities().remoteInvalidation(),
                    "a peer may not invalidate here");
            int key = ends.passive.expose(0, 10, REMOTE_READ);
            ends.passive.receive(1, 0, 10);
            ends.passiveContext.poll(1);
            ends.active.queuePair.sendWithInvalidate(2, SIGNALED, key);
            ends.active.queuePair.doorbell();
            ends.until(() -> ends.passive.isComplete(1));
            assertThat(ends.passive.completion(1).invalidatedKey()).isEqualTo(key);
            assertThat(ends.passive.queuePair.isExposed(key)).isFalse();
        }
    }

    @ParameterizedTest
    @MethodSource("providers")
    void queuesTakeTheirDepthAndNoMore(VerbsProvider provider) throws IOException {
        try (Ends ends = Ends.connected(provider)) {
            for (int round = 0; round < 5; round++) {
                for (int i = 0; i < SIZE.receiveDepth(); i++) {
                    ends.passive.receive(i, 0, 10);
                }
                assertThatThrownBy(() -> ends.passive.receive(99, 0, 10))
                        .isInstanceOf(IllegalStateException.class)
                        .hasMessageContaining("receiveDepth");
                ends.passiveContext.poll(1);
                int before = ends.passive.completions().size();
                for (int i = 0; i < SIZE.sendDepth(); i++) {
                    ends.active.queuePair.send(i, i == SIZE.sendDepth() - 1 ? SIGNALED : 0);
                }
                assertThatThrownBy(() -> ends.active.queuePair.send(99, 0))
                        .isInstanceOf(IllegalStateException.class)
                        .hasMessageContaining("sendDepth");
                ends.active.queuePair.doorbell();
                int done = round + 1;
                ends.until(
                        () ->
                                ends.active.completions().size() == done
                                        && ends.passive.completions().size()
                                                == before + SIZE.receiveDepth());
            }
        }
    }

    @ParameterizedTest
    @MethodSource("providers")
    void unsignalledWorkRequestsMakeRoomToo(VerbsProvider provider) throws IOException {
        try (Ends ends = Ends.connected(provider)) {
            int key = ends.passive.expose(0, 10, REMOTE_WRITE);
            long offset = ends.passive.queuePair.exposedOffset(key);
            int posted = 0;
            while (posted < 10 * SIZE.sendDepth()) {
                try {
                    ends.active.queuePair.write(posted, 0, offset, key);
                    ends.active.gather(0, 1);
                    ends.active.queuePair.doorbell();
                    posted++;
                } catch (IllegalStateException e) {
                    ends.activeContext.poll(64);
                    ends.passiveContext.poll(64);
                }
            }
            assertThat(ends.active.completions()).isEmpty();
        }
    }

    @ParameterizedTest
    @MethodSource("providers")
    void disconnectingSendsWhatIsPostedAndFlushesReceives(VerbsProvider provider)
            throws IOException {
        try (Ends ends = Ends.connected(provider)) {
            ends.passive.receive(1, 0, 1000);
            ends.passive.receive(2, 0, 1000);
            ends.active.receive(3, 0, 10);
            ends.active.receive(4, 0, 10);
            ends.passiveContext.poll(1);
            ends.activeContext.poll(1);
            ends.active.queuePair.send(5, SIGNALED);
            ends.active.gather(0, 1000);
            ends.active.queuePair.doorbell();
            ends.active.queuePair.disconnect();
            ends.until(() -> ends.active.hasEnded && ends.passive.hasEnded);
            assertThat(ends.active.heard)
                    .containsSubsequence(
                            new End.Completion(3, WorkStatus.FLUSHED, 0, 0),
                            new End.Completion(4, WorkStatus.FLUSHED, 0, 0),
                            "disconnected");
            assertThat(ends.active.completion(5).status()).isEqualTo(WorkStatus.SUCCESS);
            assertThat(ends.passive.heard)
                    .containsExactly(
                            "connected",
                            new End.Completion(1, WorkStatus.SUCCESS, 1000, 0),
                            new End.Completion(2, WorkStatus.FLUSHED, 0, 0),
                            "disconnected");
            assertThat(ends.active.endedBy).isNull();
            assertThat(ends.passive.endedBy).isNull();
        }
    }

    @ParameterizedTest
    @MethodSource("providers")
    void whatIsPostedAfterTheEndIsFlushed(VerbsProvider provider) throws IOException {
        try (Ends ends = Ends.connected(provider)) {
            ends.passive.queuePair.close();
            ends.until(() -> ends.active.hasEnded);
            ends.active.receive(1, 0, 10);
            ends.active.queuePair.send(2, 0);
            ends.active.queuePair.doorbell();
            ends.until(() -> ends.active.isComplete(1) && ends.active.isComplete(2));
            assertThat(ends.active.completions())
                    .extracting(End.Completion::status)
                    .containsOnly(WorkStatus.FLUSHED);
        }
    }

    @ParameterizedTest
    @MethodSource("providers")
    void aClosedQueuePairIsSilentAndThePeerHearsOfIt(VerbsProvider provider) throws IOException {
        try (Ends ends = Ends.connected(provider)) {
            int key = ends.active.expose(0, 10, REMOTE_READ);
            ends.active.receive(1, 0, 10);
            ends.activeContext.poll(1);
            ends.active.queuePair.close();
            ends.active.queuePair.close();
            assertThat(ends.active.queuePair.isExposed(key)).isFalse();
            ends.until(() -> ends.passive.hasEnded);
            assertThat(ends.active.heard).containsExactly("connected");
        }
    }

    @ParameterizedTest
    @MethodSource("providers")
    void aConnectionToNobodyIsRefused(VerbsProvider provider) throws IOException {
        int port;
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            port = socket.getLocalPort();
        }
        try (Ends ends = new Ends(provider)) {
            End end = ends.newActive();
            end.receive(1, 0, 10);
            end.queuePair.connect(
                    new InetSocketAddress(InetAddress.getLoopbackAddress(), port), null, NO_DATA);
            assertThat(end.heard).as("from inside of the call").isEmpty();
            ends.until(() -> end.hasFailed);
            assertThat(end.failure).isInstanceOf(ConnectException.class);
            assertThat(end.heard).containsExactly("connectFailed");
        }
    }

    @ParameterizedTest
    @MethodSource("providers")
    void aRejectedConnectionFails(VerbsProvider provider) throws IOException {
        try (Ends ends = new Ends(provider)) {
            ends.listen();
            End end = ends.newActive();
            end.queuePair.connect(ends.listener.localAddress(), null, NO_DATA);
            ends.until(() -> !ends.requests.isEmpty());
            ends.requests.get(0).reject(NO_DATA);
            ends.until(() -> end.hasFailed);
            assertThat(end.failure).isInstanceOf(ConnectException.class);
            assertThatThrownBy(
                            () ->
                                    ends.passiveContext.createQueuePair(
                                            ends.requests.get(0),
                                            SIZE,
                                            new End(ends.passiveContext, 10)))
                    .isInstanceOf(IOException.class)
                    .hasMessageContaining("answered");
        }
    }

    @ParameterizedTest
    @MethodSource("providers")
    void aListenerThatClosesRefusesWhatIsNotAnsweredAndFreesItsPort(VerbsProvider provider)
            throws IOException {
        try (Ends ends = new Ends(provider)) {
            ends.listen();
            End end = ends.newActive();
            end.queuePair.connect(ends.listener.localAddress(), null, NO_DATA);
            ends.until(() -> !ends.requests.isEmpty());
            InetSocketAddress address = ends.listener.localAddress();
            ends.listener.close();
            ends.until(() -> end.hasFailed);
            Listener next = ends.passiveContext.listen(address, 1, new Deaf());
            assertThat(next.localAddress()).isEqualTo(address);
        }
    }

    /** Nothing has to be polled for it. */
    @ParameterizedTest
    @MethodSource("providers")
    void nobodyListensOnceAListenerIsClosed(VerbsProvider provider) throws IOException {
        try (Ends ends = new Ends(provider);
                Socket peer = new Socket()) {
            ends.listen();
            InetSocketAddress address = ends.listener.localAddress();
            ends.passiveContext.poll(1);
            ends.listener.close();
            assertThatThrownBy(() -> peer.connect(address)).isInstanceOf(ConnectException.class);
        }
    }

    @ParameterizedTest
    @MethodSource("providers")
    void aRequestMayBeAcceptedByAnotherContext(VerbsProvider provider) throws IOException {
        try (Ends ends = new Ends(provider);
                EventLoopVerbsContext third = provider.open()) {
            ends.listen();
            End end = ends.newActive();
            end.queuePair.connect(ends.listener.localAddress(), null, NO_DATA);
            ends.until(() -> !ends.requests.isEmpty());
            End accepted = new End(third, 100);
            accepted.queuePair = third.createQueuePair(ends.requests.get(0), SIZE, accepted);
            accepted.receive(1, 0, 10);
            accepted.queuePair.accept(NO_DATA);
            ends.until(
                    () -> {
                        third.poll(10);
                        return end.isConnected && accepted.isConnected;
                    });
            end.queuePair.send(1, 0);
            end.queuePair.doorbell();
            ends.until(
                    () -> {
                        third.poll(10);
                        return accepted.isComplete(1);
                    });
        }
    }

    @ParameterizedTest
    @MethodSource("providers")
    void aConnectionThatIsGivenUpFails(VerbsProvider provider) throws IOException {
        try (Ends ends = new Ends(provider)) {
            ends.listen();
            End end = ends.newActive();
            end.queuePair.connect(ends.listener.localAddress(), null, NO_DATA);
            end.queuePair.disconnect();
            ends.until(() -> end.hasFailed);
            assertThat(end.heard).containsExactly("connectFailed");
            end.queuePair.close();
        }
    }

    @ParameterizedTest
    @MethodSource("providers")
    void anAddressThatIsTakenCannotBeBound(VerbsProvider provider) throws IOException {
        try (Ends ends = new Ends(provider)) {
            ends.listen();
            assertThatThrownBy(
                            () ->
                                    ends.activeContext.listen(
                                            ends.listener.localAddress(), 1, new Deaf()))
                    .isInstanceOf(IOException.class);
        }
    }

    @ParameterizedTest
    @MethodSource("providers")
    void awaitingEndsWithAnEventOrAWakeup(VerbsProvider provider) throws Exception {
        try (Ends ends = Ends.connected(provider)) {
            ends.activeContext.wakeup();
            ends.activeContext.await(-1);
            ends.active.receive(1, 0, 10);
            // A message ends the wait; so does nothing but the message, since nobody wakes.
            CountDownLatch waiting = new CountDownLatch(1);
            Thread peer =
                    new Thread(
                            () -> {
                                try {
                                    waiting.await();
                                } catch (InterruptedException e) {
                                    throw new AssertionError(e);
                                }
                                ends.passive.queuePair.send(2, SIGNALED);
                                ends.passive.queuePair.doorbell();
                                while (!ends.passive.isComplete(2)) {
                                    ends.passiveContext.poll(8);
                                }
                            });
            // An iWARP responder speaks second.
            ends.passive.receive(3, 0, 10);
            ends.passiveContext.poll(1);
            ends.active.queuePair.send(4, SIGNALED);
            ends.active.queuePair.doorbell();
            ends.until(() -> ends.passive.isComplete(3) && ends.active.isComplete(4));
            peer.start();
            waiting.countDown();
            while (!ends.active.isComplete(1)) {
                ends.activeContext.await(-1);
                ends.activeContext.poll(8);
            }
            peer.join();
        }
    }

    @ParameterizedTest
    @MethodSource("providers")
    void privateDataThatTheDeviceDoesNotCarryIsRefused(VerbsProvider provider) throws IOException {
        try (Ends ends = new Ends(provider)) {
            ends.listen();
            End end = ends.newActive();
            byte[] tooLong = new byte[ends.activeContext.capabilities().maxPrivateData() + 1];
            assertThatThrownBy(
                            () ->
                                    end.queuePair.connect(
                                            ends.listener.localAddress(), null, tooLong))
                    .isInstanceOf(IllegalArgumentException.class);
            end.queuePair.connect(ends.listener.localAddress(), null, NO_DATA);
            ends.accept();
            ends.until(() -> end.isConnected);
        }
    }

    @ParameterizedTest
    @MethodSource("providers")
    void privateDataReachesThePeerWithRequestAnswerAndRejection(VerbsProvider provider)
            throws IOException {
        try (Ends ends = new Ends(provider)) {
            assumeTrue(ends.activeContext.capabilities().privateDataOnAccept());
            byte[] first = new byte[ends.activeContext.capabilities().maxPrivateData()];
            Arrays.fill(first, (byte) 0xa5);
            byte[] second = {1, 2, 3};
            ends.listen();
            End active = ends.newActive();
            active.queuePair.connect(ends.listener.localAddress(), null, first);
            ends.until(() -> !ends.requests.isEmpty());
            assertThat(ends.requests.get(0).privateData()).isEqualTo(first);
            End passive = ends.newPassive();
            passive.queuePair.accept(second);
            ends.until(() -> active.isConnected && passive.isConnected);
            assertThat(active.peerData).startsWith(second);
            assertThat(passive.peerData).isEqualTo(first);
            assumeTrue(ends.activeContext.capabilities().rejectWithData());
            End rejected = ends.newActive();
            rejected.queuePair.connect(ends.listener.localAddress(), null, second);
            ends.until(() -> !ends.requests.isEmpty());
            assertThat(ends.requests.get(0).privateData()).startsWith(second);
            ends.requests.remove(0).reject(second);
            ends.until(() -> rejected.hasFailed);
            assertThat(rejected.failure).isInstanceOf(RejectedException.class);
            assertThat(((RejectedException) rejected.failure).privateData()).startsWith(second);
        }
    }

    @ParameterizedTest
    @MethodSource("providers")
    void ipv6IsSpoken(VerbsProvider provider) throws IOException {
        InetAddress loopback = InetAddress.getAllByName("::1")[0];
        assumeTrue(NetworkInterface.getByInetAddress(loopback) != null, "this machine has no ::1");
        try (Ends ends = new Ends(provider)) {
            assumeTrue(ends.activeContext.capabilities().ipv6());
            ends.listen(loopback);
            ends.connect();
            assertThat(ends.active.queuePair.remoteAddress())
                    .isEqualTo(ends.passive.queuePair.localAddress());
            assertThat(ends.active.queuePair.remoteAddress().getAddress()).isEqualTo(loopback);
        }
    }

    @ParameterizedTest
    @MethodSource("providers")
    void memoryThatIsNotDirectIsRefused(VerbsProvider provider) throws IOException {
        try (EventLoopVerbsContext context = provider.open()) {
            assertThatThrownBy(() -> context.register(ByteBuffer.allocate(1), 1))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("direct");
        }
    }
}
