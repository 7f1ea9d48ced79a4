// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.disni;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.rpcrdma.verbs.QueuePair.FENCE;
import static org.rpcrdma.verbs.QueuePair.SIGNALED;
import static org.rpcrdma.verbs.QueuePair.SOLICITED;

import com.ibm.disni.verbs.IbvCQ;
import com.ibm.disni.verbs.IbvQP;
import com.ibm.disni.verbs.IbvSendWR;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;

/** What is laid out for {@code libibverbs}, byte by byte, and that nothing is allocated for it. */
class PostedWorkTest {

    /** An {@code ibv_send_wr} or {@code ibv_recv_wr} as C would read it. */
    private record Seen(
            long workId,
            int opcode,
            int flags,
            int key,
            long remote,
            int remoteKey,
            String ranges) {}

    /** Reads what is posted by following the pointers, with offsets of its own. */
    private static final class Device implements DataPath {
        private final List<List<Seen>> posts = new ArrayList<>();
        private boolean isBroken;

        private static List<Seen> list(NativeMemory memory, int first, boolean isSend) {
            List<Seen> list = new ArrayList<>();
            ByteBuffer bytes = memory.bytes;
            for (long at = memory.address(first); at != 0; ) {
                int i = memory.index(at);
                StringBuilder ranges = new StringBuilder();
                int range = memory.index(bytes.getLong(i + 16));
                for (int n = 0; n < bytes.getInt(i + 24); n++) {
                    ranges.append(bytes.getLong(range + 16 * n))
                            .append('+')
                            .append(bytes.getInt(range + 16 * n + 8))
                            .append('@')
                            .append(bytes.getInt(range + 16 * n + 12))
                            .append(' ');
                }
                list.add(
                        new Seen(
                                bytes.getLong(i),
                                isSend ? bytes.getInt(i + 28) : 0,
                                isSend ? bytes.getInt(i + 32) : 0,
                                isSend ? bytes.getInt(i + 36) : 0,
                                isSend ? bytes.getLong(i + 40) : 0,
                                isSend ? bytes.getInt(i + 48) : 0,
                                ranges.toString().strip()));
                at = bytes.getLong(i + 8);
            }
            return list;
        }

        @Override
        public void postSend(IbvQP queuePair, NativeMemory memory, int first) throws IOException {
            if (isBroken) {
                throw new IOException("ibv_post_send failed");
            }
            posts.add(list(memory, first, true));
        }

        @Override
        public void postReceive(IbvQP queuePair, NativeMemory memory, int first) {
            posts.add(list(memory, first, false));
        }

        @Override
        public int poll(IbvCQ queue, NativeMemory completions, int most) {
            return 0;
        }
    }

    /** Takes everything. */
    private static final class Sink implements DataPath {
        @Override
        public void postSend(IbvQP queuePair, NativeMemory memory, int first) {}

        @Override
        public void postReceive(IbvQP queuePair, NativeMemory memory, int first) {}

        @Override
        public int poll(IbvCQ queue, NativeMemory completions, int most) {
            return 0;
        }
    }

    private final Device device = new Device();

    @Test
    void aBatchIsOneListAndItsLastIsSignalled() throws IOException {
        PostedSends sends = new PostedSends(device, WorkId.sends(5), 8, n -> ReadSinks.LOCAL);
        sends.open(1, 0, FENCE, 0x1122334455667788L, 0xcafe);
        sends.gather(1000, 10, 7);
        sends.gather(2000, 0, 7);
        sends.gather(3000, 20, 8);
        sends.open(2, Opcodes.SEND_WITH_INVALIDATE, SIGNALED | SOLICITED, 0, 0xbeef);
        sends.open(3, 2, 0, 0, 0);
        sends.gather(4000, 30, 9);
        sends.post(null);
        assertThat(device.posts)
                .containsExactly(
                        List.of(
                                new Seen(
                                        5L << 32,
                                        0,
                                        1,
                                        0xcafe,
                                        0x1122334455667788L,
                                        0xcafe,
                                        "1000+10@7 3000+20@8"),
                                new Seen(5L << 32 | 1, 9, 6, 0xbeef, 0, 0xbeef, ""),
                                new Seen(5L << 32 | 2, 2, 2, 0, 0, 0, "4000+30@9")));
        sends.post(null);
        assertThat(device.posts).as("nothing is opened").hasSize(1);
    }

    @Test
    void theRingGoesRoundAndTheListsStayApart() throws IOException {
        PostedSends sends = new PostedSends(device, WorkId.sends(1), 4, n -> ReadSinks.LOCAL);
        int position = 0;
        for (int round = 0; round < 20; round++) {
            int count = 1 + round % 4;
            for (int i = 0; i < count; i++) {
                sends.open(position + i, 2, 0, 0, 0);
                sends.gather(position + i, 1, 1);
            }
            sends.post(null);
            List<Seen> post = device.posts.get(round);
            assertThat(post).hasSize(count);
            for (int i = 0; i < count; i++) {
                assertThat(post.get(i).ranges()).isEqualTo(position + i + "+1@1");
                assertThat(sends.id(position + i)).isEqualTo(position + i);
            }
            position += count;
            assertThat(sends.isIdle()).isFalse();
            sends.complete(position - 1, Opcodes.SUCCESS);
            for (int i = 0; i < count; i++) {
                assertThat(sends.isHeadComplete()).isTrue();
                assertThat(sends.removeHead()).isEqualTo(Opcodes.SUCCESS);
            }
            assertThat(sends.isHeadComplete()).isFalse();
            assertThat(sends.isIdle()).isTrue();
            sends.complete(position - 1, Opcodes.SUCCESS);
            assertThat(sends.isHeadComplete()).as("completed twice").isFalse();
        }
    }

