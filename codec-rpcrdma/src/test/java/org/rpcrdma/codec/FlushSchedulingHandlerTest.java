// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import static org.assertj.core.api.Assertions.assertThat;
import static org.rpcrdma.codec.RpcPair.on;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelOutboundHandlerAdapter;
import io.netty.channel.ChannelPipeline;
import io.netty.channel.ChannelPromise;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.rpcrdma.codec.wire.TransportHeader;

class FlushSchedulingHandlerTest {

    private static final RpcRdmaConfig CONFIG = RpcPair.usual().build();

    /** Whatever is flushed towards the network; event loop only. */
    private static final class Counter extends ChannelOutboundHandlerAdapter {
        private int flushes;

        @Override
        public void flush(ChannelHandlerContext ctx) {
            flushes++;
            ctx.flush();
        }
    }

    /** Who answers each call at once, as most servers do. */
    private static final class Answering extends ChannelDuplexHandler {
        private final BiConsumer<ChannelHandlerContext, Integer> then;

        Answering(BiConsumer<ChannelHandlerContext, Integer> then) {
            this.then = then;
        }

        @Override
        public void channelRead(ChannelHandlerContext ctx, Object message) {
            int xid = Rpc.xid((ByteBuf) message);
            ((ByteBuf) message).release();
            ctx.writeAndFlush(Rpc.reply(xid));
            then.accept(ctx, xid);
        }
    }

    /** Has the server read so many calls in one batch; returns the flushes up to the end of each. */
    private static int[] readBatch(
            RpcPair pair, int calls, BiConsumer<ChannelHandlerContext, Integer> then)
            throws Exception {
        return on(
                pair.serverChannel,
                () -> {
                    ChannelPipeline pipeline = pair.serverChannel.pipeline();
                    Counter counter = new Counter();
                    pipeline.addFirst(counter);
                    pipeline.addBefore(
                            pipeline.context(pair.server).name(), null, new Answering(then));
                    int[] flushes = new int[calls + 1];
                    for (int xid = 1; xid <= calls; xid++) {
                        TransportHeader header = RawPeer.header(xid, TransportHeader.RDMA_MSG);
                        pipeline.fireChannelRead(RawPeer.message(header, Rpc.echo(xid, 8)));
                        flushes[xid - 1] = counter.flushes;
                    }
                    pipeline.fireChannelReadComplete();
                    flushes[calls] = counter.flushes;
                    return flushes;
                });
    }

    private static void takeReplies(RpcPair pair, int count) throws Exception {
        try (RawPeer client = RawPeer.client(pair)) {
            for (int xid = 1; xid <= count; xid++) {
                client.take();
                assertThat(client.header.xid()).isEqualTo(xid);
            }
        }
    }

    @Test
    void eightFlushesOfABatchAreOneAndTheRestGoesAtItsEnd() throws Exception {
        try (RpcPair pair = RpcPair.rawClient(CONFIG, CONFIG)) {
            int[] flushes = readBatch(pair, 12, (ctx, xid) -> {});
            assertThat(flushes[7]).isPositive();
            assertThat(flushes[12]).isGreaterThan(flushes[7]);
            takeReplies(pair, 12);
        }
    }

    /** It has waited for 20 microseconds when the next message is read. */
    @Test
    void aFlushWaitsForNoOtherHandlerWhenItsOwnTookItsTime() throws Exception {
        try (RpcPair pair = RpcPair.rawClient(CONFIG, CONFIG)) {
            int[] flushes =
                    readBatch(
                            pair,
                            5,
                            (ctx, xid) -> {
                                long begin = System.nanoTime();
                                while (System.nanoTime() - begin
                                        <= TimeUnit.MICROSECONDS.toNanos(20)) {
                                    Thread.onSpinWait();
                                }
                            });
            assertThat(flushes).containsExactly(0, 1, 2, 3, 4, 5);
            takeReplies(pair, 5);
        }
    }

    @Test
    void aFlushOutsideOfABatchIsDoneAtOnce() throws Exception {
        try (RpcPair pair = RpcPair.rawClient(CONFIG, CONFIG)) {
            readBatch(pair, 1, (ctx, xid) -> {});
            int flushes =
                    on(
                            pair.serverChannel,
                            () -> {
                                Counter counter = new Counter();
                                pair.serverChannel.pipeline().addFirst(counter);
                                pair.serverChannel.flush();
                                return counter.flushes;
                            });
            assertThat(flushes).isEqualTo(1);
            takeReplies(pair, 1);
        }
    }

