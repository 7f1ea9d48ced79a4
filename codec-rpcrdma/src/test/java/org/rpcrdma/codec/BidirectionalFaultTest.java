// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import static org.assertj.core.api.Assertions.assertThat;
import static org.rpcrdma.codec.RpcPair.PATIENCE_SECONDS;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.util.concurrent.Future;
import java.time.Duration;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.rpcrdma.Proves;
import org.rpcrdma.channel.RdmaEventLoopGroup;
import org.rpcrdma.codec.client.RpcRdmaClient;
import org.rpcrdma.codec.client.RpcRdmaReverseRequester;
import org.rpcrdma.codec.rpc.CallOptions;

/** A connection that is cut while calls, forward and reverse ones, with chunks and without, are under way on it. */
class BidirectionalFaultTest {

    private static final byte[] DATA = Rpc.random(6000);
    private static final int POSITION = 60;
    private static final CallOptions ONCE = CallOptions.DEFAULT.withRetransmission(false);

    private final RpcRdmaMetrics metrics = new RpcRdmaMetrics();
    private final RpcRdmaConfig config =
            RpcRdmaConfig.builder()
                    .bindings(List.of(new BlobBinding()))
                    .reverseCredits(3)
                    .reverseChunks(true)
                    .build();
    private final RdmaEventLoopGroup group = new RdmaEventLoopGroup(1);

    /** Sends the data back. */
    private static final class Program extends ChannelInboundHandlerAdapter {
        @Override
        public void channelRead(ChannelHandlerContext ctx, Object message) {
            ByteBuf call = (ByteBuf) message;
            int length = call.getInt(call.readerIndex() + POSITION - 4);
            byte[] data = new byte[length];
            call.getBytes(call.readerIndex() + POSITION, data);
            int xid = Rpc.xid(call);
            call.release();
            ctx.channel().writeAndFlush(BlobBinding.reply(xid, 4, data));
        }
    }

    /** What the server has called, and how often each call has ended. */
    private static final class Calls {
        final Queue<Future<ByteBuf>> futures = new ConcurrentLinkedQueue<>();
        final List<AtomicInteger> completions = new CopyOnWriteArrayList<>();
        volatile RpcRdmaReverseRequester callback;

        void begin(RpcRdmaReverseRequester made) {
            callback = made;
            for (byte[] data : List.of(new byte[8], DATA, new byte[16], DATA)) {
                AtomicInteger completed = new AtomicInteger();
                completions.add(completed);
                ByteBuf call = BlobBinding.call(BlobBinding.GET, data.length, 8, data);
                Future<ByteBuf> future = made.call(call, ONCE);
                future.addListener(
                        done -> {
                            completed.incrementAndGet();
                            if (done.isSuccess()) {
                                ((ByteBuf) done.getNow()).release();
                            }
                        });
                futures.add(future);
            }
        }

        int ended() {
            return completions.stream().mapToInt(AtomicInteger::get).sum();
        }
    }

    @AfterEach
    void close() {
        group.shutdownGracefully(0, PATIENCE_SECONDS, TimeUnit.SECONDS).syncUninterruptibly();
    }

    private void run(CutProxy.Direction direction, CutProxy.End end, int at, int[] passed)
            throws Exception {
        Calls calls = new Calls();
        try (ScriptedResponder server =
                new ScriptedResponder(
                        config,
                        metrics,
                        (channel, connection, call) -> {
                            calls.begin(
                                    RpcRdmaReverseRequester.builder(config)
                                            .onState(state -> endWith(calls, state))
                                            .attachTo(channel));
                            channel.writeAndFlush(Rpc.reply(Rpc.xid(call)));
                        })) {
            try (CutProxy proxy = new CutProxy(server.address(), direction, end, at)) {
                RpcRdmaClient client =
                        RpcRdmaClient.builder(group, proxy.address())
                                .config(config)
                                .metrics(metrics)
                                .backOff(Duration.ofSeconds(1_000), Duration.ofSeconds(1_000))
                                .connectTimeout(Duration.ofSeconds(1_000))
                                .firstCallTimeout(Duration.ofSeconds(1_000))
                                .reverseProgram(Program::new)
                                .build();
                Future<ByteBuf> forward = client.call(Rpc.echo(0, 0), ONCE);
                if (passed != null) {
                    forward.sync();
                    awaitEnd(calls, 4);
                    passed[0] = proxy.passed();
                    calls.futures.forEach(call -> assertThat(call.isSuccess()).isTrue());
                } else {
                    proxy.awaitReached();
                    assertThat(forward.await(PATIENCE_SECONDS, TimeUnit.SECONDS)).isTrue();
                    awaitEnd(calls, calls.futures.size());
                }
                if (forward.isSuccess()) {
                    forward.getNow().release();
                }
                client.closeAsync().sync();
                assertThat(client.outstandingCalls()).isZero();
            }
            awaitEnd(calls, calls.futures.size());
            if (calls.callback != null) {
                calls.callback.close().sync();
            }
        }
        assertThat(calls.completions).allSatisfy(count -> assertThat(count).hasValue(1));
        assertThat(metrics.connections()).isZero();
        assertThat(metrics.callsInFlight()).isZero();
    }

    /** Nobody comes back: what has not left would wait. */
    private static void endWith(Calls calls, RpcRdmaReverseRequester.State state) {
        if (state == RpcRdmaReverseRequester.State.DOWN && calls.callback != null) {
            calls.callback.close();
        }
    }

    private static void awaitEnd(Calls calls, int count) {
        Awaitility.await()
                .atMost(PATIENCE_SECONDS, TimeUnit.SECONDS)
                .until(() -> calls.ended() >= count);
    }

    @ParameterizedTest
    @CsvSource({
        "TO_ACCEPTING, FINISH",
        "TO_ACCEPTING, RESET",
        "TO_CONNECTING, FINISH",
        "TO_CONNECTING, RESET"
    })
    @Proves({"BIDI-14", "BIDI-23", "BIDI-19"})
    void eachCallEndsOnceWhereverTheConnectionIsCut(CutProxy.Direction direction, CutProxy.End end)
            throws Exception {
        int[] passed = new int[1];
        run(direction, CutProxy.End.FINISH, Integer.MAX_VALUE, passed);
        // All cuts of a call and some of the data, on another grid each time.
        int step = direction == CutProxy.Direction.TO_ACCEPTING ? 523 : 509;
        for (int at = step; at < passed[0]; at += step) {
            run(direction, end, at, null);
        }
    }
}
