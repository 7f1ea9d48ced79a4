// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import static org.assertj.core.api.Assertions.assertThat;
import static org.rpcrdma.codec.RpcPair.on;

import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPipeline;
import io.netty.channel.ChannelPromise;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The stages as the codec joins them. */
class StageChainTest {

    private RpcPair pair;

    @BeforeEach
    void connect() throws Exception {
        pair = RpcPair.of(RpcRdmaConfig.defaults(), RpcRdmaConfig.defaults());
    }

    @AfterEach
    void close() {
        pair.close();
    }

    private void call(int xid) {
        pair.clientChannel.writeAndFlush(Rpc.echo(xid, 4), pair.clientChannel.voidPromise());
    }

    /** Counts the messages that pass it. */
    private static final class Spy extends ChannelDuplexHandler {

        private final AtomicInteger seen;

        Spy(AtomicInteger seen) {
            this.seen = seen;
        }

        @Override
        public void channelRead(ChannelHandlerContext ctx, Object message) {
            seen.incrementAndGet();
            ctx.fireChannelRead(message);
        }

        @Override
        public void write(ChannelHandlerContext ctx, Object message, ChannelPromise promise) {
            seen.incrementAndGet();
            ctx.write(message, promise);
        }
    }

    /** Returns how many places there are between two stages. */
    private static int spyBetweenStages(Channel channel, AtomicInteger seen) throws Exception {
        return on(
                channel,
                () -> {
                    ChannelPipeline pipeline = channel.pipeline();
                    List<String> stages = new ArrayList<>();
                    for (Map.Entry<String, ChannelHandler> entry : pipeline) {
                        if (entry.getValue() instanceof DirectlyLinkedStageHandler) {
                            stages.add(entry.getKey());
                        }
                    }
                    stages.remove(stages.size() - 1);
                    stages.forEach(name -> pipeline.addAfter(name, null, new Spy(seen)));
                    return stages.size();
                });
    }

    @Test
    void messagesGoFromStageToStage() throws Exception {
        AtomicInteger seen = new AtomicInteger();
        assertThat(spyBetweenStages(pair.clientChannel, seen)).isEqualTo(4);
        assertThat(spyBetweenStages(pair.serverChannel, seen)).isEqualTo(4);
        call(5);
        assertThat(pair.server.takeXid()).isEqualTo(5);
        pair.serverChannel.writeAndFlush(Rpc.reply(5));
        assertThat(pair.client.takeXid()).isEqualTo(5);
        assertThat(seen).hasValue(0);
    }

    /** Another thread may cancel a write on its way here. */
    @Test
    void aReplyWhoseWriteWasCancelledLeavesItsCallOpen() throws Exception {
        call(6);
        assertThat(pair.server.takeXid()).isEqualTo(6);
        ByteBuf cancelled = Rpc.reply(6);
        on(
                pair.serverChannel,
                () -> {
                    ChannelPipeline pipeline = pair.serverChannel.pipeline();
                    ChannelPromise promise = pair.serverChannel.newPromise();
                    promise.cancel(false);
                    pipeline.get(DdpReductionHandler.class)
                            .write(pipeline.context(DdpReductionHandler.class), cancelled, promise);
                    return null;
                });
        assertThat(cancelled.refCnt()).isZero();
        pair.serverChannel.writeAndFlush(Rpc.reply(6)).sync();
        assertThat(pair.client.takeXid()).isEqualTo(6);
    }
}
