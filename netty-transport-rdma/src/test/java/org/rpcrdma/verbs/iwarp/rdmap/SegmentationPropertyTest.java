// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp.rdmap;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.function.IntSupplier;
import java.util.zip.CRC32C;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import org.rpcrdma.verbs.DirectMemoryBudget;
import org.rpcrdma.verbs.QueuePair;
import org.rpcrdma.verbs.WorkStatus;
import org.rpcrdma.verbs.iwarp.memory.ExposureOwner;
import org.rpcrdma.verbs.iwarp.memory.IwarpExposure;
import org.rpcrdma.verbs.iwarp.memory.IwarpMemoryRegion;
import org.rpcrdma.verbs.iwarp.memory.LocalKeyTable;
import org.rpcrdma.verbs.iwarp.memory.StagTable;
import org.rpcrdma.verbs.iwarp.mpa.FpduBatchPool;
import org.rpcrdma.verbs.iwarp.mpa.FpduReceiver;
import org.rpcrdma.verbs.iwarp.mpa.FpduSender;

/** However TCP cuts the stream, on either side, the same messages come out. */
class SegmentationPropertyTest {

    private static final int ROOM = 70_000;
    private static final int MOST = 8;
    private static final long BASE = 0xffff_8000_0000_0000L;

    /** One operation to carry: its opcode, length and the number of memory ranges it is gathered from. */
    record Operation(int opcode, int length, int ranges) {}

    @Provide
    Arbitrary<List<Operation>> operations() {
        return Combinators.combine(
                        Arbitraries.of(
                                RdmapOpcodes.SEND,
                                RdmapOpcodes.SEND_INVALIDATE,
                                RdmapOpcodes.WRITE),
                        Arbitraries.oneOf(
                                Arbitraries.integers().between(0, 80),
                                Arbitraries.integers().between(0, ROOM)),
                        Arbitraries.integers().between(1, 5))
                .as(Operation::new)
                .list()
                .ofMinSize(1)
                .ofMaxSize(MOST);
    }

    @Property(tries = 400)
    void anyCutsGiveTheSameMessages(
            @ForAll("operations") List<Operation> operations,
            @ForAll boolean crc,
            @ForAll Random random)
            throws IOException {
        int mulpdu =
                random.nextBoolean() ? 128 + random.nextInt(2000) : 128 + random.nextInt(64_640);
        int most = 1 + random.nextInt(random.nextBoolean() ? 100 : 100_000);
        IntSupplier cuts = () -> 1 + random.nextInt(most);
        carry(operations, crc, mulpdu, cuts, cuts, random);
    }

    @Property(tries = 20)
    void oneByteAtATime(
            @ForAll("operations") List<Operation> operations,
            @ForAll boolean crc,
            @ForAll Random random)
            throws IOException {
        carry(operations, crc, 128 + random.nextInt(3000), () -> 1, () -> 1, random);
    }

