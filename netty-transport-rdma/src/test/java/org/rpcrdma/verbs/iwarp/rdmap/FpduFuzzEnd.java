// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp.rdmap;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.ScatteringByteChannel;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.IntSupplier;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import java.util.zip.CRC32C;
import org.rpcrdma.verbs.DirectMemoryBudget;
import org.rpcrdma.verbs.QueuePair;
import org.rpcrdma.verbs.WorkStatus;
import org.rpcrdma.verbs.iwarp.ddp.DdpSegmentHeader;
import org.rpcrdma.verbs.iwarp.memory.ExposureOwner;
import org.rpcrdma.verbs.iwarp.memory.IwarpExposure;
import org.rpcrdma.verbs.iwarp.memory.IwarpMemoryRegion;
import org.rpcrdma.verbs.iwarp.memory.LocalKeyTable;
import org.rpcrdma.verbs.iwarp.memory.StagTable;
import org.rpcrdma.verbs.iwarp.mpa.FpduBatchPool;
import org.rpcrdma.verbs.iwarp.mpa.FpduLayout;
import org.rpcrdma.verbs.iwarp.mpa.FpduReceiver;
import org.rpcrdma.verbs.iwarp.mpa.FpduSender;
import org.rpcrdma.verbs.iwarp.mpa.MarkerInserter;
import org.rpcrdma.verbs.iwarp.mpa.MarkerStripper;
import org.rpcrdma.verbs.iwarp.mpa.StreamError;
import org.rpcrdma.verbs.iwarp.mpa.StreamException;
import org.rpcrdma.verbs.iwarp.mpa.UlpduHandler;

/**
 * One end of a stream that checks itself: receives of several lengths, one range that the peer may write, one that it
 * may read, one of another connection and one that is not exposed any more, Reads that wait for their data, and guard
 * bytes around all of them.
 */
final class FpduFuzzEnd extends ExposureOwner implements WorkCompletionHandler, UlpduHandler {

    /** What stands for an STag in an input. */
    static final int WRITABLE = 1;

    static final int READABLE = 2;
    private static final int FOREIGN = 3;
    private static final int INVALID = 4;

    /** The sink STag of the first Read; the others follow it. */
    static final int FIRST_SINK = 0x7700;

    static final int[] READS = {3100, 8};
    private static final int[][][] SINKS = {{{36864, 100}, {37000, 3000}}, {{41001, 8}}};

    /** Addresses and lengths of the receives. */
    private static final int[][] RECEIVED = {{4096, 512}, {5121, 1}, {6144, 0}, {8192, 3000}};

    static final int RECEIVES = RECEIVED.length;

    private static final int WRITABLE_AT = 12288;
    private static final int READABLE_AT = 20480;
    private static final int FOREIGN_AT = 28672;
    private static final int INVALID_AT = 32768;
    private static final int EXPOSED = 4095;
    private static final int SIZE = 45056;
    private static final long BASE = 0xffff_8000_0000_0000L;
    private static final int READ_DEPTH = 3;
    private static final int MULPDU = 1000;
    private static final int FIRST_READ = 100;
    private static final Pattern NUMBERS = Pattern.compile("\\b(0x[0-9a-f]+|[0-9a-f]{8})\\b");

    private static final byte[] UNTOUCHED = new byte[SIZE];
    private static final List<int[]> MAY_CHANGE =
            Stream.of(
                            Stream.of(new int[] {WRITABLE_AT, EXPOSED}),
                            Stream.of(RECEIVED),
                            Stream.of(SINKS).flatMap(Stream::of))
                    .flatMap(ranges -> ranges)
                    .toList();

    static {
        for (int i = 0; i < SIZE; i++) {
            UNTOUCHED[i] = (byte) (i * 31 + (i >>> 8));
        }
    }

    /** Memory that one end after another uses. */
    static final class Room {
        final byte[] memory = new byte[SIZE];
        private final byte[] rest = new byte[SIZE];
        private final ByteBuffer direct = ByteBuffer.allocateDirect(SIZE);
        private final ByteBuffer small =
                ByteBuffer.allocateDirect(FpduReceiver.minimumStaging(false));
        private final ByteBuffer large =
                ByteBuffer.allocateDirect(FpduReceiver.minimumStaging(true));
        private final ByteBuffer marked = ByteBuffer.allocateDirect(MarkerInserter.MAX_FPDU_BYTES);
    }