    /** Whatever may come between a flush and the end of its batch. */
    private enum Interruption {
        CLOSE(Channel::close),
        DISCONNECT(Channel::disconnect),
        EXCEPTION(
                channel -> {
                    channel.pipeline().fireExceptionCaught(new IllegalStateException("no receive"));
                    channel.unsafe().close(channel.unsafe().voidPromise());
                }),
        FULL(
                channel -> {
                    channel.unsafe().outboundBuffer().setUserDefinedWritability(1, false);
                    channel.pipeline().fireChannelWritabilityChanged();
                }),
        REMOVAL(channel -> channel.pipeline().remove(FlushSchedulingHandler.class));

        @SuppressWarnings("ImmutableEnumChecker") // without state
        private final Consumer<Channel> interrupt;

        Interruption(Consumer<Channel> interrupt) {
            this.interrupt = interrupt;
        }
    }

    @ParameterizedTest
    @EnumSource
    void whatIsFlushedGoesBefore(Interruption interruption) throws Exception {
        try (RpcPair pair = RpcPair.rawClient(CONFIG, CONFIG)) {
            int[] before = new int[1];
            int[] after =
                    readBatch(
                            pair,
                            2,
                            (ctx, xid) -> {
                                if (xid == 2) {
                                    Counter counter = ctx.pipeline().get(Counter.class);
                                    before[0] = counter.flushes;
                                    interruption.interrupt.accept(ctx.channel());
                                }
                            });
            assertThat(after[1]).isEqualTo(before[0] + 1);
            takeReplies(pair, 2);
        }
    }

    /** The channel is the only one of its loop, which polls. */
    @Test
    void callsGoInPartsWhileTheRequesterWritesMore() throws Exception {
        try (RpcPair pair = RpcPair.polling(CONFIG, CONFIG)) {
            for (int xid = 1; xid <= 3; xid++) {
                pair.call(Rpc.echo(xid, 8));
                assertThat(pair.server.takeXid()).isEqualTo(xid);
                pair.reply(Rpc.reply(xid)).sync();
                assertThat(pair.client.takeXid()).isEqualTo(xid);
            }
            // With a handler next to the channel, messages take Netty's outbound buffer; what is
            // posted leaves it in another round.
            pair.clientChannel.pipeline().addFirst(new ChannelOutboundHandlerAdapter());
            int flushed =
                    on(
                            pair.clientChannel,
                            () -> {
                                for (int xid = 101; xid <= 148; xid++) {
                                    pair.clientChannel.write(Rpc.echo(xid, 8));
                                }
                                return pair.clientChannel.unsafe().outboundBuffer().size();
                            });
            assertThat(flushed).isEqualTo(31); // 8, 8 when 16 are out, 15 when 31 are
            pair.clientChannel.flush();
            for (int xid = 101; xid <= 148; xid++) {
                assertThat(pair.server.takeXid()).isEqualTo(xid);
            }
        }
    }

    /** Writes pass the pipeline by, unless there is a handler between the codec and the channel. */
    @Test
    void aHandlerNextToTheNetworkSeesWhatIsSent() throws Exception {
        try (RpcPair pair = RpcPair.of(CONFIG, CONFIG)) {
            AtomicInteger seen = new AtomicInteger();
            ChannelOutboundHandlerAdapter first =
                    new ChannelOutboundHandlerAdapter() {
                        @Override
                        public void write(
                                ChannelHandlerContext ctx, Object message, ChannelPromise promise) {
                            seen.incrementAndGet();
                            ctx.write(message, promise);
                        }
                    };
            pair.clientChannel.pipeline().addFirst(first);
            pair.call(Rpc.echo(1, 8)).sync();
            assertThat(seen).hasValue(1);
            assertThat(pair.server.takeXid()).isEqualTo(1);
            pair.reply(Rpc.reply(1)); // grants more than one credit
            assertThat(pair.client.takeXid()).isEqualTo(1);
            pair.clientChannel.pipeline().remove(first);
            pair.call(Rpc.echo(2, 8)).sync();
            assertThat(seen).hasValue(1);
            assertThat(pair.server.takeXid()).isEqualTo(2);
        }
    }

    @Test
    void aCancelledWriteIsNotSent() throws Exception {
        try (RpcPair pair = RpcPair.of(CONFIG, CONFIG)) {
            ByteBuf cancelled = Unpooled.directBuffer().writeInt(1);
            on(
                    pair.clientChannel,
                    () -> {
                        ChannelPipeline pipeline = pair.clientChannel.pipeline();
                        ChannelPromise promise = pair.clientChannel.newPromise();
                        promise.cancel(false);
                        pipeline.get(FlushSchedulingHandler.class)
                                .write(
                                        pipeline.context(FlushSchedulingHandler.class),
                                        cancelled,
                                        promise);
                        return null;
                    });
            assertThat(cancelled.refCnt()).isZero();
        }
    }
}