    /** Which of the sinks are open. */
    private static final class Sinks implements ReadSinks {
        private final Set<Integer> open = new TreeSet<>();

        @Override
        public int open(int range, long address, int length, int localKey) {
            open.add(range);
            return localKey;
        }

        @Override
        public void close(int range) {
            open.remove(range);
        }
    }

    private static void openReadAndSends(PostedSends sends) throws IOException {
        sends.open(1, IbvSendWR.IBV_WR_SEND, 0, 0, 0);
        sends.open(2, IbvSendWR.IBV_WR_RDMA_READ, 0, 0, 0);
        sends.gather(1000, 10, 7);
        sends.open(3, IbvSendWR.IBV_WR_SEND, 0, 0, 0);
        sends.open(4, IbvSendWR.IBV_WR_SEND, SIGNALED, 0, 0);
        sends.post(null);
    }

    /** As soft-iWARP does it, whose Reads therefore have to be signalled. */
    @Test
    void aReadIsCompleteWhenItsOwnCompletionHasCome() throws IOException {
        Sinks sinks = new Sinks();
        PostedSends sends = new PostedSends(device, WorkId.sends(1), 4, n -> sinks);
        openReadAndSends(sends);
        assertThat(device.posts.get(0).get(1).flags()).isEqualTo(IbvSendWR.IBV_SEND_SIGNALED);
        sends.complete(3, Opcodes.SUCCESS);
        assertThat(sends.isHeadComplete()).isTrue();
        assertThat(sends.removeHead()).isEqualTo(Opcodes.SUCCESS);
        assertThat(sends.isHeadComplete()).as("the Read").isFalse();
        assertThat(sinks.open).containsExactly(4);
        sends.complete(1, Opcodes.SUCCESS);
        for (int left = 3; left > 0; left--) {
            assertThat(sends.isHeadComplete()).isTrue();
            assertThat(sends.removeHead()).isEqualTo(Opcodes.SUCCESS);
        }
        assertThat(sinks.open).isEmpty();
        assertThat(sends.isHeadComplete()).isFalse();
        assertThat(sends.isEmpty()).isTrue();
    }

    @Test
    void nothingSucceedsBehindAReadThatHasFailed() throws IOException {
        PostedSends sends = new PostedSends(device, WorkId.sends(1), 4, n -> ReadSinks.LOCAL);
        openReadAndSends(sends);
        sends.complete(3, Opcodes.SUCCESS);
        sends.complete(1, 10);
        assertThat(sends.removeHead()).isEqualTo(Opcodes.SUCCESS);
        assertThat(sends.removeHead()).isEqualTo(10);
        assertThat(sends.removeHead()).isEqualTo(Opcodes.FLUSHED);
        assertThat(sends.removeHead()).isEqualTo(Opcodes.FLUSHED);
    }

    /** Positions are compared by their difference, also where they become negative. */
    @Test
    void positionsMayOverflow() throws IOException {
        PostedSends sends = new PostedSends(device, WorkId.sends(1), 4, n -> ReadSinks.LOCAL);
        PostedReceives receives = new PostedReceives(device, WorkId.receives(1), 4);
        for (PostedRing ring : List.of(sends, receives)) {
            ring.head = Integer.MAX_VALUE - 5;
            ring.posted = ring.head;
            ring.tail = ring.head;
        }
        for (int round = 0; round < 4; round++) {
            int first = sends.head();
            assertThat(receives.head()).isEqualTo(first);
            for (int i = 0; i < 4; i++) {
                sends.open(i, IbvSendWR.IBV_WR_SEND, 0, 0, 0);
                receives.add(i, 100, 1, 1);
            }
            assertThat(sends.isFull()).isTrue();
            assertThat(receives.isFull()).isTrue();
            sends.post(null);
            receives.post(null);
            List<Seen> posted = device.posts.get(2 * round);
            assertThat(posted).hasSize(4);
            sends.complete(WorkId.position(posted.get(3).workId(), sends.head()), Opcodes.SUCCESS);
            for (Seen receive : device.posts.get(2 * round + 1)) {
                assertThat(receives.complete(WorkId.position(receive.workId(), receives.head())))
                        .isTrue();
            }
            for (int i = 0; i < 4; i++) {
                assertThat(sends.isHeadComplete()).isTrue();
                sends.removeHead();
            }
            assertThat(sends.isEmpty()).isTrue();
            assertThat(receives.isEmpty()).isTrue();
        }
    }

