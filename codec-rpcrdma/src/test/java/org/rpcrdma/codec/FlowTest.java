// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.rpcrdma.codec.RpcPair.on;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.CompositeByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelFuture;
import java.nio.channels.ClosedChannelException;
import java.util.concurrent.CancellationException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.rpcrdma.Device;
import org.rpcrdma.Proves;
import org.rpcrdma.codec.wire.OncRpcHeaderDecoder;
import org.rpcrdma.codec.wire.TransportHeader;

/** The flows of RFC 8166 from one RPC handler to the other, over the software RNIC. */
class FlowTest {

    private static final RpcRdmaConfig CONFIG = RpcPair.usual().build();

    private static RpcRdmaConfig fresh() {
        return RpcPair.usual().build();
    }

    @Test
    @Proves({"V1-FRAME-01", "V1-FRAME-02", "V1-CORE-07", "V1-HDR-02"})
    void shortCallAndReply() throws Exception {
        try (RpcPair pair = RpcPair.of(fresh(), fresh())) {
            byte[] call = ByteBufUtil.getBytes(Rpc.echo(0xFFFFFFFE, 100));
            pair.call(Unpooled.wrappedBuffer(call));
            assertThat(pair.server.takeBytes()).isEqualTo(call);
            byte[] reply = ByteBufUtil.getBytes(Rpc.reply(0xFFFFFFFE).writeBytes(Rpc.random(44)));
            pair.reply(Unpooled.wrappedBuffer(reply)).sync();
            assertThat(pair.client.takeBytes()).isEqualTo(reply);
            assertThat(pair.clientConnection().callsInFlight()).isZero();
            assertThat(pair.clientConnection().creditsGranted()).isEqualTo(64);
        }
    }

    @Test
    @Proves({"V1-INL-01", "V1-INL-02", "API-16", "PD-04"})
    void thresholdsAreTheSmallerOfWhatOneSendsAndTheOtherReceives() throws Exception {
        RpcRdmaConfig client = RpcPair.usual().sendSize(8192).receiveSize(2048).build();
        RpcRdmaConfig server = RpcPair.usual().sendSize(4096).receiveSize(16384).build();
        try (RpcPair pair = RpcPair.of(client, server)) {
            assertThat(pair.clientConnection().sendThreshold()).isEqualTo(8192);
            assertThat(pair.serverConnection().receiveThreshold()).isEqualTo(8192);
            assertThat(pair.clientConnection().receiveThreshold()).isEqualTo(2048);
            assertThat(pair.serverConnection().sendThreshold()).isEqualTo(2048);
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2})
    @Proves("API-16")
    void whatWasAgreedOnAndGrantedCanBeRead(int version) throws Exception {
        RpcRdmaConfig.Builder own = RpcPair.usual().sendSize(16384).receiveSize(8192);
        if (version == 2) {
            own.versionTwo(VersionTwoConfig.defaults());
        }
        RpcRdmaConfig theirs =
                RpcPair.usual().sendSize(6144).receiveSize(5120).remoteInvalidation(false).build();
        try (RpcPair pair = RpcPair.rawServer(own.build(), theirs);
                RawPeer server = RawPeer.server(pair)) {
            RpcRdmaConnection client = pair.clientConnection();
            assertThat(client.peer()).isEqualTo(new PrivateData(6144, 5120, false));
            assertThat(client.version()).isEqualTo(version == 2 ? 0 : 1);
            assertThat(client.creditsGranted()).isEqualTo(1);
            assertThat(client.callsInFlight()).isZero();
            pair.call(Rpc.echo(5, 8));
            if (version == 2) {
                server.take(); // the question whether version 2 is spoken
                int question = server.header.xid();
                server.send(
                        new TransportHeader().set(question, 2, 7, 0, OncRpcHeaderDecoder.REPLY),
                        Rpc.reply(question));
            }
            server.take();
            assertThat(server.header.version()).isEqualTo(version);
            RpcPair.settle(pair.clientChannel);
            assertThat(client.version()).isEqualTo(version);
            assertThat(client.sendThreshold()).isEqualTo(5120);
            assertThat(client.receiveThreshold()).isEqualTo(6144);
            assertThat(client.callsInFlight()).isEqualTo(1);
            assertThat(client.creditsGranted()).isEqualTo(version == 2 ? 7 : 1);
            server.send(
                    new TransportHeader().set(5, version, 3, 0, OncRpcHeaderDecoder.REPLY),
                    Rpc.reply(5));
            pair.client.takeBytes();
            assertThat(client.callsInFlight()).isZero();
            assertThat(client.creditsGranted()).isEqualTo(3);
        }
    }