    /** What came of a stream. STags, offsets and so CRCs are random: messages are without numbers in hexadecimal. */
    record Result(
            String failure,
            StreamError error,
            long fpdus,
            boolean atBoundary,
            boolean messageOpen,
            List<String> completed) {}

    /** A Read Request that was taken. */
    private record Taken(int sinkStag, long sinkOffset, long size, int sourceStag, long source) {}

    private final Room room;
    private final StagTable stags = new StagTable(8, SecureRandom::new);
    private final LocalKeyTable local = new LocalKeyTable(stags, () -> {});
    private final IwarpMemoryRegion region;
    private final List<String> completed = new ArrayList<>();
    private final SendQueue work = new SendQueue(4, this);
    private final ReceiveQueue receives = new ReceiveQueue(RECEIVES);
    private final OutboundReads outboundReads = new OutboundReads(work, local, FIRST_SINK);
    private final InboundReads inboundReads = new InboundReads(stags, this);
    private final RdmapReceiver receiver;
    private final RdmapSender sender;
    private final IwarpExposure[] exposures = new IwarpExposure[INVALID + 1];
    private final int[] exposed = new int[INVALID + 1];
    private final long[] offsets = new long[INVALID + 1];
    private final List<Taken> taken = new ArrayList<>();

    private int begun;
    private int ended;
    private int left;

    FpduFuzzEnd(Room room) throws IOException {
        this.room = room;
        room.direct.put(0, UNTOUCHED);
        region = local.register(room.direct, BASE);
        ExposureOwner foreign =
                new ExposureOwner() {
                    @Override
                    protected void revoking(IwarpExposure exposure) {}
                };
        expose(WRITABLE, this, WRITABLE_AT, QueuePair.REMOTE_WRITE);
        expose(READABLE, this, READABLE_AT, QueuePair.REMOTE_READ);
        expose(FOREIGN, foreign, FOREIGN_AT, QueuePair.REMOTE_WRITE);
        expose(INVALID, this, INVALID_AT, QueuePair.REMOTE_WRITE);
        stags.invalidate(exposures[INVALID]);
        for (int i = 0; i < RECEIVES; i++) {
            receives.post(i, BASE + RECEIVED[i][0], RECEIVED[i][1], region.localKey());
        }
        receiver =
                new RdmapReceiver(
                        this,
                        stags,
                        local,
                        receives,
                        (id, length) -> null,
                        inboundReads,
                        outboundReads,
                        this);
        inboundReads.depth(READ_DEPTH);
        outboundReads.depth(SINKS.length);
        sender =
                new RdmapSender(
                        work,
                        outboundReads,
                        inboundReads,
                        local,
                        new FpduSender(null, FpduBatchPool.plain(DirectMemoryBudget.jvm())),
                        MULPDU);
        for (int i = 0; i < SINKS.length; i++) {
            work.open(FIRST_READ + i, RdmapOpcodes.READ_REQUEST, QueuePair.SIGNALED, 0, 1);
            for (int[] sink : SINKS[i]) {
                work.gather(BASE + sink[0], sink[1], region.localKey());
            }
        }
        work.post();
        sent();
    }

    private void expose(int symbol, ExposureOwner owner, int at, int access) {
        exposures[symbol] = stags.expose(owner, region, BASE + at, EXPOSED, access);
        exposed[symbol] = exposures[symbol].stag();
        offsets[symbol] = exposures[symbol].offset();
    }

    private byte[] sent() throws IOException {
        CutChannel channel = new CutChannel(new byte[0], () -> Integer.MAX_VALUE);
        while (sender.send(channel, Long.MAX_VALUE / 2)) {
            // until all is written
        }
        return channel.written();
    }

    @Override
    protected void revoking(IwarpExposure exposure) {}

