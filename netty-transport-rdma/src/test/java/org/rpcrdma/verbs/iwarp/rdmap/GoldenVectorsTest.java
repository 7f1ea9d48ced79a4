// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp.rdmap;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.stream.Stream;
import java.util.zip.CRC32C;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.rpcrdma.verbs.DirectMemoryBudget;
import org.rpcrdma.verbs.iwarp.ddp.DdpSegmentHeader;
import org.rpcrdma.verbs.iwarp.mpa.FpduBatchPool;
import org.rpcrdma.verbs.iwarp.mpa.FpduReceiver;
import org.rpcrdma.verbs.iwarp.mpa.FpduSender;
import org.rpcrdma.verbs.iwarp.mpa.MpaStartupFrame;
import org.rpcrdma.verbs.iwarp.mpa.UlpduHandler;

/** What the Linux kernel sends is understood, and what we send is the same to the byte. */
class GoldenVectorsTest {

    static Stream<Vector> frames() {
        return Stream.concat(Vector.all("request"), Vector.all("reply"));
    }

    static Stream<Vector> fpdus() {
        return Vector.all("fpdu");
    }

    /** Soft-iWARP leaves stale bytes in the pad of short messages, and lays out its Terminate in its own way. */
    static Stream<Vector> fpdusWeCouldSend() {
        return fpdus().filter(v -> v.integer("opcode") != RdmapOpcodes.TERMINATE)
                .filter(v -> allZero(v.data("pad_bytes")));
    }

    static Stream<Vector> terminates() {
        return fpdus().filter(v -> v.integer("opcode") == RdmapOpcodes.TERMINATE);
    }

    private static boolean allZero(byte[] bytes) {
        return Arrays.equals(bytes, new byte[bytes.length]);
    }

    @Test
    void allVectorsAreThere() {
        assertThat(frames()).hasSize(17);
        assertThat(fpdus()).hasSize(79);
        // They go over a socket: MarkerConnectionTest.
        assertThat(Vector.all("marked")).hasSize(2);
        assertThat(fpdusWeCouldSend()).hasSizeGreaterThan(40);
        assertThat(terminates()).hasSizeGreaterThan(25);
    }

    @ParameterizedTest
    @MethodSource("frames")
    void startupFrame(Vector vector) throws IOException {
        MpaStartupFrame frame =
                MpaStartupFrame.decode(
                        ByteBuffer.wrap(vector.bytes), vector.kind.equals("request"));
        assertThat(frame.markers()).isEqualTo(vector.flag("M"));
        assertThat(frame.crc()).isEqualTo(vector.flag("C"));
        assertThat(frame.rejected()).isEqualTo(vector.flag("R"));
        assertThat(frame.enhanced()).isEqualTo(vector.flag("S"));
        assertThat(frame.revision()).isEqualTo(vector.integer("rev"));
        assertThat(frame.privateData()).isEqualTo(vector.data("ulp_private_data"));
        if (vector.has("IRD")) {
            assertThat(frame.peerToPeer()).isEqualTo(vector.flag("A"));
            assertThat(frame.rtrSend()).isEqualTo(vector.flag("B"));
            assertThat(frame.rtrWrite()).isEqualTo(vector.flag("C_rtr_write"));
            assertThat(frame.rtrRead()).isEqualTo(vector.flag("D_rtr_read"));
            assertThat(frame.ird()).isEqualTo(vector.integer("IRD"));
            assertThat(frame.ord()).isEqualTo(vector.integer("ORD"));
        }
        if (vector.has("IRD") || !frame.enhanced()) {
            assertThat(frame.encode()).isEqualTo(vector.bytes);
        }
    }

    @ParameterizedTest
    @MethodSource("fpdus")
    void fpduIsUnderstood(Vector vector) throws IOException {
        Recorder recorder = new Recorder();
        FpduReceiver receiver =
                new FpduReceiver(
                        ByteBuffer.allocateDirect(80_000),
                        recorder,
                        vector.validCrc ? new CRC32C() : null);
        receiver.receive(new CutChannel(vector.bytes, () -> Integer.MAX_VALUE));
        assertThat(receiver.fpdus).isEqualTo(1);
        assertThat(receiver.atBoundary()).isTrue();
        DdpSegmentHeader segment = recorder.segment;
        assertThat(segment.isTagged).isEqualTo(vector.flag("T"));
        assertThat(segment.isLast).isEqualTo(vector.flag("L"));
        assertThat(RdmapOpcodes.check(segment)).isEqualTo(vector.integer("opcode"));
        assertThat(segment.payloadBytes).isEqualTo(vector.integer("payload_len"));
        if (segment.isTagged) {
            assertThat(segment.stag()).isEqualTo(vector.integer("STag"));
            assertThat(segment.taggedOffset()).isEqualTo(vector.number("TO"));
        } else {
            assertThat(segment.ulpWord()).isEqualTo(vector.integer("rsvdulp_or_inval_stag"));
            assertThat(segment.queueNumber).isEqualTo(vector.integer("QN"));
            assertThat(segment.messageNumber).isEqualTo(vector.integer("MSN"));
            assertThat(segment.messageOffset).isEqualTo(vector.integer("MO"));
        }
        int header = 2 + segment.headerBytes;
        assertThat(recorder.payload.array())
                .isEqualTo(Arrays.copyOfRange(vector.bytes, header, header + segment.payloadBytes));
    }

