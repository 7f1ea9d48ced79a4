// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelPipeline;
import io.netty.util.ReferenceCountUtil;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.rpcrdma.NeedsDevice;
import org.rpcrdma.Proves;
import org.rpcrdma.channel.internal.ChannelInternals;

/**
 * A requester whose credits all wait for the arrival of pull completions may send one call more, since only a reply
 * tells of it (reliable reply draft, 5.2.3). Whoever sends such replies by announcement has a receive for that call,
 * whatever the grant.
 */
// Replies in Read chunks are announced by the private data of both ends.
@NeedsDevice("privateDataOnAccept")
class PullCompletionReceiveTest {

    @ParameterizedTest
    @CsvSource({
        "1, 0, false",
        "1, 0, true",
        "1, 2, false",
        "1, 2, true",
        "4, 0, true",
        "4, 3, true"
    })
    @Proves({"RR-20", "RR-34"})
    void thereIsOneReceiveMoreThanCallsWereGranted(int granted, int reverse, boolean isAdaptive)
            throws Exception {
        RpcRdmaConfig.Builder server =
                RpcPair.usual().grantedCredits(granted).reverseCredits(reverse);
        if (isAdaptive) {
            server.creditPolicy(CreditPolicy.adaptive(1));
        }
        RpcRdmaConfig client = RpcPair.usual().reverseCredits(reverse).build();
        try (RpcPair pair = RpcPair.of(client, server.build())) {
            for (int xid = 1; xid <= 2 * granted; xid++) {
                pair.call(Rpc.echo(xid, 8));
                assertThat(pair.server.takeXid()).isEqualTo(xid);
                check(pair);
                pair.reply(Unpooled.wrappedBuffer(LongReplyTest.reply(xid, 1 << 20)));
                assertThat(pair.client.takeXid()).isEqualTo(xid);
                check(pair);
            }
            assertThat(pair.clientConnection().value(RpcRdmaCounter.READ_CHUNK_REPLIES))
                    .isEqualTo(2L * granted);
        }
    }

    /** Calls that arrive after the grant was lowered, and are all answered in Read chunks. */
    @Test
    @Proves({"RR-20", "RR-34"})
    void aLoweredGrantTakesNoReceiveFromTheCompletionsOfEarlierCalls() throws Exception {
        int calls = 32;
        AtomicInteger grant = new AtomicInteger(calls);
        RpcRdmaConfig server =
                RpcPair.usual().grantedCredits(calls).creditPolicy(load -> grant.get()).build();
        try (RpcPair pair = RpcPair.of(RpcPair.usual().build(), server)) {
            pair.call(Rpc.echo(1, 8));
            pair.server.takeXid();
            pair.reply(Rpc.reply(1));
            pair.client.takeXid();
            grant.set(1);
            answerAtOnce(pair, 2);
            RpcPair.on(
                    pair.clientChannel,
                    () -> {
                        for (int xid = 2; xid < 2 + calls; xid++) {
                            pair.clientChannel.write(Rpc.echo(xid, 8));
                        }
                        return pair.clientChannel.flush();
                    });
            assertThat(pair.client.takeXid()).isEqualTo(2);
            for (int xid = 3; xid < 2 + calls; xid++) {
                assertThat(pair.server.takeXid()).isEqualTo(xid);
            }
            int kept =
                    RpcPair.on(
                            pair.serverChannel,
                            () -> {
                                for (int xid = 3; xid < 2 + calls; xid++) {
                                    pair.serverChannel.write(
                                            Unpooled.wrappedBuffer(
                                                    LongReplyTest.reply(xid, 1 << 18)));
                                }
                                pair.serverChannel.flush();
                                return ChannelInternals.of(pair.serverChannel).keptReceives();
                            });
            assertThat(kept).isBetween(calls, calls + 8);
            Set<Integer> answered = new HashSet<>();
            for (int i = 1; i < calls; i++) {
                answered.add(pair.client.takeXid());
            }
            assertThat(answered).hasSize(calls - 1);
            assertThat(pair.clientConnection().value(RpcRdmaCounter.READ_CHUNK_REPLIES))
                    .isEqualTo(calls - 1L);
            // With a call after it the grant counts alone.
            pair.call(Rpc.echo(100, 8));
            assertThat(pair.server.takeXid()).isEqualTo(100);
            check(pair);
            assertThat(
                            RpcPair.on(
                                    pair.serverChannel,
                                    () -> ChannelInternals.of(pair.serverChannel).keptReceives()))
                    .isLessThan(calls / 2);
        }
    }

    /**
     * The server answers one call while it is received, in a batch with those behind it. Adds the handler on the event
     * loop: added on another thread it takes part only when the loop has run its tasks, which may be after the call.
     */
    private static void answerAtOnce(RpcPair pair, int answered) throws Exception {
        ChannelPipeline pipeline = pair.serverChannel.pipeline();
        ChannelHandler answering =
                new ChannelInboundHandlerAdapter() {
                    @Override
                    public void channelRead(ChannelHandlerContext ctx, Object message) {
                        if (Rpc.xid((ByteBuf) message) == answered) {
                            ReferenceCountUtil.release(message);
                            ctx.writeAndFlush(Rpc.reply(answered));
                        } else {
                            ctx.fireChannelRead(message);
                        }
                    }
                };
        String inbox = pipeline.context(pair.server).name();
        RpcPair.on(pair.serverChannel, () -> pipeline.addBefore(inbox, "answering", answering));
    }

    private static void check(RpcPair pair) throws Exception {
        int spare =
                RpcPair.on(
                        pair.serverChannel,
                        () ->
                                ChannelInternals.of(pair.serverChannel).keptReceives()
                                        - pair.serverConnection()
                                                .responder()
                                                .credits
                                                .outstanding());
        assertThat(spare).isPositive();
    }
}
