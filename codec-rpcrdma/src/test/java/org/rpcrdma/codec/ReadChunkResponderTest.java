// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.rpcrdma.codec.RpcPair.on;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.rpcrdma.NeedsDevice;
import org.rpcrdma.Proves;
import org.rpcrdma.channel.RdmaChannelOption;
import org.rpcrdma.channel.RdmaSendWithInvalidate;
import org.rpcrdma.channel.RemoteAccess;
import org.rpcrdma.channel.internal.ChannelInternals;
import org.rpcrdma.codec.wire.RdmaErrorMessage;
import org.rpcrdma.codec.wire.TransportHeader;

/** The responder's part of replies in Read chunks, byte by byte, towards a requester that is worked by hand. */
class ReadChunkResponderTest {

    private static final int LENGTH = 10_000;

    private RpcPair pair;
    private RawPeer client;

    @AfterEach
    void close() {
        client.close();
        pair.close();
    }

    private void connect(RpcRdmaConfig server) throws Exception {
        pair = RpcPair.rawClient(RpcRdmaConfig.builder().grantedCredits(128).build(), server);
        client = RawPeer.client(pair);
    }

    private static RpcRdmaConfig config(ReadChunkReplyConfig replies) {
        return RpcRdmaConfig.builder().readChunkReplies(replies).build();
    }

    private void call(int xid) throws Exception {
        client.send(RawPeer.header(xid, 0), Rpc.echo(xid, 8));
        pair.server.takeBytes();
    }

    /** Takes the offer of a reply. */
    private ByteBuf offered(int xid, int length) throws Exception {
        call(xid);
        ByteBuf reply = ReadChunks.direct(ReadChunks.reply(xid, length));
        pair.reply(reply);
        client.take();
        assertThat(client.header.xid()).isEqualTo(xid);
        assertThat(client.header.reads().segments()).isEqualTo(1);
        return reply;
    }

    private int waiting() throws Exception {
        return on(pair.serverChannel, () -> pair.serverConnection().responder().waiting().count());
    }

    private boolean isExposed(int handle) throws Exception {
        return on(pair.serverChannel, () -> pair.serverChannel.isExposed(handle));
    }

    /** After the answer to this call everything sent before it has been handled. */
    private void roundTrip(int xid) throws Exception {
        call(xid);
        pair.reply(Rpc.reply(xid));
        client.take();
        assertThat(client.header.xid()).isEqualTo(xid);
        assertThat(client.header.proc()).isEqualTo(TransportHeader.RDMA_MSG);
    }

    @Test
    @Proves({"RR-02", "RR-03", "RR-12", "RR-15", "RR-22", "RR-29", "OLD-18"})
    void offerAndCompletion() throws Exception {
        connect(config(ReadChunkReplyConfig.DEFAULT));
        call(0xCAFE0005);
        byte[] bytes = ByteBufUtil.getBytes(ReadChunks.reply(0xCAFE0005, LENGTH));
        ByteBuf reply = ReadChunks.direct(Unpooled.wrappedBuffer(bytes));
        pair.reply(reply);
        ByteBuf message = client.inbox.takeBuffer();
        int handle = message.getInt(24);
        long offset = message.getLong(32);
        // NOMSG with grant 63: 64, and one is kept back for the completion.
        assertThat(ByteBufUtil.hexDump(message))
                .isEqualTo(
                        String.format(
                                "cafe0005000000010000003f00000001"
                                        + "0000000100000000%08x%08x%016x00000000"
                                        + "0000000000000000",
                                handle, LENGTH, offset));
        message.release();
        assertThat(isExposed(handle)).isTrue();
        assertThat(reply.refCnt()).isPositive();
        assertThat(client.read(handle, offset, LENGTH)).isEqualTo(bytes);
        client.send(
                Unpooled.wrappedBuffer(
                        ByteBufUtil.decodeHexDump("cafe0005000000010000002000000003")));
        pair.awaitValue(RpcRdmaCounter.PULL_COMPLETIONS_RECEIVED, 1);
        assertThat(isExposed(handle)).isFalse();
        assertThat(reply.refCnt()).isZero();
        // The second one finds nothing, and is nobody's problem.
        client.send(ReadChunks.done(0xCAFE0005));
        roundTrip(7);
        assertThat(pair.serverConnection().value(RpcRdmaCounter.DROPPED_COMPLETIONS)).isEqualTo(1);
        assertThat(client.header.credit()).isEqualTo(64);
    }

