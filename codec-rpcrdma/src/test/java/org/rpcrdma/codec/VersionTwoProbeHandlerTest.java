// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelFuture;
import io.netty.util.concurrent.Future;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.nio.channels.ClosedChannelException;
import java.time.Duration;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CancellationException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.rpcrdma.Proves;
import org.rpcrdma.channel.RdmaChannel;
import org.rpcrdma.codec.client.RpcRdmaClient;
import org.rpcrdma.codec.rpc.CallOptions;
import org.rpcrdma.codec.wire.OncRpcHeaderDecoder;
import org.rpcrdma.codec.wire.RdmaErrorMessage;
import org.rpcrdma.codec.wire.TransportHeader;

/** How two ends find out which version they speak (draft-cel-nfsv4-rpcrdma-version-two-01, 5). */
class VersionTwoProbeHandlerTest {

    private static final int XID = 0x0A0B0C0D;
    private static final int PROBE = XID | 0x80000000;

    private static RpcRdmaConfig.Builder builder() {
        return RpcRdmaConfig.builder().requestedCredits(8).versionTwo(VersionTwoConfig.defaults());
    }

    /** Answers the message taken last in version 2. */
    private static void answer(RawPeer server, int credits) {
        TransportHeader header =
                new TransportHeader()
                        .set(
                                server.header.xid(),
                                TransportHeader.VERSION_TWO,
                                credits,
                                TransportHeader.RDMA_MSG,
                                OncRpcHeaderDecoder.REPLY);
        server.send(header, Rpc.reply(server.header.xid()));
    }

    private static ByteBuf versionError(int xid, int version, int credit, int low, int high) {
        return Unpooled.buffer()
                .writeInt(xid)
                .writeInt(version)
                .writeInt(credit)
                .writeInt(TransportHeader.RDMA_ERROR)
                .writeInt(RdmaErrorMessage.ERR_VERS)
                .writeInt(low)
                .writeInt(high);
    }

