// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp.rdmap;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.rpcrdma.verbs.WorkStatus;

/** A flush that finds no memory for a completion can be repeated: each work request completes once. */
class WorkQueueFlushTest {

    private final Error noMemory = new OutOfMemoryError("no heap");
    private static final int FAILING = 20;

    private final List<Long> completed = new ArrayList<>();
    private final List<WorkStatus> statuses = new ArrayList<>();
    private boolean hasFailed;
    private final WorkCompletionHandler completions =
            (id, status, length, key) -> {
                if (id == FAILING && !hasFailed) {
                    hasFailed = true;
                    throw noMemory;
                }
                completed.add(id);
                statuses.add(status);
            };

    /** The one that is to blame is told so once, and no other one is. */
    private void checkStatuses() {
        assertThat(statuses.get(0)).isEqualTo(WorkStatus.REMOTE_ACCESS_ERROR);
        assertThat(statuses.subList(1, statuses.size())).containsOnly(WorkStatus.FLUSHED);
    }

    private List<Long> flushTwice(int posted, Runnable flush) {
        assertThatThrownBy(flush::run).isSameAs(noMemory);
        flush.run();
        List<Long> expected = new ArrayList<>();
        for (long id = 0; id < posted; id++) {
            expected.add(id);
        }
        return expected;
    }

    @Test
    void ofASendQueue() {
        SendQueue queue = new SendQueue(64, completions);
        for (int id = 0; id < 40; id++) {
            queue.open(id, RdmapOpcodes.SEND, 0, 0, 0);
        }
        queue.post();
        queue.made(100);
        assertThat(
                        flushTwice(
                                40,
                                () ->
                                        queue.flush(
                                                WorkStatus.REMOTE_ACCESS_ERROR,
                                                WorkStatus.FLUSHED)))
                .isEqualTo(completed);
        assertThat(queue.isEmpty()).isTrue();
        checkStatuses();
    }

    @Test
    void ofAReceiveQueue() {
        ReceiveQueue queue = new ReceiveQueue(64);
        for (int id = 0; id < 40; id++) {
            queue.post(id, 1000, 8, 5);
        }
        assertThat(flushTwice(40, () -> queue.flush(completions, WorkStatus.REMOTE_ACCESS_ERROR)))
                .isEqualTo(completed);
        assertThat(queue.count).isZero();
        checkStatuses();
    }
}
