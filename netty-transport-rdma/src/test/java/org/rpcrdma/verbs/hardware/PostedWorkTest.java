// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.hardware;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.rpcrdma.verbs.QueuePair.FENCE;
import static org.rpcrdma.verbs.QueuePair.SIGNALED;
import static org.rpcrdma.verbs.QueuePair.SOLICITED;

import io.netty.util.internal.PlatformDependent;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.ToLongFunction;
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
    private static final class Device implements NativeQueuePair {
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
        public void postSend(NativeMemory memory, int first) throws IOException {
            if (isBroken) {
                throw new IOException("ibv_post_send failed");
            }
            posts.add(list(memory, first, true));
        }

        @Override
        public void postReceive(NativeMemory memory, int first) {
            posts.add(list(memory, first, false));
        }

        @Override
        public void destroy() {}
    }

    /** Takes everything. */
    private static final class Sink implements NativeQueuePair {
        @Override
        public void postSend(NativeMemory memory, int first) {}

        @Override
        public void postReceive(NativeMemory memory, int first) {}

        @Override
        public void destroy() {}
    }

    private static final ToLongFunction<ByteBuffer> ADDRESSES =
            PlatformDependent::directBufferAddress;

    private final Device device = new Device();

    /** IBV_WR_RDMA_WRITE_WITH_IMM is 1, and imm_data stands in network order where an invalidated key would be. */
    @Test
    void anImmediateIsInNetworkOrder() throws IOException {
        SendWorkRequestRing sends =
                new SendWorkRequestRing(
                        ADDRESSES, WorkRequestId.sends(5), 8, 0, 4, 4, n -> ReadSinkKeys.LOCAL);
        sends.openWithImmediate(1, SIGNALED, 0x1122334455667788L, 0xcafe, 0x80000180);
        sends.gather(1000, 10, 7);
        sends.post(device);
        assertThat(device.posts)
                .containsExactly(
                        List.of(
                                new Seen(
                                        5L << 32,
                                        1,
                                        2,
                                        Integer.reverseBytes(0x80000180),
                                        0x1122334455667788L,
                                        0xcafe,
                                        "1000+10@7")));
    }

    @Test
    void aBatchIsOneListAndItsLastIsSignalled() throws IOException {
        SendWorkRequestRing sends =
                new SendWorkRequestRing(
                        ADDRESSES, WorkRequestId.sends(5), 8, 0, 4, 4, n -> ReadSinkKeys.LOCAL);
        sends.open(1, 0, FENCE, 0x1122334455667788L, 0xcafe);
        sends.gather(1000, 10, 7);
        sends.gather(2000, 0, 7);
        sends.gather(3000, 20, 8);
        sends.open(2, VerbsConstants.SEND_WITH_INVALIDATE, SIGNALED | SOLICITED, 0, 0xbeef);
        sends.open(3, 2, 0, 0, 0);
        sends.gather(4000, 30, 9);
        sends.post(device);
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
        sends.post(device);
        assertThat(device.posts).as("nothing is opened").hasSize(1);
    }

    @Test
    void theRingGoesRoundAndTheListsStayApart() throws IOException {
        SendWorkRequestRing sends =
                new SendWorkRequestRing(
                        ADDRESSES, WorkRequestId.sends(1), 4, 0, 4, 4, n -> ReadSinkKeys.LOCAL);
        int position = 0;
        for (int round = 0; round < 20; round++) {
            int count = 1 + round % 4;
            for (int i = 0; i < count; i++) {
                sends.open(position + i, 2, 0, 0, 0);
                sends.gather(position + i, 1, 1);
            }
            sends.post(device);
            List<Seen> post = device.posts.get(round);
            assertThat(post).hasSize(count);
            for (int i = 0; i < count; i++) {
                assertThat(post.get(i).ranges()).isEqualTo(position + i + "+1@1");
                assertThat(sends.id(position + i)).isEqualTo(position + i);
            }
            position += count;
            assertThat(sends.isIdle()).isFalse();
            sends.complete(position - 1, VerbsConstants.SUCCESS);
            for (int i = 0; i < count; i++) {
                assertThat(sends.isHeadComplete()).isTrue();
                assertThat(sends.removeHead()).isEqualTo(VerbsConstants.SUCCESS);
            }
            assertThat(sends.isHeadComplete()).isFalse();
            assertThat(sends.isIdle()).isTrue();
            sends.complete(position - 1, VerbsConstants.SUCCESS);
            assertThat(sends.isHeadComplete()).as("completed twice").isFalse();
        }
    }

    /** Which of the sinks are open. */
    private static final class Sinks implements ReadSinkKeys {
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

    private void openReadAndSends(SendWorkRequestRing sends) throws IOException {
        sends.open(1, VerbsConstants.SEND, 0, 0, 0);
        sends.open(2, VerbsConstants.READ, 0, 0, 0);
        sends.gather(1000, 10, 7);
        sends.open(3, VerbsConstants.SEND, 0, 0, 0);
        sends.open(4, VerbsConstants.SEND, SIGNALED, 0, 0);
        sends.post(device);
    }

    /** As soft-iWARP does it, whose Reads therefore have to be signalled. */
    @Test
    void aReadIsCompleteWhenItsOwnCompletionHasCome() throws IOException {
        Sinks sinks = new Sinks();
        SendWorkRequestRing sends =
                new SendWorkRequestRing(ADDRESSES, WorkRequestId.sends(1), 4, 0, 4, 4, n -> sinks);
        openReadAndSends(sends);
        assertThat(device.posts.get(0).get(1).flags()).isEqualTo(VerbsConstants.SIGNALED);
        sends.complete(3, VerbsConstants.SUCCESS);
        assertThat(sends.isHeadComplete()).isTrue();
        assertThat(sends.removeHead()).isEqualTo(VerbsConstants.SUCCESS);
        assertThat(sends.isHeadComplete()).as("the Read").isFalse();
        assertThat(sinks.open).containsExactly(4);
        sends.complete(1, VerbsConstants.SUCCESS);
        for (int left = 3; left > 0; left--) {
            assertThat(sends.isHeadComplete()).isTrue();
            assertThat(sends.removeHead()).isEqualTo(VerbsConstants.SUCCESS);
        }
        assertThat(sinks.open).isEmpty();
        assertThat(sends.isHeadComplete()).isFalse();
        assertThat(sends.isEmpty()).isTrue();
    }

    /** Soft-iWARP takes one range for each, and drops the others without a word. */
    @Test
    void aReadOfMoreRangesThanTheDeviceTakesIsSeveral() throws IOException {
        SendWorkRequestRing sends =
                new SendWorkRequestRing(
                        ADDRESSES, WorkRequestId.sends(1), 4, 0, 4, 2, n -> ReadSinkKeys.LOCAL);
        sends.open(7, VerbsConstants.READ, FENCE, 5000, 6);
        sends.gather(100, 10, 1);
        sends.gather(200, 0, 1);
        sends.gather(300, 20, 2);
        sends.gather(400, 30, 3);
        sends.open(8, VerbsConstants.SEND, SIGNALED, 0, 0);
        sends.gather(500, 1, 1);
        sends.gather(501, 1, 1);
        sends.gather(502, 1, 1);
        sends.post(device);
        long tag = 1L << 32;
        assertThat(device.posts)
                .containsExactly(
                        List.of(
                                new Seen(tag, 4, 3, 6, 5000, 6, "100+10@1 300+20@2"),
                                new Seen(tag | 1, 4, 2, 6, 5030, 6, "400+30@3"),
                                new Seen(tag | 2, 2, 2, 0, 0, 0, "500+1@1 501+1@1 502+1@1")));
        sends.complete(2, VerbsConstants.SUCCESS);
        sends.complete(0, VerbsConstants.SUCCESS);
        assertThat(sends.isHeadComplete()).as("one part is left").isFalse();
        sends.complete(1, 10);
        assertThat(sends.isHeadComplete()).isTrue();
        assertThat(sends.id(sends.head())).isEqualTo(7);
        assertThat(sends.removeHead()).isEqualTo(10);
        assertThat(sends.id(sends.head())).isEqualTo(8);
        assertThat(sends.isHeadComplete()).isTrue();
        assertThat(sends.removeHead()).isEqualTo(VerbsConstants.FLUSHED);
        assertThat(sends.isEmpty()).isTrue();
    }

    /** What is there already is left as it was. */
    @Test
    void theSendQueueIsFullOfPartsToo() {
        SendWorkRequestRing sends =
                new SendWorkRequestRing(
                        ADDRESSES, WorkRequestId.sends(1), 2, 0, 4, 1, n -> ReadSinkKeys.LOCAL);
        sends.open(7, VerbsConstants.READ, 0, 5000, 6);
        sends.gather(100, 10, 1);
        sends.gather(300, 20, 2);
        assertThatThrownBy(() -> sends.gather(400, 1, 1))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("sendDepth");
        assertThatThrownBy(() -> sends.open(8, VerbsConstants.SEND, 0, 0, 0))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("sendDepth");
        sends.removeHead();
        assertThat(sends.isEmpty()).isTrue();
    }

    @Test
    void nothingSucceedsBehindAReadThatHasFailed() throws IOException {
        SendWorkRequestRing sends =
                new SendWorkRequestRing(
                        ADDRESSES, WorkRequestId.sends(1), 4, 0, 4, 4, n -> ReadSinkKeys.LOCAL);
        openReadAndSends(sends);
        sends.complete(3, VerbsConstants.SUCCESS);
        sends.complete(1, 10);
        assertThat(sends.removeHead()).isEqualTo(VerbsConstants.SUCCESS);
        assertThat(sends.removeHead()).isEqualTo(10);
        assertThat(sends.removeHead()).isEqualTo(VerbsConstants.FLUSHED);
        assertThat(sends.removeHead()).isEqualTo(VerbsConstants.FLUSHED);
    }

    /** Positions are compared by their difference, also where they become negative. */
    @Test
    void positionsMayOverflow() throws IOException {
        SendWorkRequestRing sends =
                new SendWorkRequestRing(
                        ADDRESSES, WorkRequestId.sends(1), 4, 0, 4, 4, n -> ReadSinkKeys.LOCAL);
        ReceiveWorkRequestRing receives =
                new ReceiveWorkRequestRing(ADDRESSES, WorkRequestId.receives(1), 4);
        for (AbstractWorkRequestRing ring : List.of(sends, receives)) {
            ring.head = Integer.MAX_VALUE - 5;
            ring.posted = ring.head;
            ring.tail = ring.head;
        }
        for (int round = 0; round < 4; round++) {
            int first = sends.head();
            assertThat(receives.head()).isEqualTo(first);
            for (int i = 0; i < 4; i++) {
                sends.open(i, VerbsConstants.SEND, 0, 0, 0);
                receives.add(i, 100, 1, 1);
            }
            assertThat(sends.isFull()).isTrue();
            assertThat(receives.isFull()).isTrue();
            sends.post(device);
            receives.post(device);
            List<Seen> posted = device.posts.get(2 * round);
            assertThat(posted).hasSize(4);
            sends.complete(
                    WorkRequestId.position(posted.get(3).workId(), sends.head()),
                    VerbsConstants.SUCCESS);
            for (Seen receive : device.posts.get(2 * round + 1)) {
                assertThat(
                                receives.tryComplete(
                                        WorkRequestId.position(receive.workId(), receives.head())))
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
        SendWorkRequestRing sends =
                new SendWorkRequestRing(
                        ADDRESSES, WorkRequestId.sends(1), 1, 0, 4, 4, n -> ReadSinkKeys.LOCAL);
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
        SendWorkRequestRing sends =
                new SendWorkRequestRing(
                        ADDRESSES, WorkRequestId.sends(1), 4, 0, 4, 4, n -> ReadSinkKeys.LOCAL);
        device.isBroken = true;
        sends.open(1, 2, 0, 0, 0);
        assertThatThrownBy(() -> sends.post(device)).isInstanceOf(IOException.class);
        assertThat(sends.isIdle()).as("it may have been taken").isFalse();
    }

    @Test
    void receivesGatherUntilTheyArePosted() throws IOException {
        ReceiveWorkRequestRing receives =
                new ReceiveWorkRequestRing(ADDRESSES, WorkRequestId.receives(3), 3);
        receives.add(1, 100, 10, 5);
        receives.add(2, 200, 20, 6);
        receives.post(device);
        assertThat(receives.tryComplete(1)).as("not the oldest").isFalse();
        assertThat(receives.tryComplete(0)).isTrue();
        receives.add(3, 300, 30, 7);
        receives.add(4, 400, 40, 8);
        receives.post(device);
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
        ReceiveWorkRequestRing receives =
                new ReceiveWorkRequestRing(ADDRESSES, WorkRequestId.receives(3), 2);
        receives.add(1, 100, 0, 5);
        receives.add(2, 200, 1, 5);
        receives.post(device);
        long tag = 3L << 32 | 1L << 31;
        assertThat(device.posts)
                .containsExactly(List.of(receive(tag, ""), receive(tag | 1, "200+1@5")));
        assertThatThrownBy(() -> receives.add(3, 0, -1, 0))
                .isInstanceOf(IllegalStateException.class);
        receives.tryComplete(0);
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
            long sent = WorkRequestId.of(WorkRequestId.sends(0x7fffffff), position);
            assertThat(WorkRequestId.serial(sent)).isEqualTo(0x7fffffff);
            assertThat(WorkRequestId.isReceive(sent)).isFalse();
            for (int distance : new int[] {-3, 0, 1000}) {
                assertThat(WorkRequestId.position(sent, position + distance)).isEqualTo(position);
            }
            assertThat(
                            WorkRequestId.isReceive(
                                    WorkRequestId.of(WorkRequestId.receives(1), position)))
                    .isTrue();
        }
    }

    /** After the first rounds, when all classes are there. */
    @Test
    void nothingIsAllocatedForAWorkRequest() throws IOException {
        Sink sink = new Sink();
        SendWorkRequestRing sends =
                new SendWorkRequestRing(
                        ADDRESSES, WorkRequestId.sends(1), 64, 0, 4, 4, n -> ReadSinkKeys.LOCAL);
        ReceiveWorkRequestRing receives =
                new ReceiveWorkRequestRing(ADDRESSES, WorkRequestId.receives(1), 64);
        work(sink, sends, receives, 0);
        var threads = (com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean();
        threads.getCurrentThreadAllocatedBytes();
        long before = threads.getCurrentThreadAllocatedBytes();
        for (int batch = 1; batch <= 10_000; batch++) {
            work(sink, sends, receives, 16 * batch);
        }
        // Asking, and compiling, allocate a little; one byte for each of 320 000 work requests
        // would show.
        assertThat(threads.getCurrentThreadAllocatedBytes() - before).isLessThan(320_000);
    }

    private static void work(
            NativeQueuePair queuePair,
            SendWorkRequestRing sends,
            ReceiveWorkRequestRing receives,
            int position)
            throws IOException {
        for (int i = 0; i < 16; i++) {
            sends.open(i, i % 2 == 0 ? 2 : VerbsConstants.SEND_WITH_INVALIDATE, 0, i, i);
            sends.gather(1000 + i, 10, 1);
            receives.add(i, 2000 + i, 10, 1);
        }
        sends.post(queuePair);
        receives.post(queuePair);
        sends.complete(position + 15, VerbsConstants.SUCCESS);
        while (sends.isHeadComplete()) {
            sends.removeHead();
        }
        for (int i = 0; i < 16; i++) {
            receives.tryComplete(position + i);
        }
    }
}
