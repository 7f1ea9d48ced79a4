// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelHandler.Sharable;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import java.util.Random;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.rpcrdma.Proves;
import org.rpcrdma.channel.RdmaEventLoopGroup;
import org.rpcrdma.channel.RemoteAccess;
import org.rpcrdma.codec.wire.RdmaErrorMessage;
import org.rpcrdma.codec.wire.TransportHeader;

/** One bad requester and one good one at the same responder; and what forged headers may cost. */
class HostilePeersTest {

    private static final int GRANT = 8;
    private static final int CHUNK_ERRORS = 208;
    private static final int LONG_REPLY = 3;

    private final RdmaEventLoopGroup group = new RdmaEventLoopGroup(1);
    private final RpcRdmaConfig config =
            RpcRdmaConfig.builder()
                    .announceReadChunkReplies(false)
                    .grantedCredits(GRANT)
                    .maxChunkBytes(1 << 20)
                    .maxMessageBytes(1 << 20)
                    .maxConnectionBytes(100_000)
                    .maxChunkErrors(CHUNK_ERRORS)
                    .build();
    private final RawPeers peers = new RawPeers(config);
    private final RpcRdmaMetrics metrics = peers.metrics;
    private final Echo echo = new Echo();
    private RawPeer bad;
    private RawPeer good;

    /** Answers each call at once, but holds the calls of procedure 2 back until {@link #answer}. */
    @Sharable
    private static final class Echo extends ChannelInboundHandlerAdapter {
        final BlockingQueue<Integer> held = new LinkedBlockingQueue<>();
        private ChannelHandlerContext last;

        @Override
        public void channelRead(ChannelHandlerContext ctx, Object message) {
            last = ctx;
            ByteBuf call = (ByteBuf) message;
            int procedure = call.getInt(call.readerIndex() + 20);
            if (procedure == 2) {
                held.add(Rpc.xid(call));
            } else if (procedure == LONG_REPLY) {
                ctx.writeAndFlush(Rpc.reply(Rpc.xid(call)).writeZero(5000));
            } else {
                ctx.writeAndFlush(Rpc.reply(Rpc.xid(call)));
            }
            call.release();
        }

        void answer(int xid) throws InterruptedException {
            assertThat(held.poll(RpcPair.PATIENCE_SECONDS, TimeUnit.SECONDS)).isEqualTo(xid);
            last.executor().execute(() -> last.writeAndFlush(Rpc.reply(xid)));
        }
    }

    @BeforeEach
    void connect() throws Exception {
        peers.listen(group, echo);
        bad = peers.connect(group);
        good = peers.connect(group);
    }

    @AfterEach
    void close() {
        peers.close();
    }

    private void assertWorks(RawPeer peer, int xid) throws Exception {
        peer.send(RawPeer.header(xid, 0), Rpc.echo(xid, 0));
        assertThat(peer.take()).isEqualTo(52);
        assertThat(peer.header.xid()).isEqualTo(xid);
    }

    private static ByteBuf refused(int xid) {
        return RawPeer.message(RawPeer.header(xid, TransportHeader.RDMA_NOMSG), RawPeer.nothing());
    }

    @Test
    @Proves({"SEC-15", "SEC-25", "V1-HDR-09", "V1-ERR-03", "V1-ERR-07", "V1-CRED-03"})
    void eachBadCallGetsOneShortErrorAndHarmsNobodyElse() throws Exception {
        for (int xid = 1; xid <= 200; xid += GRANT) {
            assertRefused(xid, xid + GRANT);
            assertWorks(good, 1000 + xid);
        }
        assertWorks(bad, 201);
        assertThat(bad.inbox.messages).isEmpty();
        assertThat(metrics.value(RpcRdmaCounter.CHUNK_ERRORS_SENT)).isEqualTo(200);
    }

    private void assertRefused(int from, int end) throws Exception {
        for (int xid = from; xid < end; xid++) {
            bad.send(refused(xid));
        }
        for (int xid = from; xid < end; xid++) {
            assertThat(ByteBufUtil.hexDump(bad.inbox.takeBytes()))
                    .isEqualTo(String.format("%08x00000001%08x0000000400000002", xid, GRANT));
        }
    }

