// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.rpc;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.rpcrdma.codec.rpc.OpaqueAuth;

class RpcCallHandlerTest {

    private final EmbeddedChannel channel = new EmbeddedChannel(new RpcCallHandler());
    private final RpcClient client = new TcpRpcClient(channel);

    @AfterEach
    void close() {
        channel.finishAndReleaseAll();
    }

    @Test
    void aCallHasItsHeaderAndAReplyItsResults() {
        Future<ByteBuf> call = call(Unpooled.buffer().writeInt(42));
        ByteBuf sent = channel.readOutbound();
        int xid = sent.readInt();
        assertThat(
                        new int[] {
                            sent.readInt(),
                            sent.readInt(),
                            sent.readInt(),
                            sent.readInt(),
                            sent.readInt()
                        })
                .containsExactly(0, 2, 100003, 3, 7);
        assertThat(sent.readLong()).isZero();
        assertThat(sent.readLong()).isZero();
        assertThat(sent.readInt()).isEqualTo(42);
        assertThat(sent.isReadable()).isFalse();
        sent.release();
        channel.writeInbound(reply(xid, 0).writeInt(43));
        assertThat(call.getNow().readInt()).isEqualTo(43);
        call.getNow().release();
    }

    @Test
    void argumentsWithRoomInFrontStayInOnePiece() {
        ByteBuf arguments =
                Unpooled.buffer(512)
                        .setIndex(RpcClient.HEADER_MAX, RpcClient.HEADER_MAX)
                        .writeInt(42);
        call(arguments);
        ByteBuf sent = channel.readOutbound();
        assertThat(sent).isSameAs(arguments);
        assertThat(sent.readableBytes()).isEqualTo(44);
        assertThat(sent.getInt(sent.readerIndex() + 40)).isEqualTo(42);
        sent.release();
    }

    @Test
    void repliesFindTheirCallsInAnyOrder() {
        Future<ByteBuf> first = call(Unpooled.EMPTY_BUFFER);
        Future<ByteBuf> second = call(Unpooled.EMPTY_BUFFER);
        int firstXid = sentXid();
        int secondXid = sentXid();
        channel.writeInbound(reply(secondXid, 0).writeInt(2));
        assertThat(first.isDone()).isFalse();
        channel.writeInbound(reply(firstXid, 0).writeInt(1), reply(firstXid, 0), reply(12345, 0));
        assertThat(first.getNow().readInt()).isEqualTo(1);
        assertThat(second.getNow().readInt()).isEqualTo(2);
        first.getNow().release();
        second.getNow().release();
    }

    @Test
    void refusalsAreExplained() {
        assertThat(failure(reply(0, 1))).hasMessage("the server has no program 100003");
        assertThat(failure(reply(0, 2).writeInt(2).writeInt(2)))
                .hasMessage("the server has versions 2 to 2 of program 100003, not 3");
        assertThat(failure(reply(0, 3)))
                .hasMessage("the server has no procedure 7 in program 100003");
        assertThat(failure(reply(0, 4))).hasMessage("the server could not read the arguments");
        assertThat(failure(reply(0, 5))).hasMessage("the server has failed (SYSTEM_ERR)");
        assertThat(
                        failure(
                                Unpooled.buffer()
                                        .writeInt(0)
                                        .writeInt(1)
                                        .writeInt(1)
                                        .writeInt(1)
                                        .writeInt(2)))
                .hasMessage("the server does not accept the credential (auth_stat 2)");
        assertThat(failure(Unpooled.buffer().writeInt(0).writeInt(1).writeInt(0)))
                .hasMessage("the server's reply cannot be read: ends after 0 bytes (expected: 4)");
        assertThat(
                        failure(
                                Unpooled.buffer()
                                        .writeInt(0)
                                        .writeInt(1)
                                        .writeInt(0)
                                        .writeInt(0)
                                        .writeInt(1 << 30)))
                .hasMessage(
                        "the server's reply cannot be read: opaque data of 1073741824 bytes"
                                + " (expected: at most 400)");
    }

    @Test
    void aCallWithoutAReplyTimesOut() {
        Future<ByteBuf> call = call(Unpooled.EMPTY_BUFFER);
        int xid = sentXid();
        channel.advanceTimeBy(1001, TimeUnit.MILLISECONDS);
        channel.runScheduledPendingTasks();
        assertThat(call.cause())
                .isInstanceOf(RpcException.class)
                .hasMessage("no answer within 1000 ms");
        assertThat(channel.writeInbound(reply(xid, 0))).isFalse();
    }

    @Test
    void allCallsFailWhenTheConnectionEnds() {
        Future<ByteBuf> first = call(Unpooled.EMPTY_BUFFER);
        Future<ByteBuf> second = call(Unpooled.EMPTY_BUFFER);
        sentXid();
        sentXid();
        channel.close();
        assertThat(first.cause()).hasMessage("the server has closed the connection");
        assertThat(second.cause()).hasMessage("the server has closed the connection");
        assertThat(call(Unpooled.EMPTY_BUFFER).cause()).hasMessage("the connection is closed");
    }

    private Throwable failure(ByteBuf reply) {
        Future<ByteBuf> call = call(Unpooled.EMPTY_BUFFER);
        channel.writeInbound(reply.setInt(0, sentXid()));
        assertThat(reply.refCnt()).isZero();
        return call.cause();
    }

    private Future<ByteBuf> call(ByteBuf arguments) {
        return client.call(100003, 3, 7, OpaqueAuth.NONE, arguments, 1000);
    }

    private int sentXid() {
        ByteBuf sent = channel.readOutbound();
        int xid = sent.readInt();
        sent.release();
        return xid;
    }

    private static ByteBuf reply(int xid, int acceptState) {
        ByteBuf reply = Unpooled.buffer().writeInt(xid).writeInt(1).writeInt(0);
        return reply.writeLong(0).writeInt(acceptState);
    }
}