    @NeedsDevice("remoteInvalidation")
    @Test
    @Proves({"RR-19", "RR-18"})
    void aHandleThatTheRequesterInvalidatesIsGone() throws Exception {
        connect(config(ReadChunkReplyConfig.DEFAULT));
        ByteBuf reply = offered(1, LENGTH);
        int handle = client.header.reads().handle(0);
        on(
                pair.clientChannel,
                () ->
                        pair.clientChannel.writeAndFlush(
                                new RdmaSendWithInvalidate(ReadChunks.done(1), handle)));
        pair.awaitValue(RpcRdmaCounter.PULL_COMPLETIONS_RECEIVED, 1);
        RpcPair.settle(pair.serverChannel); // counted first, released then
        assertThat(reply.refCnt()).isZero();
        assertThat(pair.serverConnection().value(RpcRdmaCounter.REMOTE_INVALIDATIONS)).isEqualTo(1);
        roundTrip(2);
    }

    private enum Trespass {
        WRITE,
        READ_BEFORE,
        READ_BEYOND,
        READ_AFTER_COMPLETION
    }

    @ParameterizedTest
    @EnumSource
    @Proves({"RR-29", "SEC-07"})
    void theChunkGivesOneRightOnExactlyItsBytes(Trespass how) throws Exception {
        connect(config(ReadChunkReplyConfig.DEFAULT));
        offered(1, LENGTH);
        int handle = client.header.reads().handle(0);
        long offset = client.header.reads().offset(0);
        switch (how) {
            case WRITE -> client.write(handle, offset, new byte[1]);
            case READ_BEFORE -> client.read(handle, offset - 1, 2);
            case READ_BEYOND -> client.read(handle, offset + LENGTH - 1, 2);
            case READ_AFTER_COMPLETION -> {
                client.send(ReadChunks.done(1));
                pair.awaitValue(RpcRdmaCounter.PULL_COMPLETIONS_RECEIVED, 1);
                client.read(handle, offset, 1);
            }
        }
        client.channel.flush();
        assertThat(pair.server.awaitInactive()).isTrue();
    }

    @Test
    @Proves({"RR-29", "SEC-02"})
    void eachReplyHasAHandleOfItsOwn() throws Exception {
        connect(config(ReadChunkReplyConfig.DEFAULT));
        Set<Integer> seen = new HashSet<>();
        for (int xid = 1; xid <= 20; xid++) {
            offered(xid, LENGTH);
            seen.add(client.header.reads().handle(0));
            client.send(ReadChunks.done(xid));
        }
        assertThat(seen).hasSize(20);
    }

    /** Short and long ones, with other words than one expects: only the XID counts. */
    @Test
    @Proves({"RR-12", "SEC-22", "OLD-18"})
    void completionsForNothingAreDropped() throws Exception {
        connect(config(ReadChunkReplyConfig.DEFAULT));
        offered(1, LENGTH);
        for (int i = 0; i < 1000; i++) {
            ByteBuf done = ReadChunks.done(0x1000 + i);
            client.send(i % 2 == 0 ? done : done.writeBytes(Rpc.random(12 + i % 900)));
            if (i % 32 == 31) {
                roundTrip(0x9000 + i);
            }
        }
        roundTrip(0xA000);
        RpcRdmaConnection connection = pair.serverConnection();
        assertThat(connection.value(RpcRdmaCounter.DROPPED_COMPLETIONS)).isEqualTo(1000);
        assertThat(connection.value(RpcRdmaCounter.CHUNK_ERRORS_SENT)).isZero();
        assertThat(waiting()).isEqualTo(1);
        client.send(ReadChunks.done(1).writeZero(12)); // with empty lists behind it
        pair.awaitValue(RpcRdmaCounter.PULL_COMPLETIONS_RECEIVED, 1);
        // What is no completion, and no error, is too short for anything.
        client.send(
                Unpooled.buffer().writeInt(2).writeInt(1).writeInt(32).writeInt(4).writeZero(3));
        client.send(Unpooled.buffer().writeInt(2).writeInt(2).writeInt(32).writeInt(3));
        client.send(Unpooled.buffer().writeZero(15));
        roundTrip(0xA001);
        assertThat(connection.value(RpcRdmaCounter.DROPPED_SHORT)).isEqualTo(3);
    }

