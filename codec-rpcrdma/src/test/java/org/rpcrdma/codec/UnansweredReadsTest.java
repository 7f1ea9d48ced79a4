// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;
import static org.rpcrdma.codec.RpcPair.PATIENCE_SECONDS;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandler.Sharable;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.util.concurrent.EventExecutor;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.rpcrdma.NeedsDevice;
import org.rpcrdma.Proves;
import org.rpcrdma.channel.RdmaChannel;
import org.rpcrdma.channel.RdmaChannelOption;
import org.rpcrdma.channel.RdmaCounter;
import org.rpcrdma.channel.RdmaEventLoopGroup;
import org.rpcrdma.channel.RemoteAccess;
import org.rpcrdma.channel.internal.ChannelInternals;
import org.rpcrdma.codec.wire.TransportHeader;

/**
 * Peers that offer Read chunks and do not answer the Reads of them: their event loop, which is their device as well,
 * stands still.
 */
@NeedsDevice("receivesWithoutMemory") // others have threads of their own for the answers
class UnansweredReadsTest {

    private static final int MIB = 1 << 20;
    private static final int ROGUES = 8;
    private static final int NEVER = Integer.MAX_VALUE;
    private static final String BAD = "127.0.0.2";
    private static final String GOOD = "127.0.0.3";

    private final RdmaEventLoopGroup servers = new RdmaEventLoopGroup(2);
    private final RdmaEventLoopGroup rogues = new RdmaEventLoopGroup(1);
    private final RdmaEventLoopGroup clients = new RdmaEventLoopGroup(1);
    private final RawPeers peers =
            new RawPeers(
                    RpcRdmaConfig.builder().announceReadChunkReplies(false).longSize(0).build());
    private final RpcRdmaMetrics metrics = peers.metrics;
    private final BlockingQueue<Channel> accepted = new LinkedBlockingQueue<>();
    private final CountDownLatch standstill = new CountDownLatch(1);

    @Sharable
    private final class Answer extends ChannelInboundHandlerAdapter {
        @Override
        public void channelActive(ChannelHandlerContext ctx) {
            accepted.add(ctx.channel());
        }

        @Override
        public void channelRead(ChannelHandlerContext ctx, Object message) {
            ByteBuf call = (ByteBuf) message;
            ctx.writeAndFlush(Rpc.reply(Rpc.xid(call)));
            call.release();
        }
    }

    private void serve(long incompleteBytes, int readTimeoutMillis) throws Exception {
        peers.listen(
                servers,
                new Answer(),
                server ->
                        server.childOption(RdmaChannelOption.READ_TIMEOUT_MILLIS, readTimeoutMillis)
                                .childOption(
                                        RdmaChannelOption.INCOMPLETE_BYTES_PER_ADDRESS,
                                        incompleteBytes));
    }

    /** A call of 1 MiB in a Position Zero Read chunk. */
    private static ByteBuf longCall(RawPeer peer, int xid) throws Exception {
        byte[] whole = ByteBufUtil.getBytes(Rpc.echo(xid, 0).writeZero(MIB - 40));
        int handle = peer.expose(peer.memory(whole), RemoteAccess.READ);
        TransportHeader call = RawPeer.header(xid, TransportHeader.RDMA_NOMSG);
        call.reads().add(0, handle, MIB, peer.offset(handle));
        return RawPeer.message(call, RawPeer.nothing());
    }