    /** Puts STags and offsets in the place of what stands for them, as far as the ULPDU is there. */
    void resolve(ByteBuffer bytes, int at, int length) {
        int there = Math.min(length, bytes.limit() - at);
        if (there >= DdpSegmentHeader.UNTAGGED_BYTES) {
            boolean tagged = (bytes.get(at) & 0x80) != 0;
            int opcode = RdmapOpcodes.opcode(bytes.get(at + 1));
            if (tagged) {
                resolveStag(bytes, at + 2, at + 6);
            } else if (RdmapOpcodes.invalidates(opcode)) {
                resolveStag(bytes, at + 2, -1);
            } else if (opcode == RdmapOpcodes.READ_REQUEST
                    && there >= DdpSegmentHeader.UNTAGGED_BYTES + ReadRequestHeader.BYTES) {
                int body = at + DdpSegmentHeader.UNTAGGED_BYTES;
                resolveStag(bytes, body + 16, body + 20);
            }
        }
    }

    private void resolveStag(ByteBuffer bytes, int stagAt, int offsetAt) {
        int symbol = bytes.getInt(stagAt);
        if (symbol >= WRITABLE && symbol <= INVALID) {
            bytes.putInt(stagAt, exposed[symbol]);
            if (offsetAt >= 0) {
                bytes.putLong(offsetAt, bytes.getLong(offsetAt) + offsets[symbol]);
            }
        }
    }

    /** Receives a stream up to its end or the first failure, and checks what is left behind. */
    Result receive(
            byte[] stream, boolean crc, boolean markers, boolean readyToReceive, IntSupplier cuts)
            throws IOException {
        if (readyToReceive) {
            receiver.awaitReadyToReceive();
        }
        CRC32C sum = crc ? new CRC32C() : null;
        CutChannel channel = new CutChannel(stream, cuts);
        ScatteringByteChannel source =
                markers ? new MarkerStripper(channel, room.marked.clear(), sum) : channel;
        FpduReceiver fpdus =
                new FpduReceiver(
                        (crc && !markers ? room.large : room.small).clear(),
                        this,
                        markers ? null : sum);
        IOException failure = null;
        try {
            while (fpdus.receive(source) >= 0) {
                // until the end of the stream
            }
        } catch (StreamException | TerminatedException e) {
            failure = e;
        } catch (IOException e) {
            // The end of the stream inside of an FPDU with markers; nothing else is known as
            // an IOException.
            assertThat(markers).isTrue();
            assertThat(e).hasMessageContaining("inside an FPDU");
            failure = e;
        }
        assertThat(fpdus.fpdus).isEqualTo(ended);
        assertThat(begun - ended).isBetween(0, 1);
        if (failure instanceof StreamException e) {
            checkTerminate(e.error());
        } else if (failure == null) {
            checkResponses();
        }
        Result result =
                new Result(
                        failure == null ? "" : NUMBERS.matcher(failure.toString()).replaceAll("#"),
                        failure instanceof StreamException e ? e.error() : null,
                        fpdus.fpdus,
                        failure != null || fpdus.atBoundary(),
                        receiver.isMessageOpen(),
                        List.copyOf(completed));
        checkWork();
        checkMemory();
        return result;
    }

    /** What the peer is told about its mistake. */
    private void checkTerminate(StreamError error) {
        assertThat(error).isNotNull();
        byte[] ulpdu = Terminate.encode(error, receiver.segment(), receiver.request());
        assertThat(ulpdu.length).isIn(22, 38, 42, 70);
    }