    /** Two ways to ERR_CHUNK: a header that makes no sense, and a reply without a place. */
    @Test
    @Proves("SEC-15")
    void tooManyBadCallsInARowCostTheConnection() throws Exception {
        for (int xid = 1; xid < CHUNK_ERRORS - GRANT; xid += GRANT) {
            assertRefused(xid, xid + GRANT);
        }
        assertRefused(CHUNK_ERRORS - GRANT + 1, CHUNK_ERRORS);
        assertWorks(bad, 1000); // one less than too many, and the count begins anew
        for (int xid = 1; xid < CHUNK_ERRORS - GRANT; xid += GRANT) {
            assertRefused(xid, xid + GRANT);
        }
        assertRefused(CHUNK_ERRORS - GRANT + 1, CHUNK_ERRORS);
        assertThat(metrics.value(RpcRdmaCounter.CHUNK_ERROR_DISCONNECTS)).isZero();
        bad.send(RawPeer.header(1000, 0), Rpc.call(1000, Rpc.UNKNOWN, 1, LONG_REPLY));
        assertThat(bad.take()).isEqualTo(RdmaErrorMessage.ERR_CHUNK_BYTES);
        assertThat(bad.inbox.awaitInactive()).isTrue();
        assertWorks(good, 1);
        assertThat(metrics.value(RpcRdmaCounter.CHUNK_ERROR_DISCONNECTS)).isEqualTo(1);
        assertWorks(peers.connect(group), 2);
    }

    @Test
    @Proves({"SEC-22", "V1-OBS-05", "V1-HDR-11"})
    void aFloodOfDoneAndErrorsIsDropped() throws Exception {
        for (int i = 0; i < 1000; i++) {
            ByteBuf message = Unpooled.buffer().writeInt(i).writeInt(1).writeInt(32);
            bad.send(message.writeInt(i % 2 == 0 ? 3 : 4).writeInt(2).writeZero(8));
            if (i % GRANT == GRANT - 1) {
                // Its answer shows that the receives are there again.
                assertWorks(bad, i);
            }
        }
        assertWorks(good, 1);
        assertThat(bad.inbox.messages).isEmpty();
        assertThat(metrics.value(RpcRdmaCounter.DROPPED_PROCEDURE)).isEqualTo(500);
        assertThat(metrics.value(RpcRdmaCounter.CHUNK_ERRORS_SENT)).isZero();
    }

    @Test
    @Proves({"SEC-12", "V1-CRED-15"})
    void moreCallsThanGrantedCostOnlyTheConnectionTheyCameOn() throws Exception {
        for (int xid = 1; xid <= GRANT + 1; xid++) {
            bad.send(RawPeer.header(xid, 0), Rpc.call(xid, Rpc.UNKNOWN, 1, 2));
        }
        assertThat(bad.inbox.awaitInactive()).isTrue();
        assertWorks(good, 1);
        assertThat(metrics.value(RpcRdmaCounter.CREDIT_OVERRUNS)).isEqualTo(1);
    }

    private TransportHeader longCall(int xid, byte[] whole) throws Exception {
        int handle = bad.expose(bad.memory(whole), RemoteAccess.READ);
        TransportHeader call = RawPeer.header(xid, TransportHeader.RDMA_NOMSG);
        call.reads().add(0, handle, whole.length, bad.offset(handle));
        return call;
    }

    private static byte[] held(int xid, int length) {
        return ByteBufUtil.getBytes(
                Rpc.call(xid, Rpc.UNKNOWN, 1, 2).writeBytes(Rpc.random(length - 40)));
    }

    @Test
    @Proves({"SEC-09", "V1-CHUNK-12", "V1-CRED-21"})
    void whatOneConnectionMayHavePulledIsBounded() throws Exception {
        TransportHeader first = longCall(1, held(1, 60_000));
        TransportHeader second = longCall(2, held(2, 40_004));
        TransportHeader third = longCall(3, held(3, 1_000));
        bad.send(first, RawPeer.nothing());
        bad.send(second, RawPeer.nothing());
        bad.send(third, RawPeer.nothing());
        await().until(() -> metrics.value(RpcRdmaCounter.CALLS_HELD) == 2);
        assertThat(metrics.value(RpcRdmaCounter.READ_BYTES)).isEqualTo(60_000);
        // The answer to the first makes room for the others, in their order.
        for (int xid = 1; xid <= 3; xid++) {
            echo.answer(xid);
            bad.take();
            assertThat(bad.header.xid()).isEqualTo(xid);
            assertThat(bad.header.proc()).isEqualTo(TransportHeader.RDMA_MSG);
        }
        assertThat(metrics.value(RpcRdmaCounter.READ_BYTES)).isEqualTo(101_004);
        assertThat(metrics.value(RpcRdmaCounter.CHUNK_ERRORS_SENT)).isZero();
    }

