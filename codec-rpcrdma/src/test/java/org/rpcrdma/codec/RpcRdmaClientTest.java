// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;
import static org.rpcrdma.codec.RpcPair.on;
import static org.rpcrdma.codec.client.ClientTestAccess.clocked;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.buffer.UnpooledHeapByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelOutboundHandlerAdapter;
import io.netty.channel.ChannelPromise;
import io.netty.util.ReferenceCountUtil;
import io.netty.util.ReferenceCounted;
import io.netty.util.concurrent.DefaultPromise;
import io.netty.util.concurrent.Future;
import io.netty.util.concurrent.GlobalEventExecutor;
import io.netty.util.concurrent.Promise;
import io.netty.util.concurrent.PromiseNotifier;
import java.io.IOException;
import java.net.ConnectException;
import java.net.InetSocketAddress;
import java.nio.channels.ClosedChannelException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.rpcrdma.NeedsDevice;
import org.rpcrdma.Proves;
import org.rpcrdma.channel.RdmaChannel;
import org.rpcrdma.channel.RdmaChannelOption;
import org.rpcrdma.channel.RdmaEventLoopGroup;
import org.rpcrdma.channel.RdmaRead;
import org.rpcrdma.channel.RdmaWrite;
import org.rpcrdma.codec.client.ClientTestAccess;
import org.rpcrdma.codec.client.ManualClock;
import org.rpcrdma.codec.client.RpcRdmaClient;
import org.rpcrdma.codec.rpc.CallMarshaller;
import org.rpcrdma.codec.rpc.CallOptions;
import org.rpcrdma.codec.rpc.CallOptions.Repetition;
import org.rpcrdma.codec.wire.TransportHeader;

/** The client against responders that fail in every way, over the software RNIC. */
class RpcRdmaClientTest {

    private static final CallOptions ONCE = CallOptions.DEFAULT.withRetransmission(false);
    private static final CallOptions HASTY = CallOptions.DEFAULT.withTimeout(Duration.ofMillis(1));

    private final RpcRdmaConfig config =
            RpcPair.usual()
                    .bindings(List.of(new BlobBinding()))
                    .announceReadChunkReplies(false)
                    .maxMessageBytes(4 << 20)
                    .build();
    private final RdmaEventLoopGroup group = new RdmaEventLoopGroup(2);
    private final ManualClock clock = new ManualClock();
    private ScriptedResponder responder;
    private RpcRdmaClient client;

    @AfterEach
    void close() {
        if (client != null) {
            client.closeAsync().awaitUninterruptibly();
            assertThat(client.outstandingCalls()).isZero();
        }
        if (responder != null) {
            responder.close();
        }
        group.shutdownGracefully(0, RpcPair.PATIENCE_SECONDS, TimeUnit.SECONDS)
                .syncUninterruptibly();
    }

    private RpcRdmaClient.Builder builder(InetSocketAddress address) {
        return RpcRdmaClient.builder(group, address)
                .config(config)
                .backOff(Duration.ofMillis(1), Duration.ofMillis(5))
                .firstCallTimeout(Duration.ofSeconds(1_000));
    }

    private void manual() throws Exception {
        responder = ScriptedResponder.manual(config);
        client = builder(responder.address()).build();
    }

    /** As {@link #manual}, with a time that stands still. */
    private void timed(long firstCallMillis) throws Exception {
        responder = ScriptedResponder.manual(config);
        client =
                clocked(builder(responder.address()), clock)
                        .firstCallTimeout(Duration.ofMillis(firstCallMillis))
                        .build();
    }

    private static <T> T get(Future<T> future) throws Exception {
        return future.get(RpcPair.PATIENCE_SECONDS, TimeUnit.SECONDS);
    }

    private static <T extends Throwable> T failure(Future<?> future, Class<T> type)
            throws Exception {
        assertThat(future.await(RpcPair.PATIENCE_SECONDS, TimeUnit.SECONDS)).isTrue();
        assertThat(future.cause()).isInstanceOf(type);
        return type.cast(future.cause());
    }

    private static ByteBuf answer() {
        return BlobBinding.reply(0, 4, new byte[0]);
    }

    private static void done(Future<ByteBuf> future) throws Exception {
        get(future).release();
    }

    @Test
    void connectsWhenTheFirstCallNeedsIt() throws Exception {
        manual();
        assertThat(responder.accepted).isEmpty();
        Future<ByteBuf> call = client.call(Rpc.echo(0, 8));
        ScriptedResponder.Call received = responder.take();
        assertThat(received.bytes()).hasSize(48);
        received.reply(Rpc.reply(0));
        ByteBuf reply = get(call);
        assertThat(Rpc.xid(reply)).isEqualTo(received.xid());
        reply.release();
        assertThat(responder.accepted).hasSize(1);
    }

    @NeedsDevice("privateDataOnAccept")
    @Test
    @Proves("API-16")
    void connectMakesAllConnectionsAndShowsWhatWasNegotiated() throws Exception {
        RpcRdmaConfig small = RpcPair.usual().receiveSize(2048).remoteInvalidation(false).build();
        responder = ScriptedResponder.manual(small);
        client = builder(responder.address()).connections(3).build();
        assertThat(client.openConnections()).isEmpty();
        get(client.connect());
        get(client.connect());
        await().until(() -> responder.accepted.size() == 3);
        List<RpcRdmaConnection> open = client.openConnections();
        assertThat(open).hasSize(3);
        assertThat(open).extracting(RpcRdmaConnection::sendThreshold).containsOnly(2048);
        assertThat(open).extracting(RpcRdmaConnection::peer).containsOnly(small.privateData());
        Future<ByteBuf> call = client.call(Rpc.echo(0, 8));
        responder.take().reply(Rpc.reply(0));
        done(call);
        assertThat(responder.accepted).hasSize(3);
        client.closeAsync().syncUninterruptibly();
        assertThat(client.openConnections()).isEmpty();
        failure(client.connect(), ClosedChannelException.class);
    }

    /** The close is told of before the channel is inactive. */
    @Test
    void connectAfterACloseGivesAnotherConnection() throws Exception {
        responder = ScriptedResponder.manual(config);
        AtomicReference<Channel> made = new AtomicReference<>();
        client =
                builder(responder.address())
                        .backOff(Duration.ofSeconds(1_000), Duration.ofSeconds(1_000))
                        .handler(
                                () ->
                                        new ChannelInboundHandlerAdapter() {
                                            @Override
                                            public void handlerAdded(ChannelHandlerContext ctx) {
                                                made.set(ctx.channel());
                                            }
                                        })
                        .build();
        get(client.connect());
        RpcRdmaConnection first = client.openConnections().get(0);
        Promise<Void> again = new DefaultPromise<>(GlobalEventExecutor.INSTANCE);
        made.get()
                .closeFuture()
                .addListener(closed -> client.connect().addListener(new PromiseNotifier<>(again)));
        made.get().close();
        get(again);
        assertThat(client.openConnections()).hasSize(1).doesNotContain(first);
    }

    @Test
    void eachChannelHasTheOptions() throws Exception {
        responder = ScriptedResponder.manual(config);
        AtomicReference<Channel> made = new AtomicReference<>();
        client =
                builder(responder.address())
                        .option(RdmaChannelOption.KEEP_ALIVE_SECONDS, 7)
                        .option(RdmaChannelOption.RECEIVE_DEPTH, 1) // the configuration's stays
                        .handler(
                                () ->
                                        new ChannelInboundHandlerAdapter() {
                                            @Override
                                            public void handlerAdded(ChannelHandlerContext ctx) {
                                                made.set(ctx.channel());
                                            }
                                        })
                        .build();
        get(client.connect());
        assertThat(made.get().config().getOption(RdmaChannelOption.KEEP_ALIVE_SECONDS))
                .isEqualTo(7);
        assertThat(made.get().config().getOption(RdmaChannelOption.RECEIVE_DEPTH)).isGreaterThan(1);
    }

    @Test
    void connectFailsAtOnceWhenNobodyListens() throws Exception {
        manual();
        responder.stopListening();
        client =
                builder(responder.address())
                        .connections(2)
                        .backOff(Duration.ofSeconds(1_000), Duration.ofSeconds(1_000))
                        .build();
        failure(client.connect(), ConnectException.class);
        failure(client.connect(), ConnectException.class);
        Future<Void> last = client.connect();
        client.closeAsync().syncUninterruptibly();
        assertThat(last.await(RpcPair.PATIENCE_SECONDS, TimeUnit.SECONDS)).isTrue();
        assertThat(last.isSuccess()).isFalse();
    }