    @Test
    @Proves({
        "V2-NEG-01",
        "V2-NEG-02",
        "V2-NEG-03",
        "V2-NEG-09",
        "V2-NEG-12",
        "V2-INL-02",
        "V2-INL-03",
        "V2-INL-04"
    })
    void aShortNullCallGoesAheadAndTheThresholdGrows() throws Exception {
        try (RpcPair pair = RpcPair.silentServer(builder().build());
                RawPeer server = RawPeer.server(pair)) {
            assertThat(pair.clientConnection().version()).isZero();
            ChannelFuture first = pair.call(Rpc.echo(XID, 3000));
            ChannelFuture second = pair.call(Rpc.echo(XID + 1, 8));
            ByteBuf probe = pair.server.takeBuffer();
            ByteBuf expected = Unpooled.buffer().writeInt(PROBE).writeInt(2).writeInt(8);
            expected.writeZero(20).writeInt(PROBE).writeInt(0).writeInt(2);
            expected.writeInt(Rpc.UNKNOWN).writeInt(1).writeInt(0).writeZero(16);
            assertThat(probe).isEqualTo(expected);
            assertThat(probe.readableBytes()).isEqualTo(72);
            probe.release();
            RpcPair.settle(pair.clientChannel);
            RpcPair.settle(pair.serverChannel);
            assertThat(pair.server.messages).isEmpty();
            assertThat(first.isDone()).isFalse();
            assertThat(pair.clientConnection().sendThreshold()).isEqualTo(1024);

            server.header.set(PROBE, 0, 0);
            answer(server, 16);
            first.sync();
            second.sync();
            server.take();
            assertThat(server.payload).hasSize(40 + 3000);
            assertThat(server.header.version()).isEqualTo(2);
            assertThat(server.header.xid()).isEqualTo(XID);
            assertThat(server.header.reads().segments()).isZero();
            server.take();
            assertThat(server.header.xid()).isEqualTo(XID + 1);
            assertThat(pair.clientConnection().version()).isEqualTo(2);
            assertThat(pair.clientConnection().sendThreshold()).isEqualTo(4096);
            assertThat(pair.clientConnection().receiveThreshold()).isEqualTo(4096);
            assertThat(pair.clientConnection().creditsGranted()).isEqualTo(16);
            // The user has asked for nothing but the two, and gets nothing else.
            server.header.set(XID, 0, 0);
            answer(server, 16);
            assertThat(pair.client.takeXid()).isEqualTo(XID);
            // A reply of 4096 bytes arrives inline: receives were that long from the start.
            TransportHeader header = new TransportHeader().set(XID + 1, 2, 16, 0, 1);
            server.send(header, Rpc.reply(XID + 1).writeZero(4096 - 32 - 24));
            assertThat(pair.client.takeBytes()).hasSize(4096 - 32);
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 7})
    @Proves({"V2-NEG-05", "V2-NEG-06", "V2-NEG-09", "V2-NEG-11", "V2-ERR-04", "OLD-20"})
    void errVersLeadsToVersionOneOnTheSameConnection(int versionWord) throws Exception {
        RpcRdmaConfig config = builder().build();
        try (RpcPair pair = RpcPair.silentServer(config);
                RawPeer server = RawPeer.server(pair)) {
            pair.call(Rpc.echo(XID, 8));
            pair.call(Rpc.echo(XID + 1, 8));
            server.take();
            server.send(versionError(PROBE, versionWord, 32, 1, 1));
            server.take();
            assertThat(server.header.version()).isEqualTo(1);
            assertThat(server.header.xid()).isEqualTo(XID);
            // An error is not the reply that ends the start with one credit.
            RpcPair.settle(pair.clientChannel);
            RpcPair.settle(pair.serverChannel);
            assertThat(pair.server.messages).isEmpty();
            assertThat(pair.clientConnection().creditsGranted()).isEqualTo(1);
            assertThat(pair.clientConnection().version()).isEqualTo(1);
            assertThat(pair.clientConnection().sendThreshold()).isEqualTo(1024);
            server.send(RawPeer.header(XID, 0), Rpc.reply(XID));
            assertThat(pair.client.takeXid()).isEqualTo(XID);
            server.take();
            assertThat(server.header.version()).isEqualTo(1);
            // 3000 bytes do not go inline any more.
            server.send(RawPeer.header(XID + 1, 0), Rpc.reply(XID + 1));
            assertThat(pair.client.takeXid()).isEqualTo(XID + 1);
            pair.call(Rpc.echo(XID + 2, 3000));
            server.take();
            assertThat(server.header.proc()).isEqualTo(TransportHeader.RDMA_NOMSG);
        }
    }

    @ParameterizedTest
    @CsvSource({"3, 4", "2, 2", "0, 0"})
    @Proves({"V2-NEG-06", "V1-ERR-05"})
    void noCommonVersion(int low, int high) throws Exception {
        try (RpcPair pair = RpcPair.rawServer(builder().build(), RpcRdmaConfig.defaults());
                RawPeer server = RawPeer.server(pair)) {
            ChannelFuture call = pair.call(Rpc.echo(XID, 8));
            server.take();
            server.send(versionError(PROBE, 2, 32, low, high));
            assertThatThrownBy(call::sync)
                    .isInstanceOfSatisfying(
                            ErrVersReplyException.class,
                            e -> assertThat(e.lowest()).isEqualTo(low));
            assertThat(pair.client.awaitInactive()).isTrue();
            assertThat(pair.client.messages).isEmpty();
        }
    }

    /**
     * A responder that does not know what to say about the version, but says something: no error of ours, or a part
     * of one.
     */
    @ParameterizedTest
    @ValueSource(ints = {0, RdmaErrorMessage.ERR_VERS, RdmaErrorMessage.ERR_CHUNK, 4, 99, -1})
    @Proves("V2-NEG-05")
    void anotherErrorLeadsToVersionOneToo(int code) throws Exception {
        try (RpcPair pair = RpcPair.rawServer(builder().build(), RpcRdmaConfig.defaults());
                RawPeer server = RawPeer.server(pair)) {
            pair.call(Rpc.echo(XID, 8));
            server.take();
            ByteBuf error = Unpooled.buffer().writeInt(PROBE).writeInt(2).writeInt(1);
            server.send(error.writeInt(TransportHeader.RDMA_ERROR).writeInt(code));
            server.take();
            assertThat(server.header.version()).isEqualTo(1);
            assertThat(server.header.xid()).isEqualTo(XID);
        }
    }