    @Test
    @Proves({"V1-INL-03", "V1-INL-05", "V1-INL-07", "V1-INL-10", "PD-05"})
    void aPeerThatAnnouncesNothingGetsTheDefault() throws Exception {
        try (RpcPair pair = RpcPair.silentServer(fresh())) {
            assertThat(pair.clientConnection().sendThreshold()).isEqualTo(1024);
            assertThat(pair.clientConnection().receiveThreshold()).isEqualTo(1024);
            pair.call(Rpc.write3(1, Rpc.random(1000)));
            assertThat(pair.server.takeBytes()).hasSizeLessThan(1024);
            assertThat(pair.clientConnection().value(RpcRdmaCounter.READ_CHUNK_CALLS)).isEqualTo(1);
        }
    }

    @Test
    @Proves("V1-ERR-20")
    void moreWaitingCallsThanAllowedFailAtOnce() throws Exception {
        try (RpcPair pair = RpcPair.of(RpcPair.usual().maxQueuedCalls(1).build(), fresh())) {
            pair.call(Rpc.echo(1, 8));
            pair.call(Rpc.echo(2, 8));
            assertThatThrownBy(() -> pair.call(Rpc.echo(3, 8)).sync())
                    .isInstanceOf(CallQueueFullException.class)
                    .hasMessageContaining("maxQueuedCalls");
            assertThat(pair.server.takeXid()).isEqualTo(1);
            pair.reply(Rpc.reply(1));
            assertThat(pair.server.takeXid()).isEqualTo(2);
        }
    }

    private enum Kind {
        HEAP,
        DIRECT,
        POOLED_SLICE,
        COMPOSITE,
        REGISTERED
    }

    private static ByteBuf as(Kind kind, byte[] data, RpcPair pair) throws Exception {
        return switch (kind) {
            case HEAP -> Unpooled.wrappedBuffer(data);
            case DIRECT -> Unpooled.directBuffer().writeBytes(data);
            case POOLED_SLICE ->
                    ByteBufAllocator.DEFAULT
                            .directBuffer()
                            .writeZero(33)
                            .writeBytes(data)
                            .skipBytes(33);
            case COMPOSITE -> {
                CompositeByteBuf whole = Unpooled.compositeBuffer();
                int half = data.length / 2;
                whole.addComponent(true, Unpooled.copiedBuffer(data, 0, half));
                yield whole.addComponent(
                        true, Unpooled.directBuffer().writeBytes(data, half, data.length - half));
            }
            case REGISTERED ->
                    on(
                            pair.clientChannel,
                            () ->
                                    pair.clientChannel
                                            .registeredBuffer(data.length)
                                            .writeBytes(data));
        };
    }

    @ParameterizedTest
    @CsvSource({
        "HEAP, 3840",
        "HEAP, 3952",
        "HEAP, 3953",
        "HEAP, 5003",
        "DIRECT, 5003",
        "POOLED_SLICE, 5001",
        "COMPOSITE, 5002",
        "REGISTERED, 5000",
        "DIRECT, 70000",
        "HEAP, 1048576",
        "REGISTERED, 1048576",
        "COMPOSITE, 1048575"
    })
    @Proves({
        "V1-READ-03",
        "V1-READ-06",
        "V1-READ-09",
        "V1-READ-14",
        "V1-CHUNK-08",
        "V1-CHUNK-13",
        "V1-CORE-04",
        "API-04",
        "V1-CHUNK-04"
    })
    void writeGoesThroughAReadChunk(Kind kind, int length) throws Exception {
        try (RpcPair pair = RpcPair.of(fresh(), fresh())) {
            byte[] call = ByteBufUtil.getBytes(Rpc.write3(0x11, Rpc.random(length)));
            ByteBuf message = as(kind, call, pair);
            pair.call(message.retain()); // or a pool reuses the object
            assertThat(pair.server.takeBytes()).isEqualTo(call);
            boolean reduced = call.length + 28 > 4096;
            assertThat(pair.clientConnection().value(RpcRdmaCounter.READ_CHUNK_CALLS))
                    .isEqualTo(reduced ? 1 : 0);
            assertThat(pair.serverConnection().value(RpcRdmaCounter.READ_BYTES))
                    .isEqualTo(reduced ? length : 0);
            byte[] reply = ByteBufUtil.getBytes(Rpc.reply(0x11).writeZero(136));
            pair.reply(Unpooled.wrappedBuffer(reply));
            assertThat(pair.client.takeBytes()).isEqualTo(reply);
            assertThat(message.refCnt()).isOne();
            message.release();
            assertThat(pair.clientConnection().value(RpcRdmaCounter.REMOTE_INVALIDATIONS))
                    .isEqualTo(reduced ? byPeer(1) : 0);
            assertThat(pair.clientConnection().value(RpcRdmaCounter.LOCAL_INVALIDATIONS))
                    .isEqualTo(reduced ? 1 - byPeer(1) : 0);
        }
    }

