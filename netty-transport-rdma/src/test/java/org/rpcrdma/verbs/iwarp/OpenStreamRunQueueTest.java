// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Rounds through all streams, some of which end or begin meanwhile. */
class OpenStreamRunQueueTest {

    private static final int STREAMS = 5000;

    /** A copy of the set would have some bytes for each stream. */
    private static final long MOST_BYTES = STREAMS;

    private final OpenStreamRunQueue queue =
            new OpenStreamRunQueue(new DeadlineTaskQueue(IwarpHost.SYSTEM), IwarpConfig.defaults());

    private final List<Stream> streams = new ArrayList<>();

    private final class Stream implements OpenStreamRunQueueEntry {
        private int looks;
        private int tries;
        private boolean isBegun;
        private Stream ends;
        private boolean begins;

        private Stream open() {
            streams.add(this);
            queue.add(this);
            return this;
        }

        @Override
        public void resolveBroken() {}

        @Override
        public boolean tryPlaceHeld() {
            tries++;
            return isBegun;
        }

        @Override
        public boolean checkFrameStall() {
            looks++;
            if (ends != null) {
                queue.remove(ends);
            }
            if (begins) {
                new Stream().open();
            }
            return isBegun;
        }

        @Override
        public boolean checkMessageStall() {
            return false;
        }

        @Override
        public void detach() {}
    }

    private void open(int count) {
        for (int i = 0; i < count; i++) {
            new Stream().open();
        }
    }

    /** It may be for lack of memory that a message stays incomplete. */
    @Test
    void aLookAtAllStreamsTakesNoMemory() {
        var threads = (com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean();
        long thread = Thread.currentThread().getId();
        open(STREAMS);
        streams.forEach(queue::hold);
        streams.forEach(stream -> stream.isBegun = true);
        look();
        final long before = threads.getThreadAllocatedBytes(thread);
        look();
        final long allocated = threads.getThreadAllocatedBytes(thread) - before;
        assertThat(allocated).isLessThan(MOST_BYTES);
        assertThat(streams).allMatch(stream -> stream.looks == 2 && stream.tries == 2);
    }

    private void look() {
        queue.frames.checkStreams();
        queue.messages.checkStreams();
        queue.run();
    }

    @Test
    void streamsMayEndAndBeginInARound() {
        open(40);
        streams.get(3).ends = streams.get(3);
        streams.get(5).ends = streams.get(4);
        streams.get(7).ends = streams.get(39);
        for (int i = 10; i < 40; i++) {
            streams.get(i).begins = true;
        }
        streams.get(20).isBegun = true;
        assertThat(queue.frames.checkStreams()).isTrue();
        assertThat(streams).hasSize(70);
        assertThat(streams.subList(0, 40)).allMatch(stream -> stream.looks == 1);
        assertThat(streams.subList(40, 70)).allMatch(stream -> stream.looks == 0);
        streams.get(20).isBegun = false;
        assertThat(queue.frames.checkStreams()).isFalse();
        assertThat(streams.get(39).looks).isEqualTo(1);
        assertThat(streams.get(40).looks).isEqualTo(1);
    }

    @Test
    void whatWaitsNoLongerIsNotAskedAgain() {
        open(2);
        streams.forEach(queue::hold);
        streams.get(0).isBegun = true;
        queue.run();
        queue.run();
        assertThat(queue.hasHeld()).isTrue();
        assertThat(streams.get(0).tries).isEqualTo(2);
        assertThat(streams.get(1).tries).isEqualTo(1);
    }
}