    private static void carry(
            List<Operation> operations,
            boolean crc,
            int mulpdu,
            IntSupplier writeCuts,
            IntSupplier readCuts,
            Random random)
            throws IOException {
        Side from = new Side(crc, mulpdu);
        Side to = new Side(crc, mulpdu);
        random.nextBytes(from.copy);
        from.memory.put(0, from.copy);
        List<String> expected = new ArrayList<>();
        for (int i = 0; i < operations.size(); i++) {
            Operation operation = operations.get(i);
            int start = i * ROOM;
            IwarpExposure exposure =
                    to.stags.expose(
                            to,
                            to.region,
                            BASE + start,
                            operation.length(),
                            QueuePair.REMOTE_WRITE);
            if (operation.opcode() == RdmapOpcodes.WRITE) {
                from.work.open(i, RdmapOpcodes.WRITE, 0, exposure.offset(), exposure.stag());
            } else {
                boolean invalidates = operation.opcode() == RdmapOpcodes.SEND_INVALIDATE;
                to.receives.post(i, BASE + start, operation.length(), to.region.localKey());
                from.work.open(
                        i,
                        operation.opcode(),
                        QueuePair.SIGNALED,
                        0,
                        invalidates ? exposure.stag() : 0);
                expected.add(i + " " + operation.length() + (invalidates ? " invalidates" : ""));
            }
            gather(from, start, operation);
        }
        from.work.post();

        CutChannel wire = new CutChannel(new byte[0], writeCuts);
        while (from.sender.send(wire, Long.MAX_VALUE / 2)) {
            // until all is written
        }
        assertThat(from.work.isEmpty()).isTrue();
        assertThat(from.region.isLent()).isFalse();
        CutChannel received = new CutChannel(wire.written(), readCuts);
        while (to.fpdus.receive(received) >= 0) {
            // The next staging buffer is another one.
            ByteBuffer taken = to.fpdus.takeStaging();
            to.fpdus.staging(to.spare);
            to.spare = taken;
        }
        assertThat(to.fpdus.atBoundary()).isTrue();
        assertThat(to.receiver.isMessageOpen()).isFalse();
        assertThat(to.completed).isEqualTo(expected);
        for (int i = 0; i < operations.size(); i++) {
            byte[] actual = new byte[ROOM];
            to.memory.get(i * ROOM, actual);
            byte[] wanted = new byte[ROOM];
            System.arraycopy(from.copy, i * ROOM, wanted, 0, operations.get(i).length());
            assertThat(actual).isEqualTo(wanted);
        }
    }

    private static void gather(Side from, int start, Operation operation) {
        int done = 0;
        for (int r = 0; r < operation.ranges(); r++) {
            int piece =
                    r == operation.ranges() - 1
                            ? operation.length() - done
                            : operation.length() / operation.ranges();
            from.work.gather(BASE + start + done, piece, from.region.localKey());
            done += piece;
        }
    }

    /** One end of a stream, without a socket. */
    private static final class Side extends ExposureOwner implements WorkCompletionHandler {

        final StagTable stags = new StagTable(1000, SecureRandom::new);
        final LocalKeyTable local = new LocalKeyTable(stags, () -> {});
        final ByteBuffer memory = ByteBuffer.allocateDirect(MOST * ROOM);
        final byte[] copy = new byte[MOST * ROOM];
        final IwarpMemoryRegion region = local.register(memory, BASE);
        final List<String> completed = new ArrayList<>();
        final SendQueue work = new SendQueue(MOST, (id, status, length, key) -> {});
        final ReceiveQueue receives = new ReceiveQueue(MOST);
        final OutboundReads outboundReads = new OutboundReads(work, local, 1);
        final InboundReads inboundReads = new InboundReads(stags, this);
        final RdmapReceiver receiver =
                new RdmapReceiver(
                        this,
                        stags,
                        local,
                        receives,
                        (id, length) -> null,
                        inboundReads,
                        outboundReads,
                        this);
        final RdmapSender sender;
        final FpduReceiver fpdus;
        ByteBuffer spare;

        Side(boolean crc, int mulpdu) {
            CRC32C sum = crc ? new CRC32C() : null;
            sender =
                    new RdmapSender(
                            work,
                            outboundReads,
                            inboundReads,
                            local,
                            new FpduSender(sum, FpduBatchPool.plain(DirectMemoryBudget.jvm())),
                            mulpdu);
            fpdus =
                    new FpduReceiver(
                            ByteBuffer.allocateDirect(FpduReceiver.minimumStaging(crc)),
                            receiver,
                            sum);
            spare = ByteBuffer.allocateDirect(FpduReceiver.minimumStaging(crc));
        }

        @Override
        protected void revoking(IwarpExposure exposure) {}

        @Override
        public void complete(long id, WorkStatus status, int length, int invalidatedKey) {
            assertThat(status).isEqualTo(WorkStatus.SUCCESS);
            completed.add(id + " " + length + (invalidatedKey != 0 ? " invalidates" : ""));
        }
    }
}