    @ParameterizedTest
    @CsvSource({
        "4096, 4096",
        "4096, 6",
        "4096, 0",
        "5003, 5003",
        "65536, 65533",
        "1048576, 1048576",
        "1048575, 1048575",
        "3000, 3000",
        "8192, 1"
    })
    @Proves({
        "V1-WRITE-02",
        "V1-WRITE-03",
        "V1-WRITE-04",
        "V1-WRITE-07",
        "V1-WRITE-09",
        "V1-WRITE-10",
        "V1-WRITE-11",
        "V1-WRITE-23",
        "V1-CORE-03",
        "V1-MR-01"
    })
    void readComesThroughAWriteChunk(int count, int length) throws Exception {
        try (RpcPair pair = RpcPair.of(fresh(), fresh())) {
            pair.call(Rpc.read3(0x22, count));
            pair.server.takeBytes();
            byte[] reply = ByteBufUtil.getBytes(Rpc.read3Reply(0x22, Rpc.random(length)));
            pair.reply(Unpooled.directBuffer().writeBytes(reply));
            ByteBuf received = pair.client.takeBuffer();
            assertThat(received.nioBufferCount()).isEqualTo(1);
            assertThat(Rpc.bytes(received)).isEqualTo(reply);
            boolean placed = count > 3500;
            assertThat(pair.clientConnection().value(RpcRdmaCounter.WRITE_BYTES_RECEIVED))
                    .isEqualTo(placed ? length : 0);
            assertThat(pair.clientConnection().value(RpcRdmaCounter.WRITE_CHUNK_CALLS))
                    .isEqualTo(placed ? 1 : 0);
            assertThat(pair.clientConnection().value(RpcRdmaCounter.REMOTE_INVALIDATIONS))
                    .isEqualTo(placed ? byPeer(1) : 0);
        }
    }

    /** What is in the way is gone: nobody has to be answered first. */
    @Test
    @Proves("V1-CRED-20")
    void aCallThatWaitsForMemoryAndIsGivenUpHoldsNobodyUp() throws Exception {
        RpcRdmaConfig small = RpcPair.usual().maxConnectionBytes(100_000).build();
        try (RpcPair pair = RpcPair.of(small, fresh())) {
            pair.call(Rpc.call(0, Rpc.NFS, 3, 0));
            pair.reply(Rpc.reply(pair.server.takeXid()));
            pair.client.takeXid();
            pair.call(Rpc.read3(1, 60_000));
            assertThat(pair.server.takeXid()).isEqualTo(1);
            ChannelFuture waits = pair.call(Rpc.read3(2, 60_000));
            pair.call(Rpc.call(3, Rpc.NFS, 3, 0));
            // On the event loop: a write from another thread does not wake it up before a flush.
            RpcPair.on(pair.clientChannel, () -> pair.clientChannel.write(new RpcRdmaCancel(2)));
            assertThat(pair.server.takeXid()).isEqualTo(3);
            assertThat(waits.cause()).isInstanceOf(CancellationException.class);
            assertThat(pair.clientConnection().callsInFlight()).isEqualTo(2);
        }
    }

