// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import static org.assertj.core.api.Assertions.assertThat;
import static org.rpcrdma.codec.RpcPair.on;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPromise;
import io.netty.util.ReferenceCountUtil;
import java.net.InetAddress;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.rpcrdma.Device;
import org.rpcrdma.Proves;
import org.rpcrdma.channel.RdmaRead;
import org.rpcrdma.channel.RemoteAccess;
import org.rpcrdma.codec.ReadChunkReplyConfig.ReplyChunks;
import org.rpcrdma.codec.wire.TransportHeader;

/** The requester's part of replies in Read chunks, towards a responder that is worked by hand. */
class ReadChunkRequesterTest {

    private static final int LENGTH = 10_000;
    private static final int XID = 0x0ABCDEF1;

    private RpcPair pair;
    private RawPeer server;

    @AfterEach
    void close() {
        server.close();
        pair.close();
    }

    private void connect(RpcRdmaConfig client) throws Exception {
        pair = RpcPair.rawServer(client, RpcRdmaConfig.defaults());
        server = RawPeer.server(pair);
    }

    private RpcRdmaConnection client() {
        return pair.clientConnection();
    }

    private long readBytesHeld() throws Exception {
        return on(pair.clientChannel, () -> client().value(RpcRdmaGauge.READ_BYTES_HELD));
    }

    private void call(int xid) throws Exception {
        pair.call(Rpc.echo(xid, 8));
        server.take();
        assertThat(server.header.xid()).isEqualTo(xid);
        assertThat(server.header.proc()).isEqualTo(TransportHeader.RDMA_MSG);
    }

    /** The peer may send replies and calls, long ones too. */
    private void connectWithReverseCalls() throws Exception {
        connect(
                ReadChunks.builder(ReplyChunks.NEVER)
                        .reverseCredits(4)
                        .reverseChunks(true)
                        .build());
        on(pair.clientChannel, () -> client().acceptReverseCalls(4));
    }

    /** A connection begins with one. */
    private void bringCredits() throws Exception {
        call(XID);
        server.send(server.mirrored(0), Rpc.reply(XID));
        pair.client.takeXid();
    }

    private HeldReads holdReads() {
        HeldReads held = new HeldReads();
        pair.clientChannel.pipeline().addFirst(held);
        return held;
    }

    private static byte[] reply(int xid, int length) {
        return ByteBufUtil.getBytes(ReadChunks.reply(xid, length));
    }

    private int offer(TransportHeader header, int position, byte[] data) throws Exception {
        int handle = server.expose(server.memory(data), RemoteAccess.READ);
        header.reads().add(position, handle, data.length, server.offset(handle));
        return handle;
    }

    private TransportHeader noMessage(int xid) {
        return RawPeer.header(xid, TransportHeader.RDMA_NOMSG);
    }

