// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp.rdmap;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import org.rpcrdma.FuzzTarget;
import org.rpcrdma.verbs.iwarp.ddp.DdpError;
import org.rpcrdma.verbs.iwarp.ddp.DdpSegmentHeader;
import org.rpcrdma.verbs.iwarp.mpa.MpaError;
import org.rpcrdma.verbs.iwarp.mpa.StreamError;
import org.rpcrdma.verbs.iwarp.mpa.StreamException;

/**
 * The Terminate message and the header of a DDP segment. An input is one byte of choices and a ULPDU: its first bytes
 * are taken as the header, the rest as a Terminate.
 */
class TerminateFuzzTest extends FuzzTarget {

    private static final int STARTING = 1;

    private static final List<StreamError> ERRORS =
            Stream.<StreamError[]>of(MpaError.values(), DdpError.values(), RdmapError.values())
                    .flatMap(Arrays::stream)
                    .toList();

    @Override
    protected Stream<byte[]> seeds() {
        return Vector.all("fpdu")
                .filter(vector -> vector.bytes.length < 200)
                .map(
                        vector -> {
                            byte[] seed = Arrays.copyOfRange(vector.bytes, 1, vector.bytes.length);
                            seed[0] =
                                    (byte) (vector.name.startsWith("terminate_mpa") ? STARTING : 0);
                            return seed;
                        });
    }

    @Override
    protected void check(byte[] input) {
        if (input.length == 0) {
            return;
        }
        boolean starting = (input[0] & STARTING) != 0;
        byte[] ulpdu = Arrays.copyOfRange(input, 1, input.length);
        DdpSegmentHeader segment = new DdpSegmentHeader();
        try {
            segment.decode(ByteBuffer.wrap(ulpdu), 0, ulpdu.length);
        } catch (StreamException e) {
            assertThat(e.error()).isNotNull();
            assertThat(e).message().isNotEmpty();
        }
        if (!segment.isPresent()) {
            return;
        }
        assertThat(segment.payloadBytes).isNotNegative();
        ByteBuffer header = ByteBuffer.allocate(segment.headerBytes);
        segment.encode(header);
        assertThat(header.array()).isEqualTo(Arrays.copyOf(ulpdu, segment.headerBytes));

        checkDecode(ulpdu, segment.headerBytes, starting);
        ReadRequestHeader request = readRequest(ulpdu, segment.headerBytes);
        checkEncode(segment, request, (input[0] & 0xff) >>> 1);
    }

    private static void checkDecode(byte[] ulpdu, int at, boolean starting) {
        int length = ulpdu.length - at;
        Terminate terminate = Terminate.decode(ByteBuffer.wrap(ulpdu), at, length, starting);
        assertThat(terminate.layer()).isBetween(0, 15);
        assertThat(terminate.type()).isBetween(0, 15);
        assertThat(terminate.code()).isBetween(0, 255);
        assertThat(terminate.opcode()).isBetween(-1, 15);
        assertThat(terminate.describe()).isNotEmpty();
        // What stands behind it, the next FPDU, has no influence.
        byte[] more = Arrays.copyOf(ulpdu, ulpdu.length + 40);
        Arrays.fill(more, ulpdu.length, more.length, (byte) 0xff);
        assertThat(Terminate.decode(ByteBuffer.wrap(more), at, length, starting))
                .isEqualTo(terminate);
    }

    private static ReadRequestHeader readRequest(byte[] ulpdu, int at) {
        if (ulpdu.length - at < ReadRequestHeader.BYTES) {
            return null;
        }
        ReadRequestHeader request = new ReadRequestHeader();
        request.decode(ByteBuffer.wrap(ulpdu), at, 1);
        ByteBuffer encoded = ByteBuffer.allocate(ReadRequestHeader.BYTES);
        request.encode(encoded);
        assertThat(encoded.array())
                .isEqualTo(Arrays.copyOfRange(ulpdu, at, at + ReadRequestHeader.BYTES));
        return request;
    }

    /** Whatever we have to complain about, a peer that reads like us understands it. */
    private static void checkEncode(
            DdpSegmentHeader segment, ReadRequestHeader request, int which) {
        StreamError error = ERRORS.get(which % ERRORS.size());
        byte[] ulpdu = Terminate.encode(error, segment, request);
        assertThat(ulpdu.length).isIn(22, 38, 42, 66, 70);
        Terminate decoded =
                Terminate.decode(
                        ByteBuffer.wrap(ulpdu),
                        DdpSegmentHeader.UNTAGGED_BYTES,
                        ulpdu.length - DdpSegmentHeader.UNTAGGED_BYTES,
                        error.layer() == StreamError.LAYER_LLP);
        assertThat(decoded.layer()).isEqualTo(error.layer());
        assertThat(decoded.type()).isEqualTo(error.type());
        assertThat(decoded.code()).isEqualTo(error.code());
        assertThat(decoded.opcode()).isIn(-1, RdmapOpcodes.opcode(segment.ulpControl));
    }
}