    /** The first connection dies of version 2, in one way or another; the call succeeds on the second one. */
    @ParameterizedTest
    @ValueSource(strings = {"lost", "silent", "lost after the error"})
    @Proves({"V2-NEG-07", "V2-NEG-08"})
    void theNextConnectionStartsInVersionOne(String how) throws Exception {
        int patience = how.equals("silent") ? 20 : 1_000_000;
        VersionTwoConfig versionTwo =
                VersionTwoConfig.builder().probeTimeoutMillis(patience).build();
        RpcRdmaConfig config = RpcRdmaConfig.builder().versionTwo(versionTwo).build();
        ScriptedResponder.Script script =
                new ScriptedResponder.Script() {
                    @Override
                    public boolean isRaw(int connection) {
                        return true;
                    }

                    @Override
                    public void received(RdmaChannel channel, int connection, ByteBuf call) {
                        TransportHeader header = new TransportHeader();
                        header.decodeFixed(call, call.readerIndex());
                        if (header.version() == 1) {
                            channel.writeAndFlush(
                                    RawPeer.message(
                                            RawPeer.header(header.xid(), 0),
                                            Rpc.reply(header.xid())));
                        } else if (how.equals("lost after the error")) {
                            channel.writeAndFlush(versionError(header.xid(), 2, 1, 1, 1))
                                    .addListener(sent -> channel.close());
                        } else if (how.equals("lost")) {
                            channel.close();
                        }
                    }
                };
        try (ScriptedResponder responder =
                new ScriptedResponder(RpcRdmaConfig.defaults(), script)) {
            RpcRdmaClient client =
                    RpcRdmaClient.builder(responder.group, responder.address())
                            .config(config)
                            .backOff(Duration.ofMillis(1), Duration.ofMillis(1))
                            .build();
            Future<ByteBuf> reply = client.call(Rpc.echo(0, 8));
            assertThat(reply.await(RpcPair.PATIENCE_SECONDS, TimeUnit.SECONDS)).isTrue();
            reply.getNow().release();
            assertThat(responder.accepted).hasSize(2);
            assertThat(client.openConnections().get(0).link().isVersionRemembered()).isTrue();
            int first = responder.take().bytes()[7];
            assertThat(first).isEqualTo(2);
            client.closeAsync().sync();
        }
    }

    @Test
    @Proves("V2-NEG-07")
    void memoryIsBoundedAndExpires() {
        AtomicLong now = new AtomicLong();
        VersionOneResponderCache memory = new VersionOneResponderCache(now::get);
        SocketAddress first = InetSocketAddress.createUnresolved("a", 1);
        SocketAddress other = InetSocketAddress.createUnresolved("a", 2);
        memory.add(first);
        now.set(99);
        assertThat(memory.contains(first, 100)).isTrue();
        assertThat(memory.contains(other, 100)).isFalse();
        memory.add(other);
        now.set(100);
        assertThat(memory.contains(first, 100)).isFalse();
        assertThat(memory.contains(other, 100)).isTrue();
        for (int i = 0; i < VersionOneResponderCache.RESPONDERS; i++) {
            assertThat(memory.contains(other, 100)).isTrue();
            memory.add(InetSocketAddress.createUnresolved("b", i + 1));
        }
        assertThat(memory.contains(other, 100)).isFalse();
    }

    @Test
    @Proves({"V2-NEG-03", "V2-NEG-10"})
    void bothEndsOfOursSpeakVersionTwo() throws Exception {
        try (RpcPair pair = RpcPair.of(builder().build(), builder().build())) {
            pair.call(Rpc.echo(XID, 8));
            // The NULL call is for the RPC program to answer, like any other.
            assertThat(pair.server.takeXid()).isEqualTo(PROBE);
            pair.reply(Rpc.reply(PROBE));
            assertThat(pair.server.takeXid()).isEqualTo(XID);
            pair.reply(Rpc.reply(XID));
            assertThat(pair.client.takeXid()).isEqualTo(XID);
            assertThat(pair.clientConnection().version()).isEqualTo(2);
            assertThat(pair.serverConnection().version()).isEqualTo(2);
            assertThat(pair.client.messages).isEmpty();
        }
    }

