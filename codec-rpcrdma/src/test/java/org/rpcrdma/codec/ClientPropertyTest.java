// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.util.ReferenceCounted;
import io.netty.util.concurrent.Future;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CancellationException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.ShrinkingMode;
import net.jqwik.api.constraints.IntRange;
import org.rpcrdma.Proves;
import org.rpcrdma.channel.RdmaChannel;
import org.rpcrdma.channel.RdmaEventLoopGroup;
import org.rpcrdma.codec.client.RpcRdmaClient;
import org.rpcrdma.codec.rpc.CallOptions;

/** Whatever happens to calls and connections: every future completes exactly once, and nothing is left. */
class ClientPropertyTest {

    private static final int WRITE_POSITION = 60;

    /** One call and what it has. */
    private record Sent(
            Future<? extends ReferenceCounted> future,
            AtomicInteger completions,
            ReferenceCounted message,
            ByteBuf sink,
            int length) {

        byte[] expected() {
            return Rpc.random(length);
        }
    }

    @Property(tries = 40, shrinking = ShrinkingMode.OFF)
    @Proves({"API-11", "V1-MR-03", "V1-MR-10", "V1-CRED-19"})
    void everyCallCompletesOnceAndNothingIsLeft(
            @ForAll long seed, @ForAll @IntRange(min = 1, max = 3) int connections)
            throws Exception {
        RpcRdmaConfig config = RpcRdmaConfig.builder().bindings(List.of(new BlobBinding())).build();
        RpcRdmaMetrics metrics = new RpcRdmaMetrics();
        Random random = new Random(seed);
        Random script = new Random(~seed);
        RdmaEventLoopGroup group = new RdmaEventLoopGroup(2);
        List<Sent> all = new ArrayList<>();
        try (ScriptedResponder responder =
                new ScriptedResponder(
                        config,
                        metrics,
                        (channel, connection, call) -> answer(channel, call, script))) {
            RpcRdmaClient client =
                    RpcRdmaClient.builder(group, responder.address())
                            .config(config)
                            .metrics(metrics)
                            .connections(connections)
                            .backOff(Duration.ofMillis(1), Duration.ofMillis(4))
                            .firstCallTimeout(Duration.ofMillis(5))
                            .callTimeout(Duration.ofMillis(300))
                            .maxRetransmissions(20)
                            .fenceCancelled((seed & 1) == 0)
                            .build();
            for (int i = 0; i < 60; i++) {
                Sent sent = send(client, random);
                all.add(sent);
                if (random.nextInt(8) == 0) {
                    all.get(random.nextInt(all.size())).future().cancel(false);
                }
                if (random.nextInt(20) == 0 && !responder.accepted.isEmpty()) {
                    responder.accepted.get(responder.accepted.size() - 1).close();
                }
                if (random.nextInt(15) == 0) {
                    sent.future().await(2, TimeUnit.MILLISECONDS);
                }
            }
            boolean closesEarly = random.nextInt(3) == 0;
            if (closesEarly) {
                client.close();
            }
            for (Sent sent : all) {
                check(sent);
            }
            client.closeAsync().await(RpcPair.PATIENCE_SECONDS, TimeUnit.SECONDS);
            assertThat(client.outstandingCalls()).isZero();
        } finally {
            group.shutdownGracefully(0, RpcPair.PATIENCE_SECONDS, TimeUnit.SECONDS)
                    .syncUninterruptibly();
        }
        // No connection is left, so the transport has let go of everything.
        for (Sent sent : all) {
            assertThat(sent.completions()).hasValue(1);
            assertThat(sent.message().refCnt()).isZero();
            if (sent.sink() != null) {
                assertThat(sent.sink().refCnt()).isZero();
            }
        }
        assertThat(metrics.callsInFlight()).isZero();
        assertThat(metrics.connections()).isZero();
    }

    private static Sent send(RpcRdmaClient client, Random random) {
        CallOptions options = CallOptions.DEFAULT.withRetransmission(random.nextInt(4) > 0);
        if (random.nextInt(6) == 0) {
            options = options.withTimeout(Duration.ofMillis(1 + random.nextInt(20)));
        }
        int procedure = random.nextBoolean() ? BlobBinding.GET : BlobBinding.APPEND;
        byte[] data = Rpc.random(random.nextInt(4) == 0 ? 20_000 : random.nextInt(200));
        AtomicInteger completions = new AtomicInteger();
        if (random.nextBoolean()) {
            int maximum = random.nextInt(3) == 0 ? 0 : data.length;
            ByteBuf call = BlobBinding.call(procedure, maximum, 8, data);
            Future<ByteBuf> future = client.call(call, options);
            future.addListener(done -> completions.incrementAndGet());
            return new Sent(future, completions, call, null, data.length);
        }
        ByteBuf sink = Unpooled.directBuffer(data.length + 1, data.length + 1);
        ByteBuf item = Unpooled.directBuffer(data.length + 1).writeBytes(data);
        RpcMessage call =
                new RpcMessage(BlobBinding.call(procedure, data.length, 8, data.length))
                        .addItem(WRITE_POSITION, item)
                        .addSink(sink);
        Future<RpcMessage> future = client.call(call, options);
        future.addListener(done -> completions.incrementAndGet());
        return new Sent(future, completions, call, sink, data.length);
    }

    /** Sends the data back, or does not, or cuts the connection at one side of it. */
    private static void answer(RdmaChannel channel, ByteBuf call, Random script) {
        int length = call.getInt(call.readerIndex() + WRITE_POSITION - 4);
        byte[] data = ByteBufUtil.getBytes(call, call.readerIndex() + WRITE_POSITION, length);
        int fate = script.nextInt(20);
        if (fate == 0) {
            channel.close();
        } else if (fate != 1) {
            channel.writeAndFlush(BlobBinding.reply(Rpc.xid(call), 4, data));
            if (fate == 2) {
                channel.close();
            }
        }
    }

    private static void check(Sent sent) throws Exception {
        assertThat(sent.future().await(RpcPair.PATIENCE_SECONDS, TimeUnit.SECONDS)).isTrue();
        if (!sent.future().isSuccess()) {
            assertThat(sent.future().cause())
                    .isInstanceOfAny(
                            CancellationException.class,
                            CallTimeoutException.class,
                            ConnectionLostException.class,
                            ErrChunkReplyException.class);
            return;
        }
        Object reply = sent.future().getNow();
        if (reply instanceof RpcMessage message) {
            assertThat(message.sinkLength(0)).isEqualTo(sent.expected().length);
            assertThat(ByteBufUtil.getBytes(message.sink(0))).isEqualTo(sent.expected());
            message.release();
        } else {
            byte[] whole = Rpc.bytes((ByteBuf) reply);
            int from = 24 + 8 + 4;
            assertThat(Arrays.copyOfRange(whole, from, from + sent.expected().length))
                    .isEqualTo(sent.expected());
        }
    }
}
