// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.rpcrdma.codec.wire.TransportHeader;

class OutboundReplyTransferFormTest {

    @ParameterizedTest
    @CsvSource({
        "100, 100,   0, false, INLINE",
        "100, 100, 500, true,  INLINE",
        "101, 100, 101, true,  REPLY_CHUNK",
        "101, 100, 101, false, REPLY_CHUNK",
        "101, 100, 100, true,  READ_CHUNK",
        "101, 100, 100, false, TOO_LONG",
        "101, 100, 0x1fffffffe, false, REPLY_CHUNK",
        "  1,  -4,   0, false, TOO_LONG"
    })
    void isTheFirstThatHasRoom(
            int payload,
            int room,
            String chunk,
            boolean readChunks,
            OutboundReplyTransferForm expected) {
        long replyChunk = Long.decode(chunk);
        assertThat(OutboundReplyTransferForm.of(payload, room, replyChunk, readChunks))
                .isSameAs(expected);
        assertThat(expected.isLong()).isEqualTo(expected.procedure != TransportHeader.RDMA_MSG);
    }
}