    /** Has all rogues send a call, and stand still before any Read of it has come. */
    private List<RawPeer> attack() throws Exception {
        List<RawPeer> attackers = new ArrayList<>();
        List<ByteBuf> calls = new ArrayList<>();
        for (int i = 0; i < ROGUES; i++) {
            RawPeer rogue = peers.connect(rogues, BAD);
            attackers.add(rogue);
            calls.add(longCall(rogue, i));
        }
        rogues.next()
                .execute(
                        () -> {
                            for (int i = 0; i < ROGUES; i++) {
                                attackers.get(i).send(calls.get(i));
                            }
                            try {
                                standstill.await();
                            } catch (InterruptedException e) {
                                throw new AssertionError(e);
                            }
                        });
        await().atMost(PATIENCE_SECONDS, TimeUnit.SECONDS)
                .until(() -> metrics.value(RpcRdmaCounter.CALLS_RECEIVED) == ROGUES);
        for (EventExecutor server : servers) {
            server.submit(() -> {}).sync(); // what follows from the last one is done
        }
        return attackers;
    }

    @AfterEach
    void close() {
        standstill.countDown();
        peers.close();
    }

    private void assertWorks(RawPeer peer, int xid) throws Exception {
        peer.send(longCall(peer, xid));
        peer.take();
        assertThat(peer.header.xid()).isEqualTo(xid);
        assertThat(peer.header.proc()).isEqualTo(TransportHeader.RDMA_MSG);
    }

    @Test
    @Proves("SEC-28")
    void whatOneAddressMayHoldIsBounded() throws Exception {
        serve(2 * MIB, NEVER);
        attack();
        assertThat(metrics.value(RpcRdmaCounter.READ_BYTES)).isEqualTo(2 * MIB);
        RawPeer good = peers.connect(clients, GOOD);
        for (int i = 0; i < 3; i++) {
            assertWorks(good, i);
        }
        standstill.countDown();
        // What they hold goes back with their answers.
        await().atMost(PATIENCE_SECONDS, TimeUnit.SECONDS)
                .until(() -> metrics.value(RpcRdmaCounter.REPLIES_SENT) >= 3 + 2);
        assertWorks(peers.connect(clients, BAD), 7);
    }

    /** Nobody tells the channel of one address what those of others give back. */
    @Test
    @Proves("SEC-28")
    void aCallThatWaitsForOtherAddressesIsAnswered() throws Exception {
        serve(ROGUES * MIB, NEVER);
        int quarter = Math.toIntExact(RdmaChannel.registeredBytesLimit() / 4);
        List<Channel> others = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            peers.connect(rogues, "127.0.1." + i);
            Channel other = accepted.poll(PATIENCE_SECONDS, TimeUnit.SECONDS);
            ChannelInternals internals = ChannelInternals.of(other);
            other.eventLoop().submit(() -> internals.incompleteBegins(quarter)).sync();
            others.add(other);
        }
        RawPeer good = peers.connect(clients, GOOD);
        good.send(longCall(good, 1));
        await().atMost(PATIENCE_SECONDS, TimeUnit.SECONDS)
                .until(() -> metrics.value(RpcRdmaCounter.CALLS_HELD) == 1);
        assertThat(metrics.value(RpcRdmaCounter.READ_BYTES)).isZero();
        ChannelInternals first = ChannelInternals.of(others.get(0));
        others.get(0).eventLoop().submit(() -> first.incompleteEnds(quarter)).sync();
        good.take();
        assertThat(good.header.xid()).isEqualTo(1);
        assertThat(good.header.proc()).isEqualTo(TransportHeader.RDMA_MSG);
    }

    @Test
    @Proves("SEC-27")
    void whoDoesNotAnswerLosesTheConnectionAndTheMemory() throws Exception {
        serve(ROGUES * MIB, 1);
        attack();
        await().atMost(PATIENCE_SECONDS, TimeUnit.SECONDS)
                .until(() -> servers.value(RdmaCounter.READS_STALLED) == ROGUES);
        await().atMost(PATIENCE_SECONDS, TimeUnit.SECONDS)
                .until(() -> metrics.value(RpcRdmaCounter.CONNECTIONS_CLOSED) == ROGUES);
        assertThat(metrics.value(RpcRdmaGauge.READ_BYTES_HELD)).isZero();
        assertThat(metrics.value(RpcRdmaCounter.CONNECTIONS_LOST)).isEqualTo(ROGUES);
    }
}