    @Test
    void callsAreSpreadOverTheConnections() throws Exception {
        responder = ScriptedResponder.manual(config);
        client = builder(responder.address()).connections(3).build();
        List<Future<ByteBuf>> futures = new ArrayList<>();
        Set<Integer> connections = new HashSet<>();
        Set<Integer> xids = new HashSet<>();
        List<ScriptedResponder.Call> received = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            futures.add(client.call(Rpc.echo(0, 8)));
            received.add(responder.take());
        }
        received.forEach(call -> connections.add(call.connection()));
        assertThat(connections).hasSize(3);
        assertThat(client.outstandingCalls()).isEqualTo(3);
        received.forEach(call -> call.reply(Rpc.reply(0)));
        for (Future<ByteBuf> future : futures) {
            done(future);
        }
        futures.clear();
        for (int i = 0; i < 90; i++) {
            futures.add(client.call(Rpc.echo(0, 8)));
        }
        int[] perConnection = new int[3];
        for (int i = 0; i < 90; i++) {
            ScriptedResponder.Call call = responder.take();
            xids.add(call.xid());
            perConnection[call.connection()]++;
            received.add(call);
        }
        assertThat(xids).hasSize(90);
        assertThat(perConnection).containsOnly(30);
        received.subList(3, 93).forEach(call -> call.reply(Rpc.reply(0)));
        for (Future<ByteBuf> future : futures) {
            done(future);
        }
    }

    @Test
    @Proves({"V1-CRED-19", "V1-ERR-22", "V1-CRED-12", "V1-MR-10"})
    void lostConnectionRetransmitsWithTheSameXidAndOneCredit() throws Exception {
        manual();
        byte[] data = Rpc.random(9000);
        Future<ByteBuf> first = client.call(Rpc.echo(0, 8));
        responder.take().reply(Rpc.reply(0));
        done(first);
        ByteBuf sink = Unpooled.directBuffer(9000, 9000);
        List<Integer> xids = new ArrayList<>();
        Future<RpcMessage> get =
                client.call(
                        new RpcMessage(BlobBinding.call(BlobBinding.GET, 9000, 4, new byte[0]))
                                .addSink(sink));
        List<Future<ByteBuf>> others = new ArrayList<>();
        for (int i = 0; i < 5; i++) {
            others.add(client.call(Rpc.echo(0, 8)));
        }
        for (int i = 0; i < 6; i++) {
            xids.add(responder.take().xid());
        }
        responder.accepted.get(0).close();

        ScriptedResponder.Call again = responder.take();
        assertThat(again.xid()).isEqualTo(xids.get(0));
        assertThat(again.connection()).isEqualTo(1);
        RpcPair.settle(responder.accepted.get(1));
        assertThat(responder.calls).isEmpty(); // one call on a fresh connection
        again.reply(BlobBinding.reply(0, 4, data));
        RpcMessage reply = get(get);
        assertThat(reply.sink(0)).isSameAs(sink);
        assertThat(ByteBufUtil.getBytes(sink, 0, 9000)).isEqualTo(data);
        reply.release();
        assertThat(sink.refCnt()).isZero();
        for (int i = 1; i < 6; i++) {
            ScriptedResponder.Call call = responder.take();
            assertThat(call.xid()).isEqualTo(xids.get(i));
            call.reply(Rpc.reply(0));
            done(others.get(i - 1));
        }
        assertThat(client.metrics().value(RpcRdmaCounter.CALLS_RETRANSMITTED)).isEqualTo(6);
    }

    @Test
    @Proves({"API-13"})
    void callsThatMayNotBeRetransmittedFailWithTheirFate() throws Exception {
        manual();
        ByteBuf get = BlobBinding.call(BlobBinding.GET, 0, 4, new byte[8]);
        ByteBuf append = BlobBinding.call(BlobBinding.APPEND, 0, 4, new byte[8]);
        Future<ByteBuf> first = client.call(Rpc.echo(0, 8));
        responder.take().reply(Rpc.reply(0));
        done(first);
        Future<ByteBuf> idempotent = client.call(get, ONCE);
        Future<ByteBuf> other = client.call(append, ONCE);
        responder.take();
        responder.take();
        responder.accepted.get(0).close();
        ConnectionLostException lost = failure(idempotent, ConnectionLostException.class);
        assertThat(lost.isSent()).isTrue();
        assertThat(lost.isRetryable()).isTrue();
        lost = failure(other, ConnectionLostException.class);
        assertThat(lost.isSent()).isTrue();
        assertThat(lost.isRetryable()).isFalse();
        assertThat(lost).hasMessageContaining("do not repeat");
        assertThat(get.refCnt() + append.refCnt()).isZero();
        assertThat(responder.accepted).hasSize(1); // nobody needs another one
    }

    @Test
    void callsThatWaitForACreditWereNotSent() throws Exception {
        manual();
        Future<ByteBuf> first =
                client.call(BlobBinding.call(BlobBinding.APPEND, 0, 4, new byte[8]), ONCE);
        Future<ByteBuf> second =
                client.call(BlobBinding.call(BlobBinding.APPEND, 0, 4, new byte[8]), ONCE);
        responder.take();
        responder.accepted.get(0).close();
        assertThat(failure(first, ConnectionLostException.class).isSent()).isTrue();
        responder.take().reply(answer());
        done(second);
    }

    @Test
    void aCallSurvivesOnlySoManyLosses() throws Exception {
        responder = new ScriptedResponder(config, (channel, connection, call) -> channel.close());
        client = builder(responder.address()).maxRetransmissions(3).build();
        ConnectionLostException lost =
                failure(client.call(Rpc.echo(0, 8)), ConnectionLostException.class);
        assertThat(lost.isSent()).isTrue();
        assertThat(lost).hasMessageContaining("4 times");
        assertThat(responder.accepted).hasSize(4);
        Set<Integer> xids = new HashSet<>();
        responder.calls.forEach(call -> xids.add(call.xid()));
        assertThat(xids).hasSize(1);
    }

    /** As when a server takes a while to start again. */
    @Test
    @Proves("V1-ERR-22")
    void aCallIsSentAgainUntilItsTimeIsOver() throws Exception {
        responder =
                new ScriptedResponder(
                        config,
                        (channel, connection, call) -> {
                            if (connection < 20) {
                                channel.close();
                            } else {
                                channel.writeAndFlush(Rpc.reply(Rpc.xid(call)));
                            }
                        });
        client = clocked(builder(responder.address()), clock).build();
        Future<ByteBuf> patient = client.call(Rpc.echo(0, 8));
        await().until(
                        () -> {
                            clock.advanceMillis(5);
                            return patient.isDone();
                        });
        done(patient);
    }

    /** They say nothing of the call that the responder is still at work on. */
    @Test
    @Proves("API-13")
    void callsThatAreLateDoNotEndTheConnectionOfOneThatHasTime() throws Exception {
        timed(1_000_000);
        Future<ByteBuf> first = client.call(Rpc.echo(0, 8));
        responder.take().reply(Rpc.reply(0));
        done(first);
        Future<ByteBuf> late = client.call(Rpc.echo(0, 8), HASTY);
        responder.take();
        Future<ByteBuf> patient =
                client.call(
                        Rpc.echo(0, 8), CallOptions.DEFAULT.withTimeout(Duration.ofSeconds(15)));
        ScriptedResponder.Call work = responder.take();
        for (int i = 0; i < 10; i++) {
            clock.advanceMillis(1);
            failure(late, CallTimeoutException.class);
            late = client.call(Rpc.echo(0, 8), HASTY);
            responder.take();
        }
        work.reply(Rpc.reply(0));
        done(patient);
        late.cancel(false);
        assertThat(responder.accepted).hasSize(1);
    }

    /** What was left was not lost: this call survives no loss. */
    @Test
    @Proves("V1-ERR-22")
    void aConnectionThatIsLeftIsNoLoss() throws Exception {
        responder = ScriptedResponder.manual(config);
        client =
                clocked(builder(responder.address()), clock)
                        .firstCallTimeout(Duration.ofMillis(1))
                        .maxRetransmissions(0)
                        .build();
        Future<ByteBuf> call = client.call(Rpc.echo(0, 8));
        responder.take();
        clock.advanceMillis(1); // nothing has come in the time of a first call
        responder.take().reply(Rpc.reply(0));
        done(call);
    }

    @Test
    void nobodyListens() throws Exception {
        manual();
        responder.stopListening();
        client = builder(responder.address()).maxRetransmissions(2).build();
        ByteBuf call = Rpc.echo(0, 8);
        ConnectionLostException lost = failure(client.call(call), ConnectionLostException.class);
        assertThat(lost.isSent()).isFalse();
        assertThat(lost.isRetryable()).isTrue();
        assertThat(lost).hasCauseInstanceOf(ConnectException.class);
        assertThat(call.refCnt()).isZero();
        // A time-out while it waits for the next attempt says why nothing was sent.
        RpcRdmaClient patient =
                clocked(builder(responder.address()), clock)
                        .backOff(Duration.ofSeconds(100), Duration.ofSeconds(100))
                        .maxRetransmissions(99)
                        .build();
        Future<ByteBuf> waits =
                patient.call(
                        Rpc.echo(0, 8), CallOptions.DEFAULT.withTimeout(Duration.ofMillis(50)));
        failure(patient.connect(), ConnectException.class); // the second attempt
        clock.advanceMillis(50);
        CallTimeoutException late = failure(waits, CallTimeoutException.class);
        assertThat(late.isSent()).isFalse();
        assertThat(late)
                .hasCauseInstanceOf(ConnectException.class)
                .hasMessageContaining("there was no connection: Connection refused");
        patient.closeAsync().syncUninterruptibly();
    }

    @Test
    void timedOutCallThatOnlyWaitedForACreditWasNotSent() throws Exception {
        timed(1_000_000);
        Future<ByteBuf> first = client.call(Rpc.echo(0, 8));
        ScriptedResponder.Call out = responder.take();
        Future<ByteBuf> waits =
                client.call(Rpc.echo(0, 8), CallOptions.DEFAULT.withTimeout(Duration.ofMillis(50)));
        RpcRdmaConnection connection = client.openConnections().get(0);
        await().until(() -> connection.value(RpcRdmaGauge.CALLS_WAITING) == 1);
        clock.advanceMillis(50);
        CallTimeoutException timeout = failure(waits, CallTimeoutException.class);
        assertThat(timeout.isSent()).isFalse();
        assertThat(timeout)
                .hasMessage(
                        "no answer within 50 ms; the call was not sent, it waited for a"
                                + " connection, a credit or memory");
        out.reply(Rpc.reply(0));
        done(first);
    }

    @Test
    @Proves({"V1-CRED-16", "V1-MR-03", "API-10", "API-13"})
    void timedOutCallLeavesItsMemoryWithTheTransport() throws Exception {
        timed(1_000_000);
        Future<ByteBuf> first = client.call(Rpc.echo(0, 8));
        responder.take().reply(Rpc.reply(0));
        done(first);
        // Another call that may not be lost keeps the connection although it is silent.
        Future<ByteBuf> slow = client.call(Rpc.echo(0, 8), ONCE);
        ScriptedResponder.Call slowCall = responder.take();
        ByteBuf sink = Unpooled.directBuffer(9000, 9000).retain();
        Future<RpcMessage> late =
                client.call(
                        new RpcMessage(BlobBinding.call(BlobBinding.GET, 9000, 4, new byte[0]))
                                .addSink(sink),
                        CallOptions.DEFAULT.withTimeout(Duration.ofMillis(200)));
        ScriptedResponder.Call received = responder.take();
        clock.advanceMillis(200);
        CallTimeoutException timeout = failure(late, CallTimeoutException.class);
        assertThat(timeout).hasMessageContaining("200 ms");
        assertThat(timeout.isSent()).isTrue();
        assertThat(sink.refCnt()).isEqualTo(2);
        received.reply(BlobBinding.reply(0, 4, Rpc.random(9000)));
        await().until(() -> sink.refCnt() == 1);
        sink.release();
        slowCall.reply(Rpc.reply(0));
        done(slow);
        assertThat(responder.accepted).hasSize(1);
    }

    @Test
    void aConnectionThatAnswersOthersIsKept() throws Exception {
        responder = ScriptedResponder.manual(config);
        client = clocked(builder(responder.address()), clock).build();
        Future<ByteBuf> first = client.call(Rpc.echo(0, 8));
        responder.take().reply(Rpc.reply(0));
        done(first);
        Future<ByteBuf> late =
                client.call(Rpc.echo(0, 8), CallOptions.DEFAULT.withTimeout(Duration.ofMillis(10)));
        responder.take();
        Future<ByteBuf> other = client.call(Rpc.echo(0, 8));
        responder.take().reply(Rpc.reply(0));
        done(other);
        clock.advanceMillis(10);
        failure(late, CallTimeoutException.class);
        Future<ByteBuf> next = client.call(Rpc.echo(0, 8));
        ScriptedResponder.Call received = responder.take();
        assertThat(received.connection()).isZero();
        received.reply(Rpc.reply(0));
        done(next);
    }

    @Test
    void aSilentConnectionIsReplaced() throws Exception {
        responder = ScriptedResponder.manual(config);
        client = clocked(builder(responder.address()), clock).maxRetransmissions(0).build();
        Future<ByteBuf> first = client.call(Rpc.echo(0, 8));
        responder.take().reply(Rpc.reply(0));
        done(first);
        CallOptions tenMillis = CallOptions.DEFAULT.withTimeout(Duration.ofMillis(10));
        Future<ByteBuf> late = client.call(Rpc.echo(0, 8), tenMillis);
        responder.take();
        clock.advanceMillis(5);
        Future<ByteBuf> patient = client.call(Rpc.echo(0, 8), tenMillis);
        responder.take();
        clock.advanceMillis(5);
        failure(late, CallTimeoutException.class);
        ScriptedResponder.Call again = responder.take();
        assertThat(again.connection()).isEqualTo(1);
        again.reply(Rpc.reply(0));
        done(patient);
    }

    /** It keeps its credit (V1-CRED-16), so nothing goes out any more, and what waits for a credit loses nothing. */
    @Test
    @Proves({"V1-CRED-16", "V1-ERR-04"})
    void aConnectionWhoseCreditsAreGoneIsReplacedThoughOtherCallsWait() throws Exception {
        responder =
                new ScriptedResponder(
                        config,
                        new ScriptedResponder.Script() {
                            @Override
                            public boolean isRaw(int connection) {
                                return connection == 0;
                            }

                            @Override
                            public void received(
                                    RdmaChannel channel, int connection, ByteBuf call) {
                                if (connection == 0) {
                                    channel.writeAndFlush(replyInChunkOfNobody(Rpc.xid(call)));
                                }
                            }
                        });
        client = clocked(builder(responder.address()), clock).build();
        CallOptions once = ONCE.withTimeout(Duration.ofMillis(10));
        Future<ByteBuf> lost = client.call(Rpc.echo(0, 8), once);
        assertThat(responder.take().connection()).isZero();
        RpcRdmaConnection first = client.openConnections().get(0);
        await().until(() -> first.value(RpcRdmaCounter.DROPPED_BAD_REPLY) == 1);
        clock.advanceMillis(5);
        Future<ByteBuf> queued = client.call(Rpc.echo(0, 8), once);
        await().until(() -> first.value(RpcRdmaCounter.CALLS_QUEUED) == 1);
        clock.advanceMillis(5);
        failure(lost, CallTimeoutException.class);
        ScriptedResponder.Call moved = responder.take();
        assertThat(moved.connection()).isEqualTo(1);
        moved.reply(Rpc.reply(0));
        done(queued);
    }

    /** A reply with a Reply chunk that no call has offered. */
    private static ByteBuf replyInChunkOfNobody(int xid) {
        ByteBuf reply = Unpooled.buffer();
        for (int word : new int[] {xid, 1, 16, 0, 0, 0, 1, 1, 0x4711, 64, 0, 0}) {
            reply.writeInt(word);
        }
        ByteBuf payload = Rpc.reply(xid);
        reply.writeBytes(payload);
        payload.release();
        return reply;
    }

    @NeedsDevice("privateDataOnAccept")
    @Test
    @Proves("PD-15")
    void theNextConnectionMayHaveOtherThresholds() throws Exception {
        responder =
                new ScriptedResponder(
                        config,
                        new ScriptedResponder.Script() {
                            @Override
                            public void received(
                                    RdmaChannel channel, int connection, ByteBuf call) {
                                channel.writeAndFlush(Rpc.reply(Rpc.xid(call)));
                            }

                            @Override
                            public void initialized(RdmaChannel channel, int connection) {
                                int size = 1024 << connection;
                                channel.config()
                                        .setPrivateData(
                                                new PrivateData(size, size, false).encode());
                            }
                        });
        client = builder(responder.address()).build();
        for (int size : new int[] {1024, 2048}) {
            done(client.call(Rpc.echo(0, 8)));
            RpcRdmaConnection connection = client.openConnections().get(0);
            assertThat(connection.sendThreshold()).isEqualTo(size);
            assertThat(connection.receiveThreshold()).isEqualTo(size);
            responder.accepted.get(responder.accepted.size() - 1).close().sync();
            await().until(() -> client.openConnections().isEmpty());
        }
    }

    @Test
    @Proves({"ULB-23", "ULB-24"})
    void unansweredFirstCallTriesAFreshConnection() throws Exception {
        responder = ScriptedResponder.manual(config);
        client =
                clocked(builder(responder.address()), clock)
                        .backOff(Duration.ofSeconds(100), Duration.ofSeconds(100))
                        .firstCallTimeout(Duration.ofMillis(1))
                        .build();
        Future<ByteBuf> call = client.call(Rpc.echo(0, 8));
        ScriptedResponder.Call first = responder.take();
        for (int doubled = 1; doubled <= 4; doubled <<= 1) {
            clock.advanceMillis(doubled);
            ScriptedResponder.Call again = responder.take();
            assertThat(again.xid()).isEqualTo(first.xid());
            assertThat(again.connection()).isEqualTo(first.connection() + 1);
            first = again;
        }
        first.reply(Rpc.reply(0));
        done(call);
        assertThat(responder.accepted).hasSize(4);
    }

    @Test
    @Proves("API-23")
    void aFirstCallThatFailsHereSaysNothingOfTheResponder() throws Exception {
        timed(1);
        get(client.connect());
        Future<ByteBuf> tooLong = client.call(Rpc.call(0, Rpc.UNKNOWN, 1, 1).writeZero(5 << 20));
        failure(tooLong, CallTooLongException.class);
        clock.advanceMillis(1);
        Future<ByteBuf> good = client.call(Rpc.echo(0, 8));
        responder.take().reply(Rpc.reply(0));
        done(good);
        assertThat(responder.accepted).hasSize(1);
    }

    @Test
    void lateReplyToACancelledFirstCallIsLife() throws Exception {
        int firstCallMillis = 2000;
        timed(firstCallMillis);
        Future<ByteBuf> first = client.call(Rpc.echo(0, 8));
        ScriptedResponder.Call received = responder.take();
        first.cancel(false);
        Future<ByteBuf> second = client.call(Rpc.echo(0, 8), ONCE);
        received.reply(Rpc.reply(0));
        // The late reply has given back the only credit.
        ScriptedResponder.Call next = responder.take();
        // The time of this one is over later than that of the first call.
        Future<ByteBuf> late =
                client.call(
                        Rpc.echo(0, 8),
                        CallOptions.DEFAULT.withTimeout(Duration.ofMillis(firstCallMillis)));
        clock.advanceMillis(firstCallMillis);
        failure(late, CallTimeoutException.class);
        next.reply(Rpc.reply(0));
        done(second);
        assertThat(responder.accepted).hasSize(1);
    }

    @Test
    void callThatMayNotBeRetransmittedIsNotTimedByThoseBehindIt() throws Exception {
        timed(1);
        Future<ByteBuf> slow =
                client.call(BlobBinding.call(BlobBinding.APPEND, 0, 4, new byte[8]), ONCE);
        Future<ByteBuf> behind =
                client.call(
                        Rpc.echo(0, 8), CallOptions.DEFAULT.withTimeout(Duration.ofMillis(100)));
        ScriptedResponder.Call received = responder.take();
        clock.advanceMillis(100);
        failure(behind, CallTimeoutException.class);
        received.reply(answer());
        done(slow);
        assertThat(responder.accepted).hasSize(1);
    }

    @Test
    @Proves({"V1-CRED-16", "V1-MR-03", "API-11"})
    void cancelledCallCompletesOnceAndHarmsNobody() throws Exception {
        manual();
        Future<ByteBuf> first = client.call(Rpc.echo(0, 8));
        ByteBuf queuedCall = Rpc.echo(0, 8);
        Future<ByteBuf> queued = client.call(queuedCall);
        ScriptedResponder.Call one = responder.take();
        assertThat(queued.cancel(false)).isTrue();
        await().until(() -> queuedCall.refCnt() == 0);
        one.reply(Rpc.reply(0));
        done(first);

        ByteBuf sink = Unpooled.directBuffer(9000, 9000).retain();
        Future<RpcMessage> sent =
                client.call(
                        new RpcMessage(BlobBinding.call(BlobBinding.GET, 9000, 4, new byte[0]))
                                .addSink(sink));
        AtomicInteger completions = new AtomicInteger();
        sent.addListener(future -> completions.incrementAndGet());
        ScriptedResponder.Call received = responder.take();
        assertThat(sent.cancel(false)).isTrue();
        assertThatThrownBy(sent::sync).isInstanceOf(CancellationException.class);
        Future<ByteBuf> next = client.call(Rpc.echo(0, 8));
        ScriptedResponder.Call nextCall = responder.take();
        assertThat(nextCall.xid()).isNotEqualTo(received.xid());
        assertThat(sink.refCnt()).isEqualTo(2);
        received.reply(BlobBinding.reply(0, 4, Rpc.random(9000)));
        nextCall.reply(Rpc.reply(0));
        done(next);
        assertThat(sink.refCnt()).isEqualTo(1);
        sink.release();
        assertThat(completions).hasValue(1);
        assertThat(responder.accepted).hasSize(1);
    }

    @Test
    @Proves("V1-MR-03")
    void cancelledCallIsNotRetransmitted() throws Exception {
        manual();
        ByteBuf sink = Unpooled.directBuffer(9000, 9000);
        Future<RpcMessage> sent =
                client.call(
                        new RpcMessage(BlobBinding.call(BlobBinding.GET, 9000, 4, new byte[0]))
                                .addSink(sink));
        int xid = responder.take().xid();
        sent.cancel(false);
        responder.accepted.get(0).close();
        await().until(() -> sink.refCnt() == 0);
        Future<ByteBuf> next = client.call(Rpc.echo(0, 8));
        ScriptedResponder.Call received = responder.take();
        assertThat(received.xid()).isNotEqualTo(xid);
        received.reply(Rpc.reply(0));
        done(next);
    }

    @Test
    @Proves({"API-11"})
    void closeFailsAll() throws Exception {
        manual();
        List<ByteBuf> messages = new ArrayList<>();
        List<Future<ByteBuf>> futures = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            messages.add(Rpc.echo(0, 8));
            futures.add(client.call(messages.get(i)));
        }
        responder.take();
        client.closeAsync().syncUninterruptibly();
        futures.add(client.call(Rpc.echo(0, 8)));
        for (Future<ByteBuf> future : futures) {
            assertThat(failure(future, ConnectionLostException.class))
                    .hasMessageContaining("client was closed");
        }
        assertThat(messages).allMatch(message -> message.refCnt() == 0);
        client.closeAsync().syncUninterruptibly();
    }

    /** The first one cannot be looked at any more: nobody knows then whether it is idempotent. */
    @Test
    @Proves("API-11")
    void aMessageThatWasReleasedTooOftenKeepsNoOtherCallFromItsEnd() throws Exception {
        manual();
        ByteBuf message = Rpc.echo(0, 8);
        Future<ByteBuf> released = client.call(message);
        responder.take();
        Future<ByteBuf> other = client.call(Rpc.echo(0, 8));
        await().until(() -> message.refCnt() == 1);
        message.release();
        Future<Void> closed = client.closeAsync();
        client = null; // a failed test does not wait for its end
        assertThat(failure(released, ConnectionLostException.class).isRetryable()).isFalse();
        failure(other, ConnectionLostException.class);
        get(closed);
    }

    @Test
    void closeWhileConnectingOrWaitingFailsAll() throws Exception {
        manual();
        responder.stopListening();
        client =
                builder(responder.address())
                        .backOff(Duration.ofSeconds(1_000), Duration.ofSeconds(1_000))
                        .maxRetransmissions(99)
                        .build();
        Future<ByteBuf> waiting = client.call(Rpc.echo(0, 8));
        client.closeAsync().syncUninterruptibly();
        failure(waiting, ConnectionLostException.class);
    }

    @Test
    void eventLoopThatEndsFailsAll() throws Exception {
        manual();
        Future<ByteBuf> sent = client.call(Rpc.echo(0, 8));
        responder.take();
        responder.stopListening();
        RdmaEventLoopGroup own = new RdmaEventLoopGroup(1);
        RpcRdmaClient other =
                RpcRdmaClient.builder(own, responder.address())
                        .config(config)
                        .backOff(Duration.ofSeconds(1_000), Duration.ofSeconds(1_000))
                        .maxRetransmissions(99)
                        .build();
        Future<ByteBuf> waiting = other.call(Rpc.echo(0, 8));
        own.shutdownGracefully(0, RpcPair.PATIENCE_SECONDS, TimeUnit.SECONDS).sync();
        failure(waiting, ConnectionLostException.class);
        failure(other.call(Rpc.echo(0, 8)), ConnectionLostException.class);
        assertThat(other.outstandingCalls()).isZero();
        group.shutdownGracefully(0, RpcPair.PATIENCE_SECONDS, TimeUnit.SECONDS).sync();
        failure(sent, ConnectionLostException.class);
    }

    @Test
    @Proves({"V1-ERR-20", "API-13"})
    void localFailuresHarmNobody() throws Exception {
        manual();
        Future<ByteBuf> tooLong = client.call(Rpc.call(0, Rpc.UNKNOWN, 1, 1).writeZero(5 << 20));
        failure(tooLong, CallTooLongException.class);
        Future<RpcMessage> wrong =
                client.call(
                        new RpcMessage(Rpc.echo(0, 100))
                                .addItem(140, Unpooled.directBuffer().writeZero(9000)));
        failure(wrong, DdpEligibilityException.class);
        ByteBuf mark = Unpooled.buffer().writeInt(0x80000028).writeInt(7).writeZero(40);
        assertThat(failure(client.call(mark), IllegalArgumentException.class))
                .hasMessageContaining("record mark");
        assertThat(mark.refCnt()).isZero();
        failure(client.call(Rpc.echo(0, 8).asReadOnly()), IllegalArgumentException.class);
        Future<ByteBuf> good = client.call(Rpc.echo(0, 8));
        responder.take().reply(Rpc.reply(0));
        done(good);
        assertThat(responder.accepted).hasSize(1);
    }

    @Test
    void whoeverIsToldOfAFailureMayCancelTheOtherCalls() throws Exception {
        timed(1_000_000);
        Future<ByteBuf> first = client.call(Rpc.echo(0, 8));
        responder.take().reply(Rpc.reply(0));
        done(first);
        List<ByteBuf> messages = new ArrayList<>();
        List<Future<ByteBuf>> lost = threeOfWhichTheFirstCancelsTheSecond(messages, ONCE, 8);
        for (int i = 0; i < 3; i++) {
            responder.take();
        }
        responder.accepted.get(0).close();
        firstCancelsSecond(lost, messages, ConnectionLostException.class);
        failure(lost.get(2), ConnectionLostException.class);

        // All are late when the timer comes.
        List<Future<ByteBuf>> late = new ArrayList<>();
        Channel channel = openChannel();
        on(
                channel,
                () -> {
                    late.addAll(threeOfWhichTheFirstCancelsTheSecond(messages, HASTY, 8));
                    clock.advanceMillis(1);
                    return null;
                });
        firstCancelsSecond(late, messages, CallTimeoutException.class);
        failure(late.get(2), CallTimeoutException.class);
        assertThat(client.outstandingCalls()).isZero();
    }

    /** The first call fails when it is written, with others behind it. */
    @Test
    void whoeverIsToldOfAFailureMayCancelTheCallsBehindIt() throws Exception {
        manual();
        List<ByteBuf> messages = new ArrayList<>();
        List<Future<ByteBuf>> calls =
                on( // so that all of them begin in one event
                        openChannel(),
                        () ->
                                threeOfWhichTheFirstCancelsTheSecond(
                                        messages, CallOptions.DEFAULT, 5 << 20));
        firstCancelsSecond(calls, messages, CallTooLongException.class);
        // The second was out when the failure of the first was told; its late reply gives back
        // the credit.
        responder.take().reply(Rpc.reply(0));
        responder.take().reply(Rpc.reply(0));
        done(calls.get(2));
        assertThat(responder.calls).isEmpty();
        assertThat(responder.accepted).hasSize(1);
    }

    @Test
    void callsThatAreLateAtOnceFailInTheOrderTheyWereMade() throws Exception {
        responder = ScriptedResponder.manual(config);
        // Several connections to one responder make gaps between the XIDs of each.
        client = clocked(builder(responder.address()), clock).connections(4).build();
        client.connect().sync();
        List<ByteBuf> failed = new CopyOnWriteArrayList<>();
        List<Future<ByteBuf>> late = new ArrayList<>();
        on(
                client.openConnections().get(0).link().channel,
                () -> {
                    for (int i = 0; i < 64; i++) {
                        ByteBuf message = Rpc.echo(0, 8);
                        Future<ByteBuf> call = client.call(message.retain(), HASTY);
                        late.add(call.addListener(done -> failed.add(message)));
                    }
                    clock.advanceMillis(1);
                    return null;
                });
        for (Future<ByteBuf> call : late) {
            failure(call, CallTimeoutException.class);
        }
        // Listeners are told after those who wait.
        await().atMost(RpcPair.PATIENCE_SECONDS, TimeUnit.SECONDS).until(() -> failed.size() == 64);
        // The lowest bits tell the connection; each has a timer of its own.
        Map<Integer, List<Integer>> xids =
                failed.stream().map(Rpc::xid).collect(Collectors.groupingBy(xid -> xid & 3));
        failed.forEach(ByteBuf::release);
        assertThat(xids.values())
                .allSatisfy(
                        ofOne ->
                                assertThat(ofOne)
                                        .isSortedAccordingTo((a, b) -> Integer.signum(a - b)));
    }

    /** A message that can be looked at, but not copied into a Send. */
    private static final class UncopiedMessage extends UnpooledHeapByteBuf {
        UncopiedMessage(ByteBuf message) {
            super(UnpooledByteBufAllocator.DEFAULT, message.readableBytes(), Integer.MAX_VALUE);
            for (int i = 0; i < message.readableBytes(); i++) {
                writeByte(message.getByte(i));
            }
            message.release();
        }

        @Override
        public byte[] array() {
            throw new IllegalStateException("no copy of it");
        }
    }

    /** The end of the first late call makes room for the second one, whose Send cannot be built. */
    @Test
    @Proves("API-13")
    void aLateCallThatFailsByTheEndOfAnotherEndsOnce() throws Exception {
        responder = ScriptedResponder.manual(config);
        client =
                clocked(builder(responder.address()), clock)
                        .config(
                                RpcPair.usual()
                                        .bindings(List.of(new BlobBinding()))
                                        .announceReadChunkReplies(false)
                                        .defaultMaximumReply(0)
                                        .maxConnectionBytes(20_000)
                                        .build())
                        .build();
        Future<ByteBuf> first = client.call(Rpc.echo(0, 8));
        responder.take().reply(Rpc.reply(0));
        done(first);
        Future<ByteBuf> out =
                client.call(BlobBinding.call(BlobBinding.GET, 15_000, 4, new byte[0]));
        ScriptedResponder.Call received = responder.take();
        Future<ByteBuf> large =
                client.call(BlobBinding.call(BlobBinding.GET, 15_000, 4, new byte[0]), HASTY);
        long bytesInUse = group.registeredBytesInUse();
        ByteBuf message = new UncopiedMessage(BlobBinding.call(BlobBinding.GET, 0, 4, new byte[0]));
        Future<ByteBuf> uncopied = client.call(message.retain(), HASTY);
        RpcRdmaConnection connection = client.openConnections().get(0);
        await().until(() -> connection.value(RpcRdmaGauge.CALLS_WAITING) == 2);
        clock.advanceMillis(1);
        failure(large, CallTimeoutException.class);
        assertThat(failure(uncopied, MarshalException.class))
                .hasStackTraceContaining("no copy of it");
        assertThat(client.outstandingCalls()).isOne();
        await().until(() -> group.registeredBytesInUse() <= bytesInUse); // its Send has none
        assertThat(message.refCnt()).isOne();
        message.release();
        received.reply(answer());
        done(out);
    }

    private Channel openChannel() throws Exception {
        client.connect().sync();
        return client.openConnections().get(0).link().channel;
    }

    private List<Future<ByteBuf>> threeOfWhichTheFirstCancelsTheSecond(
            List<ByteBuf> messages, CallOptions options, int firstBytes) {
        messages.clear();
        List<Future<ByteBuf>> calls = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            messages.add(Rpc.call(0, Rpc.UNKNOWN, 1, 1).writeZero(i == 0 ? firstBytes : 8));
        }
        Future<ByteBuf> first = client.call(messages.get(0), options);
        AtomicReference<Future<ByteBuf>> other = new AtomicReference<>();
        first.addListener(done -> other.get().cancel(false));
        calls.add(first);
        other.set(client.call(messages.get(1), options));
        calls.add(other.get());
        calls.add(client.call(messages.get(2), options));
        return calls;
    }

    private static void firstCancelsSecond(
            List<Future<ByteBuf>> calls, List<ByteBuf> messages, Class<? extends Throwable> cause)
            throws Exception {
        failure(calls.get(0), cause);
        failure(calls.get(1), CancellationException.class);
        await().atMost(RpcPair.PATIENCE_SECONDS, TimeUnit.SECONDS)
                .until(() -> messages.get(1).refCnt() == 0);
    }

    @Test
    void tooManyCallsWaiting() throws Exception {
        RpcRdmaConfig narrow = RpcPair.usual().maxQueuedCalls(1).build();
        responder = ScriptedResponder.manual(narrow);
        client = builder(responder.address()).config(narrow).build();
        Future<ByteBuf> one = client.call(Rpc.echo(0, 8));
        Future<ByteBuf> two = client.call(Rpc.echo(0, 8));
        failure(client.call(Rpc.echo(0, 8)), CallQueueFullException.class);
        responder.take();
        // Both go to the next connection, one at a time, within the same bound.
        responder.accepted.get(0).close();
        responder.take().reply(Rpc.reply(0));
        done(one);
        responder.take().reply(Rpc.reply(0));
        done(two);
    }

    // ------------------------------------------------------------------ encoders

    /** A call that covers its XID, and is another one each time, as with RPCSEC_GSS. */
    private static final class Covering implements CallMarshaller<ByteBuf> {
        private final List<ByteBuf> encoded = new CopyOnWriteArrayList<>();
        private final List<Integer> xids = new CopyOnWriteArrayList<>();

        @Override
        public ByteBuf marshal(int xid) {
            ByteBuf call =
                    BlobBinding.call(
                            BlobBinding.GET, 0, 4, new byte[] {(byte) encoded.size(), 0, 0, 0});
            encoded.add(call.setInt(0, xid));
            xids.add(xid);
            return call;
        }
    }

    @Test
    @Proves({"V1-ERR-22", "API-15"})
    void anEncodedCallIsEncodedAgainForEachConnection() throws Exception {
        manual();
        Covering encoder = new Covering();
        Future<ByteBuf> call = client.call(encoder);
        ScriptedResponder.Call first = responder.take();
        responder.accepted.get(0).close();
        ScriptedResponder.Call again = responder.take();
        again.reply(answer());
        done(call);
        assertThat(encoder.xids).containsExactly(first.xid(), first.xid());
        assertThat(again.xid()).isEqualTo(first.xid());
        assertThat(first.bytes()[first.bytes().length - 4]).isEqualTo((byte) 0);
        assertThat(again.bytes()[again.bytes().length - 4]).isEqualTo((byte) 1);
        assertThat(encoder.encoded).allMatch(message -> message.refCnt() == 0);
    }

    @Test
    @Proves("V1-ERR-11")
    void anEncodedCallIsEncodedAgainForEachXid() throws Exception {
        answering(10_000);
        Covering encoder = new Covering();
        ByteBuf reply =
                get(client.call(encoder, CallOptions.DEFAULT.withRepetition(Repetition.ALWAYS)));
        assertThat(Rpc.bytes(reply)).hasSize(24 + 10_004 + 4);
        assertThat(encoder.xids)
                .hasSizeGreaterThan(1)
                .doesNotHaveDuplicates()
                .containsExactlyElementsOf(
                        responder.calls.stream().map(ScriptedResponder.Call::xid).toList());
        assertThat(encoder.encoded).allMatch(message -> message.refCnt() == 0);
    }

    @Test
    void anEncodedMessageKeepsItsSink() throws Exception {
        byte[] data = Rpc.random(9000);
        responder =
                new ScriptedResponder(
                        config,
                        (channel, connection, call) ->
                                channel.writeAndFlush(BlobBinding.reply(Rpc.xid(call), 4, data)));
        client = builder(responder.address()).build();
        ByteBuf sink = Unpooled.directBuffer(9000, 9000);
        RpcMessage reply =
                get(
                        client.call(
                                xid ->
                                        new RpcMessage(
                                                        BlobBinding.call(
                                                                        BlobBinding.GET,
                                                                        9000,
                                                                        4,
                                                                        new byte[0])
                                                                .setInt(0, xid))
                                                .addSink(sink)));
        assertThat(ByteBufUtil.getBytes(reply.sink(0))).isEqualTo(data);
        reply.release();
        assertThat(sink.refCnt()).isZero();
    }

    @Test
    @Proves("API-13")
    void whatCannotBeEncodedHarmsNobody() throws Exception {
        manual();
        Future<ByteBuf> failed =
                client.call(
                        xid -> {
                            throw new IllegalStateException("no ticket");
                        });
        assertThat(failure(failed, MarshalException.class)).hasMessageContaining("no ticket");
        failure(client.call((CallMarshaller<ByteBuf>) xid -> null), MarshalException.class);
        ByteBuf other = Rpc.echo(0, 8);
        assertThat(
                        failure(
                                client.call(xid -> other.setInt(0, ~xid)),
                                IllegalArgumentException.class))
                .hasMessageContaining("encoded call with XID");
        assertThat(other.refCnt()).isZero();
        ByteBuf tooShort = Unpooled.buffer(8);
        failure(
                client.call(xid -> tooShort.writeInt(xid).writeInt(0)),
                IllegalArgumentException.class);
        assertThat(tooShort.refCnt()).isZero();
        Future<ByteBuf> good = client.call(xid -> Rpc.echo(xid, 8).asReadOnly());
        responder.take().reply(Rpc.reply(0));
        done(good);
        assertThat(responder.accepted).hasSize(1);
        assertThat(client.outstandingCalls()).isZero();
    }

    /** The responder may have executed it. */
    @Test
    @Proves("API-13")
    void aCallThatCannotBeEncodedAgainIsInDoubt() throws Exception {
        manual();
        AtomicInteger times = new AtomicInteger();
        Future<ByteBuf> call =
                client.call(
                        xid -> {
                            if (times.getAndIncrement() > 0) {
                                throw new IllegalStateException("the ticket is over");
                            }
                            return Rpc.echo(xid, 8);
                        });
        responder.take();
        responder.accepted.get(0).close();
        ConnectionLostException lost = failure(call, ConnectionLostException.class);
        assertThat(lost.isSent()).isTrue();
        assertThat(lost.isRetryable()).isFalse();
        assertThat(lost).hasStackTraceContaining("the ticket is over");
    }

    // ------------------------------------------------------------------ what was sent

    /** Fails calls that are written behind the client, in the order in which they come. */
    private static final class FailingWrites extends ChannelOutboundHandlerAdapter {
        private final AtomicInteger passing;
        private final Exception cause;

        /**
         * @param passing calls that are let through
         */
        FailingWrites(AtomicInteger passing, Exception cause) {
            this.passing = passing;
            this.cause = cause;
        }

        @Override
        public void write(ChannelHandlerContext ctx, Object message, ChannelPromise promise) {
            if (!(message instanceof ReferenceCounted) || passing.getAndDecrement() > 0) {
                ctx.write(message, promise);
            } else {
                ReferenceCountUtil.release(message);
                promise.setFailure(cause);
            }
        }
    }

    static List<Exception> localFailures() {
        return List.of(
                new CallTooLongException("a call of 9 bytes"),
                new MarshalException(new IllegalStateException("no memory")),
                new IllegalStateException("no memory"),
                new IllegalArgumentException("no call"));
    }

    /** It was executed, perhaps, on the connection that was lost. */
    @ParameterizedTest
    @MethodSource("localFailures")
    @Proves({"API-21", "API-13"})
    void aCallThatCannotBeSentAgainIsInDoubt(Exception cause) throws Exception {
        AtomicInteger passing = new AtomicInteger(1);
        responder = ScriptedResponder.manual(config);
        client =
                builder(responder.address())
                        .handler(() -> new FailingWrites(passing, cause))
                        .build();
        Future<ByteBuf> call = client.call(Rpc.echo(0, 8));
        responder.take();
        responder.accepted.get(0).close();
        ConnectionLostException lost = failure(call, ConnectionLostException.class);
        assertThat(lost.isSent()).isTrue();
        assertThat(lost.isRetryable()).isFalse();
        assertThat(lost).hasStackTraceContaining(cause.getMessage());
        // One that has not left before was not sent.
        passing.set(0);
        assertThat(failure(client.call(Rpc.echo(0, 8)), Exception.class))
                .isNotInstanceOf(ConnectionLostException.class);
    }

    /** The refusal may have come behind the execution. */
    @Test
    @Proves({"API-21", "V1-ERR-11"})
    void aRefusedCallThatCannotBeRepeatedKeepsItsRefusal() throws Exception {
        answering(100_000);
        client.closeAsync().sync();
        client =
                builder(responder.address())
                        .config(open().build())
                        .handler(
                                () ->
                                        new FailingWrites(
                                                new AtomicInteger(2),
                                                new CallTooLongException("a call of 9 bytes")))
                        .build();
        Future<ByteBuf> call = client.call(BlobBinding.call(BlobBinding.GET, 0, 4, new byte[0]));
        ErrChunkReplyException refused = failure(call, ErrChunkReplyException.class);
        assertThat(refused).hasStackTraceContaining("a call of 9 bytes");
        assertThat(responder.calls).hasSize(2);
        await().until(() -> client.outstandingCalls() == 0);
    }

    /** A Send that is posted and fails by whatever has happened behind it may have arrived. */
    @Test
    @Proves({"API-21", "V1-ERR-22"})
    void aCallWhoseSendHasFailedIsInDoubt() throws Exception {
        responder = ScriptedResponder.manual(config);
        client =
                builder(responder.address())
                        .handler(
                                () ->
                                        new ChannelOutboundHandlerAdapter() {
                                            @Override
                                            public void handlerAdded(ChannelHandlerContext ctx) {
                                                ctx.pipeline().addFirst(new LostCompletion());
                                            }
                                        })
                        .build();
        Future<ByteBuf> call = client.call(Rpc.echo(0, 8), ONCE);
        responder.take();
        assertThat(failure(call, ConnectionLostException.class).isSent()).isTrue();
    }

    /** Posts what is written, and says that posting has failed. */
    private static final class LostCompletion extends ChannelOutboundHandlerAdapter {
        private ChannelPromise promise;

        @Override
        public void write(ChannelHandlerContext ctx, Object message, ChannelPromise written) {
            promise = written;
            ctx.write(message);
        }

        @Override
        public void flush(ChannelHandlerContext ctx) {
            ctx.flush();
            if (promise != null) {
                promise.tryFailure(new IOException("posting failed"));
            }
        }
    }

    /** While a close waits for what is posted, nothing more leaves. */
    @Test
    @Proves("API-21")
    void aCallThatIsWrittenDuringACloseWasNotSent() throws Exception {
        AtomicReference<RpcRdmaClient.NewConnection> made = new AtomicReference<>();
        responder = ScriptedResponder.manual(config);
        client = builder(responder.address()).onConnection(made::set).build();
        Future<ByteBuf> first = client.call(Rpc.echo(0, 8));
        responder.take().reply(Rpc.reply(0));
        done(first);
        RdmaChannel channel = client.openConnections().get(0).link().channel;
        List<Future<ByteBuf>> calls =
                on(
                        channel,
                        () -> {
                            Future<ByteBuf> posted = made.get().call(Rpc.echo(0, 8));
                            channel.close();
                            assertThat(channel.isActive()).isTrue();
                            return List.of(posted, made.get().call(Rpc.echo(0, 8)));
                        });
        assertThat(failure(calls.get(0), ConnectionLostException.class).isSent()).isTrue();
        ConnectionLostException late = failure(calls.get(1), ConnectionLostException.class);
        assertThat(late.isSent()).isFalse();
        assertThat(late.isRetryable()).isTrue();
        responder.take();
        assertThat(responder.calls).isEmpty();
    }

    // ------------------------------------------------------------------ others on the channel

    @Test
    @Proves({"API-22", "BIDI-03"})
    void aReplyToACallOfAnotherGoesToTheHandlers() throws Exception {
        RpcPair.Inbox inbox = new RpcPair.Inbox();
        responder =
                new ScriptedResponder(
                        config,
                        (channel, connection, call) -> {
                            int xid = Rpc.xid(call);
                            boolean isRefused = xid == 0x5AFE0002;
                            channel.writeAndFlush(
                                    isRefused ? Rpc.reply(xid).writeZero(1 << 20) : Rpc.reply(xid));
                        });
        client = builder(responder.address()).handler(() -> inbox).build();
        done(client.call(Rpc.echo(0, 8)));
        RdmaChannel channel = client.openConnections().get(0).link().channel;
        channel.writeAndFlush(Rpc.echo(0x5AFE0001, 8));
        assertThat(inbox.takeXid()).isEqualTo(0x5AFE0001);
        channel.writeAndFlush(Rpc.echo(0x5AFE0002, 8));
        assertThat(inbox.takeFailure()).isInstanceOf(ErrChunkReplyException.class);
        done(client.call(Rpc.echo(0, 8)));
        assertThat(inbox.messages).isEmpty();
    }

    // ------------------------------------------------------------------ record marks

    /** As TCP has it, in one fragment or in two. */
    private static ByteBuf marked(ByteBuf call, boolean isOneFragment) {
        ByteBuf out = Unpooled.buffer();
        if (isOneFragment) {
            out.writeInt(0x80000000 | call.readableBytes());
        } else {
            out.writeInt(40).writeBytes(call, 40).writeInt(0x80000000 | call.readableBytes());
        }
        out.writeBytes(call);
        call.release();
        return out;
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 0x1234, -1})
    @Proves({"API-20", "V1-FRAME-03"})
    void aRecordMarkIsLeftOut(int xid) throws Exception {
        manual();
        byte[] call = Rpc.bytes(Rpc.echo(0, 8));
        for (boolean isOneFragment : new boolean[] {true, false}) {
            List<Future<ByteBuf>> calls =
                    List.of(
                            client.call(marked(Rpc.echo(xid, 8), isOneFragment)),
                            client.call(own -> marked(Rpc.echo(own, 8), isOneFragment)));
            for (Future<ByteBuf> future : calls) {
                ScriptedResponder.Call received = responder.take();
                byte[] bytes = received.bytes();
                Unpooled.wrappedBuffer(bytes).setInt(0, 0);
                assertThat(bytes).isEqualTo(call);
                received.reply(Rpc.reply(0));
                done(future);
            }
        }
        RpcMessage apart = new RpcMessage(marked(Rpc.echo(xid, 8), true));
        assertThat(failure(client.call(apart), IllegalArgumentException.class))
                .hasMessageContaining("record mark");
        assertThat(apart.refCnt()).isZero();
    }

    // ------------------------------------------------------------------ ERR_CHUNK

    /** Nobody knows how long the results of these get, and nothing is offered for them at first. */
    private static RpcRdmaConfig.Builder open() {
        return RpcPair.usual().bindings(List.of(new BlobBinding(true))).defaultMaximumReply(0);
    }

    /** Answers every call with results of that length, which the client knows nothing of. */
    private void answering(int length) throws Exception {
        answering(length, open().build());
    }

    private void answering(int length, RpcRdmaConfig requester) throws Exception {
        responder =
                new ScriptedResponder(
                        config,
                        (channel, connection, call) ->
                                channel.writeAndFlush(
                                        BlobBinding.reply(Rpc.xid(call), length, new byte[0])));
        client = builder(responder.address()).config(requester).build();
    }

    @NeedsDevice("privateDataOnAccept")
    @Test
    @Proves({"V1-ERR-11", "V1-REPLY-01", "ULB-04"})
    void refusedIdempotentCallGrowsUntilItFits() throws Exception {
        answering(100_000);
        ByteBuf reply = get(client.call(BlobBinding.call(BlobBinding.GET, 0, 4, new byte[0])));
        assertThat(Rpc.bytes(reply)).hasSize(24 + 100_004 + 4);
        // 4096 inline, then Reply chunks of 8 KiB to 128 KiB; each is a call of its own.
        assertThat(responder.calls).hasSize(6);
        Set<Integer> xids = new HashSet<>();
        responder.calls.forEach(call -> xids.add(call.xid()));
        assertThat(xids).hasSize(6);
        assertThat(client.openConnections().get(0).value(RpcRdmaCounter.CALLS_REPEATED))
                .isEqualTo(5);
        assertThat(responder.accepted).hasSize(1);
    }

    /** It cannot be, by the binding, so more room does not help: the responder may want memory, for once. */
    @Test
    @Proves({"V1-ERR-11", "ULB-28", "ULB-29"})
    void aReplyThatIsLongerThanItCanBeIsAskedForOnceMoreInTheSameRoom() throws Exception {
        answering(100_000, config);
        client.closeAsync().sync();
        client = clocked(builder(responder.address()), clock).build();
        for (int maximum : new int[] {0, 8001}) {
            Future<ByteBuf> call =
                    client.call(BlobBinding.call(BlobBinding.GET, maximum, 4, new byte[0]));
            refusals(maximum == 0 ? 1 : 3);
            clock.advanceMillis(ClientTestAccess.REFUSED_PAUSE_MILLIS);
            ErrChunkReplyException refused = failure(call, ErrChunkReplyException.class);
            assertThat(refused)
                    .hasMessageContaining("it had no memory at that moment")
                    .hasMessageNotContaining("raise");
            assertThat(refused.writeBytes()).isEqualTo(maximum);
        }
        assertThat(responder.calls).hasSize(4);
    }

    /** Returns when the client has seen so many. */
    private RpcRdmaConnection refusals(int count) throws Exception {
        get(client.connect());
        RpcRdmaConnection connection = client.openConnections().get(0);
        await().until(() -> connection.value(RpcRdmaCounter.ERRORS_RECEIVED) == count);
        get(client.connect()); // behind the refusal, on the event loop of the client
        return connection;
    }

    /** A responder that wants memory for a moment has no other error for it than ERR_CHUNK. */
    @NeedsDevice("privateDataOnAccept")
    @Test
    @Proves("V1-ERR-25")
    void aCallThatIsRefusedForWantOfMemoryIsRepeatedAfterAPause() throws Exception {
        byte[] data = Rpc.random(8001);
        AtomicBoolean isLacking = new AtomicBoolean(true);
        responder =
                new ScriptedResponder(
                        config,
                        (channel, connection, call) ->
                                channel.writeAndFlush(
                                        BlobBinding.reply(
                                                Rpc.xid(call),
                                                4,
                                                isLacking.get() ? Rpc.random(100_000) : data)));
        client = clocked(builder(responder.address()), clock).build();
        Future<ByteBuf> append =
                client.call(BlobBinding.call(BlobBinding.APPEND, 8001, 4, new byte[0]));
        failure(append, ErrChunkReplyException.class); // may not be executed twice
        Future<ByteBuf> get = client.call(BlobBinding.call(BlobBinding.GET, 8001, 4, new byte[0]));
        responder.take();
        int first = responder.take().xid();
        RpcRdmaConnection connection = refusals(2);
        assertThat(get).isNotDone();
        assertThat(responder.calls).isEmpty();
        isLacking.set(false);
        clock.advanceMillis(ClientTestAccess.REFUSED_PAUSE_MILLIS);
        done(get);
        assertThat(responder.take().xid()).isNotEqualTo(first);
        assertThat(connection.value(RpcRdmaCounter.CALLS_REPEATED)).isEqualTo(1);
    }

    /** It is sent on the next connection, once. */
    @NeedsDevice("privateDataOnAccept")
    @Test
    @Proves("V1-ERR-25")
    void aCallThatWasRefusedSurvivesALoss() throws Exception {
        answering(100_000, config);
        client.closeAsync().sync();
        client = clocked(builder(responder.address()), clock).build();
        Future<ByteBuf> get = client.call(BlobBinding.call(BlobBinding.GET, 8001, 4, new byte[0]));
        responder.take();
        refusals(1);
        responder.accepted.get(0).close();
        client.connect().sync();
        clock.advanceMillis(ClientTestAccess.REFUSED_PAUSE_MILLIS);
        failure(get, ErrChunkReplyException.class);
        assertThat(responder.calls).hasSize(1);
    }

    @NeedsDevice("privateDataOnAccept")
    @Test
    void growthHasALimitForAllCallsOfAConnection() throws Exception {
        answering(100_000, open().maxConnectionBytes(20_000).build());
        for (int i = 1; i <= 3; i++) { // what was offered is given back
            ErrChunkReplyException refused =
                    failure(
                            client.call(BlobBinding.call(BlobBinding.GET, 0, 4, new byte[0])),
                            ErrChunkReplyException.class);
            assertThat(refused.replyBytes()).isEqualTo(16_384);
            assertThat(responder.calls).hasSize(3 * i);
        }
    }

    @Test
    void refusedWriteChunkGrowsToo() throws Exception {
        byte[] data = Rpc.random(30_000);
        responder =
                new ScriptedResponder(
                        config,
                        (channel, connection, call) ->
                                channel.writeAndFlush(BlobBinding.reply(Rpc.xid(call), 4, data)));
        client = builder(responder.address()).config(open().build()).build();
        ByteBuf reply = get(client.call(BlobBinding.call(BlobBinding.GET, 8000, 4, new byte[0])));
        assertThat(Rpc.bytes(reply))
                .isEqualTo(
                        Rpc.bytes(
                                BlobBinding.reply(
                                        responder.calls.stream()
                                                .reduce((a, b) -> b)
                                                .orElseThrow()
                                                .xid(),
                                        4,
                                        data)));
        assertThat(responder.calls).hasSize(3);
    }

    @Test
    void refusedAnnotatedCallKeepsItsSink() throws Exception {
        byte[] data = Rpc.random(5000);
        responder =
                new ScriptedResponder(
                        config,
                        (channel, connection, call) ->
                                channel.writeAndFlush(
                                        BlobBinding.reply(Rpc.xid(call), 9000, data)));
        client = builder(responder.address()).config(open().build()).build();
        ByteBuf sink = Unpooled.directBuffer(5000, 5000);
        RpcMessage reply =
                get(
                        client.call(
                                new RpcMessage(
                                                BlobBinding.call(
                                                        BlobBinding.GET, 5000, 4, new byte[0]))
                                        .addSink(sink)));
        assertThat(reply.sink(0)).isSameAs(sink);
        assertThat(ByteBufUtil.getBytes(sink)).isEqualTo(data);
        assertThat(reply.content().readableBytes()).isEqualTo(24 + 9004 + 4);
        reply.release();
    }

    @NeedsDevice("privateDataOnAccept")
    @Test
    @Proves({"V1-ERR-11", "API-13"})
    void refusedCallThatMayNotBeRepeatedSaysWhatWasOffered() throws Exception {
        answering(100_000);
        ErrChunkReplyException refused =
                failure(
                        client.call(BlobBinding.call(BlobBinding.APPEND, 0, 4, new byte[0])),
                        ErrChunkReplyException.class);
        assertThat(refused.inline()).isEqualTo(4096);
        assertThat(refused.replyBytes()).isZero();
        assertThat(refused.offered()).isEqualTo(4096);
        assertThat(refused.missing()).isZero();
        failure(
                client.call(
                        BlobBinding.call(BlobBinding.GET, 0, 4, new byte[0]),
                        CallOptions.DEFAULT.withRepetition(Repetition.NEVER)),
                ErrChunkReplyException.class);
        assertThat(responder.calls).hasSize(2);
        done(
                client.call(
                        BlobBinding.call(BlobBinding.APPEND, 0, 4, new byte[0]),
                        CallOptions.DEFAULT.withRepetition(Repetition.ALWAYS)));
        client.closeAsync().sync();
        // The binding knows that 90000 bytes are possible; the caller's sink had 10000.
        client = builder(responder.address()).build();
        ErrChunkReplyException small =
                failure(
                        client.call(
                                new RpcMessage(
                                                BlobBinding.call(
                                                        BlobBinding.APPEND, 90_000, 4, new byte[0]))
                                        .addSink(Unpooled.directBuffer(10_000, 10_000))),
                        ErrChunkReplyException.class);
        assertThat(small.writeBytes()).isEqualTo(10_000);
        assertThat(small.missing()).isBetween(70_000L, 80_000L);
        assertThat(small).hasMessageContaining("less than the upper-layer binding");
    }

    @NeedsDevice("privateDataOnAccept")
    @Test
    void growthHasALimit() throws Exception {
        answering(1_000_000);
        client = builder(responder.address()).config(open().build()).maxReplyBytes(20_000).build();
        ErrChunkReplyException refused =
                failure(
                        client.call(BlobBinding.call(BlobBinding.GET, 0, 4, new byte[0])),
                        ErrChunkReplyException.class);
        assertThat(refused.replyBytes()).isEqualTo(20_000);
        responder.close();
        answering(50_000, open().maxMessageBytes(10_000).build());
        refused =
                failure(
                        client.call(BlobBinding.call(BlobBinding.GET, 0, 4, new byte[0])),
                        ErrChunkReplyException.class);
        assertThat(refused.replyBytes()).isEqualTo(10_000);
        // 4096 bytes, 8192 and 10000: none of them twice.
        assertThat(responder.calls).hasSize(3);
    }

    // ------------------------------------------------------------------ cuts

    /** Every step of an exchange at which the responder may vanish. */
    private enum Cut {
        BEFORE_THE_CALL,
        AFTER_THE_CALL,
        AFTER_A_READ,
        AFTER_HALF_OF_THE_WRITE,
        AFTER_THE_WRITE,
        AFTER_A_BAD_SEND,
        AFTER_THE_REPLY
    }

    @ParameterizedTest
    @EnumSource(Cut.class)
    @Proves({"V1-MR-10", "V1-MR-03", "V1-ERR-22", "SEC-13"})
    void connectionIsCutAtEveryStep(Cut cut) throws Exception {
        byte[] argument = Rpc.random(20_001);
        byte[] result = Rpc.random(15_003);
        responder =
                new ScriptedResponder(
                        config,
                        new ScriptedResponder.Script() {
                            @Override
                            public boolean isRaw(int connection) {
                                return connection == 0;
                            }

                            @Override
                            public void accepted(RdmaChannel channel, int connection) {
                                if (connection == 0 && cut == Cut.BEFORE_THE_CALL) {
                                    channel.close();
                                }
                            }

                            @Override
                            public void received(
                                    RdmaChannel channel, int connection, ByteBuf call) {
                                if (connection == 0) {
                                    cut(channel, call, cut, result);
                                } else {
                                    channel.writeAndFlush(
                                            BlobBinding.reply(Rpc.xid(call), 8, result));
                                }
                            }
                        });
        client = builder(responder.address()).build();
        ByteBuf item = Unpooled.directBuffer().writeBytes(argument);
        ByteBuf sink = Unpooled.directBuffer(15_003, 15_003);
        RpcMessage call =
                new RpcMessage(BlobBinding.call(BlobBinding.APPEND, 15_003, 8, argument.length))
                        .addItem(60, item)
                        .addSink(sink);
        Future<RpcMessage> future = client.call(call);
        RpcMessage reply = get(future);
        assertThat(ByteBufUtil.getBytes(reply.sink(0))).isEqualTo(result);
        reply.release();
        // The reply of a cut connection counts when it has arrived before the cut.
        Set<Integer> xids = new HashSet<>();
        responder.calls.forEach(received -> xids.add(received.xid()));
        assertThat(xids).hasSize(1);
        responder.calls.stream()
                .filter(received -> received.connection() > 0)
                .forEach(
                        received ->
                                assertThat(received.bytes())
                                        .isEqualTo(whole(received.xid(), argument)));
        assertThat(call.refCnt() + item.refCnt() + sink.refCnt()).isZero();
    }

    private static byte[] whole(int xid, byte[] argument) {
        return Rpc.bytes(BlobBinding.call(BlobBinding.APPEND, 15_003, 8, argument).setInt(0, xid));
    }

    private static void cut(RdmaChannel channel, ByteBuf call, Cut cut, byte[] result) {
        TransportHeader header = new TransportHeader();
        header.decodeFixed(call, 0);
        header.decodeLists(call, 16, call.writerIndex(), 99);
        long offset = header.writes().offset(0);
        int handle = header.writes().handle(0);
        TransportHeader mirrored = new TransportHeader().set(header.xid(), 8, 0);
        mirrored.writes().copy(header.writes());
        ByteBuf last = Unpooled.EMPTY_BUFFER;
        switch (cut) {
            case AFTER_A_READ -> {
                ByteBuf pulled = channel.registeredBuffer(5000).writerIndex(5000);
                channel.writeAndFlush(
                                new RdmaRead(
                                        pulled, header.reads().handle(0), header.reads().offset(0)))
                        .addListener(read -> channel.close());
                return;
            }
            case AFTER_HALF_OF_THE_WRITE ->
                    channel.write(write(channel, result, 7000, handle, offset));
            case AFTER_THE_WRITE ->
                    channel.write(write(channel, result, result.length, handle, offset));
            case AFTER_A_BAD_SEND -> {
                channel.write(write(channel, result, result.length, handle, offset));
                mirrored.writes().length(0, 15_004);
                last = reply(mirrored, header.xid(), result.length);
            }
            case AFTER_THE_REPLY -> {
                channel.write(write(channel, result, result.length, handle, offset));
                last = reply(mirrored, header.xid(), result.length);
            }
            default -> {}
        }
        channel.writeAndFlush(last).addListener(done -> channel.close());
    }

    private static RdmaWrite write(
            RdmaChannel channel, byte[] data, int length, int handle, long offset) {
        return new RdmaWrite(
                channel.registeredBuffer(length).writeBytes(data, 0, length), handle, offset);
    }

    private static ByteBuf reply(TransportHeader header, int xid, int length) {
        ByteBuf out = Unpooled.buffer();
        header.encode(out);
        return Rpc.opaque(out.writeBytes(Rpc.bytes(Rpc.reply(xid))), Rpc.random(8))
                .writeInt(length);
    }
}
