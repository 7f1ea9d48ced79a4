// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import static org.assertj.core.api.Assertions.assertThat;
import static org.rpcrdma.codec.RpcPair.on;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPromise;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.ShrinkingMode;
import net.jqwik.api.constraints.IntRange;
import org.rpcrdma.Proves;
import org.rpcrdma.channel.RdmaChannel;
import org.rpcrdma.channel.RdmaSendWithInvalidate;
import org.rpcrdma.codec.wire.OncRpcHeaderDecoder;
import org.rpcrdma.codec.wire.TransportHeader;

/** Random calls both ways, answered in random order. The XIDs of the two directions are the same ones. */
class BidirectionalPropertyTest {

    private static final int CALLS = 120;
    private static final int PAYLOAD = 40;
    private static final int FORWARD = 0x0F0F0F0F;
    private static final int REVERSE = 0x70707070;

    /**
     * Sees what goes over the wire, between the device and the codec, and keeps an account of its own: how many calls
     * of this side are out, and what the peer has granted last.
     */
    private static final class Wire extends ChannelDuplexHandler {
        final List<String> problems = new CopyOnWriteArrayList<>();
        private final TransportHeader header = new TransportHeader();
        private int out;
        private int granted = 1;

        volatile int most;

        @Override
        public void write(ChannelHandlerContext ctx, Object message, ChannelPromise promise) {
            ByteBuf send =
                    message instanceof RdmaSendWithInvalidate send0
                            ? send0.content()
                            : message instanceof ByteBuf buffer ? buffer : null;
            if (send != null) {
                int at = send.readerIndex();
                int credit = send.getInt(at + 8);
                if (isCall(send)) {
                    int limit = Math.min(granted, credit);
                    if (++out > limit) {
                        problems.add(out + " calls out, limit " + limit);
                    }
                    most = Math.max(most, out);
                } else if (credit < 1) {
                    problems.add("grant of " + credit);
                }
            }
            ctx.write(message, promise);
        }

        @Override
        public void channelRead(ChannelHandlerContext ctx, Object message) {
            if (message instanceof ByteBuf send) {
                if (!isCall(send)) {
                    out--;
                    granted = send.getInt(send.readerIndex() + 8);
                }
            }
            ctx.fireChannelRead(message);
        }

        /** The payload is inline, perhaps behind chunk lists. */
        private boolean isCall(ByteBuf send) {
            int at = send.readerIndex();
            header.decodeFixed(send, at);
            int payload =
                    header.decodeLists(
                            send, at + TransportHeader.FIXED_BYTES, send.writerIndex(), 16);
            return send.getInt(payload + 4) == OncRpcHeaderDecoder.CALL;
        }
    }

    /** One side: what it has called, and what it has to answer. */
    private static final class Side {
        private final RdmaChannel channel;
        private final RpcPair.Inbox inbox;
        private final int mark;
        private final int theirMark;
        final Wire wire = new Wire();
        private final List<Integer> toAnswer = new ArrayList<>();
        private final int[] completions = new int[CALLS];
        private int called;
        private int completed;

        Side(RdmaChannel channel, RpcPair.Inbox inbox, int mark, int theirMark) throws Exception {
            this.channel = channel;
            this.inbox = inbox;
            this.mark = mark;
            this.theirMark = theirMark;
            on(channel, () -> channel.pipeline().addFirst(wire));
        }

        void call() {
            if (called < CALLS) {
                channel.writeAndFlush(Rpc.call(called, Rpc.UNKNOWN, 1, 1).writeInt(mark ^ called));
                called++;
            }
        }

        void answer(Random random) {
            if (!toAnswer.isEmpty()) {
                int xid = toAnswer.remove(random.nextInt(toAnswer.size()));
                channel.writeAndFlush(Rpc.reply(xid).writeInt(theirMark ^ xid));
            }
        }

        void receive() throws InterruptedException {
            Object message = inbox.messages.poll(1, TimeUnit.MILLISECONDS);
            if (message == null) {
                return;
            }
            assertThat(message).isInstanceOf(ByteBuf.class);
            ByteBuf received = (ByteBuf) message;
            int at = received.readerIndex();
            int xid = received.getInt(at);
            if (received.getInt(at + 4) == OncRpcHeaderDecoder.CALL) {
                assertThat(received.getInt(at + PAYLOAD)).isEqualTo(theirMark ^ xid);
                toAnswer.add(xid);
            } else {
                assertThat(received.getInt(at + OncRpcHeaderDecoder.REPLY_HEADER_BYTES))
                        .isEqualTo(mark ^ xid);
                completions[xid]++;
                completed++;
            }
            received.release();
        }

        boolean isDone() {
            return completed == CALLS;
        }
    }

    @Property(tries = 60, shrinking = ShrinkingMode.OFF)
    @Proves({"BIDI-02", "BIDI-04", "BIDI-06", "BIDI-07", "BIDI-08", "BIDI-12", "BIDI-13"})
    void neitherDirectionExceedsItsCreditsAndEachCallCompletesOnce(
            @ForAll long seed,
            @ForAll @IntRange(min = 1, max = 12) int requested,
            @ForAll @IntRange(min = 1, max = 12) int granted,
            @ForAll @IntRange(min = 1, max = 6) int reverseRequested,
            @ForAll @IntRange(min = 1, max = 6) int reverseGranted,
            @ForAll boolean isAdaptive)
            throws Exception {
        RpcRdmaConfig.Builder server =
                RpcRdmaConfig.builder().grantedCredits(granted).reverseCredits(reverseRequested);
        if (isAdaptive) {
            server.creditPolicy(CreditPolicy.adaptive(3));
        }
        RpcRdmaConfig client =
                RpcRdmaConfig.builder()
                        .requestedCredits(requested)
                        .reverseCredits(reverseGranted)
                        .build();
        Random random = new Random(seed);
        try (RpcPair pair = RpcPair.of(client, server.build())) {
            Side forward = new Side(pair.clientChannel, pair.client, FORWARD, REVERSE);
            Side reverse = new Side(pair.serverChannel, pair.server, REVERSE, FORWARD);
            pair.openReverse(reverseGranted);
            List<Side> sides = List.of(forward, reverse);
            while (!forward.isDone() || !reverse.isDone()) {
                Side side = sides.get(random.nextInt(2));
                switch (random.nextInt(3)) {
                    case 0 -> side.call();
                    case 1 -> side.answer(random);
                    default -> side.receive();
                }
            }
            for (Side side : sides) {
                assertThat(side.wire.problems).isEmpty();
                assertThat(Arrays.stream(side.completions)).containsOnly(1);
            }
            assertThat(forward.wire.most).isLessThanOrEqualTo(Math.min(requested, granted));
            assertThat(reverse.wire.most)
                    .isLessThanOrEqualTo(Math.min(reverseRequested, reverseGranted));
            assertThat(pair.client.messages).isEmpty();
            assertThat(pair.server.messages).isEmpty();
            assertThat(pair.clientConnection().value(RpcRdmaCounter.CREDIT_OVERRUNS)).isZero();
            assertThat(pair.serverConnection().value(RpcRdmaCounter.CREDIT_OVERRUNS)).isZero();
            assertThat(pair.client.inactive).isEmpty();
        }
    }
}
