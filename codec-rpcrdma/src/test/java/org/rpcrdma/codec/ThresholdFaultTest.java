// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.rpcrdma.NeedsDevice;
import org.rpcrdma.Proves;
import org.rpcrdma.codec.FaultPair.Role;
import org.rpcrdma.codec.wire.RdmaErrorMessage;

/**
 * Invariant 4: nothing is sent that is longer than the peer's threshold; what does not fit fails locally with a typed
 * exception. The lengths are those that the device is given.
 */
class ThresholdFaultTest {

    private FaultPair pair;

    @BeforeEach
    void open() {
        pair = new FaultPair();
    }

    @AfterEach
    void close() throws Exception {
        pair.close();
    }

    private static RpcRdmaConfig receiving(int bytes) {
        return RpcPair.usual()
                .sendSize(16384)
                .receiveSize(bytes)
                .announceReadChunkReplies(false)
                .build();
    }

    /** Every length around the threshold, as call and as reply; none is left out and none is too long. */
    @NeedsDevice("privateDataOnAccept")
    @ParameterizedTest
    @ValueSource(ints = {1024, 2048})
    @Proves({"V1-INL-06", "V1-INL-10", "V1-ERR-19", "V1-REPLY-11", "V1-LONG-01"})
    void everyLengthAroundTheThreshold(int threshold) throws Exception {
        List<Integer> requesterSends = new ArrayList<>();
        List<Integer> responderSends = new ArrayList<>();
        int xid = Form.LONG_REPLY.xids();
        try (FaultPair.Connection connection =
                pair.connect(
                        receiving(threshold),
                        receiving(threshold),
                        call -> sized(Rpc.reply(Rpc.xid(call)), Rpc.xid(call)))) {
            connection.anyReplyWillDo();
            connection.watch(
                    Role.REQUESTER,
                    (length, x, credits, procedure, posted) -> requesterSends.add(length));
            connection.watch(
                    Role.RESPONDER,
                    (length, x, credits, procedure, posted) -> responderSends.add(length));
            for (int length = threshold - 80; length <= threshold + 80; length += 4) {
                connection.expectCalls(1);
                connection.call(sized(Rpc.call(xid | length, Rpc.UNKNOWN, 1, 1), length));
                assertThat(connection.outcomes()).containsEntry(xid | length, "replied");
            }
            assertThat(RpcPair.on(connection.requester, () -> List.copyOf(requesterSends)))
                    .hasSize(41)
                    .allMatch(length -> length <= threshold)
                    .contains(threshold);
            assertThat(RpcPair.on(connection.responder, () -> List.copyOf(responderSends)))
                    .hasSize(41)
                    .allMatch(length -> length <= threshold)
                    .contains(threshold);
        }
    }

    /** Fills a message up to a length, the one that is written in the low half of the XID. */
    private static ByteBuf sized(ByteBuf message, int length) {
        int bytes = length & 0xFFFF;
        return message.writeZero(bytes - message.readableBytes());
    }

    @Test
    @Proves({"V1-ERR-20", "V1-INL-06"})
    void callsThatFitNowhereFailAloneAndAtOnce() throws Exception {
        RpcRdmaConfig small =
                RpcPair.usual()
                        .maxMessageBytes(100_000)
                        .maxChunkBytes(50_000)
                        .announceReadChunkReplies(false)
                        .build();
        int xid = Form.SHORT.xids();
        try (FaultPair.Connection connection =
                pair.connect(
                        small, Enumeration.responder(), call -> Form.SHORT.reply(Rpc.xid(call)))) {
            connection.expectCalls(4);
            connection.call(
                    Form.SHORT.call(xid | 1),
                    Rpc.echo(xid | 2, 100_000),
                    Rpc.read3(xid | 3, 50_001),
                    Form.SHORT.call(xid | 4));
            Map<Integer, String> ends = connection.outcomes();
            assertThat(ends.get(xid | 2)).contains("CallTooLongException");
            assertThat(ends.get(xid | 3)).contains("CallTooLongException");
            assertThat(ends).containsEntry(xid | 1, "replied").containsEntry(xid | 4, "replied");
        }
    }

    @Test
    @Proves({"V1-REPLY-10", "V1-ERR-21"})
    void replyThatFitsNowhereIsAnErrorAndNotASend() throws Exception {
        int xid = Form.SHORT.xids();
        List<Integer> sends = new ArrayList<>();
        try (FaultPair.Connection connection =
                pair.connect(
                        Enumeration.requester(),
                        Enumeration.builder().announceReadChunkReplies(false).build(),
                        call ->
                                Unpooled.directBuffer()
                                        .writeInt(Rpc.xid(call))
                                        .writeInt(1)
                                        .writeZero(100_000))) {
            connection.watch(
                    Role.RESPONDER, (length, x, credits, procedure, posted) -> sends.add(length));
            connection.expectCalls(1);
            connection.call(Form.SHORT.call(xid));
            assertThat(connection.outcomes().get(xid)).contains("ErrChunkReplyException");
            assertThat(RpcPair.on(connection.responder, () -> List.copyOf(sends)))
                    .containsExactly(RdmaErrorMessage.ERR_CHUNK_BYTES);
        }
    }
}