    /** Completions in any order; a new call may use the XID as soon as its completion was sent. */
    @Test
    @Proves({"RR-22", "RR-12"})
    void completionsAreMatchedByXid() throws Exception {
        connect(config(ReadChunkReplyConfig.DEFAULT));
        ByteBuf first = offered(1, LENGTH);
        ByteBuf second = offered(2, LENGTH + 4);
        client.send(ReadChunks.done(2));
        roundTrip(3);
        assertThat(second.refCnt()).isZero();
        assertThat(first.refCnt()).isPositive();
        client.send(ReadChunks.done(1));
        ByteBuf again = offered(1, LENGTH);
        assertThat(first.refCnt()).isZero();
        assertThat(again.refCnt()).isPositive();
        // Without a completion the newer reply takes the place of the older one.
        ByteBuf newer = offered(1, LENGTH);
        assertThat(again.refCnt()).isZero();
        assertThat(waiting()).isEqualTo(1);
        client.send(ReadChunks.done(1));
        roundTrip(4);
        assertThat(newer.refCnt()).isZero();
    }

    @Test
    @Proves({"SEC-21", "RR-06"})
    void soManyMayWait() throws Exception {
        connect(config(ReadChunkReplyConfig.DEFAULT.withMaxWaiting(3).withMaxWaitingBytes(40_000)));
        offered(1, LENGTH);
        offered(2, LENGTH);
        offered(3, LENGTH);
        assertRefused(4, LENGTH);
        client.send(ReadChunks.done(2));
        assertRefused(5, 24_000);
        offered(6, 20_000);
        assertThat(waiting()).isEqualTo(3);
        roundTrip(7);
    }

    private void assertRefused(int xid, int length) throws Exception {
        call(xid);
        ByteBuf reply = ReadChunks.direct(ReadChunks.reply(xid, length));
        assertThatThrownBy(() -> pair.reply(reply).sync())
                .isInstanceOf(OutboundReplyTooLongException.class)
                .hasMessageContaining("wait for their pull completion");
        assertThat(client.take()).isEqualTo(RdmaErrorMessage.ERR_CHUNK_BYTES);
        assertThat(client.header.xid()).isEqualTo(xid);
        assertThat(reply.refCnt()).isZero();
    }

    /** One by one off the grant, never to 0; and back again. */
    @Test
    @Proves({"SEC-21", "OLD-12", "RR-21", "OLD-03", "OLD-10"})
    void whatWaitsIsTakenOffTheGrant() throws Exception {
        RpcRdmaConfig server =
                RpcRdmaConfig.builder()
                        .grantedCredits(4)
                        .readChunkReplies(ReadChunkReplyConfig.DEFAULT.withMaxWaiting(6))
                        .build();
        connect(server);
        int[] grants = {3, 2, 1, 1, 1, 1};
        for (int i = 0; i < grants.length; i++) {
            offered(i, LENGTH);
            assertThat(client.header.credit()).isEqualTo(grants[i]);
        }
        // All completions and a call at once: there is a receive for each.
        for (int i = 0; i < grants.length; i++) {
            client.send(ReadChunks.done(i));
        }
        roundTrip(10);
        assertThat(client.header.credit()).isEqualTo(4);
        assertThat(waiting()).isZero();
    }

    /** Calls use up receives, and are promised fewer; those for the completions stay. */
    @Test
    @Proves({"RR-21", "OLD-10", "SEC-21"})
    void theReceivesForCompletionsOutlastTheCallsBetween() throws Exception {
        int waiting = 40;
        connect(
                RpcRdmaConfig.builder()
                        .grantedCredits(4)
                        .readChunkReplies(ReadChunkReplyConfig.DEFAULT.withMaxWaiting(waiting))
                        .build());
        for (int xid = 0; xid < waiting; xid++) {
            offered(xid, LENGTH);
        }
        for (int xid = waiting; xid < 4 * waiting; xid++) {
            roundTrip(xid);
        }
        on(pair.serverChannel, () -> pair.serverChannel.config().setAutoRead(false));
        for (int xid = 0; xid < waiting; xid++) {
            client.channel.write(ReadChunks.done(xid));
        }
        client.channel
                .writeAndFlush(RawPeer.message(RawPeer.header(-1, 0), Rpc.echo(-1, 8)))
                .sync();
        on(pair.serverChannel, () -> pair.serverChannel.config().setAutoRead(true));
        assertThat(pair.server.takeXid()).isEqualTo(-1);
        assertThat(waiting()).isZero();
    }

