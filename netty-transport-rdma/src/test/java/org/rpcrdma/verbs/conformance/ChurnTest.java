// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.conformance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;
import static org.rpcrdma.verbs.QueuePair.REMOTE_READ;
import static org.rpcrdma.verbs.QueuePair.SIGNALED;
import static org.rpcrdma.verbs.conformance.Ends.NO_DATA;

import java.io.IOException;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.rpcrdma.verbs.disni.software.SoftwareDisniProvider;
import org.rpcrdma.verbs.disni.software.SoftwareRdmaProvider;

/** Connections that begin and end in every way leave nothing on the device. */
class ChurnTest {

    private static final int ROUNDS = 20;

    private final SoftwareRdmaProvider device = SoftwareRdmaProvider.install();

    @Test
    void nothingIsLeftOfConnectionsThatHaveEnded() throws IOException {
        // What tests before have closed is destroyed by other threads; DiSNI's own endpoints leave
        // something.
        await().until(device::living, living -> !living.containsKey("SoftwareId"));
        Map<String, Integer> withoutUs = device.living();
        try (Ends ends = new Ends(new SoftwareDisniProvider())) {
            ends.listen();
            Map<String, Integer> withLoops = device.living();
            for (int round = 0; round < ROUNDS; round++) {
                connectAndRead(ends, round % 2 == 0);
                giveUp(ends);
                reject(ends);
            }
            await().until(device::living, withLoops::equals);
            for (int round = 0; round < ROUNDS; round++) {
                closeTheListener(ends);
            }
        }
        await().until(device::living, withoutUs::equals);
        assertThat(device.problems()).isEmpty();
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