    /** Calls that wait go with their connection. */
    @Test
    void aLostConnectionHoldsNoCalls() throws Exception {
        bad.send(longCall(1, held(1, 60_000)), RawPeer.nothing());
        bad.send(longCall(2, held(2, 40_004)), RawPeer.nothing());
        await().until(() -> metrics.value(RpcRdmaCounter.CALLS_HELD) == 1);
        bad.channel.close().sync();
        await().until(() -> metrics.connections() == 1);
        assertWorks(good, 9);
        assertThat(metrics.value(RpcRdmaGauge.READ_BYTES_HELD)).isZero();
    }

    private int takeXid(ByteBuf reply) {
        try {
            assertThat(reply.readableBytes()).isLessThanOrEqualTo(config.privateData().sendSize());
            return Rpc.xid(reply);
        } finally {
            reply.release();
        }
    }

    /** Good messages with some bytes changed: an answer, silence or the end of this connection, and nothing else. */
    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8})
    @Proves({"SEC-16", "V1-GSS-09", "SEC-11", "SEC-25"})
    void forgedHeadersCostAtMostTheConnection(long seed) throws Exception {
        Random random = new Random(seed);
        Object ended = new Object();
        bad.channel.closeFuture().addListener(closed -> bad.inbox.messages.add(ended));
        for (int i = 1; i <= 200; i++) {
            TransportHeader call = RawPeer.header(i, 0);
            call.writes().add(random.nextInt(), 64, random.nextLong());
            call.writes().endChunk();
            call.reply().setPresent();
            call.reply().add(random.nextInt(), 64, random.nextLong());
            ByteBuf message = RawPeer.message(call, Rpc.echo(i, 40));
            for (int changes = 1 + random.nextInt(3); changes > 0; changes--) {
                int index = random.nextInt(message.readableBytes());
                message.setByte(
                        index,
                        random.nextBoolean() ? random.nextInt() : message.getByte(index) ^ 1);
            }
            bad.send(message);
            int probe = 0x7000 + i;
            bad.send(RawPeer.header(probe, 0), Rpc.echo(probe, 0));
            int answers = 0;
            Object answer;
            do {
                answer = bad.inbox.take();
                answers++;
            } while (answer instanceof ByteBuf reply && takeXid(reply) != probe);
            assertThat(answers).isLessThanOrEqualTo(2);
            if (answer == ended) {
                bad = peers.connect(group);
                bad.channel.closeFuture().addListener(closed -> bad.inbox.messages.add(ended));
            }
        }
        assertThat(metrics.value(RpcRdmaCounter.CHUNK_ERRORS_SENT)).isPositive();
        assertWorks(good, 1);
        assertWorks(peers.connect(group), 2);
    }

    /**
     * The same for a requester: garbage in place of replies never does more than to leave its call without an answer.
     */
    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4})
    @Proves({"SEC-16", "V1-GSS-09", "V1-HDR-10", "V1-ERR-04"})
    void forgedRepliesAreNeverAnswered(long seed) throws Exception {
        Random random = new Random(seed);
        RpcRdmaConfig defaults = RpcRdmaConfig.defaults();
        try (RpcPair pair = RpcPair.rawServer(defaults, defaults);
                RawPeer server = RawPeer.server(pair)) {
            pair.call(Rpc.read3(1, 8192));
            server.take();
            for (int i = 0; i < 300; i++) {
                ByteBuf message = RawPeer.message(server.mirrored(0), Rpc.reply(1).writeInt(70));
                // Neither the XID nor the message type: the call stays open.
                int index = 4 + random.nextInt(message.readableBytes() - 4);
                if (index < 12 || (index >= 16 && index < 60)) {
                    int before = message.getByte(index);
                    message.setByte(index, before + 1 + random.nextInt(255));
                    server.send(message);
                } else {
                    message.release();
                }
                if (i % 50 == 49) {
                    RpcPair.settle(pair.clientChannel);
                }
            }
            server.send(server.mirrored(0), Rpc.reply(1).writeInt(70).writeInt(0));
            Object told = pair.client.take();
            assertThat(told).isInstanceOf(ByteBuf.class);
            ((ByteBuf) told).release();
            assertThat(pair.server.messages).isEmpty();
            assertThat(pair.clientConnection().callsInFlight()).isZero();
        }
    }
}