    /** The receive depth that goes with the configuration has room for them, and for no more. */
    @Test
    @Proves("RR-21")
    void thereIsAReceiveForEachCompletion() throws Exception {
        connect(config(ReadChunkReplyConfig.DEFAULT.withMaxWaiting(2)));
        int kept = on(pair.serverChannel, ChannelInternals.of(pair.serverChannel)::keptReceives);
        assertThat(kept).isGreaterThanOrEqualTo(64 + 2);
        CreditGrantAndReceiveController grants = pair.serverConnection().responder().grants();
        assertThat(on(pair.serverChannel, () -> grants.tryReserveReceives(2))).isTrue();
        assertThat(on(pair.serverChannel, () -> grants.tryReserveReceives(kept))).isFalse();
    }

    @Test
    @Proves({"RR-14", "SEC-21", "OLD-09", "RR-12"})
    void aReplyWithoutCompletionIsFreedInTime() throws Exception {
        connect(config(ReadChunkReplyConfig.DEFAULT.withCompletionTimeoutMillis(60_000)));
        ByteBuf first = offered(1, LENGTH);
        int handle = client.header.reads().handle(0);
        long offset = client.header.reads().offset(0);
        ByteBuf second = offered(2, LENGTH);
        ByteBuf third = offered(3, LENGTH);
        client.send(ReadChunks.done(2));
        roundTrip(4);
        expireIn(59_000);
        assertThat(first.refCnt()).isPositive();
        expireIn(61_000);
        assertThat(List.of(first.refCnt(), second.refCnt(), third.refCnt())).containsOnly(0);
        assertThat(isExposed(handle)).isFalse();
        assertThat(pair.serverConnection().value(RpcRdmaCounter.READ_CHUNK_REPLIES_EXPIRED))
                .isEqualTo(2);
        // Late completions, then a late Read.
        client.send(ReadChunks.done(1));
        client.send(ReadChunks.done(3));
        roundTrip(5);
        assertThat(pair.serverConnection().value(RpcRdmaCounter.DROPPED_COMPLETIONS)).isEqualTo(2);
        client.read(handle, offset, 1);
        assertThat(pair.server.awaitInactive()).isTrue();
    }

    /** Both sides have announced it and no more: a requester that completes nothing gets as many as it has credits. */
    @NeedsDevice("privateDataOnAccept")
    @Test
    @Proves("RR-34")
    void asManyWaitAsAreGrantedAndTheOthersAreHeldBack() throws Exception {
        RpcRdmaConfig config = RpcPair.usual().grantedCredits(4).build();
        pair =
                RpcPair.rawClient(
                        config,
                        config,
                        bootstrap ->
                                bootstrap.option(
                                        RdmaChannelOption.PRIVATE_DATA,
                                        config.privateData().encode()));
        client = RawPeer.client(pair);
        List<ByteBuf> replies = new ArrayList<>();
        for (int xid = 1; xid <= 8; xid++) {
            call(xid);
            replies.add(ReadChunks.direct(ReadChunks.reply(xid, LENGTH)));
            pair.reply(replies.get(xid - 1));
        }
        RpcPair.settle(pair.serverChannel);
        assertThat(waiting()).isEqualTo(4);
        for (int xid = 1; xid <= 4; xid++) {
            client.take();
            assertThat(client.header.xid()).isEqualTo(xid);
        }
        assertThat(client.inbox.messages).isEmpty();
        assertThat(pair.serverConnection().value(RpcRdmaGauge.CALLS_IN_PROGRESS)).isEqualTo(4);
        // Each completion lets one more out.
        for (int xid = 1; xid <= 4; xid++) {
            client.send(ReadChunks.done(xid));
            client.take();
            assertThat(client.header.xid()).isEqualTo(4 + xid);
        }
        assertThat(waiting()).isEqualTo(4);
        assertThat(pair.serverConnection().value(RpcRdmaGauge.CALLS_IN_PROGRESS)).isZero();
        assertThat(pair.serverConnection().value(RpcRdmaCounter.CHUNK_ERRORS_SENT)).isZero();
        client.channel.close().sync();
        assertThat(pair.server.awaitInactive()).isTrue();
        RpcPair.settle(pair.serverChannel);
        assertThat(replies).allMatch(reply -> reply.refCnt() == 0);
    }