    @Test
    @Proves({"V2-NEG-05", "V2-NEG-06"})
    void aResponderOfOursThatSpeaksVersionOne() throws Exception {
        RpcRdmaConfig config =
                RpcRdmaConfig.builder().versionTwo(VersionTwoConfig.defaults()).build();
        try (RpcPair pair = RpcPair.of(config, RpcRdmaConfig.defaults())) {
            pair.call(Rpc.echo(XID, 8));
            assertThat(pair.server.takeXid()).isEqualTo(XID);
            pair.reply(Rpc.reply(XID));
            assertThat(pair.client.takeXid()).isEqualTo(XID);
            assertThat(pair.clientConnection().version()).isEqualTo(1);
            assertThat(pair.clientConnection().link().isVersionRemembered()).isTrue();
        }
    }

    @Test
    void whatIsHeldIsCancelledOrBounded() throws Exception {
        RpcRdmaConfig config = builder().maxQueuedCalls(1).build();
        try (RpcPair pair = RpcPair.rawServer(config, RpcRdmaConfig.defaults());
                RawPeer server = RawPeer.server(pair)) {
            ChannelFuture first = pair.call(Rpc.echo(XID, 8));
            ChannelFuture second = pair.call(Rpc.echo(XID + 1, 8));
            assertThatThrownBy(() -> pair.call(Rpc.echo(XID + 2, 8)).sync())
                    .isInstanceOf(CallQueueFullException.class);
            pair.call(new RpcRdmaCancel(XID)).sync();
            assertThatThrownBy(first::sync).isInstanceOf(CancellationException.class);
            server.take();
            answer(server, 16);
            second.sync();
            server.take();
            assertThat(server.header.xid()).isEqualTo(XID + 1);
        }
    }

    @Test
    void whatIsHeldFailsWithTheConnection() throws Exception {
        RpcRdmaConfig config = builder().build();
        try (RpcPair pair = RpcPair.rawServer(config, RpcRdmaConfig.defaults());
                RawPeer server = RawPeer.server(pair)) {
            ChannelFuture held = pair.call(Rpc.echo(XID, 8));
            server.take();
            pair.clientChannel.close().sync();
            assertThatThrownBy(held::sync).isInstanceOf(ClosedChannelException.class);
            assertThatThrownBy(() -> pair.call(Rpc.echo(XID, 8)).sync())
                    .isInstanceOf(ClosedChannelException.class);
        }
    }

    /** Each listener is told while the calls that have waited are written. */
    @ParameterizedTest
    @ValueSource(ints = {1, 2})
    @Proves({"V2-NEG-02", "V2-NEG-09"})
    void aListenerMayCallAndCancelWhileTheVersionIsSettled(int version) throws Exception {
        RpcRdmaConfig config = builder().maxMessageBytes(1 << 20).build();
        try (RpcPair pair = RpcPair.rawServer(config, RpcRdmaConfig.defaults());
                RawPeer server = RawPeer.server(pair)) {
            ChannelFuture tooLong = pair.call(Rpc.echo(XID, 2 << 20));
            tooLong.addListener(failed -> pair.call(Rpc.echo(XID + 3, 8)));
            tooLong.addListener(failed -> pair.call(new RpcRdmaCancel(XID + 1)));
            ChannelFuture cancelled = pair.call(Rpc.echo(XID + 1, 8));
            pair.call(Rpc.echo(XID + 2, 8));
            server.take();
            RpcPair.settle(pair.clientChannel); // all are held
            if (version == 1) {
                server.send(versionError(PROBE, 2, 32, 1, 1));
            } else {
                answer(server, 16);
            }
            assertThatThrownBy(tooLong::sync).isInstanceOf(CallTooLongException.class);
            assertThatThrownBy(cancelled::sync).isInstanceOf(CancellationException.class);
            for (int xid = XID + 2; xid <= XID + 3; xid++) {
                server.take();
                assertThat(server.header.xid()).isEqualTo(xid);
                assertThat(server.header.version()).isEqualTo(version);
                server.send(
                        new TransportHeader().set(xid, version, 16, 0, OncRpcHeaderDecoder.REPLY),
                        Rpc.reply(xid));
                assertThat(pair.client.takeXid()).isEqualTo(xid);
            }
            assertThat(pair.clientConnection().version()).isEqualTo(version);
            // That of version 2, or what both have announced for version 1.
            assertThat(pair.clientConnection().sendThreshold()).isEqualTo(4096);
            assertThat(pair.client.errors).isEmpty();
            assertThat(pair.clientConnection().link().isVersionRemembered())
                    .isEqualTo(version == 1);
        }
    }