    private void takeCompletion(int xid) throws Exception {
        assertThat(server.take()).isEqualTo(TransportHeader.DONE_BYTES);
        assertThat(server.header.proc()).isEqualTo(TransportHeader.RDMA_DONE);
        assertThat(server.header.version()).isEqualTo(1);
        assertThat(server.header.xid()).isEqualTo(xid);
        assertThat(server.header.credit()).isEqualTo(128);
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 7, 60})
    @Proves({"RR-07", "RR-08", "RR-09", "RR-19", "RR-20"})
    void aReplyInSeveralSegments(int segments) throws Exception {
        connect(ReadChunks.config());
        call(XID);
        byte[] reply = reply(XID, LENGTH);
        TransportHeader header = noMessage(XID);
        int handle = 0;
        for (int i = 0; i < segments; i++) {
            int from = LENGTH * i / segments;
            handle = offer(header, 0, Arrays.copyOfRange(reply, from, LENGTH * (i + 1) / segments));
        }
        server.send(header, RawPeer.nothing());
        assertThat(pair.client.takeBytes()).isEqualTo(reply);
        ByteBuf done = server.inbox.takeBuffer();
        assertThat(ByteBufUtil.hexDump(done))
                .isEqualTo(String.format("%08x000000010000008000000003", XID));
        done.release();
        assertThat(server.isExposed(handle))
                .isEqualTo(segments > 1 || !Device.can("remoteInvalidation"));
        assertThat(client().callsInFlight()).isZero();
    }

    private enum Bad {
        TOO_LONG,
        LONGER_THAN_THE_CONNECTION_MAY_HAVE,
        NOTHING,
        NO_REPLY_INSIDE,
        TWO_POSITIONS,
        WRAPS,
        POSITION_ZERO_IN_A_SHORT_REPLY,
        ODD_POSITION,
        IN_THE_REPLY_CHUNK_TOO,
        WRITE_LIST_OF_OTHERS
    }

    /** Each is answered with a completion, ends its call, and costs nothing else. */
    @ParameterizedTest
    @EnumSource
    @Proves({"RR-13", "RR-08", "RR-31", "SEC-16"})
    void whatCannotBePulledIsCompletedAndFailsTheCall(Bad bad) throws Exception {
        connect(badConfig().build());
        assertFails(bad, bad == Bad.NO_REPLY_INSIDE);
    }

    /** Also where it could be a long reverse call as well. */
    @ParameterizedTest
    @EnumSource
    @Proves({"RR-13", "RR-08", "RR-33"})
    void whatCannotBePulledBesideReverseCallsFailsTheCallToo(Bad bad) throws Exception {
        connect(badConfig().reverseCredits(4).reverseChunks(true).build());
        on(pair.clientChannel, () -> client().acceptReverseCalls(4));
        boolean couldBeACall =
                bad == Bad.NO_REPLY_INSIDE
                        || bad == Bad.IN_THE_REPLY_CHUNK_TOO
                        || bad == Bad.WRITE_LIST_OF_OTHERS;
        assertFails(bad, couldBeACall);
        assertThat(client().value(RpcRdmaCounter.CHUNK_ERRORS_SENT)).isZero();
    }

    private static RpcRdmaConfig.Builder badConfig() {
        return ReadChunks.builder(ReplyChunks.IF_NEEDED)
                .maxConnectionBytes(20_000)
                .maxMessageBytes(1 << 20);
    }

    private void assertFails(Bad bad, boolean isRead) throws Exception {
        call(XID);
        TransportHeader header = noMessage(XID);
        header.reply().copy(server.header.reply());
        int segments = header.reply().segments();
        for (int i = 0; i < segments; i++) {
            header.reply().length(i, 0);
        }
        ByteBuf inline = RawPeer.nothing();
        int handle = server.expose(server.memory(reply(XID, LENGTH)), RemoteAccess.READ);
        long offset = server.offset(handle);
        switch (bad) {
            case TOO_LONG -> header.reads().add(0, handle, 2 << 20, offset);
            case LONGER_THAN_THE_CONNECTION_MAY_HAVE ->
                    header.reads().add(0, handle, 20_004, offset);
            case NOTHING -> header.reads().add(0, handle, 0, offset);
            case NO_REPLY_INSIDE -> offer(header, 0, reply(XID + 1, LENGTH));
            case TWO_POSITIONS -> {
                header.reads().add(0, handle, 40, offset);
                header.reads().add(100, handle, 40, offset);
            }
            case WRAPS -> header.reads().add(0, handle, LENGTH, -5);
            case POSITION_ZERO_IN_A_SHORT_REPLY -> {
                header.set(XID, 16, TransportHeader.RDMA_MSG);
                header.reads().add(0, handle, LENGTH, offset);
                inline.release();
                inline = Rpc.reply(XID);
            }
            case ODD_POSITION -> {
                header.set(XID, 16, TransportHeader.RDMA_MSG);
                header.reads().add(5, handle, 40, offset);
                inline.release();
                inline = Rpc.reply(XID);
            }
            case IN_THE_REPLY_CHUNK_TOO -> {
                header.reply().length(0, 100);
                header.reads().add(0, handle, LENGTH, offset);
            }
            case WRITE_LIST_OF_OTHERS -> {
                header.writes().add(handle, 5, offset);
                header.writes().endChunk();
                header.reads().add(0, handle, LENGTH, offset);
            }
        }
        server.send(header, inline);
        RpcRdmaException failure = pair.client.takeFailure();
        assertThat(failure)
                .isInstanceOf(
                        bad == Bad.NO_REPLY_INSIDE
                                ? MalformedReplyException.class
                                : ReplyPullException.class);
        takeCompletion(XID);
        assertThat(server.isExposed(handle)).isTrue(); // a plain Send: nothing of it was read
        assertThat(client().value(RpcRdmaCounter.BAD_REPLIES)).isEqualTo(1);
        assertThat(client().value(RpcRdmaCounter.READ_BYTES)).isEqualTo(isRead ? LENGTH : 0);
        assertThat(client().callsInFlight()).isZero();
        assertThat(readBytesHeld()).isZero();
        assertWorks(XID + 2);
    }

    /** Also where nobody knows before it is read that it is a reply. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    @Proves({"RR-20", "RR-33"})
    void repliesWaitForTheMemoryOfOthers(boolean besideReverseCalls) throws Exception {
        int replies = 4;
        int length = 12_000;
        connect(
                ReadChunks.builder(ReplyChunks.NEVER)
                        .maxConnectionBytes(20_000)
                        .reverseCredits(4)
                        .reverseChunks(true)
                        .build());
        if (besideReverseCalls) {
            on(pair.clientChannel, () -> client().acceptReverseCalls(4));
        }
        bringCredits();
        for (int xid = 1; xid <= replies; xid++) {
            call(xid);
        }
        for (int xid = 1; xid <= replies; xid++) {
            TransportHeader header = noMessage(xid);
            offer(header, 0, reply(xid, length));
            server.channel.write(RawPeer.message(header, RawPeer.nothing()));
        }
        server.channel.flush();
        for (int xid = 1; xid <= replies; xid++) {
            assertThat(pair.client.takeBytes()).isEqualTo(reply(xid, length));
        }
        assertThat(readBytesHeld()).isZero();
        assertThat(client().callsInFlight()).isZero();
    }

    /**
     * A call of the peer has the memory until it is answered, and its handler waits for the reply to a call of its own,
     * of another XID or of the same one.
     */
    @ParameterizedTest
    @ValueSource(ints = {1, 0x100})
    @Proves("RR-33")
    void noReplyWaitsForTheMemoryOfCalls(int xid) throws Exception {
        byte[] reverse = takeLargeReverseCall(0x100);
        call(xid);
        offerAlone(xid, reply(xid, reverse.length));
        assertThat(pair.client.takeBytes()).isEqualTo(reply(xid, reverse.length));
        takeCompletion(xid);
        pair.call(Rpc.reply(0x100));
        server.take();
        assertThat(readBytesHeld()).isZero();
    }

    /** A long call with the XID of a call of this side looks like its reply, and is read again as a call. */
    @Test
    @Proves({"RR-33", "BIDI-03"})
    void whatHasProvedToBeACallWaitsForTheMemoryOfCalls() throws Exception {
        byte[] second = takeLargeReverseCall(0x100);
        call(1);
        second[3] = 1;
        second[2] = 0;
        offerAlone(1, second);
        offerAlone(1, reply(1, second.length));
        assertThat(pair.client.takeBytes()).isEqualTo(reply(1, second.length));
        takeCompletion(1);
        pair.call(Rpc.reply(0x100));
        server.take();
        assertThat(pair.client.takeBytes()).isEqualTo(second);
        assertThat(readBytesHeld()).isEqualTo(second.length);
        pair.call(Rpc.reply(1));
        server.take();
        assertThat(readBytesHeld()).isZero();
    }

    /** A long call that looked like a reply waits for memory no longer as one, when the reply has come without it. */
    @Test
    @Proves({"RR-33", "BIDI-03"})
    void noReplyWaitsBehindACallThatLookedLikeOne() throws Exception {
        byte[] second = takeLargeReverseCall(0x100);
        HeldReads held = holdReads();
        call(1);
        offerAlone(1, reply(1, second.length));
        call(2);
        second[3] = 2;
        second[2] = 0;
        offerAlone(2, second);
        server.send(RawPeer.header(2, 0), Rpc.reply(2));
        assertThat(pair.client.takeXid()).isEqualTo(2);
        HeldReads heldLater = new HeldReads();
        on(
                pair.clientChannel,
                () -> {
                    held.letGo();
                    pair.clientChannel.pipeline().addFirst(heldLater);
                    return null;
                });
        assertThat(pair.client.takeBytes()).isEqualTo(reply(1, second.length));
        takeCompletion(1);
        RpcPair.settle(pair.clientChannel);
        assertThat(readBytesHeld()).isEqualTo(second.length);
        pair.call(Rpc.reply(0x100));
        server.take();
        RpcPair.settle(pair.clientChannel);
        on(pair.clientChannel, heldLater::letGo);
        assertThat(pair.client.takeBytes()).isEqualTo(second);
    }

    /** After it no second one of its size has memory, and it is not answered. */
    private byte[] takeLargeReverseCall(int xid) throws Exception {
        connect(
                ReadChunks.builder(ReplyChunks.NEVER)
                        .maxConnectionBytes(20_000)
                        .reverseCredits(4)
                        .reverseChunks(true)
                        .build());
        on(pair.clientChannel, () -> client().acceptReverseCalls(4));
        bringCredits();
        byte[] reverse = ByteBufUtil.getBytes(Rpc.echo(xid, 12_000));
        offerAlone(xid, reverse);
        assertThat(pair.client.takeBytes()).isEqualTo(reverse);
        return reverse;
    }

    /** Each word of an offer is changed: the call ends once, or its connection does. */
    @Test
    @Proves({"SEC-16", "SEC-11", "RR-08"})
    void everyWordOfAnOffer() throws Exception {
        int[] values = {0, 1, 2, 4, 24, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFC, 0xFFFFFFFF};
        connect(ReadChunks.config());
        int words = 13;
        for (int word = 0; word < words; word++) {
            for (int value : values) {
                if (pair == null) {
                    connect(ReadChunks.config());
                }
                call(XID);
                TransportHeader header = noMessage(XID);
                offer(header, 0, reply(XID, LENGTH));
                ByteBuf message = RawPeer.message(header, RawPeer.nothing());
                assertThat(message.readableBytes()).isEqualTo(4 * words);
                server.send(message.setInt(4 * word, value));
                // For those who have dropped the offer.
                server.send(RawPeer.header(XID, 0), Rpc.reply(XID));
                Object end = pair.client.messages.poll(10, TimeUnit.MILLISECONDS);
                while (end == null && pair.client.inactive.isEmpty()) {
                    end = pair.client.messages.poll(10, TimeUnit.MILLISECONDS);
                }
                if (end != null) {
                    ReferenceCountUtil.release(end);
                    assertThat(readBytesHeld()).isZero();
                }
                assertThat(pair.client.errors).isEmpty();
                RpcRdmaConnection ended = client();
                close();
                assertThat(pair.client.messages).isEmpty();
                assertThat(ended.value(RpcRdmaCounter.PULL_COMPLETIONS_SENT)).isLessThan(2);
                pair = null;
            }
        }
        connect(ReadChunks.config());
    }

    private void assertWorks(int xid) throws Exception {
        call(xid);
        byte[] reply = reply(xid, LENGTH);
        TransportHeader header = noMessage(xid);
        offer(header, 0, reply);
        server.send(header, RawPeer.nothing());
        assertThat(pair.client.takeBytes()).isEqualTo(reply);
        takeCompletion(xid);
    }

    /** RFC 5666: what is not inline may be anywhere in the stream. */
    @Test
    @Proves({"OLD-07", "OLD-08", "OLD-13", "OLD-23"})
    void chunksAtOtherPositions() throws Exception {
        connect(ReadChunks.config());
        byte[] data = Rpc.random(5001);
        byte[] whole = ByteBufUtil.getBytes(Rpc.read3Reply(1, data));
        int position = whole.length - 5004;
        pair.call(Rpc.read3(1, 100)); // too short for a Write chunk
        server.take();
        TransportHeader header = RawPeer.header(1, TransportHeader.RDMA_MSG);
        offer(header, position, data);
        server.send(header, Unpooled.copiedBuffer(whole, 0, position));
        assertThat(pair.client.takeBytes()).isEqualTo(whole);
        takeCompletion(1);

        // In an RDMA_NOMSG, with the stream around it at position zero and behind it.
        byte[] tail = Rpc.random(8);
        byte[] longer =
                ByteBufUtil.getBytes(
                        Unpooled.wrappedBuffer(reply(2, position), data, new byte[3], tail));
        call(2);
        header = noMessage(2);
        offer(header, position, data);
        offer(
                header,
                0,
                ByteBufUtil.getBytes(
                        Unpooled.wrappedBuffer(Arrays.copyOf(longer, position), tail)));
        server.send(header, RawPeer.nothing());
        assertThat(pair.client.takeBytes()).isEqualTo(longer);
        takeCompletion(2);
    }

    @Test
    @Proves({"RR-01", "RR-13", "API-18"})
    void withoutAgreementTheReplyIsDropped() throws Exception {
        connect(RpcRdmaConfig.defaults());
        call(1);
        TransportHeader header = server.mirrored(TransportHeader.RDMA_NOMSG);
        int handle = offer(header, 0, reply(1, LENGTH));
        server.send(header, RawPeer.nothing());
        server.send(server.mirrored(0), Rpc.reply(1));
        assertThat(pair.client.takeBytes()).hasSize(24); // the call has waited
        assertThat(server.isExposed(handle)).isTrue();
        assertThat(client().value(RpcRdmaCounter.READ_BYTES)).isZero();
        assertThat(client().value(RpcRdmaCounter.PULL_COMPLETIONS_SENT)).isZero();
        pair.call(Rpc.echo(2, 8));
        server.take();
        assertThat(server.header.xid()).isEqualTo(2);
    }

    @Test
    @Proves({"RR-11", "RR-12", "SEC-25"})
    void repliesOfUnknownCallsAreCompleted() throws Exception {
        connect(ReadChunks.config());
        TransportHeader header = noMessage(0xDEAD);
        int handle = offer(header, 0, reply(0xDEAD, LENGTH));
        server.send(header, RawPeer.nothing());
        server.send(header, RawPeer.nothing());
        takeCompletion(0xDEAD);
        takeCompletion(0xDEAD);
        assertThat(server.isExposed(handle)).isTrue();
        assertThat(client().value(RpcRdmaCounter.READ_BYTES)).isZero();
        assertThat(client().value(RpcRdmaCounter.DROPPED_UNKNOWN_XID)).isEqualTo(2);
        // A completion is not for a requester.
        server.send(ReadChunks.done(0xDEAD));
        server.send(ReadChunks.done(0xDEAD).writeZero(12));
        assertWorks(1);
        assertThat(client().value(RpcRdmaCounter.PULL_COMPLETIONS_RECEIVED)).isZero();
    }

    /** The call's own memory is out of reach before the pull ends; a second reply to it is nobody's. */
    @Test
    @Proves({"RR-30", "SEC-05", "RR-11"})
    void aCallIsFencedWhenItsReplyIsOffered() throws Exception {
        connect(ReadChunks.config());
        HeldReads held = holdReads();
        pair.call(ReadChunks.direct(Rpc.write3(1, Rpc.random(LENGTH))));
        server.take();
        int argument = server.header.reads().handle(0);
        byte[] reply = reply(1, LENGTH);
        TransportHeader header = noMessage(1);
        offer(header, 0, reply);
        server.send(header, RawPeer.nothing());
        server.send(header, RawPeer.nothing());
        server.send(RawPeer.header(1, 0), Rpc.reply(1));
        server.send(Unpooled.buffer().writeInt(1).writeInt(1).writeInt(8).writeInt(4).writeInt(2));
        Awaitility.await()
                .atMost(RpcPair.PATIENCE_SECONDS, TimeUnit.SECONDS)
                .until(() -> client().value(RpcRdmaCounter.DROPPED_UNKNOWN_XID) == 3);
        assertThat(on(pair.clientChannel, () -> pair.clientChannel.isExposed(argument))).isFalse();
        assertThat(pair.client.messages).isEmpty();
        assertThat(server.inbox.messages).isEmpty(); // no completion before the Reads end
        on(pair.clientChannel, held::letGo);
        assertThat(pair.client.takeBytes()).isEqualTo(reply);
        takeCompletion(1);
        assertThat(server.inbox.messages).isEmpty();
    }

    @Test
    @Proves({"RR-11", "RR-08"})
    void aCallMayBeCancelledWhileItsReplyIsPulled() throws Exception {
        connect(ReadChunks.config());
        HeldReads held = holdReads();
        call(1);
        TransportHeader header = noMessage(1);
        offer(header, 0, reply(1, LENGTH));
        server.send(header, RawPeer.nothing());
        Awaitility.await()
                .atMost(RpcPair.PATIENCE_SECONDS, TimeUnit.SECONDS)
                .until(() -> client().value(RpcRdmaCounter.REPLIES_RECEIVED) == 1);
        pair.call(new RpcRdmaCancel(1)).sync();
        on(pair.clientChannel, held::letGo);
        takeCompletion(1);
        assertWorks(1);
        assertThat(pair.client.messages).isEmpty();
    }

    /** A Read that the channel does not even post: the connection lives. */
    @Test
    @Proves({"RR-32", "RR-08"})
    void aReadThatFailsHereFailsTheCall() throws Exception {
        connect(ReadChunks.config());
        HeldReads held = new HeldReads();
        held.fails = true;
        pair.clientChannel.pipeline().addFirst(held);
        call(1);
        TransportHeader header = noMessage(1);
        int handle = offer(header, 0, reply(1, LENGTH));
        server.send(header, RawPeer.nothing());
        assertThat(pair.client.takeFailure()).isInstanceOf(ReplyPullException.class);
        takeCompletion(1);
        assertThat(server.isExposed(handle)).isTrue();
        held.fails = false;
        held.isOpen = true;
        assertWorks(2);
    }

    /** The responder has taken the memory away: the call is lost with the connection, and not answered. */
    @Test
    @Proves({"RR-32", "RR-14"})
    void aReadThatIsRefusedCostsTheConnection() throws Exception {
        connect(ReadChunks.config());
        call(1);
        TransportHeader header = noMessage(1);
        int handle = offer(header, 0, reply(1, LENGTH));
        server.invalidate(handle);
        server.send(header, RawPeer.nothing());
        assertThat(pair.client.awaitInactive()).isTrue();
        assertThat(pair.client.messages).isEmpty();
    }

    /** A call that is refused on the next connection; a reply is not its call (RFC 8166, 4.5.3). */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    @Proves({"RR-32", "V1-ERR-18"})
    void aReadOfAnAwaitedReplyBlamesNoCall(boolean isAwaited) throws Exception {
        connectWithReverseCalls();
        InetAddress address = pair.clientChannel.remoteAddress().getAddress();
        FatalCallXidCache fatal = CrossConnectionPeerState.of(pair.clientChannel).fatalXids();
        call(1);
        int xid = isAwaited ? 1 : 2;
        TransportHeader header = noMessage(xid);
        server.invalidate(offer(header, 0, reply(xid, LENGTH)));
        server.send(header, RawPeer.nothing());
        assertThat(pair.client.awaitInactive()).isTrue();
        assertThat(fatal.contains(address, xid)).isEqualTo(!isAwaited);
    }

    /** Grant 1: the completion first, then the call that has waited; it may not pass the completion. */
    @Test
    @Proves({"RR-20", "RR-21", "OLD-11"})
    void withOneCreditTheCompletionGoesFirst() throws Exception {
        connect(ReadChunks.config());
        HeldReads held = holdReads();
        call(1);
        pair.call(Rpc.echo(2, 8));
        pair.call(Rpc.echo(3, 8));
        TransportHeader header = noMessage(1).set(1, 1, TransportHeader.RDMA_NOMSG);
        offer(header, 0, reply(1, LENGTH));
        server.send(header, RawPeer.nothing());
        Awaitility.await()
                .atMost(RpcPair.PATIENCE_SECONDS, TimeUnit.SECONDS)
                .until(() -> client().value(RpcRdmaCounter.REPLIES_RECEIVED) == 1);
        on(pair.clientChannel, held::letGo);
        pair.client.takeBytes();
        takeCompletion(1);
        server.take();
        assertThat(server.header.xid()).isEqualTo(2);
        assertThat(server.inbox.messages).isEmpty();
        server.send(RawPeer.header(2, 0).set(2, 1, 0), Rpc.reply(2));
        server.take();
        assertThat(server.header.xid()).isEqualTo(3);
    }

    /** Reverse calls are on, and the same XID is live both ways: what was pulled says what it is. */
    @Test
    @Proves("RR-33")
    void replyOrLongReverseCall() throws Exception {
        connectWithReverseCalls();
        byte[] reverse = ByteBufUtil.getBytes(Rpc.echo(1, 6000));
        byte[] reply = reply(1, LENGTH);
        for (int round = 0; round < 4; round++) {
            call(1);
            // Both orders; while the reverse call is in progress there can be no other one.
            if (round % 2 == 0) {
                offerAlone(1, reverse);
                assertThat(pair.client.takeBytes()).isEqualTo(reverse);
                offerAlone(1, reply);
                assertThat(pair.client.takeBytes()).isEqualTo(reply);
                takeCompletion(1);
            } else {
                offerAlone(1, reply);
                assertThat(pair.client.takeBytes()).isEqualTo(reply);
                takeCompletion(1);
                offerAlone(1, reverse);
                assertThat(pair.client.takeBytes()).isEqualTo(reverse);
            }
            pair.call(Rpc.reply(1));
            server.take();
            assertThat(server.header.proc()).isEqualTo(TransportHeader.RDMA_MSG);
        }
        // A reply to nothing, one to a call that was given up, and one that cannot be.
        offerAlone(2, reply(2, LENGTH));
        takeCompletion(2);
        call(3);
        pair.call(new RpcRdmaCancel(3)).sync();
        offerAlone(3, reply(3, LENGTH));
        takeCompletion(3);
        call(4);
        TransportHeader header = noMessage(4);
        header.reply().setPresent();
        header.reply().add(7, 0, 0);
        offer(header, 0, reply(4, LENGTH));
        server.send(header, RawPeer.nothing());
        assertThat(pair.client.takeFailure()).isInstanceOf(ReplyPullException.class);
        takeCompletion(4);
        assertThat(client().callsInFlight()).isZero();
        assertThat(readBytesHeld()).isZero();
        assertThat(client().value(RpcRdmaCounter.CREDIT_OVERRUNS)).isZero();
        assertThat(on(pair.clientChannel, () -> client().responder().credits.unanswered()))
                .isZero();
        assertThat(client().value(RpcRdmaCounter.CALLS_RECEIVED)).isEqualTo(4);
    }

    /** One more message of the XID comes while the first one is being pulled. */
    private enum Beside {
        LONG_CALL,
        SHORT_CALL,
        /** That there cannot be. */
        SECOND_REPLY,
        /** That there cannot be. */
        SECOND_CALL,
        /** A call and a reply are there already. */
        THIRD
    }

    /** Both directions may use an XID (RFC 8167, 2.4): what is pulled first says nothing of the other message. */
    @ParameterizedTest
    @EnumSource
    @Proves({"RR-33", "BIDI-03"})
    void aMessageBesideOneOfUnknownKindWithItsXid(Beside beside) throws Exception {
        connectWithReverseCalls();
        bringCredits();
        HeldReads held = holdReads();
        call(1);
        byte[] reply = reply(1, LENGTH);
        byte[] reverse = ByteBufUtil.getBytes(Rpc.echo(1, 6000));
        byte[] reverseReply = ByteBufUtil.getBytes(Rpc.reply(1));
        offerAlone(1, beside == Beside.SECOND_CALL ? reverse : reply);
        switch (beside) {
            case SHORT_CALL -> server.send(RawPeer.header(1, 0), Rpc.echo(1, 8));
            case SECOND_REPLY -> offerAlone(1, reply);
            default -> offerAlone(1, reverse);
        }
        if (beside == Beside.THIRD) {
            offerAlone(1, reverse);
        }
        // A short call of another XID has come behind them.
        server.send(RawPeer.header(2, 0), Rpc.echo(2, 8));
        if (beside == Beside.SHORT_CALL) {
            assertThat(pair.client.takeBytes()).isEqualTo(Rpc.bytes(Rpc.echo(1, 8)));
        }
        assertThat(pair.client.takeXid()).isEqualTo(2);
        assertThat(client().value(RpcRdmaCounter.DROPPED_DUPLICATE_XID))
                .isEqualTo(beside == Beside.THIRD ? 1 : 0);
        on(pair.clientChannel, held::letGo);
        boolean isReplyFirst = beside != Beside.SECOND_CALL;
        assertThat(pair.client.takeBytes()).isEqualTo(isReplyFirst ? reply : reverse);
        if (isReplyFirst) {
            takeCompletion(1);
        }
        switch (beside) {
            case LONG_CALL, THIRD -> assertThat(pair.client.takeBytes()).isEqualTo(reverse);
            case SECOND_REPLY -> takeCompletion(1);
            case SECOND_CALL -> {
                Awaitility.await()
                        .atMost(RpcPair.PATIENCE_SECONDS, TimeUnit.SECONDS)
                        .until(() -> client().value(RpcRdmaCounter.DROPPED_DUPLICATE_XID) == 1);
                server.send(RawPeer.header(1, 0), Rpc.reply(1));
                assertThat(pair.client.takeBytes()).isEqualTo(reverseReply);
            }
            default -> {}
        }
        if (beside != Beside.SECOND_REPLY) {
            pair.call(Rpc.reply(1));
            server.take();
            assertThat(server.header.xid()).isEqualTo(1);
            assertThat(server.payload).isEqualTo(reverseReply);
        }
        assertThat(client().callsInFlight()).isZero();
        assertThat(on(pair.clientChannel, () -> client().unclassified().size())).isZero();
        assertThat(readBytesHeld()).isZero();
        assertWorks(3);
    }

    /** They have no credits before they are pulled: what a peer may send then is bounded all the same. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    @Proves({"V1-CRED-15", "SEC-12"})
    void moreLongMessagesOfUnknownKindThanThePeerMayHaveInFlight(boolean isOneTooMany)
            throws Exception {
        connectWithReverseCalls();
        HeldReads held = holdReads();
        call(1);
        byte[] reply = reply(1, LENGTH);
        offerAlone(1, reply);
        List<byte[]> calls = new ArrayList<>();
        for (int xid = 0x100; xid < 0x104; xid++) {
            calls.add(ByteBufUtil.getBytes(Rpc.echo(xid, 6000)));
            offerAlone(xid, calls.get(xid - 0x100));
        }
        if (isOneTooMany) {
            offerAlone(0x104, ByteBufUtil.getBytes(Rpc.echo(0x104, 6000)));
            assertThat(pair.client.awaitInactive()).isTrue();
        } else {
            Awaitility.await()
                    .atMost(RpcPair.PATIENCE_SECONDS, TimeUnit.SECONDS)
                    .until(() -> on(pair.clientChannel, () -> client().unclassified().size() == 5));
            on(pair.clientChannel, held::letGo);
            assertThat(pair.client.takeBytes()).isEqualTo(reply);
            for (byte[] call : calls) {
                assertThat(pair.client.takeBytes()).isEqualTo(call);
            }
        }
        assertThat(client().value(RpcRdmaCounter.CREDIT_OVERRUNS)).isEqualTo(isOneTooMany ? 1 : 0);
    }

    /** Those whose calls were answered by other messages count, too. */
    @Test
    @Proves({"V1-CRED-15", "SEC-12"})
    void longMessagesThatNobodyWaitsForAnyMoreAreBounded() throws Exception {
        connectWithReverseCalls();
        bringCredits();
        holdReads();
        for (int xid = 1; xid <= 5; xid++) {
            call(xid);
            offerAlone(xid, reply(xid, LENGTH));
            server.send(RawPeer.header(xid, 0), Rpc.reply(xid));
            assertThat(pair.client.takeXid()).isEqualTo(xid);
        }
        call(6);
        offerAlone(6, reply(6, LENGTH));
        assertThat(pair.client.awaitInactive()).isTrue();
        assertThat(client().value(RpcRdmaCounter.CREDIT_OVERRUNS)).isEqualTo(1);
    }

    /**
     * Nothing in its header tells it from a long reverse call, whose credit word would be a request (RFC 8167, 4.1).
     */
    @Test
    @Proves("BIDI-10")
    void theCreditWordOfAReplyWithoutDirectionIsNoGrant() throws Exception {
        connectWithReverseCalls();
        call(1);
        server.send(RawPeer.header(1, 0).set(1, 3, 0), Rpc.reply(1));
        assertThat(pair.client.takeXid()).isEqualTo(1);
        for (int xid = 2; xid <= 5; xid += 3) {
            call(xid);
            TransportHeader header =
                    noMessage(xid).set(xid, xid == 2 ? 77 : 1, TransportHeader.RDMA_NOMSG);
            byte[] reply = reply(xid, LENGTH);
            offer(header, 0, reply);
            server.send(header, RawPeer.nothing());
            assertThat(pair.client.takeBytes()).isEqualTo(reply);
            takeCompletion(xid);
            assertThat(client().creditsGranted()).isEqualTo(3);
            // Three credits: one is the completion's, and two calls go.
            call(xid + 1);
            call(xid + 2);
            pair.call(Rpc.echo(xid + 0x100, 8));
            RpcPair.settle(pair.clientChannel);
            assertThat(client().value(RpcRdmaCounter.CALLS_SENT)).isEqualTo(xid == 2 ? 4 : 8);
            for (int answered : new int[] {xid + 1, xid + 2, xid + 0x100}) {
                server.send(RawPeer.header(answered, 0).set(answered, 3, 0), Rpc.reply(answered));
                assertThat(pair.client.takeXid()).isEqualTo(answered);
                if (answered == xid + 1) {
                    server.take();
                    assertThat(server.header.xid()).isEqualTo(xid + 0x100);
                }
            }
        }
    }

    /** Without reverse chunks it cannot be a call that is taken, and is the reply to the one that is out. */
    @Test
    @Proves({"RR-33", "BIDI-21"})
    void replyBesideAReverseDirectionWithoutChunks() throws Exception {
        connect(ReadChunks.builder(ReplyChunks.NEVER).reverseCredits(8).build());
        pair.openReverse(8);
        call(1);
        byte[] reply = reply(1, LENGTH);
        offerAlone(1, reply);
        assertThat(pair.client.takeBytes()).isEqualTo(reply);
        takeCompletion(1);
        offerAlone(2, ByteBufUtil.getBytes(Rpc.echo(2, 6000)));
        server.take();
        assertThat(server.header.xid()).isEqualTo(2);
        assertThat(server.header.proc()).isEqualTo(TransportHeader.RDMA_ERROR);
    }

    /** A Read of an earlier reply may have ended a connection; the call comes with the same XID on the next one. */
    @Test
    @Proves({"RR-32", "RR-33"})
    void aReplyWhoseCallHasEndedAConnectionIsPulled() throws Exception {
        RpcRdmaConfig config =
                ReadChunks.builder(ReplyChunks.NEVER).reverseCredits(4).reverseChunks(true).build();
        connect(config);
        on(pair.clientChannel, () -> client().acceptReverseCalls(4));
        CrossConnectionPeerState.of(pair.clientChannel)
                .fatalXids()
                .add(pair.clientChannel.remoteAddress().getAddress(), XID);
        call(XID);
        byte[] reply = reply(XID, LENGTH);
        offerAlone(XID, reply);
        assertThat(pair.client.takeBytes()).isEqualTo(reply);
        takeCompletion(XID);
        // A long reverse call with that XID is still refused.
        offerAlone(XID, ByteBufUtil.getBytes(Rpc.echo(XID, 6000)));
        server.take();
        assertThat(server.header.proc()).isEqualTo(TransportHeader.RDMA_ERROR);
        assertThat(client().value(RpcRdmaCounter.FATAL_XIDS_REFUSED)).isEqualTo(1);
    }

    /**
     * Whatever the completion is for, it takes the credit of a call, until a call behind it is answered in any form.
     */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    @Proves({"RR-11", "RR-20", "RR-21", "OLD-11"})
    void aCompletionForAnUnknownCallTakesACreditToo(boolean mayBeReverse) throws Exception {
        connect(
                ReadChunks.builder(ReplyChunks.NEVER)
                        .reverseCredits(4)
                        .reverseChunks(true)
                        .build());
        if (mayBeReverse) {
            on(pair.clientChannel, () -> client().acceptReverseCalls(4));
        }
        call(1);
        server.send(RawPeer.header(1, 0).set(1, 3, 0), Rpc.reply(1));
        assertThat(pair.client.takeXid()).isEqualTo(1);
        offerAlone(0xDEAD, reply(0xDEAD, LENGTH));
        takeCompletion(0xDEAD);
        call(2);
        call(3);
        pair.call(Rpc.echo(4, 8));
        RpcPair.settle(pair.clientChannel);
        RpcPair.settle(pair.serverChannel);
        assertThat(server.inbox.messages).isEmpty();
        assertThat(client().callsInFlight()).isEqualTo(2);
        TransportHeader header = noMessage(2).set(2, 3, TransportHeader.RDMA_NOMSG);
        offer(header, 0, reply(2, LENGTH));
        server.send(header, RawPeer.nothing());
        // The credit of its own completion is kept, so the call may leave before that.
        Set<Integer> left = new HashSet<>();
        for (int i = 0; i < 2; i++) {
            server.take();
            left.add(server.header.xid());
        }
        assertThat(left).containsExactlyInAnyOrder(2, 4);
        assertThat(pair.client.takeXid()).isEqualTo(2);
    }

    private void offerAlone(int xid, byte[] message) throws Exception {
        TransportHeader header = noMessage(xid);
        offer(header, 0, message);
        server.send(header, RawPeer.nothing());
    }

    /** Holds the Reads of the codec back, or fails them before the channel sees them. */
    private static final class HeldReads extends ChannelDuplexHandler {
        private final Queue<Runnable> held = new ArrayDeque<>();
        volatile boolean fails;
        volatile boolean isOpen;

        @Override
        public void write(ChannelHandlerContext ctx, Object message, ChannelPromise written) {
            if (isOpen || !(message instanceof RdmaRead)) {
                ctx.write(message, written);
            } else if (fails) {
                ReferenceCountUtil.release(message);
                written.setFailure(new IllegalArgumentException("no Reads today"));
            } else {
                held.add(() -> ctx.writeAndFlush(message, written));
            }
        }

        @Override
        public void channelInactive(ChannelHandlerContext ctx) {
            letGo(); // the channel releases them
            ctx.fireChannelInactive();
        }

        Void letGo() {
            isOpen = true;
            held.forEach(Runnable::run);
            held.clear();
            return null;
        }
    }
}