    private void expireIn(long millis) throws Exception {
        on(
                pair.serverChannel,
                () -> {
                    pair.serverConnection()
                            .responder()
                            .waiting()
                            .expire(System.nanoTime() + millis * 1_000_000);
                    return null;
                });
    }

    /** The timer itself, again and again. */
    @Test
    @Proves({"RR-14", "SEC-21", "OLD-12"})
    void theTimerFreesOneReplyAfterTheOther() throws Exception {
        connect(config(ReadChunkReplyConfig.DEFAULT.withCompletionTimeoutMillis(1)));
        List<ByteBuf> replies = new ArrayList<>();
        for (int xid = 1; xid <= 10; xid++) {
            replies.add(offered(xid, LENGTH));
        }
        pair.awaitValue(RpcRdmaCounter.READ_CHUNK_REPLIES_EXPIRED, 10);
        assertThat(waiting()).isZero();
        assertThat(replies).allMatch(reply -> reply.refCnt() == 0);
        roundTrip(11);
    }

    @Test
    @Proves({"RR-23", "SEC-06"})
    void nothingIsLeftOfALostConnection() throws Exception {
        connect(config(ReadChunkReplyConfig.DEFAULT));
        List<ByteBuf> replies = new ArrayList<>();
        for (int xid = 1; xid <= 5; xid++) {
            replies.add(offered(xid, LENGTH));
        }
        pair.clientChannel.close().sync();
        assertThat(pair.server.awaitInactive()).isTrue();
        RpcPair.settle(pair.serverChannel);
        assertThat(replies).allMatch(reply -> reply.refCnt() == 0);
    }

    /** RFC 8166, 4.5.3 still holds for Write chunks, before anything of the reply is exposed. */
    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 4, 5000})
    @Proves({"RR-05", "RR-27", "RR-31"})
    void aReplyChunkThatIsTooSmallComesBackUnused(int missing) throws Exception {
        connect(config(ReadChunkReplyConfig.DEFAULT));
        ByteBuf memory = client.memory(LENGTH);
        int handle = client.expose(memory, RemoteAccess.WRITE);
        TransportHeader header = RawPeer.header(1, 0);
        header.reply().setPresent();
        header.reply().add(handle, LENGTH - missing, client.offset(handle));
        client.send(header, Rpc.echo(1, 8));
        pair.server.takeBytes();
        pair.reply(ReadChunks.reply(1, LENGTH));
        client.take();
        assertThat(client.header.proc()).isEqualTo(TransportHeader.RDMA_NOMSG);
        assertThat(client.header.reads().chunkLength(0)).isEqualTo(LENGTH);
        assertThat(client.header.reply().isPresent()).isTrue();
        assertThat(client.header.reply().handle(0)).isEqualTo(handle);
        assertThat(client.header.reply().chunkLength()).isZero();
        for (byte b : ByteBufUtil.getBytes(memory, 0, LENGTH)) {
            assertThat(b).isEqualTo(RawPeer.UNTOUCHED);
        }
    }

    /** What fits the Reply chunk, and be it to the last byte, goes there although it could be read. */
    @Test
    @Proves({"RR-05", "RR-25"})
    void aReplyChunkThatIsLargeEnoughIsUsed() throws Exception {
        connect(config(ReadChunkReplyConfig.DEFAULT));
        ByteBuf memory = client.memory(LENGTH);
        int handle = client.expose(memory, RemoteAccess.WRITE);
        TransportHeader header = RawPeer.header(1, 0);
        header.reply().setPresent();
        header.reply().add(handle, LENGTH, client.offset(handle));
        client.send(header, Rpc.echo(1, 8));
        pair.server.takeBytes();
        byte[] reply = ByteBufUtil.getBytes(ReadChunks.reply(1, LENGTH));
        pair.reply(Unpooled.wrappedBuffer(reply));
        client.take();
        assertThat(client.header.proc()).isEqualTo(TransportHeader.RDMA_NOMSG);
        assertThat(client.header.reads().segments()).isZero();
        assertThat(client.header.reply().chunkLength()).isEqualTo(LENGTH);
        assertThat(ByteBufUtil.getBytes(memory, 0, LENGTH)).isEqualTo(reply);
    }
}