    /**
     * A listener hears of the second call, and gives up the first, which was written already and waits for its credit.
     */
    @Test
    @Proves("V2-NEG-02")
    void aListenerMayCancelWhatHasLeftTheNegotiationAlready() throws Exception {
        RpcRdmaConfig config = builder().maxMessageBytes(1 << 20).build();
        try (RpcPair pair = RpcPair.rawServer(config, RpcRdmaConfig.defaults());
                RawPeer server = RawPeer.server(pair)) {
            pair.call(Rpc.echo(XID, 8));
            ChannelFuture cancelled = pair.call(Rpc.echo(XID + 1, 8));
            ChannelFuture tooLong = pair.call(Rpc.echo(XID + 2, 2 << 20));
            tooLong.addListener(failed -> pair.call(new RpcRdmaCancel(XID + 1)));
            pair.call(Rpc.echo(XID + 3, 8));
            server.take();
            RpcPair.settle(pair.clientChannel); // all are held
            answer(server, 1);
            assertThatThrownBy(tooLong::sync).isInstanceOf(CallTooLongException.class);
            for (int xid : new int[] {XID, XID + 3}) {
                server.take();
                assertThat(server.header.xid()).isEqualTo(xid);
                answer(server, 1);
                assertThat(pair.client.takeXid()).isEqualTo(xid);
            }
            assertThatThrownBy(cancelled::sync).isInstanceOf(CancellationException.class);
        }
    }

    /** What is written by whoever hears that there is no common version goes nowhere. */
    @Test
    @Proves("V2-NEG-06")
    void aListenerThatCallsAgainWithoutACommonVersion() throws Exception {
        try (RpcPair pair = RpcPair.rawServer(builder().build(), RpcRdmaConfig.defaults());
                RawPeer server = RawPeer.server(pair)) {
            BlockingQueue<ChannelFuture> again = new LinkedBlockingQueue<>();
            pair.call(Rpc.echo(XID, 8))
                    .addListener(failed -> again.add(pair.call(Rpc.echo(XID + 1, 8))));
            server.take();
            server.send(versionError(PROBE, 2, 32, 2, 2));
            ChannelFuture second = again.poll(RpcPair.PATIENCE_SECONDS, TimeUnit.SECONDS);
            assertThatThrownBy(second::sync).isInstanceOf(ClosedChannelException.class);
            assertThat(pair.client.awaitInactive()).isTrue();
            assertThat(pair.server.awaitInactive()).isTrue();
            assertThat(pair.server.messages).isEmpty();
        }
    }

    /** Only what the responder does, or does not do in time, says anything about it. */
    @Test
    @Proves({"V2-NEG-07", "V2-NEG-08"})
    void whoeverClosesHereLearnsNothingOfTheResponder() throws Exception {
        RpcRdmaConfig config = builder().build();
        try (RpcPair pair = RpcPair.rawServer(config, RpcRdmaConfig.defaults());
                RawPeer server = RawPeer.server(pair)) {
            SocketAddress responder = pair.clientChannel.remoteAddress();
            ChannelFuture held = pair.call(Rpc.echo(XID, 8));
            server.take();
            pair.clientChannel.close().sync();
            assertThatThrownBy(held::sync).isInstanceOf(ClosedChannelException.class);
            VersionOneResponderCache memory =
                    CrossConnectionPeerState.of(pair.clientChannel).versions();
            assertThat(memory.contains(responder, Long.MAX_VALUE)).isFalse();
        }
    }