    @Test
    void moreThanFourRangesAndMoreThanTheDepthAreRefused() {
        PostedSends sends = new PostedSends(device, WorkId.sends(1), 1, n -> ReadSinks.LOCAL);
        assertThatThrownBy(() -> sends.gather(0, 1, 1)).isInstanceOf(IllegalStateException.class);
        sends.open(1, 2, 0, 0, 0);
        for (int i = 0; i < 4; i++) {
            sends.gather(i, 1, 1);
        }
        assertThatThrownBy(() -> sends.gather(0, 1, 1))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("at most 4");
        assertThatThrownBy(() -> sends.open(2, 2, 0, 0, 0))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("sendDepth");
    }

    @Test
    void aRefusedPostStaysPosted() {
        PostedSends sends = new PostedSends(device, WorkId.sends(1), 4, n -> ReadSinks.LOCAL);
        device.isBroken = true;
        sends.open(1, 2, 0, 0, 0);
        assertThatThrownBy(() -> sends.post(null)).isInstanceOf(IOException.class);
        assertThat(sends.isIdle()).as("it may have been taken").isFalse();
    }

    @Test
    void receivesGatherUntilTheyArePosted() throws IOException {
        PostedReceives receives = new PostedReceives(device, WorkId.receives(3), 3);
        receives.add(1, 100, 10, 5);
        receives.add(2, 200, 20, 6);
        receives.post(null);
        assertThat(receives.complete(1)).as("not the oldest").isFalse();
        assertThat(receives.complete(0)).isTrue();
        receives.add(3, 300, 30, 7);
        receives.add(4, 400, 40, 8);
        receives.post(null);
        assertThatThrownBy(() -> receives.add(5, 0, 0, 0))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("receiveDepth");
        long tag = 3L << 32 | 1L << 31;
        assertThat(device.posts)
                .containsExactly(
                        List.of(receive(tag, "100+10@5"), receive(tag | 1, "200+20@6")),
                        List.of(receive(tag | 2, "300+30@7"), receive(tag | 3, "400+40@8")));
    }

    @Test
    void aReceiveWithoutBytesHasNoRange() throws IOException {
        PostedReceives receives = new PostedReceives(device, WorkId.receives(3), 2);
        receives.add(1, 100, 0, 5);
        receives.add(2, 200, 1, 5);
        receives.post(null);
        long tag = 3L << 32 | 1L << 31;
        assertThat(device.posts)
                .containsExactly(List.of(receive(tag, ""), receive(tag | 1, "200+1@5")));
        assertThatThrownBy(() -> receives.add(3, 0, -1, 0))
                .isInstanceOf(IllegalStateException.class);
        receives.complete(0);
        assertThatThrownBy(() -> receives.add(3, 0, -1, 0))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("Length is -1");
    }

    private static Seen receive(long workId, String range) {
        return new Seen(workId, 0, 0, 0, 0, 0, range);
    }

    @Test
    void aWorkIdTellsQueuePairQueueAndPosition() {
        for (int position : new int[] {0, 1, Integer.MAX_VALUE, Integer.MIN_VALUE, -1}) {
            long sent = WorkId.of(WorkId.sends(0x7fffffff), position);
            assertThat(WorkId.serial(sent)).isEqualTo(0x7fffffff);
            assertThat(WorkId.isReceive(sent)).isFalse();
            for (int distance : new int[] {-3, 0, 1000}) {
                assertThat(WorkId.position(sent, position + distance)).isEqualTo(position);
            }
            assertThat(WorkId.isReceive(WorkId.of(WorkId.receives(1), position))).isTrue();
        }
    }

    /** After the first rounds, when all classes are there. */
    @Test
    void nothingIsAllocatedForAWorkRequest() throws IOException {
        PostedSends sends = new PostedSends(new Sink(), WorkId.sends(1), 64, n -> ReadSinks.LOCAL);
        PostedReceives receives = new PostedReceives(new Sink(), WorkId.receives(1), 64);
        work(sends, receives, 0);
        var threads = (com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean();
        threads.getCurrentThreadAllocatedBytes();
        long before = threads.getCurrentThreadAllocatedBytes();
        for (int batch = 1; batch <= 10_000; batch++) {
            work(sends, receives, 16 * batch);
        }
        // Asking, and compiling, allocate a little; one byte for each of 320 000 work requests
        // would show.
        assertThat(threads.getCurrentThreadAllocatedBytes() - before).isLessThan(320_000);
    }

    private static void work(PostedSends sends, PostedReceives receives, int position)
            throws IOException {
        for (int i = 0; i < 16; i++) {
            sends.open(i, i % 2 == 0 ? 2 : Opcodes.SEND_WITH_INVALIDATE, 0, i, i);
            sends.gather(1000 + i, 10, 1);
            receives.add(i, 2000 + i, 10, 1);
        }
        sends.post(null);
        receives.post(null);
        sends.complete(position + 15, Opcodes.SUCCESS);
        while (sends.isHeadComplete()) {
            sends.removeHead();
        }
        for (int i = 0; i < 16; i++) {
            receives.complete(position + i);
        }
    }
}
