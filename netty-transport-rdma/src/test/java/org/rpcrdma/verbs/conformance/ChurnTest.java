// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.conformance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;
import static org.rpcrdma.verbs.QueuePair.REMOTE_READ;
import static org.rpcrdma.verbs.QueuePair.SIGNALED;
import static org.rpcrdma.verbs.conformance.Ends.NO_DATA;

import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.rpcrdma.verbs.VerbsProvider;
import org.rpcrdma.verbs.disni.software.SoftwareDisniProvider;
import org.rpcrdma.verbs.disni.software.SoftwareRdmaProvider;
import org.rpcrdma.verbs.ffm.SoftwareFfmProvider;

/** Connections that begin and end in every way leave nothing on the device. */
class ChurnTest {

    private static final int ROUNDS = 20;

    /** A provider, and what is known of its device. */
    private record Device(
            VerbsProvider provider,
            Supplier<Map<String, Integer>> living,
            Supplier<List<String>> problems) {

        @Override
        public String toString() {
            return provider.name();
        }
    }

    static Stream<Device> devices() {
        SoftwareRdmaProvider disni = SoftwareRdmaProvider.install();
        return Stream.of(
                        new Device(new SoftwareDisniProvider(), disni::living, disni::problems),
                        new Device(
                                new SoftwareFfmProvider(),
                                SoftwareFfmProvider::living,
                                SoftwareFfmProvider::problems))
                .filter(device -> device.provider.isAvailable());
    }

    /** What tests before have closed is destroyed by other threads; DiSNI's own endpoints leave something. */
    private static Map<String, Integer> withoutIdentifiers(Device device) {
        await().until(
                        device.living::get,
                        living -> !living.containsKey("SoftwareId") && !living.containsKey("Id"));
        return device.living.get();
    }

    @ParameterizedTest
    @MethodSource("devices")
    void nothingIsLeftOfConnectionsThatHaveEnded(Device device) throws IOException {
        Map<String, Integer> withoutUs = withoutIdentifiers(device);
        try (Ends ends = new Ends(device.provider)) {
            ends.listen();
            Map<String, Integer> withLoops = device.living.get();
            for (int round = 0; round < ROUNDS; round++) {
                connectAndRead(ends, round % 2 == 0);
                giveUp(ends);
                reject(ends);
            }
            until(ends, () -> device.living.get().equals(withLoops));
            for (int round = 0; round < ROUNDS; round++) {
                closeTheListener(ends);
            }
        }
        await().until(device.living::get, withoutUs::equals);
        assertThat(device.problems.get()).isEmpty();
    }

    /** What is destroyed by its event loop is so by its next poll. */
    private static void until(Ends ends, BooleanSupplier condition) {
        await().until(
                        () -> {
                            ends.activeContext.poll(64);
                            ends.passiveContext.poll(64);
                            return condition.getAsBoolean();
                        });
    }

    /** Steps of a connection, after each of which both contexts are closed with all that there is. */
    private enum Step {
        NOTHING,
        LISTENING,
        CREATED,
        CONNECTING,
        REQUESTED,
        TAKEN,
        ACCEPTING,
        OPEN,
        EXPOSED,
        READING,
        DRAINING,
        HALF_CLOSED,
        ENDED
    }

    @ParameterizedTest
    @MethodSource("devices")
    void contextsThatAreClosedInAnyStateLeaveNothing(Device device) throws IOException {
        for (Step step : Step.values()) {
            Map<String, Integer> before = withoutIdentifiers(device);
            Ends ends = new Ends(device.provider);
            try {
                goTo(step, ends);
            } finally {
                ends.close();
            }
            await(step.name()).until(device.living::get, before::equals);
        }
        assertThat(device.problems.get()).isEmpty();
    }

    private static void goTo(Step step, Ends ends) throws IOException {
        if (step == Step.NOTHING) {
            return;
        }
        ends.listen();
        if (step == Step.LISTENING) {
            return;
        }
        ends.active = ends.newActive();
        ends.active.receive(1, 0, 10);
        if (step == Step.CREATED) {
            return;
        }
        ends.active.queuePair.connect(ends.listener.localAddress(), null, NO_DATA);
        if (step == Step.CONNECTING) {
            return;
        }
        ends.until(() -> !ends.requests.isEmpty());
        if (step == Step.REQUESTED) {
            return;
        }
        ends.passive = ends.newPassive();
        if (step == Step.TAKEN) {
            return;
        }
        ends.passive.queuePair.accept(NO_DATA);
        if (step == Step.ACCEPTING) {
            return;
        }
        ends.until(() -> ends.active.isConnected && ends.passive.isConnected);
        if (step == Step.OPEN) {
            return;
        }
        int key = ends.passive.expose(0, 100, REMOTE_READ);
        if (step == Step.EXPOSED) {
            return;
        }
        ends.active.queuePair.read(2, SIGNALED, ends.passive.queuePair.exposedOffset(key), key);
        ends.active.gather(200, 50);
        ends.active.queuePair.doorbell();
        if (step == Step.READING) {
            return;
        }
        ends.active.queuePair.disconnect();
        if (step == Step.DRAINING) {
            return;
        }
        ends.passive.queuePair.close();
        if (step == Step.HALF_CLOSED) {
            return;
        }
        ends.until(() -> ends.active.hasEnded);
    }

    private static void connectAndRead(Ends ends, boolean isActiveFirst) {
        try {
            ends.connect();
        } catch (IOException e) {
            throw new AssertionError(e);
        }
        int key = ends.passive.expose(0, 100, REMOTE_READ);
        long offset = ends.passive.queuePair.exposedOffset(key);
        ends.active.queuePair.read(1, SIGNALED, offset, key);
        ends.active.gather(200, 50);
        ends.active.gather(300, 50);
        ends.active.queuePair.doorbell();
        // The Read may be under way.
        End first = isActiveFirst ? ends.active : ends.passive;
        End second = isActiveFirst ? ends.passive : ends.active;
        first.queuePair.close();
        ends.until(() -> second.hasEnded);
        second.queuePair.close();
        ends.active.region.deregister();
        ends.passive.region.deregister();
    }

    private static void giveUp(Ends ends) throws IOException {
        End end = ends.newActive();
        end.queuePair.connect(ends.listener.localAddress(), null, NO_DATA);
        ends.until(() -> !ends.requests.isEmpty());
        end.queuePair.close();
        ends.requests.remove(0).reject(NO_DATA);
    }

    private static void reject(Ends ends) throws IOException {
        End end = ends.newActive();
        end.queuePair.connect(ends.listener.localAddress(), null, NO_DATA);
        ends.until(() -> !ends.requests.isEmpty());
        ends.requests.remove(0).reject(NO_DATA);
        ends.until(() -> end.hasFailed);
        end.queuePair.close();
    }

    /** With a request that may be anywhere on its way. */
    private static void closeTheListener(Ends ends) throws IOException {
        End end = ends.newActive();
        end.queuePair.connect(ends.listener.localAddress(), null, NO_DATA);
        ends.activeContext.poll(64);
        ends.listener.close();
        ends.until(() -> end.hasFailed);
        end.queuePair.close();
        ends.requests.clear();
        ends.listen();
    }
}
