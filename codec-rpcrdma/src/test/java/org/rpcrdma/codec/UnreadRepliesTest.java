// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;
import static org.rpcrdma.codec.RpcPair.on;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandler.Sharable;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.rpcrdma.Proves;
import org.rpcrdma.channel.InterceptedDevice;
import org.rpcrdma.channel.PollMode;
import org.rpcrdma.channel.RdmaEventLoopGroup;
import org.rpcrdma.verbs.VerbsProvider;
import org.rpcrdma.verbs.iwarp.IwarpConfig;
import org.rpcrdma.verbs.iwarp.IwarpProvider;

/** A requester that sends calls for ever and never reads its socket costs a bounded number of replies. */
class UnreadRepliesTest {

    private static final int CALLS = 6000;
    private static final int GOOD_CALLS = 300;
    private static final int REPLY = 1000;

    /** What may be unsent, what one read of the channel delivers, and what is in the sockets. */
    private static final int MOST_REPLIES = 1024 + 64 + 256;

    /** Sockets that hold a few replies. */
    private static final VerbsProvider DEVICE =
            new IwarpProvider(
                    IwarpConfig.builder().socketBuffer(16 << 10).sharedMemory(false).build());

    private final AtomicBoolean isDeaf = new AtomicBoolean();
    private final RdmaEventLoopGroup group = new RdmaEventLoopGroup(1, DEVICE, PollMode.BLOCKING);
    private final RdmaEventLoopGroup bads =
            new RdmaEventLoopGroup(
                    1,
                    InterceptedDevice.withoutReceiveMemory(DEVICE, isDeaf::get),
                    PollMode.BLOCKING);
    private final RawPeers peers =
            new RawPeers(
                    RpcRdmaConfig.builder()
                            .announceReadChunkReplies(false)
                            .grantedCredits(8)
                            .build());
    private final RpcRdmaMetrics metrics = peers.metrics;
    private RawPeer bad;
    private RawPeer good;

    /** Answers each call at once. */
    @Sharable
    private static final class Answers extends ChannelInboundHandlerAdapter {
        @Override
        public void channelRead(ChannelHandlerContext ctx, Object message) {
            ByteBuf call = (ByteBuf) message;
            ctx.write(Rpc.reply(Rpc.xid(call)).writeZero(REPLY));
            call.release();
        }

        @Override
        public void channelReadComplete(ChannelHandlerContext ctx) {
            ctx.flush();
        }
    }

    @BeforeEach
    void connect() throws Exception {
        peers.listen(group, new Answers());
        bad = peers.connect(bads);
        good = peers.connect(group);
    }

    @AfterEach
    void close() {
        peers.close();
    }

    private long registeredBytesInUse() throws Exception {
        return on(good.channel, good.channel::registeredBytesInUse);
    }

    @Test
    @Proves("SEC-12")
    void repliesThatNobodyReadsAreBounded() throws Exception {
        long before = registeredBytesInUse();
        isDeaf.set(true);
        on(
                bad.channel,
                () -> {
                    for (int xid = 1; xid <= CALLS; xid++) {
                        bad.channel.write(
                                RawPeer.message(RawPeer.header(xid, 0), Rpc.echo(xid, 0)));
                    }
                    return bad.channel.flush();
                });
        await().until(() -> metrics.value(RpcRdmaCounter.REPLIES_SENT) > 1024);
        // All the while the good peer is served, by the same event loop.
        for (int xid = 1; xid <= GOOD_CALLS; xid++) {
            good.send(RawPeer.header(xid, 0), Rpc.echo(xid, 0));
            good.take();
            assertThat(good.header.xid()).isEqualTo(xid);
        }
        assertThat(metrics.value(RpcRdmaCounter.REPLIES_SENT) - GOOD_CALLS)
                .isLessThan(MOST_REPLIES);
        assertThat(registeredBytesInUse() - before).isLessThan(MOST_REPLIES * 4096L);
        isDeaf.set(false);
        await().until(() -> bad.inbox.messages.size() == CALLS);
        assertThat(metrics.value(RpcRdmaCounter.CREDIT_OVERRUNS)).isZero();
        assertThat(bad.channel.isActive()).isTrue();
    }
}
