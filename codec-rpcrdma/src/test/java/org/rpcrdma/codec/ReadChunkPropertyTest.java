// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.CompositeByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.util.collection.IntObjectHashMap;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.ShrinkingMode;
import org.rpcrdma.Proves;
import org.rpcrdma.codec.ReadChunkReplyConfig.ReplyChunks;
import org.rpcrdma.codec.fault.FaultContext.Delivery;

/** Replies of all lengths, in all kinds of memory, whatever the two sides are configured for. */
class ReadChunkPropertyTest {

    private static final List<Form> WHOLE =
            Stream.of(Form.values()).filter(form -> !form.isApart()).toList();

    private static <T> T one(List<T> all, Random random) {
        return all.get(random.nextInt(all.size()));
    }

    @Property(tries = 60, shrinking = ShrinkingMode.OFF)
    @Proves({"RR-04", "RR-07", "RR-20", "RR-21", "RR-25", "SEC-21", "OLD-10", "OLD-11"})
    void everyReplyArrivesAndNothingWaitsForever(@ForAll long seed) throws Exception {
        Random random = new Random(seed);
        IntObjectHashMap<byte[]> expected = new IntObjectHashMap<>();
        IntObjectHashMap<ByteBuf> replies = new IntObjectHashMap<>();
        List<ByteBuf> calls = new ArrayList<>();
        for (int i = 0; i < 40; i++) {
            Form form = one(WHOLE, random);
            int xid = form.xids() | i;
            ByteBuf reply =
                    form == Form.LONG_REPLY
                            ? ReadChunks.reply(xid, 24 + random.nextInt(40_000))
                            : form.reply(xid);
            expected.put(xid, ByteBufUtil.getBytes(reply));
            replies.put(xid, scattered(reply, random));
            calls.add(form.call(xid));
        }
        CodecEnd requester =
                CodecEnd.of(builder(random).requestedCredits(1 + random.nextInt(20)).build());
        CodecEnd responder =
                CodecEnd.of(builder(random).grantedCredits(1 + random.nextInt(20)).build());
        try (FaultPair pair = new FaultPair()) {
            try (FaultPair.Connection connection =
                    pair.connect(requester, responder, call -> replies.remove(Rpc.xid(call)))) {
                connection.compareWith(expected);
                for (FaultPair.Role role : FaultPair.Role.values()) {
                    connection.delivery(role, one(List.of(Delivery.values()), random));
                }
                connection.expectCalls(calls.size());
                connection.call(calls.toArray(new ByteBuf[0]));
                assertThat(connection.outcomes().values()).containsOnly("replied");
            }
        }
        long pulled = requester.metrics().value(RpcRdmaCounter.PULL_COMPLETIONS_SENT);
        assertThat(responder.metrics().value(RpcRdmaCounter.READ_CHUNK_REPLIES)).isEqualTo(pulled);
        assertThat(responder.metrics().value(RpcRdmaCounter.CREDIT_OVERRUNS)).isZero();
        assertThat(responder.metrics().value(RpcRdmaCounter.CHUNK_ERRORS_SENT)).isZero();
        assertThat(responder.metrics().value(RpcRdmaCounter.DROPPED_COMPLETIONS)).isZero();
    }

    private static RpcRdmaConfig.Builder builder(Random random) {
        int size = 1024 << random.nextInt(4);
        ReplyChunks when = one(List.of(ReplyChunks.values()), random);
        return ReadChunks.builder(when)
                .sendSize(size)
                .receiveSize(size)
                .remoteInvalidation(random.nextBoolean())
                .creditPolicy(
                        random.nextBoolean()
                                ? CreditPolicy.constant()
                                : load -> 1 + random.nextInt(20));
    }

    /** In heap and direct pieces of any length, an empty one here and there. */
    private static ByteBuf scattered(ByteBuf reply, Random random) {
        int pieces = random.nextInt(12);
        if (pieces == 0) {
            return reply;
        }
        CompositeByteBuf whole = Unpooled.compositeBuffer(pieces + 1);
        boolean isHeap = random.nextInt(4) == 0;
        for (int i = 0; i < pieces; i++) {
            int left = reply.readableBytes();
            int length = i == pieces - 1 ? left : random.nextInt(left + 1);
            ByteBuf piece =
                    isHeap ? Unpooled.buffer(length + 1) : Unpooled.directBuffer(length + 1);
            whole.addComponent(true, piece.writeBytes(reply, length));
        }
        reply.release();
        return whole;
    }
}