    /** The data that goes out is what was asked for, from the memory that may be read. */
    private void checkResponses() throws IOException {
        byte[] out;
        try {
            out = sent();
        } catch (StreamException e) {
            // Invalidated after the request has come.
            assertThat(stags.find(exposed[READABLE])).isNull();
            return;
        }
        ByteBuffer stream = ByteBuffer.wrap(out);
        for (Taken read : taken) {
            long done = 0;
            boolean last = false;
            while (!last) {
                int at = stream.position();
                int length = stream.getShort(at) & 0xffff;
                assertThat(RdmapOpcodes.opcode(stream.get(at + 3)))
                        .isEqualTo(RdmapOpcodes.READ_RESPONSE);
                assertThat(stream.getInt(at + 4)).isEqualTo(read.sinkStag);
                assertThat(stream.getLong(at + 8)).isEqualTo(read.sinkOffset + done);
                int bytes = length - DdpSegmentHeader.TAGGED_BYTES;
                if (bytes > 0) {
                    assertThat(read.sourceStag).isEqualTo(exposed[READABLE]);
                    int from = (int) (read.source - offsets[READABLE] + done);
                    assertThat(from).isBetween(0, EXPOSED - bytes);
                    assertThat(Arrays.copyOfRange(out, at + 16, at + 16 + bytes))
                            .isEqualTo(
                                    Arrays.copyOfRange(
                                            UNTOUCHED,
                                            READABLE_AT + from,
                                            READABLE_AT + from + bytes));
                }
                done += bytes;
                last = (stream.get(at + 2) & 0x40) != 0;
                stream.position(at + FpduLayout.length(length));
            }
            assertThat(done).isEqualTo(read.size);
        }
        assertThat(stream.hasRemaining()).isFalse();
        assertThat(region.isLent()).isFalse();
    }

    /** Each receive and each Read completes once, in order. */
    private void checkWork() {
        receives.flush(this, receiver.receiveStatus());
        work.flush(receiver.readStatus(), WorkStatus.FLUSHED);
        assertThat(completed.stream().map(line -> line.split(" ", 2)[0]).sorted())
                .containsExactly("0", "1", "100", "101", "2", "3");
        assertThat(completed.stream().filter(line -> line.charAt(1) == ' ')).isSorted();
        assertThat(completed.stream().filter(line -> line.charAt(1) != ' ')).isSorted();
        stags.invalidateAll(this);
        assertThat(stags.find(exposed[WRITABLE])).isNull();
    }

    private void checkMemory() {
        room.direct.get(0, room.memory);
        System.arraycopy(room.memory, 0, room.rest, 0, SIZE);
        for (int[] range : MAY_CHANGE) {
            System.arraycopy(UNTOUCHED, range[0], room.rest, range[0], range[1]);
        }
        assertThat(Arrays.mismatch(room.rest, UNTOUCHED))
                .as("a byte that was written")
                .isEqualTo(-1);
    }

    @Override
    public void complete(long id, WorkStatus status, int length, int invalidatedKey) {
        if (id < RECEIVES && status == WorkStatus.SUCCESS) {
            assertThat(length).isBetween(0, RECEIVED[(int) id][1]);
        }
        int symbol = 0;
        for (int i = WRITABLE; i <= INVALID; i++) {
            if (invalidatedKey != 0 && invalidatedKey == exposed[i]) {
                symbol = i;
            }
        }
        assertThat(invalidatedKey != 0).isEqualTo(symbol != 0);
        if (symbol != 0) {
            assertThat(stags.find(invalidatedKey)).isNull();
        }
        completed.add(id + " " + status + " " + length + " " + symbol);
    }

    // What goes from the FPDUs to the receiver is watched.

    @Override
    public int begin(ByteBuffer bytes, int at, int length) throws IOException {
        assertThat(ended).isEqualTo(begun);
        begun++;
        left = receiver.begin(bytes, at, length);
        assertThat(left).isBetween(0, length);
        return left;
    }

    @Override
    public ByteBuffer target() throws IOException {
        assertThat(left).isPositive();
        ByteBuffer target = receiver.target();
        assertThat(target.remaining()).isBetween(1, left);
        return target;
    }

    @Override
    public void placed(int bytes) {
        assertThat(bytes).isBetween(0, left);
        left -= bytes;
        receiver.placed(bytes);
    }

    @Override
    public void end() throws IOException {
        assertThat(left).isZero();
        ended++;
        receiver.end();
        ReadRequestHeader request = receiver.request();
        if (request != null) {
            taken.add(
                    new Taken(
                            request.sinkStag,
                            request.sinkOffset,
                            request.size,
                            request.sourceStag,
                            request.sourceOffset));
        }
    }
}
