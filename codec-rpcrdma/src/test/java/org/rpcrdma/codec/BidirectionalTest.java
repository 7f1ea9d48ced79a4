// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.rpcrdma.codec.RpcPair.on;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelFuture;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.rpcrdma.Proves;
import org.rpcrdma.channel.RdmaChannel;
import org.rpcrdma.channel.RdmaChannelOption;
import org.rpcrdma.channel.RemoteAccess;
import org.rpcrdma.channel.internal.ChannelInternals;
import org.rpcrdma.codec.wire.OncRpcHeaderDecoder;
import org.rpcrdma.codec.wire.RdmaErrorMessage;
import org.rpcrdma.codec.wire.ReadList;
import org.rpcrdma.codec.wire.TransportHeader;

/** RFC 8167 on one connection: who may call when, with which credits, in which form. */
class BidirectionalTest {

    private static final int MSG = TransportHeader.RDMA_MSG;
    private static final int NOMSG = TransportHeader.RDMA_NOMSG;
    private static final int HEADER = TransportHeader.MINIMUM_BYTES;

    private static RpcRdmaConfig.Builder room(int forward, int reverse) {
        return RpcPair.usual()
                .requestedCredits(forward)
                .grantedCredits(forward)
                .reverseCredits(reverse);
    }

    private static TransportHeader header(int xid, int credit) {
        return new TransportHeader().set(xid, credit, MSG);
    }

    private static void await(RpcRdmaConnection connection, RpcRdmaCounter counter, long value) {
        Awaitility.await()
                .atMost(RpcPair.PATIENCE_SECONDS, TimeUnit.SECONDS)
                .until(() -> connection.value(counter) == value);
    }

    private static int kept(RdmaChannel channel) throws Exception {
        return on(channel, ChannelInternals.of(channel)::keptReceives);
    }

    /** One call of the client is out and answered: everything that came before it is dealt with. */
    private static void forwardStillWorks(RpcPair pair, RawPeer server, int xid) throws Exception {
        pair.call(Rpc.echo(xid, 0));
        server.take();
        assertThat(server.header.xid()).isEqualTo(xid);
        server.send(header(xid, 8), Rpc.reply(xid));
        assertThat(pair.client.takeXid()).isEqualTo(xid);
    }

    // ------------------------------------------------------------------ readiness

    @Test
    @Proves({"BIDI-25", "SEC-19"})
    void nothingLeavesTheAcceptingSideBeforeTheUpperLayerSaysThatThePeerIsReady() throws Exception {
        try (RpcPair pair = RpcPair.rawClient(room(8, 4).build(), room(8, 4).build());
                RawPeer client = RawPeer.client(pair)) {
            assertThatThrownBy(() -> pair.reply(Rpc.echo(1, 0)).sync())
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("allowReverseCalls");
            assertThat(pair.serverConnection().isReverseOpen()).isFalse();
            pair.openReverse(4);
            assertThat(pair.serverConnection().isReverseOpen()).isTrue();
            pair.reply(Rpc.echo(2, 0));
            client.take();
            assertThat(client.header.xid()).isEqualTo(2);
        }
    }

    @Test
    @Proves({"BIDI-25", "BIDI-26", "API-14"})
    void reverseCallsAreDroppedUntilTheirReceivesArePosted() throws Exception {
        try (RpcPair pair = RpcPair.rawServer(room(8, 4).build(), room(8, 4).build());
                RawPeer server = RawPeer.server(pair)) {
            server.send(header(7, 4), Rpc.echo(7, 0));
            await(pair.clientConnection(), RpcRdmaCounter.DROPPED_UNEXPECTED_CALL, 1);
            int before = kept(pair.clientChannel);
            assertThat(before).isGreaterThanOrEqualTo(8);
            int after =
                    on(
                            pair.clientChannel,
                            () -> {
                                assertThat(pair.clientConnection().acceptReverseCalls(3))
                                        .isEqualTo(3);
                                return ChannelInternals.of(pair.clientChannel).keptReceives();
                            });
            assertThat(after).isEqualTo(before + 3);
            server.send(header(7, 4), Rpc.echo(7, 0));
            assertThat(pair.client.takeXid()).isEqualTo(7);
        }
    }

    @Test
    @Proves("API-14")
    void openingIsCheckedAndSaysWhatIsWrong() throws Exception {
        RpcRdmaConfig without = RpcPair.usual().build();
        try (RpcPair pair = RpcPair.of(without, without)) {
            assertThatThrownBy(() -> pair.openReverse(1))
                    .hasStackTraceContaining("reverseCredits is 0");
            assertThatThrownBy(() -> on(pair.serverChannel, () -> allow(pair)))
                    .hasStackTraceContaining("reverseCredits is 0");
        }
        try (RpcPair pair = RpcPair.of(room(8, 4).build(), room(8, 4).build())) {
            assertThatThrownBy(() -> pair.openReverse(5)).hasStackTraceContaining("1 to the 4");
            assertThatThrownBy(() -> pair.openReverse(0)).hasStackTraceContaining("1 to the 4");
            assertThatThrownBy(() -> pair.clientConnection().acceptReverseCalls(1))
                    .hasMessageContaining("on the event loop");
            RpcRdmaConnection server = pair.serverConnection();
            assertThatThrownBy(() -> on(pair.serverChannel, () -> server.acceptReverseCalls(1)))
                    .hasStackTraceContaining("only the connecting side");
            pair.openReverse(2);
            assertThatThrownBy(() -> pair.openReverse(2)).hasStackTraceContaining("already");
        }
    }

