// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp.ddp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.ByteBuffer;
import org.junit.jupiter.api.Test;
import org.rpcrdma.verbs.iwarp.mpa.StreamException;

/** The count of messages on a queue: RFC 5041, 4.2 and 5.2.1. */
class InboundUntaggedSegmentSequenceTest {

    private final InboundUntaggedSegmentSequence queue = new InboundUntaggedSegmentSequence(0, -1);

    private static DdpSegmentHeader segment(int message, int offset, boolean last, int payload)
            throws StreamException {
        ByteBuffer bytes = ByteBuffer.allocate(DdpSegmentHeader.UNTAGGED_BYTES + payload);
        DdpSegmentHeader.encodeUntagged(bytes, last, 0x43, 0, 0, message, offset);
        DdpSegmentHeader segment = new DdpSegmentHeader();
        segment.decode(bytes, 0, bytes.capacity());
        return segment;
    }

    private void take(int message, int offset, boolean last, int payload) throws StreamException {
        DdpSegmentHeader segment = segment(message, offset, last, payload);
        queue.check(segment);
        queue.advance(segment);
    }

    private void refuses(DdpError error, int message, int offset) {
        assertThatThrownBy(() -> queue.check(segment(message, offset, true, 1)))
                .isInstanceOfSatisfying(
                        StreamException.class, e -> assertThat(e.error()).isEqualTo(error));
    }

    @Test
    void countsFromOne() throws StreamException {
        InboundUntaggedSegmentSequence fresh = new InboundUntaggedSegmentSequence(0);
        fresh.check(segment(1, 0, true, 0));
    }

    /** RFC 5041, 4.2: the MSN wraps from 2^32 - 1 to 0. */
    @Test
    void wraps() throws StreamException {
        refuses(DdpError.UNTAGGED_MSN, 0, 0);
        take(-1, 0, true, 5);
        refuses(DdpError.UNTAGGED_MSN, -1, 0);
        refuses(DdpError.UNTAGGED_MSN, 1, 0);
        take(0, 0, true, 0);
        take(1, 0, true, 0);
    }

    @Test
    void expectsTheNextByte() throws StreamException {
        take(-1, 0, false, 100);
        assertThat(queue.open).isTrue();
        refuses(DdpError.UNTAGGED_MO, -1, 0);
        refuses(DdpError.UNTAGGED_MO, -1, 99);
        refuses(DdpError.UNTAGGED_MO, -1, -100);
        refuses(DdpError.UNTAGGED_MSN, 0, 100);
        take(-1, 100, false, 0);
        take(-1, 100, true, 1);
        assertThat(queue.open).isFalse();
        refuses(DdpError.UNTAGGED_MO, 0, 101);
    }
}