    @ParameterizedTest
    @MethodSource("fpdusWeCouldSend")
    void fpduIsMadeToTheByte(Vector vector) throws IOException {
        assertThat(make(vector, false)).isEqualTo(vector.bytes);
        assertThat(make(vector, true)).isEqualTo(vector.bytes);
    }

    private static byte[] make(Vector vector, boolean borrowed) throws IOException {
        FpduSender sender =
                new FpduSender(
                        vector.validCrc ? new CRC32C() : null,
                        FpduBatchPool.plain(DirectMemoryBudget.jvm()));
        boolean tagged = vector.flag("T");
        int header = tagged ? DdpSegmentHeader.TAGGED_BYTES : DdpSegmentHeader.UNTAGGED_BYTES;
        int length = vector.integer("payload_len");
        int control = RdmapOpcodes.control(vector.integer("opcode"));
        ByteBuffer out = sender.begin(header + length);
        if (tagged) {
            DdpSegmentHeader.encodeTagged(
                    out, vector.flag("L"), control, vector.integer("STag"), vector.number("TO"));
        } else {
            DdpSegmentHeader.encodeUntagged(
                    out,
                    vector.flag("L"),
                    control,
                    vector.integer("rsvdulp_or_inval_stag"),
                    vector.integer("QN"),
                    vector.integer("MSN"),
                    vector.integer("MO"));
        }
        if (vector.has("SinkSTag")) {
            ReadRequestHeader request = readRequest(vector);
            request.encode(out);
        } else if (length > 0 && borrowed) {
            sender.payload(ByteBuffer.wrap(vector.bytes, 2 + header, length), null);
        } else if (length > 0) {
            sender.copy(ByteBuffer.wrap(vector.bytes), 2 + header, length);
        }
        sender.end();
        CutChannel channel = new CutChannel(new byte[0], () -> Integer.MAX_VALUE);
        sender.write(channel);
        return channel.written();
    }

    private static ReadRequestHeader readRequest(Vector vector) {
        ReadRequestHeader request = new ReadRequestHeader();
        request.sinkStag = vector.integer("SinkSTag");
        request.sinkOffset = vector.number("SinkTO");
        request.size = vector.number("RDMARDSZ");
        request.sourceStag = vector.integer("SrcSTag");
        request.sourceOffset = vector.number("SrcTO");
        ReadRequestHeader decoded = new ReadRequestHeader();
        decoded.decode(ByteBuffer.wrap(vector.bytes), 20, 0);
        assertThat(decoded).usingRecursiveComparison().isEqualTo(request);
        return request;
    }

    @ParameterizedTest
    @MethodSource("terminates")
    void terminateOfTheKernelIsUnderstood(Vector vector) {
        boolean starting = vector.name.startsWith("terminate_mpa");
        Terminate terminate =
                Terminate.decode(
                        ByteBuffer.wrap(vector.bytes), 20, vector.integer("payload_len"), starting);
        assertThat(terminate.layer()).isEqualTo(vector.integer("layer"));
        assertThat(terminate.type()).isEqualTo(vector.integer("type"));
        assertThat(terminate.code()).isEqualTo(vector.integer("code"));
    }

    /** Takes one ULPDU apart. */
    private static final class Recorder implements UlpduHandler {

        final DdpSegmentHeader segment = new DdpSegmentHeader();
        ByteBuffer payload = ByteBuffer.allocate(0);

        @Override
        public int begin(ByteBuffer bytes, int at, int length) throws IOException {
            segment.decode(bytes, at, length);
            payload = ByteBuffer.allocate(segment.payloadBytes);
            return segment.payloadBytes;
        }

        @Override
        public ByteBuffer target() {
            return payload;
        }

        @Override
        public void placed(int bytes) {
            payload.position(payload.position() + bytes);
        }

        @Override
        public void end() {}
    }
}