    private static Void allow(RpcPair pair) {
        pair.serverConnection().allowReverseCalls();
        return null;
    }

    // ------------------------------------------------------------------ credits

    /** The table of the requirements, 3.6: forward request 16, grant 8; reverse request 4, grant 2. */
    @Test
    @Proves({"BIDI-06", "BIDI-07", "BIDI-08", "BIDI-12", "BIDI-13", "BIDI-01"})
    void workedExample() throws Exception {
        RpcRdmaConfig c = RpcPair.usual().requestedCredits(16).reverseCredits(2).build();
        RpcRdmaConfig s = RpcPair.usual().grantedCredits(8).reverseCredits(4).build();
        try (RpcPair pair = RpcPair.of(c, s)) {
            state(pair, 1, 0, 1, 0);
            assertThat(pair.openReverse(2)).isEqualTo(2);
            state(pair, 1, 0, 1, 0);
            pair.call(Rpc.echo(0x11, 0));
            assertThat(pair.server.takeXid()).isEqualTo(0x11);
            state(pair, 1, 1, 1, 0);
            pair.reply(Rpc.echo(0x11, 0));
            assertThat(pair.client.takeXid()).isEqualTo(0x11);
            state(pair, 1, 1, 1, 1);
            pair.call(Rpc.reply(0x11));
            assertThat(pair.server.takeXid()).isEqualTo(0x11);
            state(pair, 1, 1, 2, 0);
            pair.reply(Rpc.reply(0x11));
            assertThat(pair.client.takeXid()).isEqualTo(0x11);
            state(pair, 8, 0, 2, 0);
            for (int xid = 1; xid <= 8; xid++) {
                pair.call(Rpc.echo(xid, 0));
                assertThat(pair.server.takeXid()).isEqualTo(xid);
            }
            for (int xid = 1; xid <= 3; xid++) {
                pair.reply(Rpc.echo(xid, 0));
            }
            assertThat(pair.client.takeXid()).isEqualTo(1);
            assertThat(pair.client.takeXid()).isEqualTo(2);
            state(pair, 8, 8, 2, 2);
            // A forward reply frees no reverse call, nor the other way round.
            pair.reply(Rpc.reply(1));
            assertThat(pair.client.takeXid()).isEqualTo(1);
            RpcPair.settle(pair.serverChannel);
            assertThat(pair.client.messages).isEmpty();
            state(pair, 8, 7, 2, 2);
            pair.call(Rpc.reply(2));
            assertThat(pair.server.takeXid()).isEqualTo(2);
            assertThat(pair.client.takeXid()).isEqualTo(3);
            state(pair, 8, 7, 2, 2);
        }
    }

    private static void state(
            RpcPair pair, int grant, int inFlight, int reverseGrant, int reverseInFlight)
            throws Exception {
        RpcRdmaConnection client = pair.clientConnection();
        RpcRdmaConnection server = pair.serverConnection();
        assertThat(client.creditsGranted()).isEqualTo(grant);
        assertThat(client.callsInFlight()).isEqualTo(inFlight);
        assertThat(server.creditsGranted()).isEqualTo(reverseGrant);
        assertThat(server.callsInFlight()).isEqualTo(reverseInFlight);
        // What may still come: the other side's calls, and the replies to those that are out.
        int reverse = client.isReverseOpen() ? 2 : 0;
        assertThat(kept(pair.clientChannel)).isGreaterThanOrEqualTo(inFlight + reverse);
        assertThat(kept(pair.serverChannel)).isGreaterThanOrEqualTo(8 + reverseInFlight);
    }

    @Test
    @Proves({"BIDI-08", "BIDI-09", "BIDI-15", "BIDI-16", "BIDI-17", "BIDI-06"})
    void reverseCallsBeginWithOneCreditAndFollowTheReverseGrant() throws Exception {
        try (RpcPair pair = RpcPair.rawClient(room(8, 5).build(), room(8, 5).build());
                RawPeer client = RawPeer.client(pair)) {
            pair.openReverse(5);
            for (int xid = 1; xid <= 8; xid++) {
                pair.reply(Rpc.echo(xid, 4));
            }
            takeReverseCall(client, 1, 5);
            // The word of a forward call is a request: it says nothing about the reverse direction.
            client.send(header(1, 99), Rpc.echo(1, 0));
            pair.server.takeBytes();
            pair.reply(Rpc.reply(1));
            client.take();
            assertThat(client.header.xid()).isEqualTo(1);
            assertThat(client.header.credit()).isEqualTo(8);
            assertThat(pair.client.messages).isEmpty();
            client.send(header(1, 2), Rpc.reply(1));
            takeReverseCall(client, 2, 5);
            takeReverseCall(client, 3, 5);
            client.send(header(2, 0), Rpc.reply(2));
            assertThat(pair.server.takeXid()).isEqualTo(1);
            assertThat(pair.server.takeXid()).isEqualTo(2);
            assertThat(pair.serverConnection().creditsGranted()).isEqualTo(1);
            assertThat(pair.serverConnection().value(RpcRdmaCounter.ZERO_GRANTS)).isEqualTo(1);
            assertThat(pair.client.messages).isEmpty();
            // More than was asked for: what was asked for holds.
            client.send(header(3, 50), Rpc.reply(3));
            for (int xid = 4; xid <= 8; xid++) {
                takeReverseCall(client, xid, 5);
            }
            assertThat(pair.serverConnection().callsInFlight()).isEqualTo(5);
        }
    }

