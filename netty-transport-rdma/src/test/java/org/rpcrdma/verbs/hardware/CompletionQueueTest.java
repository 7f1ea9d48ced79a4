// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.hardware;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.util.collection.IntObjectHashMap;
import java.util.concurrent.TimeUnit;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Who waits for one completion gets it, however many others come before, and the others are delivered. */
class CompletionQueueTest {

    private static final long MINE = 1L << 40;

    private final FakeDevice device = new FakeDevice();
    private final CompletionQueue queue = new CompletionQueue(device, new IntObjectHashMap<>());

    private void complete(int others) {
        LongStream.range(0, others).forEach(device.completions::add);
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 31, 32, 33, 127, 512, 1024, 5000})
    void isFoundBehindAnyNumberOfOthers(int others) throws Exception {
        complete(others);
        device.completions.add(MINE);
        complete(3);
        assertThat(queue.await(MINE, TimeUnit.HOURS.toNanos(1))).isEqualTo(VerbsConstants.SUCCESS);
        assertThat(queue.deliver(Integer.MAX_VALUE)).isEqualTo(others + 3);
    }

    /** As many handlers do that each end an exposure in one round. */
    @Test
    void manyMayBeWaitedForBeforeTheOthersAreDelivered() throws Exception {
        for (int i = 0; i < 3000; i++) {
            complete(1);
            device.completions.add(MINE + i);
            assertThat(queue.await(MINE + i, TimeUnit.HOURS.toNanos(1)))
                    .isEqualTo(VerbsConstants.SUCCESS);
        }
        assertThat(queue.deliver(Integer.MAX_VALUE)).isEqualTo(3000);
    }

    @Test
    void someAreDeliveredBetween() throws Exception {
        int delivered = 0;
        for (int i = 0; i < 1000; i++) {
            complete(7);
            device.completions.add(MINE + i);
            assertThat(queue.await(MINE + i, TimeUnit.HOURS.toNanos(1)))
                    .isEqualTo(VerbsConstants.SUCCESS);
            delivered += queue.deliver(5);
        }
        assertThat(delivered + queue.deliver(Integer.MAX_VALUE)).isEqualTo(7000);
    }

    @Test
    void whatDoesNotComeIsLate() throws Exception {
        complete(2000);
        assertThat(queue.await(MINE, 0)).isEqualTo(CompletionQueue.NONE);
        assertThat(queue.deliver(Integer.MAX_VALUE)).isEqualTo(2000);
    }
}
