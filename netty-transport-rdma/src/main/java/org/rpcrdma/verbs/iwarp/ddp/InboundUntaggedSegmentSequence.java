// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp.ddp;

import org.rpcrdma.verbs.iwarp.mpa.StreamException;

/**
 * The receive side of one untagged queue: RFC 5041, 5.2.1 and 7. TCP keeps order, so exactly one segment can be next.
 */
public final class InboundUntaggedSegmentSequence {

    private final int number;
    private int expectedMessage;
    private long expectedOffset;

    /** Whether segments of a message have come, but not its last. */
    public boolean open;

    /** @param number the QN */
    public InboundUntaggedSegmentSequence(int number) {
        this(number, 1);
    }

    InboundUntaggedSegmentSequence(int number, int firstMessage) {
        this.number = number;
        this.expectedMessage = firstMessage;
    }

    /** Position in the sequence, which increases with each {@linkplain #advance counted} segment. */
    public long position() {
        return ((long) expectedMessage << Integer.SIZE) + expectedOffset;
    }

    /**
     * Checks that a segment is the next one.
     *
     * @throws StreamException when its MSN or MO is not the expected one
     */
    public void check(DdpSegmentHeader segment) throws StreamException {
        if (segment.messageNumber != expectedMessage) {
            throw new StreamException(
                    DdpError.UNTAGGED_MSN,
                    String.format(
                            "Segment on queue %d has MSN %s, expected %s",
                            number,
                            Integer.toUnsignedString(segment.messageNumber),
                            Integer.toUnsignedString(expectedMessage)));
        }
        long offset = Integer.toUnsignedLong(segment.messageOffset);
        if (offset != expectedOffset) {
            throw new StreamException(
                    DdpError.UNTAGGED_MO,
                    String.format(
                            "Segment on queue %d has MO %d, expected %d",
                            number, offset, expectedOffset));
        }
    }

    /** Counts a segment that was checked. */
    public void advance(DdpSegmentHeader segment) {
        open = !segment.isLast;
        if (segment.isLast) {
            expectedMessage++;
            expectedOffset = 0;
        } else {
            expectedOffset += segment.payloadBytes;
        }
    }
}