    private static void takeReverseCall(RawPeer client, int xid, int requested) throws Exception {
        client.take();
        assertThat(client.header.xid()).isEqualTo(xid);
        assertThat(client.header.version()).isEqualTo(TransportHeader.VERSION_ONE);
        assertThat(client.header.credit()).isEqualTo(requested);
        assertThat(client.header.proc()).isEqualTo(MSG);
        ByteBuffer payload = ByteBuffer.wrap(client.payload);
        assertThat(payload.getInt(0)).isEqualTo(xid);
        assertThat(payload.getInt(4)).isEqualTo(OncRpcHeaderDecoder.CALL);
    }

    @Test
    @Proves({"BIDI-18", "BIDI-09", "BIDI-07", "BIDI-08"})
    void aReverseReplyHasTheReverseGrantAndLeavesTheForwardOneAlone() throws Exception {
        try (RpcPair pair = RpcPair.rawServer(room(16, 3).build(), room(16, 3).build());
                RawPeer server = RawPeer.server(pair)) {
            pair.openReverse(3);
            server.send(header(0x11, 50), Rpc.echo(0x11, 0));
            assertThat(pair.client.takeXid()).isEqualTo(0x11);
            assertThat(pair.clientConnection().creditsGranted()).isEqualTo(1);
            pair.call(Rpc.reply(0x11));
            server.take();
            assertThat(server.header.xid()).isEqualTo(0x11);
            assertThat(server.header.version()).isEqualTo(TransportHeader.VERSION_ONE);
            assertThat(server.header.credit()).isEqualTo(3);
            assertThat(server.payload).isEqualTo(Rpc.bytes(Rpc.reply(0x11)));
            pair.call(Rpc.echo(0x11, 0));
            server.take();
            assertThat(server.header.credit()).isEqualTo(16);
        }
    }

    @Test
    @Proves("BIDI-08")
    void moreReverseCallsThanGrantedEndTheConnection() throws Exception {
        try (RpcPair pair = RpcPair.rawServer(room(16, 3).build(), room(16, 3).build());
                RawPeer server = RawPeer.server(pair)) {
            pair.openReverse(2);
            for (int xid = 1; xid <= 3; xid++) {
                server.send(header(xid, 3), Rpc.echo(xid, 0));
            }
            assertThat(pair.client.awaitInactive()).isTrue();
            assertThat(pair.clientConnection().value(RpcRdmaCounter.CREDIT_OVERRUNS)).isEqualTo(1);
            assertThat(pair.client.takeXid()).isEqualTo(1);
            assertThat(pair.client.takeXid()).isEqualTo(2);
            assertThat(pair.client.messages).isEmpty();
        }
    }

    // ------------------------------------------------------------------ receives

