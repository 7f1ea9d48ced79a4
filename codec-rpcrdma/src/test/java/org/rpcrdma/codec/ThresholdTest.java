// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.rpcrdma.codec.RpcPair.on;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.rpcrdma.Proves;
import org.rpcrdma.channel.RdmaChannelOption;
import org.rpcrdma.channel.RemoteAccess;
import org.rpcrdma.codec.wire.OncRpcHeaderDecoder;
import org.rpcrdma.codec.wire.RdmaErrorMessage;
import org.rpcrdma.codec.wire.ReadList;
import org.rpcrdma.codec.wire.TransportHeader;

/** The inline thresholds, to the byte, in both directions and for every program. */
class ThresholdTest {

    private static final int THRESHOLD = 1024;
    private static final int HEADER = TransportHeader.MINIMUM_BYTES;
    private static final int VERIFIER = OncRpcHeaderDecoder.MAXIMUM_VERIFIER_BYTES;

    private static RpcRdmaConfig.Builder config() {
        return RpcPair.usual()
                .sendSize(THRESHOLD)
                .receiveSize(THRESHOLD)
                .bindings(List.of(new TestBinding()));
    }

    private static RpcRdmaConfig both(int size) {
        return RpcPair.usual().sendSize(size).receiveSize(size).build();
    }

    @Test
    @Proves({
        "V1-HDR-12",
        "V1-INL-06",
        "V1-INL-10",
        "V1-LONG-01",
        "V1-LONG-02",
        "V1-OBS-01",
        "V1-OBS-04",
        "V1-FRAME-03",
        "API-08"
    })
    void noCallIsLongerThanTheThreshold() throws Exception {
        RpcRdmaConfig client = config().defaultMaximumReply(0).build();
        try (RpcPair pair = RpcPair.rawServer(client, both(THRESHOLD));
                RawPeer server = RawPeer.server(pair)) {
            for (int length = 900; length <= 1100; length += 4) {
                byte[] call = ByteBufUtil.getBytes(Rpc.echo(length, length - 40));
                pair.call(Unpooled.wrappedBuffer(call));
                int sent = server.take();
                if (HEADER + length <= THRESHOLD) {
                    assertThat(server.header.proc()).isEqualTo(TransportHeader.RDMA_MSG);
                    assertThat(sent).isEqualTo(HEADER + length);
                    assertThat(server.payload).isEqualTo(call);
                } else {
                    assertThat(server.header.proc()).isEqualTo(TransportHeader.RDMA_NOMSG);
                    assertThat(sent).isEqualTo(HEADER + ReadList.ENTRY_BYTES);
                    assertThat(server.header.reads().chunkLength(0)).isEqualTo(length);
                    assertThat(
                                    server.read(
                                            server.header.reads().handle(0),
                                            server.header.reads().offset(0),
                                            length))
                            .isEqualTo(call);
                }
                server.send(server.mirrored(0), Rpc.reply(length));
                assertThat(pair.client.takeXid()).isEqualTo(length);
            }
        }
    }

    @Test
    @Proves({
        "V1-INL-06",
        "V1-INL-10",
        "V1-REPLY-05",
        "V1-REPLY-06",
        "V1-REPLY-11",
        "V1-ERR-19",
        "V1-HDR-09",
        "V1-HDR-12",
        "V1-OBS-01",
        "V1-OBS-04",
        "API-08"
    })
    void noReplyIsLongerThanTheThreshold() throws Exception {
        try (RpcPair pair = RpcPair.rawClient(both(THRESHOLD), both(4096));
                RawPeer client = RawPeer.client(pair)) {
            int xid = 0;
            for (int length = 920; length <= 1040; length += 4) {
                for (boolean hasReplyChunk : new boolean[] {false, true}) {
                    TransportHeader call = RawPeer.header(++xid, 0);
                    ByteBuf memory = client.memory(2000);
                    int handle = 0;
                    if (hasReplyChunk) {
                        handle = client.expose(memory, RemoteAccess.WRITE);
                        call.reply().setPresent();
                        call.reply().add(handle, 2000, client.offset(handle));
                    }
                    client.send(call, Rpc.echo(xid, 8));
                    pair.server.takeBytes();
                    byte[] reply =
                            ByteBufUtil.getBytes(
                                    Rpc.reply(xid).writeBytes(Rpc.random(length - 24)));
                    pair.reply(Unpooled.wrappedBuffer(reply));
                    int received = client.take();
                    int header = HEADER + (hasReplyChunk ? 20 : 0);
                    if (header + length <= THRESHOLD) {
                        assertThat(received).isEqualTo(header + length);
                        assertThat(client.header.proc()).isEqualTo(TransportHeader.RDMA_MSG);
                        assertThat(client.payload).isEqualTo(reply);
                    } else if (hasReplyChunk) {
                        assertThat(received).isEqualTo(header);
                        assertThat(client.header.proc()).isEqualTo(TransportHeader.RDMA_NOMSG);
                        assertThat(ByteBufUtil.getBytes(memory, 0, length)).isEqualTo(reply);
                    } else {
                        assertThat(received).isEqualTo(RdmaErrorMessage.ERR_CHUNK_BYTES);
                        assertThat(client.header.proc()).isEqualTo(TransportHeader.RDMA_ERROR);
                    }
                    client.invalidate(handle);
                }
            }
        }
    }

