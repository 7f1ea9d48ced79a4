// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp.mpa;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.GatheringByteChannel;
import java.util.ArrayList;
import java.util.List;
import java.util.zip.CRC32C;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.rpcrdma.verbs.DirectMemoryBudget;

class FpduBatchPoolTest {

    private static final int ULPDU = 1000;

    private final FpduBatchPool batches = FpduBatchPool.plain(DirectMemoryBudget.jvm());
    private final FpduSender sender = new FpduSender(null, batches);

    @AfterEach
    void close() {
        sender.drop();
        batches.close();
    }

    private void queue(MemoryViewLender owner) {
        sender.begin(ULPDU);
        sender.payload(ByteBuffer.allocate(ULPDU), owner);
        sender.end();
    }

    /** The batch that would be lent next. */
    private FpduBatch next() {
        FpduBatch next = batches.take();
        batches.give(next);
        return next;
    }

    @Test
    void aBatchIsLentWhileSomethingIsQueued() throws IOException {
        queue(view -> {});
        FpduBatch other = next();
        sender.write(new Taking(10));
        assertThat(next()).as("before all is written").isSameAs(other);
        sender.write(new Taking(Integer.MAX_VALUE));
        assertThat(next()).as("after all is written").isNotSameAs(other);
        queue(view -> {});
        assertThat(next()).as("while something is queued again").isSameAs(other);
    }

    @Test
    void whatIsDroppedGivesTheBatchBackWithWhatItHasBorrowed() throws IOException {
        List<ByteBuffer> given = new ArrayList<>();
        queue(given::add);
        queue(given::add);
        FpduBatch other = next();
        sender.write(new Taking(FpduLayout.length(ULPDU) + 10));
        assertThat(given).hasSize(1);
        sender.drop();
        assertThat(given).hasSize(2);
        assertThat(sender.isEmpty()).isTrue();
        assertThat(next()).isNotSameAs(other);
    }

    @Test
    void theRestOfADetachedBatchIsWrittenFromACopy() throws IOException {
        List<ByteBuffer> given = new ArrayList<>();
        queue(given::add);
        sender.write(new Taking(10));
        sender.detach();
        assertThat(given).hasSize(1);
        assertThat(sender.isEmpty()).isFalse();
        Taking rest = new Taking(Integer.MAX_VALUE);
        sender.write(rest);
        assertThat(rest.taken).isEqualTo(FpduLayout.length(ULPDU) - 10);
        assertThat(sender.isEmpty()).isTrue();
        assertThat(given).hasSize(1);
    }

    /** A connection that stands does not end because others have all the memory. */
    @Test
    void whereTheBudgetIsUsedUpABatchIsOnTheHeap() throws IOException {
        DirectMemoryBudget budget = new DirectMemoryBudget(0);
        FpduBatchPool poor = FpduBatchPool.plain(budget);
        List<ByteBuffer> given = new ArrayList<>();
        FpduSender other = new FpduSender(new CRC32C(), poor);
        other.begin(ULPDU);
        other.changingPayload(ByteBuffer.allocateDirect(ULPDU), given::add);
        other.end();
        assertThat(given).hasSize(1);
        Taking all = new Taking(Integer.MAX_VALUE);
        other.write(all);
        assertThat(all.taken).isEqualTo(FpduLayout.length(ULPDU));
        assertThat(other.isEmpty()).isTrue();
        FpduBatch next = poor.take();
        FpduBatch afterIt = poor.take();
        poor.give(next);
        assertThat(poor.take()).as("not kept").isNotSameAs(next).isNotSameAs(afterIt);
        poor.close();
        assertThat(budget.used()).isZero();
    }

    @Test
    void aTerminateFollowsTheRestOfAnFpdu() throws IOException {
        byte[] last = new byte[20];
        int lastFpdu = FpduLayout.length(last.length);
        queue(view -> {});
        queue(view -> {});
        assertThat(sender.dropFor(last).remaining()).isEqualTo(lastFpdu);
        queue(view -> {});
        queue(view -> {});
        sender.write(new Taking(10));
        assertThat(sender.dropFor(last).remaining())
                .isEqualTo(FpduLayout.length(ULPDU) - 10 + lastFpdu);
        queue(view -> {});
        queue(view -> {});
        sender.write(new Taking(FpduLayout.length(ULPDU) + 10));
        sender.detach();
        assertThat(sender.dropFor(last).remaining())
                .isEqualTo(FpduLayout.length(ULPDU) - 10 + lastFpdu);
        assertThat(sender.isEmpty()).isTrue();
    }

    @Test
    void anFpduThatIsNotEndedIsDropped() throws IOException {
        List<ByteBuffer> given = new ArrayList<>();
        sender.begin(ULPDU);
        sender.payload(ByteBuffer.allocate(ULPDU / 2), given::add);
        sender.drop();
        assertThat(given).hasSize(1);
        queue(given::add);
        Taking all = new Taking(Integer.MAX_VALUE);
        sender.write(all);
        assertThat(all.taken).isEqualTo(FpduLayout.length(ULPDU));
    }

    @Test
    void withMarkersABatchIsLentForAsLong() throws IOException {
        FpduBatchPool marked = FpduBatchPool.marked(DirectMemoryBudget.jvm());
        FpduSender first = new MarkedFpduSender(null, marked);
        FpduSender second = new MarkedFpduSender(null, marked);
        FpduBatch spare = marked.take();
        marked.give(spare);
        for (FpduSender each : List.of(first, second)) {
            each.begin(ULPDU);
            each.payload(ByteBuffer.allocate(ULPDU), null);
            each.end();
            each.write(new Taking(Integer.MAX_VALUE));
            assertThat(each.isEmpty()).isTrue();
            FpduBatch next = marked.take();
            assertThat(next).isSameAs(spare);
            marked.give(next);
        }
        marked.close();
    }

    /** Takes so many bytes, and no more. */
    private static final class Taking implements GatheringByteChannel {
        private int room;
        private int taken;

        Taking(int room) {
            this.room = room;
        }

        @Override
        public int write(ByteBuffer source) {
            int bytes = Math.min(room, source.remaining());
            source.position(source.position() + bytes);
            room -= bytes;
            taken += bytes;
            return bytes;
        }

        @Override
        public long write(ByteBuffer[] sources, int offset, int length) {
            long before = taken;
            for (int i = offset; i < offset + length; i++) {
                write(sources[i]);
            }
            return taken - before;
        }

        @Override
        public long write(ByteBuffer[] sources) {
            return write(sources, 0, sources.length);
        }

        @Override
        public boolean isOpen() {
            return true;
        }

        @Override
        public void close() {}
    }
}