    /** Without a receive for one of them the device ends the connection: iWARP cannot send again. */
    @Test
    @Proves({"BIDI-12", "BIDI-26"})
    void theClientHasReceivesForRepliesAndReverseCallsTogether() throws Exception {
        int forward = 32;
        int reverse = 64;
        try (RpcPair pair =
                        RpcPair.rawServer(room(forward, reverse).build(), room(32, 64).build());
                RawPeer server = RawPeer.server(pair)) {
            pair.openReverse(reverse);
            pair.call(Rpc.echo(0, 0));
            server.take();
            server.send(header(0, forward), Rpc.reply(0));
            pair.client.takeBytes();
            on(pair.clientChannel, () -> pair.clientChannel.config().setAutoRead(false));
            for (int xid = 1; xid <= forward; xid++) {
                pair.call(Rpc.echo(xid, 0));
                server.take();
            }
            for (int xid = 1; xid <= reverse; xid++) {
                server.channel.write(RawPeer.message(header(xid, 1), Rpc.echo(xid, 0)));
            }
            for (int xid = 1; xid <= forward; xid++) {
                server.channel.write(RawPeer.message(header(xid, 1), Rpc.reply(xid)));
            }
            server.channel.writeAndFlush(Unpooled.EMPTY_BUFFER).sync();
            on(pair.clientChannel, () -> pair.clientChannel.config().setAutoRead(true));
            for (int xid = 1; xid <= reverse + forward; xid++) {
                pair.client.takeBytes();
            }
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    @Proves("BIDI-13")
    void theServerHasReceivesForCallsAndReverseRepliesTogether(boolean isAdaptive)
            throws Exception {
        int forward = 32;
        int reverse = 64;
        RpcRdmaConfig.Builder server = room(forward, reverse);
        if (isAdaptive) {
            server.creditPolicy(CreditPolicy.adaptive(1)).minimumCredits(forward);
        }
        try (RpcPair pair = RpcPair.rawClient(room(forward, reverse).build(), server.build());
                RawPeer client = RawPeer.client(pair)) {
            pair.openReverse(reverse);
            pair.reply(Rpc.echo(0, 0));
            client.take();
            client.send(header(0, reverse), Rpc.reply(0));
            pair.server.takeBytes();
            on(pair.serverChannel, () -> pair.serverChannel.config().setAutoRead(false));
            for (int xid = 1; xid <= reverse; xid++) {
                pair.reply(Rpc.echo(xid, 0));
                client.take();
            }
            for (int xid = 1; xid <= reverse; xid++) {
                client.channel.write(RawPeer.message(header(xid, 1), Rpc.reply(xid)));
            }
            for (int xid = 1; xid <= forward; xid++) {
                client.channel.write(RawPeer.message(header(xid, 1), Rpc.echo(xid, 0)));
            }
            client.channel.writeAndFlush(Unpooled.EMPTY_BUFFER).sync();
            on(pair.serverChannel, () -> pair.serverChannel.config().setAutoRead(true));
            for (int xid = 1; xid <= reverse + forward; xid++) {
                pair.server.takeBytes();
            }
        }
    }

    /** Both by the messages that carry the lower grant and by the calls that use up the higher one. */
    @Test
    @Proves("BIDI-13")
    void aGrantThatShrinksAndGrowsLeavesTheReceivesForReplies() throws Exception {
        int reverse = 64;
        AtomicInteger wanted = new AtomicInteger(32);
        RpcRdmaConfig shrinking = room(32, reverse).creditPolicy(load -> wanted.get()).build();
        try (RpcPair pair = RpcPair.rawClient(room(32, reverse).build(), shrinking);
                RawPeer client = RawPeer.client(pair)) {
            pair.openReverse(reverse);
            int atFirst = kept(pair.serverChannel);
            assertThat(atFirst).isGreaterThanOrEqualTo(32 + reverse);
            wanted.set(1);
            for (int xid = 1; xid <= 40; xid++) {
                client.send(header(xid, 32), Rpc.echo(xid, 0));
                assertThat(pair.server.takeXid()).isEqualTo(xid);
                pair.reply(Rpc.reply(xid));
                client.take();
                assertThat(client.header.credit()).isEqualTo(1);
            }
            assertThat(kept(pair.serverChannel)).isBetween(1 + reverse, atFirst - 31);
            // One that grows again gets receives of its own.
            wanted.set(32);
            client.send(header(41, 32), Rpc.echo(41, 0));
            assertThat(pair.server.takeXid()).isEqualTo(41);
            pair.reply(Rpc.reply(41));
            client.take();
            assertThat(client.header.credit()).isEqualTo(32);
            assertThat(kept(pair.serverChannel)).isGreaterThanOrEqualTo(32 + reverse);
        }
    }

    /** The same at the other end: what is left is for the replies to forward calls, which may all come at once. */
    @Test
    @Proves("BIDI-12")
    void aReverseGrantThatShrinksLeavesTheReceivesForReplies() throws Exception {
        int forward = 32;
        int reverse = 64;
        AtomicInteger wanted = new AtomicInteger(reverse);
        RpcRdmaConfig shrinking = room(forward, reverse).creditPolicy(load -> wanted.get()).build();
        try (RpcPair pair = RpcPair.rawServer(shrinking, room(forward, reverse).build());
                RawPeer server = RawPeer.server(pair)) {
            pair.openReverse(reverse);
            pair.call(Rpc.echo(0, 0));
            server.take();
            server.send(header(0, forward), Rpc.reply(0));
            pair.client.takeBytes();
            wanted.set(1);
            for (int xid = 1; xid <= 2 * reverse; xid++) {
                server.send(header(xid, reverse), Rpc.echo(xid, 0));
                assertThat(pair.client.takeXid()).isEqualTo(xid);
                pair.call(Rpc.reply(xid));
                server.take();
                assertThat(server.header.credit()).isEqualTo(1);
            }
            on(pair.clientChannel, () -> pair.clientChannel.config().setAutoRead(false));
            for (int xid = 1; xid <= forward; xid++) {
                pair.call(Rpc.echo(xid, 0));
                server.take();
            }
            server.channel.write(RawPeer.message(header(99, reverse), Rpc.echo(99, 0)));
            for (int xid = 1; xid <= forward; xid++) {
                server.channel.write(RawPeer.message(header(xid, 1), Rpc.reply(xid)));
            }
            server.channel.writeAndFlush(Unpooled.EMPTY_BUFFER).sync();
            on(pair.clientChannel, () -> pair.clientChannel.config().setAutoRead(true));
            for (int i = 0; i <= forward; i++) {
                pair.client.takeBytes();
            }
        }
    }

    @Test
    @Proves({"BIDI-12", "API-14"})
    void neverMoreIsGrantedThanReceivesAreLeft() throws Exception {
        RpcRdmaConfig config = room(32, 16).build();
        try (RpcPair pair =
                        RpcPair.rawServer(
                                config,
                                config,
                                bootstrap -> bootstrap.option(RdmaChannelOption.RECEIVE_DEPTH, 8));
                RawPeer server = RawPeer.server(pair)) {
            int granted = pair.openReverse(16);
            assertThat(granted).isBetween(1, 7);
            pair.call(Rpc.echo(0, 0));
            server.take();
            int requested = server.header.credit();
            assertThat(requested + granted).isLessThanOrEqualTo(kept(pair.clientChannel));
            server.send(header(1, 1), Rpc.echo(1, 0));
            pair.client.takeBytes();
            pair.call(Rpc.reply(1));
            server.take();
            assertThat(server.header.credit()).isEqualTo(granted);
        }
    }

    // ------------------------------------------------------------------ direction

    @Test
    @Proves({"BIDI-10", "BIDI-30"})
    void whatHasNoDirectionChangesNoCredits() throws Exception {
        try (RpcPair pair = RpcPair.rawServer(room(8, 4).build(), room(8, 4).build());
                RawPeer server = RawPeer.server(pair)) {
            pair.openReverse(4);
            pair.call(Rpc.echo(1, 0));
            server.take();
            server.send(header(1, 2), Rpc.reply(1));
            assertThat(pair.client.takeXid()).isEqualTo(1);
            pair.call(Rpc.echo(2, 0));
            server.take();
            // A long message without any list, a Write list only, and a payload without its type.
            server.send(new TransportHeader().set(2, 77, NOMSG), RawPeer.nothing());
            TransportHeader writeOnly = new TransportHeader().set(2, 77, NOMSG);
            writeOnly.writes().add(1, 100, 1);
            writeOnly.writes().endChunk();
            server.send(writeOnly, RawPeer.nothing());
            server.send(header(2, 77), Unpooled.buffer().writeInt(2));
            server.send(header(2, 77), Unpooled.buffer().writeInt(2).writeInt(2).writeZero(16));
            await(pair.clientConnection(), RpcRdmaCounter.DROPPED_BAD_REPLY, 4);
            assertThat(pair.clientConnection().creditsGranted()).isEqualTo(2);
            assertThat(pair.clientConnection().callsInFlight()).isEqualTo(1);
            assertThat(pair.server.messages).isEmpty();
            // Two credits: one more call may go, and those behind it wait for replies.
            for (int xid = 3; xid <= 5; xid++) {
                pair.call(Rpc.echo(xid, 0));
            }
            for (int answered = 2; answered <= 5; answered++) {
                if (answered < 5) {
                    server.take();
                    assertThat(server.header.xid()).isEqualTo(answered + 1);
                }
                RpcPair.settle(pair.clientChannel);
                assertThat(pair.clientConnection().value(RpcRdmaCounter.CALLS_SENT))
                        .isEqualTo(Math.min(answered + 1, 5));
                server.send(header(answered, 2), Rpc.reply(answered));
                assertThat(pair.client.takeXid()).isEqualTo(answered);
            }
        }
        try (RpcPair pair = RpcPair.rawClient(room(8, 4).build(), room(8, 4).build());
                RawPeer client = RawPeer.client(pair)) {
            pair.openReverse(4);
            pair.reply(Rpc.echo(2, 0));
            client.take();
            client.send(new TransportHeader().set(2, 77, NOMSG), RawPeer.nothing());
            // The accepting side takes it for a call.
            client.take();
            assertThat(client.header.proc()).isEqualTo(TransportHeader.RDMA_ERROR);
            assertThat(client.header.xid()).isEqualTo(2);
            assertThat(pair.serverConnection().creditsGranted()).isEqualTo(1);
            assertThat(pair.serverConnection().callsInFlight()).isEqualTo(1);
            // The one credit of a new connection is out: the next call waits for the reply.
            pair.reply(Rpc.echo(3, 0));
            RpcPair.settle(pair.serverChannel);
            assertThat(pair.serverConnection().value(RpcRdmaCounter.CALLS_SENT)).isEqualTo(1);
            client.send(header(2, 4), Rpc.reply(2));
            client.take();
            assertThat(client.header.xid()).isEqualTo(3);
        }
    }

    /**
     * Of a long message only its lists tell: a Position Zero Read chunk is a call, no Read chunk but a Reply chunk
     * a reply.
     */
    @Test
    @Proves("BIDI-30")
    void theListsOfALongMessageTellItsDirection() throws Exception {
        RpcRdmaConfig config = room(8, 4).announceReadChunkReplies(false).build();
        try (RpcPair pair = RpcPair.rawServer(config, config);
                RawPeer server = RawPeer.server(pair)) {
            pair.openReverse(4);
            pair.call(Rpc.readdir3(2, 8192)); // has a Reply chunk
            server.take();
            TransportHeader offered = server.mirrored(NOMSG);
            offered.reply().length(0, 100);
            // Neither: a Read chunk elsewhere, alone and beside the Reply chunk.
            TransportHeader elsewhere = new TransportHeader().set(2, 77, NOMSG);
            elsewhere.reads().add(4, 1, 100, 1);
            server.send(elsewhere, RawPeer.nothing());
            elsewhere.reply().copy(offered.reply());
            server.send(elsewhere, RawPeer.nothing());
            await(pair.clientConnection(), RpcRdmaCounter.DROPPED_BAD_REPLY, 2);
            assertThat(pair.clientConnection().callsInFlight()).isEqualTo(1);
            // A call, which has a Reply chunk too: it is too long for the reverse direction.
            TransportHeader call = new TransportHeader().set(2, 4, NOMSG);
            call.reads().add(0, 1, 100, 1);
            call.reply().copy(offered.reply());
            server.send(call, RawPeer.nothing());
            server.take();
            assertThat(server.header.xid()).isEqualTo(2);
            assertThat(server.header.proc()).isEqualTo(TransportHeader.RDMA_ERROR);
            assertThat(pair.clientConnection().callsInFlight()).isEqualTo(1);
            // A reply, although a bad one: nothing was written into its chunk.
            server.send(offered, RawPeer.nothing());
            assertThat(pair.client.takeFailure()).isInstanceOf(RpcRdmaException.class);
            assertThat(pair.clientConnection().callsInFlight()).isZero();
            assertThat(server.inbox.messages).isEmpty();
        }
        try (RpcPair pair = RpcPair.rawClient(config, config);
                RawPeer client = RawPeer.client(pair)) {
            pair.openReverse(4);
            // What is neither the accepting side takes for a call, also with a Reply chunk.
            TransportHeader elsewhere = new TransportHeader().set(2, 4, NOMSG);
            elsewhere.reads().add(4, 1, 100, 1);
            elsewhere.reply().setPresent();
            elsewhere.reply().add(1, 100, 1);
            client.send(elsewhere, RawPeer.nothing());
            client.take();
            assertThat(client.header.xid()).isEqualTo(2);
            assertThat(client.header.proc()).isEqualTo(TransportHeader.RDMA_ERROR);
        }
    }

    @Test
    @Proves({"BIDI-22", "BIDI-30", "BIDI-04", "BIDI-10"})
    void anErrorIsAboutOnesOwnCall() throws Exception {
        try (RpcPair pair = RpcPair.rawServer(room(8, 4).build(), room(8, 4).build());
                RawPeer server = RawPeer.server(pair)) {
            pair.openReverse(4);
            forwardStillWorks(pair, server, 1);
            server.send(header(0x11, 4), Rpc.echo(0x11, 0));
            assertThat(pair.client.takeXid()).isEqualTo(0x11);
            ByteBuf error = Unpooled.buffer();
            RdmaErrorMessage.encode(
                    error, 0x11, TransportHeader.VERSION_ONE, 99, RdmaErrorMessage.ERR_CHUNK);
            server.send(error.retainedDuplicate());
            await(pair.clientConnection(), RpcRdmaCounter.DROPPED_UNKNOWN_XID, 1);
            assertThat(pair.clientConnection().creditsGranted()).isEqualTo(8);
            pair.call(Rpc.echo(0x11, 0));
            server.take();
            server.send(error);
            assertThat(pair.client.takeFailure()).isInstanceOf(ErrChunkReplyException.class);
            assertThat(pair.clientConnection().creditsGranted()).isEqualTo(8);
            // The reverse call with that XID is untouched by all this.
            pair.call(Rpc.reply(0x11));
            server.take();
            assertThat(server.header.xid()).isEqualTo(0x11);
            assertThat(server.header.proc()).isEqualTo(MSG);
        }
        try (RpcPair pair = RpcPair.rawClient(room(8, 4).build(), room(8, 4).build());
                RawPeer client = RawPeer.client(pair)) {
            pair.openReverse(4);
            // The same XID both ways: the error ends the call of the accepting side, and that
            // one only.
            client.send(header(0x11, 4), Rpc.echo(0x11, 0));
            assertThat(pair.server.takeXid()).isEqualTo(0x11);
            pair.reply(Rpc.echo(0x11, 0));
            client.take();
            client.send(
                    Unpooled.buffer()
                            .writeInt(0x11)
                            .writeInt(1)
                            .writeInt(4)
                            .writeInt(4)
                            .writeInt(2));
            assertThat(pair.server.takeFailure()).isInstanceOf(ErrChunkReplyException.class);
            pair.reply(Rpc.reply(0x11));
            client.take();
            assertThat(client.header.xid()).isEqualTo(0x11);
            assertThat(client.header.proc()).isEqualTo(MSG);
        }
    }

    @Test
    @Proves({"BIDI-30", "BIDI-16"})
    void aReverseCallOfAnotherVersionIsAnsweredOnlyWhenReverseCallsAreTaken() throws Exception {
        try (RpcPair pair = RpcPair.rawServer(room(8, 4).build(), room(8, 4).build());
                RawPeer server = RawPeer.server(pair)) {
            TransportHeader other = new TransportHeader().set(9, 7, 4, MSG, 0);
            server.send(other, Rpc.echo(9, 0));
            await(pair.clientConnection(), RpcRdmaCounter.DROPPED_VERSION, 1);
            pair.openReverse(4);
            pair.call(Rpc.echo(8, 0));
            server.take();
            // It may be the reply to this one.
            server.send(new TransportHeader().set(8, 7, 4, MSG, 0), Rpc.reply(8));
            await(pair.clientConnection(), RpcRdmaCounter.DROPPED_VERSION, 2);
            assertThat(pair.server.messages).isEmpty();
            server.send(other, Rpc.echo(9, 0));
            server.take();
            assertThat(server.header.xid()).isEqualTo(9);
            assertThat(server.header.proc()).isEqualTo(TransportHeader.RDMA_ERROR);
        }
    }

    @Test
    @Proves("BIDI-03")
    void anXidIsUsedOnceAtATimeInEachDirection() throws Exception {
        try (RpcPair pair = RpcPair.rawClient(room(8, 4).build(), room(8, 4).build());
                RawPeer client = RawPeer.client(pair)) {
            pair.openReverse(4);
            client.send(header(5, 4), Rpc.echo(5, 0));
            assertThat(pair.server.takeXid()).isEqualTo(5);
            pair.reply(Rpc.echo(5, 0));
            client.take();
            assertThatThrownBy(() -> pair.reply(Rpc.echo(5, 0)).sync())
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("0x5");
            client.send(header(5, 4), Rpc.reply(5));
            assertThat(pair.server.takeXid()).isEqualTo(5);
            pair.reply(Rpc.echo(5, 0));
            client.take();
            assertThat(client.header.xid()).isEqualTo(5);
        }
    }

    // ------------------------------------------------------------------ chunks

    private enum ChunkList {
        READ,
        POSITION_ZERO,
        WRITE,
        EMPTY_WRITE,
        REPLY
    }

    private static TransportHeader with(ChunkList list, int xid) {
        boolean isLong = list == ChunkList.POSITION_ZERO;
        TransportHeader header = new TransportHeader().set(xid, 4, isLong ? NOMSG : MSG);
        switch (list) {
            case READ -> header.reads().add(40, 1, 100, 1);
            case POSITION_ZERO -> header.reads().add(0, 1, 100, 1);
            case WRITE -> {
                header.writes().add(1, 100, 1);
                header.writes().endChunk();
            }
            case EMPTY_WRITE -> header.writes().endChunk();
            case REPLY -> {
                header.reply().setPresent();
                header.reply().add(1, 100, 1);
            }
            default -> throw new AssertionError(list);
        }
        return header;
    }

    @ParameterizedTest
    @EnumSource
    @Proves("BIDI-21")
    void aReverseCallWithAnyChunkListIsAnsweredWithErrChunk(ChunkList list) throws Exception {
        try (RpcPair pair = RpcPair.rawServer(room(8, 4).build(), room(8, 4).build());
                RawPeer server = RawPeer.server(pair)) {
            pair.openReverse(2);
            for (int xid = 1; xid <= 5; xid++) {
                TransportHeader header = with(list, xid);
                server.send(header, header.proc() == NOMSG ? RawPeer.nothing() : Rpc.echo(xid, 0));
                server.take();
                assertThat(server.header.xid()).isEqualTo(xid);
                assertThat(server.header.proc()).isEqualTo(TransportHeader.RDMA_ERROR);
                assertThat(server.header.credit()).isEqualTo(2);
            }
            assertThat(pair.clientConnection().value(RpcRdmaCounter.CHUNK_ERRORS_SENT))
                    .isEqualTo(5);
            server.send(header(6, 4), Rpc.echo(6, 0));
            assertThat(pair.client.takeXid()).isEqualTo(6);
        }
    }

    @Test
    @Proves({"BIDI-20", "BIDI-31", "BIDI-11", "ULB-20"})
    void withoutReverseChunksACallIsShortOrFailsWhereItIsWritten() throws Exception {
        // The client receives 2048 bytes: that is the longest reverse call, with its header.
        RpcRdmaConfig small = room(8, 4).receiveSize(2048).sendSize(3072).build();
        try (RpcPair pair = RpcPair.rawClient(small, room(8, 4).build());
                RawPeer client = RawPeer.client(pair)) {
            pair.openReverse(4);
            int longest = 2048 - HEADER - 40;
            assertThatThrownBy(() -> pair.reply(Rpc.echo(1, longest + 4)).sync())
                    .isInstanceOf(CallTooLongException.class)
                    .hasMessageContaining("reverseChunks");
            assertThat(pair.serverConnection().callsInFlight()).isZero();
            pair.reply(Rpc.echo(2, longest));
            assertThat(client.take()).isEqualTo(2048);
            client.send(header(2, 4), Rpc.reply(2));
            pair.server.takeBytes();
            // Bindings would have chunks for these.
            for (ByteBuf call : List.of(Rpc.read3(3, 9000), Rpc.readdir3(4, 9000))) {
                int xid = Rpc.xid(call);
                pair.reply(call);
                client.take();
                assertThat(client.header.xid()).isEqualTo(xid);
                assertThat(client.header.proc()).isEqualTo(MSG);
                assertThat(client.header.encodedBytes()).isEqualTo(HEADER);
            }
        }
    }

    @Test
    @Proves("BIDI-11")
    void aReverseReplyMayBeAsLongAsAForwardCall() throws Exception {
        RpcRdmaConfig server = room(8, 4).receiveSize(3072).build();
        try (RpcPair pair = RpcPair.rawServer(room(8, 4).build(), server);
                RawPeer raw = RawPeer.server(pair)) {
            pair.openReverse(4);
            raw.send(header(1, 4), Rpc.echo(1, 0));
            raw.send(header(2, 4), Rpc.echo(2, 0));
            pair.client.takeBytes();
            pair.client.takeBytes();
            pair.call(Rpc.reply(1).writeZero(3072 - HEADER - 24));
            assertThat(raw.take()).isEqualTo(3072);
            assertThatThrownBy(() -> pair.call(Rpc.reply(2).writeZero(3072 - HEADER - 20)).sync())
                    .isInstanceOf(OutboundReplyTooLongException.class);
            raw.take();
            assertThat(raw.header.xid()).isEqualTo(2);
            assertThat(raw.header.proc()).isEqualTo(TransportHeader.RDMA_ERROR);
        }
    }

    /** The client endpoint reads and writes the server's memory: the roles of the forward direction have changed. */
    @Test
    @Proves({"BIDI-19", "BIDI-17", "BIDI-28"})
    void withReverseChunksAllFormsGoBothWays() throws Exception {
        RpcRdmaConfig config = room(8, 4).reverseChunks(true).build();
        byte[] data = Rpc.random(100_000);
        try (RpcPair pair = RpcPair.of(config, config)) {
            pair.openReverse(4);
            long read = reverse(pair, Rpc.write3(1, data), Rpc.reply(1), RpcRdmaCounter.READ_BYTES);
            assertThat(read).isEqualTo(data.length);
            ByteBuf reply = Rpc.read3Reply(2, data);
            long written =
                    reverse(
                            pair,
                            Rpc.read3(2, data.length),
                            reply,
                            RpcRdmaCounter.WRITE_BYTES_SENT);
            assertThat(written).isEqualTo(data.length);
            reverse(pair, Rpc.echo(3, 100_000), Rpc.reply(3), RpcRdmaCounter.LONG_CALLS);
            ByteBuf names = Rpc.reply(4).writeInt(0).writeBytes(Rpc.random(50_000));
            reverse(pair, Rpc.readdir3(4, 60_000), names, RpcRdmaCounter.LONG_REPLIES);
            RpcRdmaConnection client = pair.clientConnection();
            assertThat(client.value(RpcRdmaCounter.READ_CHUNK_CALLS)).isEqualTo(1);
            assertThat(client.value(RpcRdmaCounter.LONG_CALLS)).isEqualTo(1);
            assertThat(client.value(RpcRdmaCounter.WRITE_CHUNK_CALLS)).isEqualTo(1);
            assertThat(client.value(RpcRdmaCounter.LONG_REPLIES)).isEqualTo(1);
        }
    }

    /** Calls back and gives what the client's counter has grown by. */
    private static long reverse(RpcPair pair, ByteBuf call, ByteBuf reply, RpcRdmaCounter counter)
            throws Exception {
        byte[] sent = ByteBufUtil.getBytes(call);
        byte[] answered = ByteBufUtil.getBytes(reply);
        long before = pair.clientConnection().value(counter);
        pair.reply(call);
        assertThat(pair.client.takeBytes()).isEqualTo(sent);
        pair.call(reply);
        assertThat(pair.server.takeBytes()).isEqualTo(answered);
        return pair.clientConnection().value(counter) - before;
    }

    @Test
    @Proves({"BIDI-17", "BIDI-19", "BIDI-15"})
    void aLongReverseCallBeginsWithItsXidInTheChunk() throws Exception {
        RpcRdmaConfig config = room(8, 4).reverseChunks(true).build();
        try (RpcPair pair = RpcPair.rawClient(config, config);
                RawPeer client = RawPeer.client(pair)) {
            pair.openReverse(4);
            pair.reply(Rpc.echo(0x77, 9000));
            client.take();
            assertThat(client.header.proc()).isEqualTo(NOMSG);
            assertThat(client.header.xid()).isEqualTo(0x77);
            assertThat(client.header.credit()).isEqualTo(4);
            ReadList reads = client.header.reads();
            assertThat(reads.position(0)).isZero();
            byte[] whole = client.read(reads.handle(0), reads.offset(0), (int) reads.length(0));
            assertThat(whole).isEqualTo(Rpc.bytes(Rpc.echo(0x77, 9000)));
            assertThat(Arrays.copyOf(whole, 8)).isEqualTo(new byte[] {0, 0, 0, 0x77, 0, 0, 0, 0});
        }
    }

    /** The binding of the reverse program holds: the header of a WRITE is not eligible, its data are. */
    @Test
    @Proves({"BIDI-28", "BIDI-19"})
    void theBindingsHoldInTheReverseDirection() throws Exception {
        RpcRdmaConfig config = room(8, 4).reverseChunks(true).build();
        try (RpcPair pair = RpcPair.rawServer(config, config);
                RawPeer server = RawPeer.server(pair)) {
            pair.openReverse(4);
            byte[] whole = Rpc.bytes(Rpc.write3(1, Rpc.random(64)));
            int handle = server.expose(server.memory(new byte[32]), RemoteAccess.READ);
            TransportHeader header = header(1, 4);
            header.reads().add(44, handle, 28, server.offset(handle));
            ByteBuf rest =
                    Unpooled.buffer()
                            .writeBytes(whole, 0, 44)
                            .writeBytes(whole, 72, whole.length - 72);
            server.send(header, rest);
            server.take();
            assertThat(server.header.proc()).isEqualTo(TransportHeader.RDMA_ERROR);
            assertThat(server.header.xid()).isEqualTo(1);
            assertThat(pair.client.messages).isEmpty();
        }
    }

    @Test
    void aReverseCallOnAClosedConnectionFails() throws Exception {
        try (RpcPair pair = RpcPair.of(room(8, 4).build(), room(8, 4).build())) {
            pair.openReverse(4);
            pair.reply(Rpc.echo(1, 0));
            pair.client.takeBytes();
            ChannelFuture queued = pair.reply(Rpc.echo(2, 0));
            pair.clientChannel.close().sync();
            assertThat(pair.server.awaitInactive()).isTrue();
            assertThat(queued.await(RpcPair.PATIENCE_SECONDS, TimeUnit.SECONDS)).isTrue();
            assertThat(queued.cause()).isInstanceOf(CallNotSentException.class);
            assertThat(pair.serverConnection().callsInFlight()).isZero();
        }
    }
}