    /** Version 1 has no sinks; version 2 has two, which the reply's header repeats. */
    @ParameterizedTest
    @CsvSource({"1, 0", "2, 48"})
    @Proves({"V1-REPLY-01", "V1-REPLY-02", "V1-REPLY-04", "V1-GSS-05", "API-07", "API-08"})
    void theReplysHeaderAndItsLongestVerifierCount(int version, int lists) throws Exception {
        int most = THRESHOLD - HEADER - lists - OncRpcHeaderDecoder.REPLY_HEADER_BYTES - VERIFIER;
        try (RpcPair pair = RpcPair.rawServer(config().build(), both(THRESHOLD));
                RawPeer server = RawPeer.server(pair)) {
            pair.call(Rpc.call(1, TestBinding.PROGRAM, version, most));
            server.take();
            assertThat(server.header.writes().chunks()).isEqualTo(version == 1 ? 0 : 2);
            assertThat(server.header.reply().isPresent()).isFalse();
            // The longest reply that was counted on: it fills the receive to the last byte.
            ByteBuf longest = Unpooled.buffer().writeInt(1).writeInt(1).writeInt(0);
            longest.writeInt(6).writeInt(VERIFIER).writeZero(VERIFIER).writeInt(1);
            ByteBuf reply =
                    RawPeer.message(server.mirrored(0), longest.writeBytes(Rpc.random(most)));
            assertThat(reply.readableBytes()).isEqualTo(THRESHOLD);
            server.send(reply);
            assertThat(pair.client.takeBytes())
                    .hasSize(OncRpcHeaderDecoder.REPLY_HEADER_BYTES + VERIFIER + most);

            pair.call(Rpc.call(2, TestBinding.PROGRAM, version, most + 4));
            server.take();
            assertThat(server.header.reply().chunkLength())
                    .isEqualTo(OncRpcHeaderDecoder.REPLY_HEADER_BYTES + VERIFIER + most + 4);
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {62, 63})
    @Proves("V1-INL-08")
    void theHeaderOfTheReplyHasToFitToo(int segments) throws Exception {
        try (RpcPair pair = RpcPair.rawClient(both(THRESHOLD), both(4096));
                RawPeer client = RawPeer.client(pair)) {
            // What is sent here is not limited: only the receives are of 1024 bytes.
            TransportHeader call = RawPeer.header(1, 0);
            int handle = client.expose(client.memory(100 * segments), RemoteAccess.WRITE);
            call.reply().setPresent();
            for (int i = 0; i < segments; i++) {
                call.reply().add(handle, 100, client.offset(handle) + 100L * i);
            }
            // The payload would be too long for the call's threshold.
            byte[] whole = ByteBufUtil.getBytes(Rpc.echo(1, 0));
            int stream = client.expose(client.memory(whole), RemoteAccess.READ);
            call.set(1, 32, TransportHeader.RDMA_NOMSG);
            call.reads().add(0, stream, whole.length, client.offset(stream));
            on(
                    pair.clientChannel,
                    () ->
                            pair.clientChannel
                                    .config()
                                    .setOption(RdmaChannelOption.MAX_SEND_SIZE, 4096));
            client.send(call, RawPeer.nothing());
            if (segments == 63) {
                assertThat(client.take()).isEqualTo(RdmaErrorMessage.ERR_CHUNK_BYTES);
                return;
            }
            assertThat(pair.server.takeBytes()).isEqualTo(whole);
            pair.reply(Rpc.reply(1).writeZero(1000));
            assertThat(client.take()).isEqualTo(THRESHOLD);
            assertThat(client.header.reply().chunkLength()).isEqualTo(1024);
        }
    }

    @Test
    @Proves({"V1-INL-08", "V1-LONG-03", "V1-CHUNK-09"})
    void aLongCallInFortyOneSegments() throws Exception {
        try (RpcPair pair = RpcPair.rawClient(both(THRESHOLD), both(THRESHOLD));
                RawPeer client = RawPeer.client(pair)) {
            byte[] whole = ByteBufUtil.getBytes(Rpc.echo(1, 4100 - 40));
            int handle = client.expose(client.memory(whole), RemoteAccess.READ);
            TransportHeader call = RawPeer.header(1, TransportHeader.RDMA_NOMSG);
            for (int i = 0; i < 41; i++) {
                call.reads().add(0, handle, 100, client.offset(handle) + 100L * i);
            }
            assertThat(call.encodedBytes()).isEqualTo(1012);
            client.send(call, RawPeer.nothing());
            assertThat(pair.server.takeBytes()).isEqualTo(whole);
            pair.reply(Rpc.reply(1));
            assertThat(client.take()).isEqualTo(HEADER + 24);
        }
    }

    @Test
    @Proves({"V1-ERR-20", "V1-INL-08", "V1-INL-10"})
    void aCallWhoseHeaderDoesNotFitFailsAloneAndLeavesNothing() throws Exception {
        RpcRdmaConfig client = config().bindings(List.of(new TestBinding(60))).build();
        try (RpcPair pair = RpcPair.rawServer(client, both(THRESHOLD));
                RawPeer server = RawPeer.server(pair)) {
            ByteBuf argument =
                    Unpooled.directBuffer()
                            .writeBytes(Rpc.call(1, TestBinding.PROGRAM, 2, 3))
                            .writeZero(20_000);
            assertThatThrownBy(() -> pair.call(argument).sync())
                    .isInstanceOf(CallTooLongException.class)
                    .hasMessageContaining("1024");
            assertThat(argument.refCnt()).isZero();
            assertThat(pair.clientConnection().callsInFlight()).isZero();
            // All that had been exposed was taken back, and the only credit is there.
            assertThat(pair.clientConnection().value(RpcRdmaCounter.LOCAL_INVALIDATIONS))
                    .isEqualTo(61 + 1);
            pair.call(Rpc.call(1, TestBinding.PROGRAM, 1, 100));
            server.take();
            server.send(server.mirrored(0), Rpc.reply(1));
            assertThat(pair.client.takeXid()).isEqualTo(1);
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {1024, 2048, 4096, 65536})
    @Proves({"V1-INL-03", "V1-INL-04", "V1-INL-07", "V1-INL-09", "V1-ULB-08"})
    void allProgramsOfAConnectionWorkAtAnyThreshold(int threshold) throws Exception {
        try (RpcPair pair = RpcPair.of(both(threshold), both(threshold))) {
            assertThat(pair.clientConnection().sendThreshold()).isEqualTo(threshold);
            assertThat(pair.serverConnection().sendThreshold()).isEqualTo(threshold);
            byte[] data = Rpc.random(70_001);
            exchange(pair, Rpc.read3(1, data.length), Rpc.read3Reply(1, data));
            exchange(pair, Rpc.write3(2, data), Rpc.reply(2).writeZero(136));
            exchange(pair, Rpc.readdir3(3, 30_000), Rpc.reply(3).writeZero(30_000));
            exchange(pair, Rpc.echo(4, 50_000), Rpc.reply(4).writeBytes(Rpc.random(40_000)));
            exchange(pair, Rpc.call(5, 100005, 3, 0), Rpc.reply(5));
            int inline = threshold - HEADER;
            exchange(pair, Rpc.echo(6, inline - 40), Rpc.reply(6));
        }
    }

    private static void exchange(RpcPair pair, ByteBuf call, ByteBuf reply) throws Exception {
        byte[] callBytes = ByteBufUtil.getBytes(call);
        byte[] replyBytes = ByteBufUtil.getBytes(reply);
        pair.call(call);
        assertThat(pair.server.takeBytes()).isEqualTo(callBytes);
        pair.reply(reply);
        assertThat(pair.client.takeBytes()).isEqualTo(replyBytes);
    }

    @Test
    @Proves({"V1-INL-02", "V1-INL-03", "V1-ULB-07", "API-16"})
    void thresholdsAreSetBeforeAndReadableAfterwards() throws Exception {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> RpcPair.usual().receiveSize(1023))
                .withMessageContaining("1023");
        try (RpcPair pair = RpcPair.of(both(2048), both(2048))) {
            assertThatIllegalStateException()
                    .isThrownBy(
                            () ->
                                    pair.clientChannel
                                            .config()
                                            .setOption(RdmaChannelOption.RECEIVE_SIZE, 4096));
            exchange(pair, Rpc.echo(1, 8), Rpc.reply(1));
            assertThat(pair.clientConnection().receiveThreshold()).isEqualTo(2048);
            assertThat(pair.serverConnection().receiveThreshold()).isEqualTo(2048);
            assertThat(pair.clientConnection().creditsGranted()).isEqualTo(64);
            assertThat(pair.clientConnection().callsInFlight()).isZero();
        }
    }
}
