// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp.rdmap;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.rpcrdma.verbs.MemoryRegion;
import org.rpcrdma.verbs.ReceiveMemoryRange;
import org.rpcrdma.verbs.WorkStatus;

/** Receives complete in the order of posting, with what they were posted with, whether entries are shared or not. */
class ReceiveQueueTest {

    private static final int DEPTH = 40;

    /** What a receive was posted with; one without memory has key 0. */
    private record Posted(long id, long address, int length, int key) {}

    private final List<Long> completed = new ArrayList<>();
    private final ReceiveQueue queue = new ReceiveQueue(DEPTH);
    private final Queue<Posted> model = new ArrayDeque<>();

    private void complete() {
        queue.complete((id, status, bytes, key) -> completed.add(id), WorkStatus.SUCCESS, 1, 0);
    }

    private void post(Posted receive) {
        if (receive.key() == 0) {
            queue.post(receive.id(), receive.length(), 1);
        } else {
            queue.post(receive.id(), receive.address(), receive.length(), receive.key());
        }
        model.add(receive);
    }

    @Test
    void anyOrderOfReceivesWithAndWithoutMemory() {
        for (int seed = 0; seed < 200; seed++) {
            Random random = new Random(seed);
            for (int i = 0; i < 300; i++) {
                if (model.size() < DEPTH && (model.isEmpty() || random.nextInt(5) > 1)) {
                    int key = random.nextInt(4) == 0 ? 1 + random.nextInt(3) : 0;
                    post(
                            new Posted(
                                    random.nextInt(2),
                                    key == 0 ? 0 : random.nextInt(1000),
                                    4 + random.nextInt(2),
                                    key));
                } else {
                    completeOldest();
                }
            }
            while (!model.isEmpty()) {
                completeOldest();
            }
            assertThat(queue.count).isZero();
        }
    }

    private void completeOldest() {
        Posted oldest = model.remove();
        assertThat(queue.id).isEqualTo(oldest.id());
        assertThat(queue.length).isEqualTo(oldest.length());
        assertThat(queue.key != ReceiveQueue.NO_KEY).isEqualTo(oldest.key() != 0);
        assertThat(queue.key).isEqualTo(oldest.key());
        assertThat(queue.address).isEqualTo(oldest.address());
        completed.clear();
        complete();
        assertThat(completed).containsExactly(oldest.id());
    }

    @Test
    void memoryIsThatOfTheOldestOfEqualReceivesAlone() {
        post(new Posted(7, 0, 4, 0));
        post(new Posted(7, 0, 4, 0));
        queue.memory(
                new ReceiveMemoryRange() {
                    @Override
                    public long address() {
                        return 1000;
                    }

                    @Override
                    public MemoryRegion region() {
                        return new MemoryRegion() {
                            @Override
                            public int localKey() {
                                return 5;
                            }

                            @Override
                            public long address() {
                                return 1000;
                            }

                            @Override
                            public int length() {
                                return 3;
                            }

                            @Override
                            public void deregister() {}
                        };
                    }

                    @Override
                    public int length() {
                        return 3;
                    }
                });
        assertThat(queue.key != ReceiveQueue.NO_KEY).isTrue();
        assertThat(queue.length).isEqualTo(3);
        assertThat(queue.address).isEqualTo(1000);
        complete();
        assertThat(queue.key != ReceiveQueue.NO_KEY).isFalse();
        assertThat(queue.length).isEqualTo(4);
    }

    @Test
    void equalReceivesCountOneByOne() {
        for (int i = 0; i < DEPTH; i++) {
            post(new Posted(0, 0, 4, 0));
        }
        assertThatThrownBy(() -> queue.post(0, 4, 1))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("full with " + DEPTH);
        List<WorkStatus> statuses = new ArrayList<>();
        queue.flush((id, status, bytes, key) -> statuses.add(status), WorkStatus.SUCCESS);
        assertThat(statuses).hasSize(DEPTH).startsWith(WorkStatus.SUCCESS, WorkStatus.FLUSHED);
        assertThat(queue.count).isZero();
    }
}