    @Test
    @Proves({"V1-WRITE-16", "V1-WRITE-19"})
    void failedReadReturnsItsChunkUnused() throws Exception {
        try (RpcPair pair = RpcPair.of(fresh(), fresh())) {
            pair.call(Rpc.read3(0x23, 65536));
            pair.server.takeBytes();
            byte[] reply = ByteBufUtil.getBytes(Rpc.reply(0x23).writeInt(70).writeInt(0));
            pair.reply(Unpooled.wrappedBuffer(reply));
            assertThat(pair.client.takeBytes()).isEqualTo(reply);
            assertThat(pair.clientConnection().value(RpcRdmaCounter.WRITE_BYTES_RECEIVED)).isZero();
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {4028, 4032, 5000, 100_000, 2_000_000})
    @Proves({
        "V1-LONG-01",
        "V1-LONG-02",
        "V1-LONG-03",
        "V1-INL-06",
        "API-02",
        "V1-CHUNK-17",
        "V1-LONG-05"
    })
    void longCallOfAnUnknownProgram(int length) throws Exception {
        RpcRdmaConfig noReplyChunk = RpcPair.usual().defaultMaximumReply(1000).build();
        try (RpcPair pair = RpcPair.of(noReplyChunk, fresh())) {
            byte[] call = ByteBufUtil.getBytes(Rpc.echo(0x33, length - 40));
            pair.call(Unpooled.directBuffer().writeBytes(call));
            assertThat(pair.server.takeBytes()).isEqualTo(call);
            // Header and payload together at the threshold still fit.
            boolean isLong = length + 28 > 4096 - 20 && length + 28 > 4096;
            assertThat(pair.clientConnection().value(RpcRdmaCounter.LONG_CALLS))
                    .isEqualTo(length > 4068 ? 1 : 0);
            assertThat(isLong).isEqualTo(length > 4068);
            pair.reply(Rpc.reply(0x33));
            pair.client.takeBytes();
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {4068, 4072})
    @Proves({"V1-INL-06", "V1-INL-10"})
    void exactlyTheThresholdFits(int length) throws Exception {
        RpcRdmaConfig noReplyChunk = RpcPair.usual().defaultMaximumReply(1000).build();
        try (RpcPair pair = RpcPair.of(noReplyChunk, fresh())) {
            pair.call(Rpc.echo(0x34, length - 40));
            assertThat(pair.server.takeBytes()).hasSize(length);
            assertThat(pair.clientConnection().value(RpcRdmaCounter.LONG_CALLS))
                    .isEqualTo(length == 4068 ? 0 : 1);
            pair.reply(Rpc.reply(0x34));
            pair.client.takeBytes();
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {24, 4000, 4048, 4052, 4072, 30_000, 65_000})
    @Proves({
        "V1-REPLY-01",
        "V1-REPLY-05",
        "V1-REPLY-06",
        "V1-REPLY-07",
        "V1-REPLY-12",
        "V1-LONG-05",
        "V1-LONG-10"
    })
    void replyUsesItsChunkOnlyWhenItHasTo(int length) throws Exception {
        try (RpcPair pair = RpcPair.of(fresh(), fresh())) {
            pair.call(Rpc.echo(0x44, 6000)); // long call and Reply chunk in one header
            assertThat(pair.server.takeBytes()).hasSize(6040);
            byte[] reply =
                    ByteBufUtil.getBytes(Rpc.reply(0x44).writeBytes(Rpc.random(length - 24)));
            pair.reply(Unpooled.wrappedBuffer(reply)).sync();
            assertThat(pair.client.takeBytes()).isEqualTo(reply);
            // 28 bytes of header, and 20 of the Reply chunk that it repeats.
            assertThat(pair.clientConnection().value(RpcRdmaCounter.LONG_REPLIES))
                    .isEqualTo(length > 4048 ? 1 : 0);
        }
    }

    @Test
    @Proves({"V1-REPLY-10", "V1-REPLY-11", "V1-ERR-11", "API-13", "V1-CRED-18", "V1-ERR-02"})
    void replyThatDoesNotFitFailsBothSidesAndHarmsNothing() throws Exception {
        RpcRdmaConfig other = RpcPair.usual().announceReadChunkReplies(false).build();
        try (RpcPair pair = RpcPair.of(fresh(), other)) {
            pair.call(Rpc.call(0x55, Rpc.NFS, 3, 1)); // GETATTR needs no chunk
            pair.server.takeBytes();
            ChannelFuture reply = pair.reply(Rpc.reply(0x55).writeBytes(Rpc.random(5000)));
            assertThat(pair.client.takeFailure()).isInstanceOf(ErrChunkReplyException.class);
            assertThatThrownBy(reply::sync)
                    .isInstanceOf(OutboundReplyTooLongException.class)
                    .hasMessageContaining("5024");
            assertThat(pair.clientConnection().creditsGranted()).isEqualTo(1);

            pair.call(Rpc.echo(0x56, 8));
            pair.server.takeBytes();
            pair.reply(Rpc.reply(0x56).writeBytes(Rpc.random(70_000)));
            assertThat(pair.client.takeFailure()).isInstanceOf(ErrChunkReplyException.class);
            assertThat(pair.serverConnection().value(RpcRdmaCounter.WRITE_BYTES_SENT)).isZero();

            pair.call(Rpc.read3(0x57, 8000));
            pair.server.takeBytes();
            pair.reply(Rpc.read3Reply(0x57, Rpc.random(8001)));
            assertThat(pair.client.takeFailure()).isInstanceOf(ErrChunkReplyException.class);
            assertThat(pair.serverConnection().value(RpcRdmaCounter.WRITE_BYTES_SENT)).isZero();

            pair.call(Rpc.echo(0x58, 8));
            pair.server.takeBytes();
            pair.reply(Rpc.reply(0x58));
            assertThat(pair.client.takeBytes()).hasSize(24);
            assertThat(pair.clientConnection().creditsGranted()).isEqualTo(64);
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {2, 3})
    @Proves({"V1-GSS-02", "V1-GSS-03", "API-09"})
    void gssWithIntegrityOrPrivacyIsNeverReduced(int service) throws Exception {
        try (RpcPair pair = RpcPair.of(fresh(), fresh())) {
            byte[] call =
                    ByteBufUtil.getBytes(
                            Rpc.gssCall(0x61, Rpc.WRITE, service).writeBytes(Rpc.random(9000)));
            pair.call(Unpooled.wrappedBuffer(call));
            assertThat(pair.server.takeBytes()).isEqualTo(call);
            assertThat(pair.clientConnection().value(RpcRdmaCounter.LONG_CALLS)).isEqualTo(1);
            assertThat(pair.clientConnection().value(RpcRdmaCounter.WRITE_CHUNK_CALLS)).isZero();
            assertThat(pair.clientConnection().value(RpcRdmaCounter.REPLY_CHUNK_CALLS))
                    .isEqualTo(1);
            byte[] reply = ByteBufUtil.getBytes(Rpc.reply(0x61).writeBytes(Rpc.random(9000)));
            pair.reply(Unpooled.wrappedBuffer(reply));
            assertThat(pair.client.takeBytes()).isEqualTo(reply);
        }
    }

    @Test
    @Proves({"V1-GSS-04"})
    void gssForAuthenticationOnlyIsReduced() throws Exception {
        try (RpcPair pair = RpcPair.of(fresh(), fresh())) {
            ByteBuf call = Rpc.gssCall(0x62, Rpc.WRITE, 1);
            call.writeInt(4).writeInt(1).writeZero(16);
            Rpc.opaque(call, Rpc.random(9000));
            byte[] bytes = ByteBufUtil.getBytes(call);
            pair.call(call);
            assertThat(pair.server.takeBytes()).isEqualTo(bytes);
            assertThat(pair.clientConnection().value(RpcRdmaCounter.READ_CHUNK_CALLS)).isEqualTo(1);
        }
    }

    @Test
    @Proves({"V1-CRED-12", "V1-CRED-13", "V1-CRED-02", "V1-CRED-06", "V1-INL-07"})
    void oneCallOnAFreshConnectionThenAsManyAsGranted() throws Exception {
        RpcRdmaConfig server = RpcPair.usual().grantedCredits(16).build();
        try (RpcPair pair = RpcPair.of(fresh(), server)) {
            for (int xid = 1; xid <= 40; xid++) {
                pair.clientChannel.write(Rpc.echo(xid, 8));
            }
            pair.clientChannel.flush();
            assertThat(pair.server.takeXid()).isEqualTo(1);
            RpcPair.settle(pair.clientChannel);
            assertThat(pair.clientConnection().callsInFlight()).isEqualTo(1);
            assertThat(pair.server.messages).isEmpty();
            pair.reply(Rpc.reply(1));
            pair.client.takeBytes();
            for (int xid = 2; xid <= 17; xid++) {
                assertThat(pair.server.takeXid()).isEqualTo(xid);
            }
            RpcPair.settle(pair.clientChannel);
            assertThat(pair.clientConnection().callsInFlight()).isEqualTo(16);
            assertThat(pair.server.messages).isEmpty();
            for (int xid = 2; xid <= 40; xid++) {
                pair.reply(Rpc.reply(xid));
                assertThat(pair.client.takeXid()).isEqualTo(xid);
                if (xid + 16 <= 40) {
                    assertThat(pair.server.takeXid()).isEqualTo(xid + 16);
                }
                assertThat(pair.clientConnection().creditsGranted()).isEqualTo(16);
            }
            assertThat(pair.clientConnection().callsInFlight()).isZero();
        }
    }

    @Test
    @Proves({"V1-CRED-19"})
    void callsThatWaitFailWhenTheChannelCloses() throws Exception {
        try (RpcPair pair = RpcPair.of(fresh(), fresh())) {
            ByteBuf argument =
                    Unpooled.directBuffer().writeBytes(Rpc.write3(1, Rpc.random(10_000)));
            ChannelFuture first = pair.call(argument);
            ChannelFuture second = pair.call(Rpc.echo(2, 8));
            ChannelFuture third = pair.call(Rpc.echo(3, 8));
            pair.server.takeBytes();
            first.sync();
            pair.serverChannel.close();
            assertThat(pair.client.awaitInactive()).isTrue();
            assertThat(argument.refCnt()).isZero();
            assertThatThrownBy(second::sync).isInstanceOf(ClosedChannelException.class);
            assertThatThrownBy(third::sync).isInstanceOf(ClosedChannelException.class);
            assertThatThrownBy(() -> pair.call(Rpc.echo(4, 8)).sync())
                    .isInstanceOf(ClosedChannelException.class);
            assertThat(pair.clientConnection().callsInFlight()).isZero();
        }
    }

    @Test
    @Proves({"V1-CRED-16", "V1-MR-03", "SEC-06"})
    void cancelledCallKeepsCreditAndXidUntilItsReply() throws Exception {
        // Without remote invalidation: the reply of a call with one handle would name it, and end
        // the connection.
        RpcRdmaConfig plain = RpcPair.usual().remoteInvalidation(false).build();
        try (RpcPair pair = RpcPair.of(plain, fresh())) {
            ByteBuf argument =
                    Unpooled.directBuffer().writeBytes(Rpc.write3(1, Rpc.random(10_000)));
            pair.call(argument);
            ChannelFuture queued = pair.call(Rpc.echo(2, 8));
            pair.server.takeBytes();
            pair.call(new RpcRdmaCancel(1)).sync();
            pair.call(new RpcRdmaCancel(2)).sync();
            pair.call(new RpcRdmaCancel(3)).sync();
            assertThat(argument.refCnt()).isZero();
            assertThatThrownBy(queued::sync).isInstanceOf(CancellationException.class);
            assertThat(pair.clientConnection().callsInFlight()).isEqualTo(1);
            assertThatThrownBy(() -> pair.call(Rpc.echo(1, 8)).sync())
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("0x1");
            pair.call(Rpc.echo(5, 8));
            assertThat(pair.server.messages).isEmpty();
            pair.reply(Rpc.reply(1));
            assertThat(pair.server.takeXid()).isEqualTo(5);
            pair.reply(Rpc.reply(5));
            assertThat(pair.client.takeXid()).isEqualTo(5);
        }
    }

    @Test
    @Proves({"V1-CRED-16", "API-10"})
    void cancelThatDoesNotFenceKeepsMemoryAndConnection() throws Exception {
        try (RpcPair pair = RpcPair.of(fresh(), fresh())) {
            ByteBuf argument =
                    Unpooled.directBuffer().writeBytes(Rpc.write3(1, Rpc.random(10_000)));
            pair.call(argument);
            pair.server.takeBytes();
            pair.call(new RpcRdmaCancel(1, false)).sync();
            assertThat(argument.refCnt()).isEqualTo(1);
            pair.reply(Rpc.reply(1));
            pair.call(Rpc.echo(2, 8));
            pair.server.takeBytes();
            assertThat(argument.refCnt()).isZero();
            pair.reply(Rpc.reply(2));
            assertThat(pair.client.takeXid()).isEqualTo(2);
            assertThat(pair.clientConnection().value(RpcRdmaCounter.REMOTE_INVALIDATIONS))
                    .isEqualTo(byPeer(2));
        }
    }

    @Test
    void writesThatAreNotRpcFailWithAReason() throws Exception {
        try (RpcPair pair = RpcPair.of(fresh(), fresh())) {
            ByteBuf mark = Unpooled.buffer().writeInt(0x80000028).writeInt(1234).writeZero(40);
            assertThatThrownBy(() -> pair.call(mark).sync())
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("record mark");
            assertThat(mark.refCnt()).isZero();
            assertThatThrownBy(() -> pair.call(Unpooled.buffer().writeInt(1)).sync())
                    .isInstanceOf(IllegalArgumentException.class);
            assertThatThrownBy(() -> pair.reply(Rpc.reply(9)).sync())
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("0x9");
            assertThatThrownBy(() -> pair.reply(Rpc.echo(9, 8)).sync())
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("allowReverseCalls");
            assertThatThrownBy(() -> pair.call(Rpc.read3(9, -1)).sync())
                    .isInstanceOf(CallTooLongException.class);
            assertThat(pair.clientConnection().callsInFlight()).isZero();
        }
    }

    @Test
    @Proves({"BIDI-02", "BIDI-04", "BIDI-06", "BIDI-15", "BIDI-18", "BIDI-31"})
    void bothDirectionsUseTheSameXidAtOnce() throws Exception {
        RpcRdmaConfig config = RpcPair.usual().reverseCredits(3).grantedCredits(4).build();
        try (RpcPair pair = RpcPair.of(config, config)) {
            pair.openReverse(3);
            pair.call(Rpc.echo(0x11, 8));
            assertThat(pair.server.takeBytes()).hasSize(48);
            pair.reply(Rpc.call(0x11, 0x40000000, 1, 1));
            assertThat(pair.client.takeBytes()).hasSize(40);
            pair.call(Rpc.reply(0x11).writeInt(1));
            assertThat(pair.server.takeBytes()).hasSize(28);
            assertThat(pair.clientConnection().creditsGranted()).isEqualTo(1);
            assertThat(pair.serverConnection().creditsGranted()).isEqualTo(3);
            pair.reply(Rpc.reply(0x11));
            assertThat(pair.client.takeBytes()).hasSize(24);
            assertThat(pair.clientConnection().creditsGranted()).isEqualTo(4);
            assertThatThrownBy(() -> pair.reply(Rpc.echo(0x12, 9000)).sync())
                    .isInstanceOf(CallTooLongException.class)
                    .hasMessageContaining("RFC 8167");
        }
    }

    @Test
    void latencyAndMetricsAreSeen() throws Exception {
        RpcRdmaMetrics metrics = new RpcRdmaMetrics();
        java.util.concurrent.LinkedBlockingQueue<Long> latency =
                new java.util.concurrent.LinkedBlockingQueue<>();
        metrics.addListener(
                new RpcRdmaLatencyListener() {
                    @Override
                    public void callEnded(
                            RpcRdmaRole role,
                            String procedure,
                            RpcRdmaCallOutcome outcome,
                            long nanos) {
                        latency.add(nanos);
                    }
                });
        try (RpcPair pair = RpcPair.of(CodecEnd.of(fresh(), metrics), CodecEnd.of(CONFIG))) {
            pair.call(Rpc.echo(1, 8));
            pair.server.takeBytes();
            pair.reply(Rpc.reply(1));
            pair.client.takeBytes();
            assertThat(latency.poll(RpcPair.PATIENCE_SECONDS, TimeUnit.SECONDS)).isPositive();
            assertThat(metrics.connections()).isEqualTo(1);
            assertThat(metrics.value(RpcRdmaCounter.CALLS_SENT)).isEqualTo(1);
        }
        assertThat(metrics.connections()).isZero();
        assertThat(metrics.value(RpcRdmaCounter.REPLIES_RECEIVED)).isEqualTo(1);
    }

    /** So many handles the peer invalidates, if the device lets it. */
    private static int byPeer(int handles) {
        return Device.can("remoteInvalidation") ? handles : 0;
    }
}
