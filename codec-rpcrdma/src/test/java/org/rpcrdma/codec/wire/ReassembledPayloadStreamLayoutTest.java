// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.wire;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import org.junit.jupiter.api.Test;
import org.rpcrdma.Proves;

class ReassembledPayloadStreamLayoutTest {

    private static final int MAX = 1 << 20;

    private final ReassembledPayloadStreamLayout layout = new ReassembledPayloadStreamLayout();

    private static ReadList list(long... positionsAndLengths) {
        ReadList reads = new ReadList();
        for (int i = 0; i < positionsAndLengths.length; i += 2) {
            reads.add(positionsAndLengths[i], i, positionsAndLengths[i + 1], 0);
        }
        return reads;
    }

    private String compute(ReadList reads, long stream) {
        return layout.compute(reads, stream, 16, MAX, MAX);
    }

    @Test
    @Proves({"V1-READ-03", "V1-READ-10", "V1-READ-14", "V1-CHUNK-08"})
    void positionExampleOfTheMatrix() {
        assertThat(compute(list(100, 5, 116, 3), 108)).isNull();
        assertThat(layout.total()).isEqualTo(120);
        assertThat(layout.pieces()).isEqualTo(3);
        assertThat(layout.pieceLength(0)).isEqualTo(100);
        assertThat(layout.pieceStart(1)).isEqualTo(108);
        assertThat(layout.pieceLength(1)).isEqualTo(8);
        assertThat(layout.pieceStart(2)).isEqualTo(120);
        assertThat(layout.pieceLength(2)).isZero();
        assertThat(layout.pad(0)).isEqualTo(3);
        assertThat(layout.pad(1)).isEqualTo(1);

        assertThat(compute(list(100, 8, 116, 4), 108)).isNull();
        assertThat(layout.total()).isEqualTo(120);
        assertThat(layout.pad(0)).isZero();
        assertThat(layout.pieceStart(1)).isEqualTo(108);
    }

    @Test
    @Proves({"V1-READ-11", "V1-READ-15", "V1-READ-17", "V1-LONG-11", "V1-READ-21"})
    void anyOrderEmptySegmentsAndPositionZeroAnywhere() {
        assertThat(compute(list(116, 3, 100, 4, 0, 50, 100, 1, 0, 58, 112, 0), 108)).isNull();
        assertThat(layout.total()).isEqualTo(120);
        assertThat(layout.chunks()).isEqualTo(3);
        assertThat(layout.position(0)).isEqualTo(100);
        assertThat(layout.length(0)).isEqualTo(5);
        assertThat(layout.position(1)).isEqualTo(112);
        assertThat(layout.length(1)).isZero();
    }

    @Test
    @Proves({"V1-READ-04", "V1-READ-16", "SEC-09", "SEC-11", "V1-CHUNK-12", "V1-ERR-23"})
    void whatIsRefused() {
        assertThat(compute(list(101, 4), 200)).contains("multiple of 4");
        assertThat(compute(list(0xFFFFFFFEL, 4), 200)).contains("multiple of 4");
        assertThat(compute(list(204, 4), 200)).contains("past the end");
        assertThat(compute(list(0xFFFFFFFCL, 4), 200)).contains("past the end");
        assertThat(compute(list(100, 8, 104, 4), 200)).contains("inside another");
        assertThat(compute(list(100, 5, 104, 4), 200)).contains("inside another");
        assertThat(compute(list(100, 0xFFFFFFFFL), 200)).contains("longer than allowed");
        assertThat(compute(list(100, 0xFFFFFFFFL, 100, 0xFFFFFFFFL), 200))
                .contains("longer than allowed");
        assertThat(compute(list(0, 0xFFFFFFFFL), 0xFFFFFFFFL)).contains("longer than allowed");
        assertThat(compute(list(100, MAX), 200)).contains("message longer");
        long[] many = new long[34];
        Arrays.fill(many, 100);
        assertThat(compute(list(many), 200)).contains("too many segments");
        assertThat(compute(list(200, 4), 200)).isNull();
    }

    /** Random streams are cut into chunks and segments as a requester may do it, and come back whole. */
    @Property(tries = 500)
    @Proves({"V1-READ-02", "V1-READ-05", "V1-CHUNK-09"})
    void everyCutIsUndone(@ForAll long seed) {
        Random random = new Random(seed);
        List<long[]> segments = new ArrayList<>();
        List<int[]> chunks = new ArrayList<>();
        int at = 40 + 4 * random.nextInt(10);
        int reduced = at;
        for (int i = random.nextInt(4); i > 0; i--) {
            int length = random.nextInt(50);
            chunks.add(new int[] {at, length});
            for (int left = length; left > 0; ) {
                int part = 1 + random.nextInt(left);
                segments.add(new long[] {at, part});
                left -= part;
            }
            int gap = 4 + 4 * random.nextInt(5);
            at += ((length + 3) & ~3) + gap;
            reduced += gap;
        }
        Collections.shuffle(segments, random);
        ReadList reads = new ReadList();
        segments.forEach(s -> reads.add(s[0], 1, s[1], 0));
        assertThat(layout.compute(reads, reduced, 64, MAX, MAX)).isNull();
        chunks.removeIf(chunk -> chunk[1] == 0);
        assertThat(layout.chunks()).isEqualTo(chunks.size());
        int pieces = 0;
        for (int i = 0; i < layout.pieces(); i++) {
            pieces += layout.pieceLength(i);
        }
        assertThat(pieces).isEqualTo(reduced);
        for (int i = 0; i < chunks.size(); i++) {
            assertThat(layout.position(i)).isEqualTo(chunks.get(i)[0]);
            assertThat(layout.length(i)).isEqualTo(chunks.get(i)[1]);
        }
    }
}