    /** What one connection has found out the next one need not ask again; a configuration remembers nothing. */
    @Test
    @Proves("V2-NEG-07")
    void allConnectionsOfAClientRememberTheSame() throws Exception {
        RpcRdmaConfig config = builder().build();
        ScriptedResponder.Script silent =
                new ScriptedResponder.Script() {
                    @Override
                    public void received(RdmaChannel channel, int connection, ByteBuf call) {}
                };
        try (ScriptedResponder responder =
                new ScriptedResponder(RpcRdmaConfig.defaults(), silent)) {
            RpcRdmaClient client = connectedTwice(responder, config);
            RpcRdmaClient other = connectedTwice(responder, config);
            client.openConnections().get(0).link().rememberVersionOne();
            assertThat(client.openConnections())
                    .hasSize(2)
                    .allMatch(connection -> connection.link().isVersionRemembered());
            assertThat(other.openConnections())
                    .hasSize(2)
                    .noneMatch(connection -> connection.link().isVersionRemembered());
            client.closeAsync().sync();
            other.closeAsync().sync();
        }
    }

    private static RpcRdmaClient connectedTwice(ScriptedResponder responder, RpcRdmaConfig config)
            throws InterruptedException {
        RpcRdmaClient client =
                RpcRdmaClient.builder(responder.group, responder.address())
                        .config(config)
                        .connections(2)
                        .build();
        client.connect().sync();
        return client;
    }

    /** Calls that do not wait as long as the negotiation would must not begin it again and again. */
    @Test
    @Proves("V2-NEG-08")
    void aFirstCallThatTimesOutIsNoAnswerEither() throws Exception {
        VersionTwoConfig versionTwo =
                VersionTwoConfig.builder().probeTimeoutMillis(1_000_000).build();
        RpcRdmaConfig config = RpcRdmaConfig.builder().versionTwo(versionTwo).build();
        ScriptedResponder.Script ofOne =
                new ScriptedResponder.Script() {
                    @Override
                    public boolean isRaw(int connection) {
                        return true;
                    }

                    @Override
                    public void received(RdmaChannel channel, int connection, ByteBuf call) {
                        int xid = Rpc.xid(call);
                        if (call.getInt(call.readerIndex() + 4) == 1) {
                            channel.writeAndFlush(
                                    RawPeer.message(RawPeer.header(xid, 0), Rpc.reply(xid)));
                        }
                    }
                };
        try (ScriptedResponder responder = new ScriptedResponder(RpcRdmaConfig.defaults(), ofOne)) {
            RpcRdmaClient client =
                    RpcRdmaClient.builder(responder.group, responder.address())
                            .config(config)
                            .backOff(Duration.ofMillis(1), Duration.ofMillis(1))
                            .firstCallTimeout(Duration.ofSeconds(1_000))
                            .build();
            // Without a connection it would say nothing about the responder.
            client.connect().sync();
            CallOptions hasty = CallOptions.DEFAULT.withTimeout(Duration.ofMillis(20));
            Future<ByteBuf> late = client.call(Rpc.echo(0, 8), hasty);
            assertThat(late.await(RpcPair.PATIENCE_SECONDS, TimeUnit.SECONDS)).isTrue();
            assertThat(late.cause()).isInstanceOf(CallTimeoutException.class);
            Future<ByteBuf> reply = client.call(Rpc.echo(0, 8));
            assertThat(reply.await(RpcPair.PATIENCE_SECONDS, TimeUnit.SECONDS)).isTrue();
            reply.getNow().release();
            client.closeAsync().sync();
        }
    }

    @Test
    @Proves("V2-INL-01")
    void versionTwoNeedsItsThreshold() {
        assertThatThrownBy(() -> builder().receiveSize(3072).build())
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("receiveSize")
                .hasMessageContaining("4096");
        assertThatThrownBy(() -> builder().sendSize(1024).build())
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("sendSize");
        assertThatThrownBy(() -> VersionTwoConfig.builder().probeTimeoutMillis(0))
                .isInstanceOf(IllegalArgumentException.class);
    }
}
