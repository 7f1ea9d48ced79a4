// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.rpcrdma.codec.RpcPair.PATIENCE_SECONDS;
import static org.rpcrdma.codec.RpcPair.on;
import static org.rpcrdma.codec.client.ClientTestAccess.clocked;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelOutboundHandlerAdapter;
import io.netty.channel.ChannelPromise;
import io.netty.util.ReferenceCountUtil;
import io.netty.util.concurrent.Future;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.rpcrdma.Proves;
import org.rpcrdma.channel.RdmaChannel;
import org.rpcrdma.channel.RdmaEventLoopGroup;
import org.rpcrdma.channel.RdmaSendWithInvalidate;
import org.rpcrdma.codec.client.ClientTestAccess;
import org.rpcrdma.codec.client.ManualClock;
import org.rpcrdma.codec.client.RpcRdmaClient;
import org.rpcrdma.codec.client.RpcRdmaReverseRequester;
import org.rpcrdma.codec.client.RpcRdmaReverseRequester.State;
import org.rpcrdma.codec.rpc.CallOptions;

/** A server that calls its client back, over connections that come and go. */
class RpcRdmaReverseRequesterTest {

    private static final CallOptions ONCE = CallOptions.DEFAULT.withRetransmission(false);
    private static final CallOptions HASTY = CallOptions.DEFAULT.withTimeout(Duration.ofMillis(1));

    /** What the client says on each connection when it is ready. */
    private static final int READY = 77;

    private final RpcRdmaConfig config =
            RpcPair.usual().bindings(List.of(new BlobBinding())).reverseCredits(4).build();
    private final RdmaEventLoopGroup group = new RdmaEventLoopGroup(1);
    private final ManualClock clock = new ManualClock();
    private final BlockingQueue<Received> received = new LinkedBlockingQueue<>();
    private final BlockingQueue<State> states = new LinkedBlockingQueue<>();
    private final BlockingQueue<Boolean> attached = new LinkedBlockingQueue<>();
    private final AtomicInteger attempts = new AtomicInteger();
    private final List<Future<ByteBuf>> announcements = new CopyOnWriteArrayList<>();
    private volatile RpcRdmaReverseRequester callback;
    private ScriptedResponder server;
    private RpcRdmaClient client;

    /** A reverse call at the client. */
    private record Received(Channel channel, int xid) {
        void reply() {
            channel.writeAndFlush(Rpc.reply(xid).writeInt(xid));
        }
    }

    private final class Program extends ChannelInboundHandlerAdapter {
        @Override
        public void channelRead(ChannelHandlerContext ctx, Object message) {
            received.add(new Received(ctx.channel(), Rpc.xid((ByteBuf) message)));
            ((ByteBuf) message).release();
        }
    }

    /** Ends the connection by each reverse call. */
    private static class Deadly extends ChannelInboundHandlerAdapter {
        private final AtomicInteger calls;

        Deadly(AtomicInteger calls) {
            this.calls = calls;
        }

        @Override
        public void channelRead(ChannelHandlerContext ctx, Object message) {
            calls.incrementAndGet();
            ((ByteBuf) message).release();
            ctx.channel().close();
        }
    }

    private RpcRdmaReverseRequester.Builder callbackBuilder() {
        return clocked(RpcRdmaReverseRequester.builder(config), clock).onState(states::add);
    }

    /** Attaches the one callback to each connection on which the client says that it is ready. */
    private void serve() throws Exception {
        server =
                new ScriptedResponder(
                        config,
                        (channel, connection, call) -> {
                            if (isReady(call)) {
                                if (callback == null) {
                                    callback = callbackBuilder().attachTo(channel);
                                    attached.add(true);
                                } else {
                                    attached.add(callback.tryAttach(channel));
                                }
                            }
                            channel.writeAndFlush(Rpc.reply(Rpc.xid(call)));
                        },
                        2);
    }

    private static boolean isReady(ByteBuf call) {
        return call.getInt(call.readerIndex() + 20) == READY;
    }

    private static ByteBuf ready() {
        return Rpc.call(0, Rpc.UNKNOWN, 1, READY);
    }

    private RpcRdmaClient.Builder clientBuilder() {
        return RpcRdmaClient.builder(group, server.address())
                .config(config)
                .backOff(Duration.ofMillis(1), Duration.ofMillis(4))
                .firstCallTimeout(Duration.ofSeconds(1_000))
                .onConnection(made -> announcements.add(made.call(ready())));
    }

    /** A client that has said that it is ready. */
    private void connect() throws Exception {
        connect(true);
    }

    private void connect(boolean isKept) throws Exception {
        serve();
        client =
                clientBuilder()
                        .keepConnected(isKept)
                        .reverseProgram(
                                () -> {
                                    attempts.incrementAndGet();
                                    return new Program();
                                })
                        .build();
        client.connect().sync();
        awaitAttached(true);
        awaitState(State.UP);
    }

    private void awaitAttached(boolean isTaken) throws Exception {
        assertThat(attached.poll(PATIENCE_SECONDS, TimeUnit.SECONDS)).isEqualTo(isTaken);
    }

    /** What was told; by now there may be another state, when the client is quick to come back. */
    private void awaitState(State state) throws Exception {
        assertThat(states.poll(PATIENCE_SECONDS, TimeUnit.SECONDS)).isEqualTo(state);
    }

    private Received take() throws InterruptedException {
        Received call = received.poll(PATIENCE_SECONDS, TimeUnit.SECONDS);
        assertThat(call).isNotNull();
        return call;
    }

    private static <T extends Throwable> T failure(Future<?> future, Class<T> type)
            throws Exception {
        assertThat(future.await(PATIENCE_SECONDS, TimeUnit.SECONDS)).isTrue();
        assertThat(future.cause()).isInstanceOf(type);
        return type.cast(future.cause());
    }

    private static void answered(Future<ByteBuf> future, int xid) throws Exception {
        ByteBuf reply = future.get(PATIENCE_SECONDS, TimeUnit.SECONDS);
        assertThat(reply.getInt(reply.readerIndex() + 24)).isEqualTo(xid);
        reply.release();
    }

    /** One more call; returns the channel on which the client has received it. */
    private Channel works() throws Exception {
        Future<ByteBuf> call = callback.call(Rpc.echo(0, 8));
        Received there = take();
        there.reply();
        answered(call, there.xid());
        return there.channel();
    }

    @AfterEach
    void close() {
        if (client != null) {
            client.closeAsync().awaitUninterruptibly();
        }
        if (server != null) {
            server.close();
        }
        if (callback != null) {
            Awaitility.await()
                    .atMost(PATIENCE_SECONDS, TimeUnit.SECONDS)
                    .until(() -> callback.outstandingCalls() == 0);
        }
        group.shutdownGracefully(0, PATIENCE_SECONDS, TimeUnit.SECONDS).syncUninterruptibly();
        for (Future<ByteBuf> announcement : announcements) {
            assertThat(announcement.isDone()).isTrue();
            if (announcement.isSuccess()) {
                announcement.getNow().release();
            }
        }
    }

    // ------------------------------------------------------------------ calls

    @Test
    @Proves({"BIDI-01", "BIDI-02", "BIDI-03", "API-14", "BIDI-26"})
    void theServerCallsItsClient() throws Exception {
        connect();
        List<Future<ByteBuf>> calls = new ArrayList<>();
        List<Received> there = new ArrayList<>();
        for (int i = 0; i < 50; i++) {
            calls.add(callback.call(Rpc.echo(0, 8)));
        }
        for (int i = 0; i < 50; i++) {
            Received call = take();
            assertThat(there).extracting(Received::xid).doesNotContain(call.xid());
            there.add(call);
            call.reply();
        }
        for (int i = 0; i < 50; i++) {
            answered(calls.get(i), there.get(i).xid());
        }
        assertThat(RpcRdmaConnection.of(server.accepted.get(0)).creditsGranted()).isEqualTo(4);
    }

    /** The reverse call leaves the server in the moment in which it hears of the client, and is not dropped. */
    @Test
    @Proves({"BIDI-26", "API-14"})
    void theDirectionIsOpenBeforeTheFirstCallLeaves() throws Exception {
        BlockingQueue<Future<ByteBuf>> called = new LinkedBlockingQueue<>();
        server =
                new ScriptedResponder(
                        config,
                        (channel, connection, call) -> {
                            callback = callbackBuilder().attachTo(channel);
                            called.add(callback.call(Rpc.echo(0, 8)));
                            channel.writeAndFlush(Rpc.reply(Rpc.xid(call)));
                        });
        client =
                RpcRdmaClient.builder(group, server.address())
                        .config(config)
                        .reverseProgram(Program::new)
                        .build();
        client.call(Rpc.echo(0, 0)).sync().getNow().release();
        Received there = take();
        there.reply();
        answered(called.take(), there.xid());
    }

    @Test
    void callsEndByTheirTimeOutAndByCancelling() throws Exception {
        connect();
        works();
        Future<ByteBuf> hasty = callback.call(Rpc.echo(0, 0), HASTY);
        take();
        clock.advanceMillis(1);
        failure(hasty, CallTimeoutException.class);
        Future<ByteBuf> cancelled = callback.call(Rpc.echo(0, 0));
        Received late = take();
        cancelled.cancel(false);
        failure(cancelled, CancellationException.class);
        late.reply();
        works();
    }

    @Test
    @Proves("BIDI-15")
    void aCallMayBeEncodedWhenItsXidIsKnown() throws Exception {
        connect();
        List<Integer> xids = new CopyOnWriteArrayList<>();
        Future<ByteBuf> call =
                callback.call(
                        xid -> {
                            xids.add(xid);
                            return Rpc.echo(xid, 8);
                        });
        Received there = take();
        there.reply();
        answered(call, there.xid());
        assertThat(xids).containsExactly(there.xid());
    }

    @Test
    void whatIsTooLongOrNoCallFailsHere() throws Exception {
        connect();
        failure(callback.call(Rpc.echo(0, 9000)), CallTooLongException.class);
        failure(callback.call(Rpc.reply(0)), IllegalArgumentException.class);
        works();
    }

    /** The first reply settles the version: the call waits for it, and then has the version of the forward calls. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    @Proves({"V2-NEG-13", "BIDI-16", "BIDI-18"})
    void reverseCallsHaveTheVersionOfTheForwardCalls(boolean isTwo) throws Exception {
        RpcRdmaConfig.Builder both = RpcPair.usual().reverseCredits(4);
        RpcRdmaConfig one = both.build();
        RpcRdmaConfig two = both.versionTwo(VersionTwoConfig.defaults()).build();
        BlockingQueue<Future<ByteBuf>> called = new LinkedBlockingQueue<>();
        List<Integer> versions = new CopyOnWriteArrayList<>();
        server =
                new ScriptedResponder(
                        two,
                        new ScriptedResponder.Script() {
                            @Override
                            public void accepted(RdmaChannel channel, int connection) {
                                channel.pipeline().addFirst(new Versions(versions));
                            }

                            @Override
                            public void received(
                                    RdmaChannel channel, int connection, ByteBuf call) {
                                int xid = Rpc.xid(call);
                                if (!isReady(call)) {
                                    channel.writeAndFlush(Rpc.reply(xid));
                                    return;
                                }
                                callback = RpcRdmaReverseRequester.builder(two).attachTo(channel);
                                called.add(callback.call(Rpc.echo(0, 8)));
                                // The reply comes when that call could have gone out already.
                                channel.eventLoop()
                                        .execute(
                                                () ->
                                                        channel.eventLoop()
                                                                .execute(() -> late(channel, xid)));
                            }

                            private void late(RdmaChannel channel, int xid) {
                                channel.writeAndFlush(Rpc.reply(xid));
                            }
                        });
        client =
                RpcRdmaClient.builder(group, server.address())
                        .config(isTwo ? two : one)
                        .reverseProgram(Program::new)
                        .build();
        client.call(ready()).sync().getNow().release();
        Received there = take();
        there.reply();
        answered(called.take(), there.xid());
        assertThat(versions).hasSizeGreaterThanOrEqualTo(2).containsOnly(isTwo ? 2 : 1);
    }

    /** What the server sends, by the second word. */
    private static final class Versions extends ChannelOutboundHandlerAdapter {
        private final List<Integer> versions;

        Versions(List<Integer> versions) {
            this.versions = versions;
        }

        @Override
        public void write(ChannelHandlerContext ctx, Object message, ChannelPromise promise) {
            ByteBuf send =
                    message instanceof RdmaSendWithInvalidate holder
                            ? holder.content()
                            : (ByteBuf) message;
            versions.add(send.getInt(send.readerIndex() + 4));
            ctx.write(message, promise);
        }
    }

    // ------------------------------------------------------------------ loss

    @Test
    @Proves({"BIDI-23", "BIDI-14", "BIDI-24", "API-15"})
    void callsInDoubtGoToTheNextConnectionWithTheSameXid() throws Exception {
        connect();
        works();
        for (int round = 1; round <= 4; round++) {
            Future<ByteBuf> call = callback.call(Rpc.echo(0, 8));
            Received first = take();
            server.accepted.get(round - 1).close();
            awaitState(State.DOWN);
            // No call of the client needs a connection: it comes back because it keeps one.
            awaitAttached(true);
            awaitState(State.UP);
            Received again = take();
            assertThat(again.xid()).isEqualTo(first.xid());
            assertThat(again.channel()).isNotSameAs(first.channel());
            again.reply();
            answered(call, first.xid());
        }
        assertThat(server.metrics.value(RpcRdmaCounter.CALLS_RETRANSMITTED)).isEqualTo(4);
        // Each connection was on another event loop than the one before.
        assertThat(server.accepted.get(0).eventLoop())
                .isNotSameAs(server.accepted.get(1).eventLoop());
    }

    /** The receives of a new connection are its own, and so are its credits. */
    @Test
    @Proves("BIDI-14")
    void creditsAndReceivesBeginAnewOnEachConnection() throws Exception {
        connect();
        for (int round = 0; round < 3; round++) {
            List<Future<ByteBuf>> calls = new ArrayList<>();
            works();
            for (int i = 0; i < 4; i++) {
                calls.add(callback.call(Rpc.echo(0, 8), ONCE));
            }
            for (int i = 0; i < 4; i++) {
                take();
            }
            assertThat(RpcRdmaConnection.of(server.accepted.get(round)).callsInFlight())
                    .isEqualTo(4);
            server.accepted.get(round).close();
            awaitState(State.DOWN);
            for (Future<ByteBuf> call : calls) {
                assertThat(failure(call, ConnectionLostException.class).isSent()).isTrue();
            }
            awaitAttached(true);
            awaitState(State.UP);
            RpcRdmaConnection fresh = RpcRdmaConnection.of(server.accepted.get(round + 1));
            assertThat(fresh.creditsGranted()).isEqualTo(1);
        }
    }

    @Test
    @Proves("BIDI-23")
    void theLossIsToldBeforeItsCallsFailAndNothingWaitsForEver() throws Exception {
        connect();
        works();
        BlockingQueue<State> whenFailed = new LinkedBlockingQueue<>();
        Future<ByteBuf> lost = callback.call(Rpc.echo(0, 8), ONCE);
        lost.addListener(done -> whenFailed.add(callback.state()));
        Future<ByteBuf> late =
                callback.call(
                        Rpc.echo(0, 8), CallOptions.DEFAULT.withTimeout(Duration.ofMillis(200)));
        take();
        client.closeAsync().sync();
        awaitState(State.DOWN);
        failure(lost, ConnectionLostException.class);
        assertThat(whenFailed.poll(PATIENCE_SECONDS, TimeUnit.SECONDS)).isEqualTo(State.DOWN);
        clock.advanceMillis(200);
        failure(late, CallTimeoutException.class);
        late = callback.call(Rpc.echo(0, 8), HASTY);
        clock.advanceMillis(1);
        failure(late, CallTimeoutException.class);
    }

    @Test
    void aClientThatComesBackOnASecondConnectionIsCalledThere() throws Exception {
        connect(false);
        works();
        Future<ByteBuf> call = callback.call(Rpc.echo(0, 8));
        Received first = take();
        RpcRdmaClient second = clientBuilder().reverseProgram(Program::new).build();
        try {
            second.connect().sync();
            awaitAttached(true);
            Received again = take();
            assertThat(again.xid()).isEqualTo(first.xid());
            // The answer on the old connection finds nobody.
            first.reply();
            client.call(Rpc.echo(0, 0)).sync().getNow().release();
            assertThat(call.isDone()).isFalse();
            again.reply();
            answered(call, first.xid());
            // Nor does its end.
            server.accepted.get(0).close().sync();
            works();
            assertThat(callback.state()).isEqualTo(State.UP);
        } finally {
            second.closeAsync().sync();
        }
    }

    /** What was written to the sink is not touched by the reply to the call on the connection before. */
    @Test
    @Proves({"V1-MR-11", "V1-MR-01", "BIDI-19"})
    void aCallThatMovesIsFencedFirst() throws Exception {
        RpcRdmaConfig chunks =
                RpcPair.usual()
                        .bindings(List.of(new BlobBinding()))
                        .reverseCredits(4)
                        .reverseChunks(true)
                        .build();
        connectTwice(chunks, chunks, 1);
        RdmaChannel first = server.accepted.get(0);
        RdmaChannel second = server.accepted.get(1);
        callback = on(first, () -> RpcRdmaReverseRequester.builder(chunks).attachTo(first));
        works();
        ByteBuf sink = Unpooled.directBuffer(9000, 9000);
        Future<RpcMessage> call =
                callback.call(
                        new RpcMessage(BlobBinding.call(BlobBinding.GET, 9000, 4, new byte[0]))
                                .addSink(sink));
        Received before = take();
        on(second, () -> callback.tryAttach(second));
        Received again = take();
        assertThat(again.xid()).isEqualTo(before.xid());
        byte[] data = Rpc.random(9000);
        again.channel().writeAndFlush(BlobBinding.reply(again.xid(), 4, data));
        RpcMessage reply = call.get(PATIENCE_SECONDS, TimeUnit.SECONDS);
        assertThat(ByteBufUtil.getBytes(reply.sink(0))).isEqualTo(data);
        before.channel().writeAndFlush(BlobBinding.reply(before.xid(), 4, new byte[9000]));
        // It costs the connection that it was fenced on, and nothing else.
        assertThat(first.closeFuture().await(PATIENCE_SECONDS, TimeUnit.SECONDS)).isTrue();
        assertThat(ByteBufUtil.getBytes(reply.sink(0))).isEqualTo(data);
        reply.release();
        works();
    }

    /** As on the client's side: it may have been executed on the connection that was lost. */
    @Test
    @Proves({"API-21", "BIDI-23"})
    void aCallThatCannotGoToTheNextConnectionIsInDoubt() throws Exception {
        connectTwice();
        RdmaChannel first = server.accepted.get(0);
        RdmaChannel second = server.accepted.get(1);
        callback = on(first, () -> RpcRdmaReverseRequester.builder(config).attachTo(first));
        works();
        second.pipeline()
                .addLast(
                        new ChannelOutboundHandlerAdapter() {
                            @Override
                            public void write(
                                    ChannelHandlerContext ctx, Object written, ChannelPromise to) {
                                ReferenceCountUtil.release(written);
                                to.setFailure(new CallTooLongException("a call of 9 bytes"));
                            }
                        });
        Future<ByteBuf> call = callback.call(Rpc.echo(0, 8));
        take();
        on(second, () -> callback.tryAttach(second));
        ConnectionLostException lost = failure(call, ConnectionLostException.class);
        assertThat(lost.isSent()).isTrue();
        assertThat(lost).hasStackTraceContaining("a call of 9 bytes");
    }

    @Test
    @Proves({"BIDI-27", "SEC-19"})
    void aClientThatDiesByTheFirstCallGetsNoOther() throws Exception {
        serve();
        AtomicInteger deadly = new AtomicInteger();
        client =
                clientBuilder()
                        .keepConnected(true)
                        .reverseProgram(() -> new Deadly(deadly))
                        .build();
        client.connect().sync();
        awaitAttached(true);
        awaitState(State.UP);
        Future<ByteBuf> first = callback.call(Rpc.echo(0, 0));
        Future<ByteBuf> second = callback.call(Rpc.echo(0, 0));
        awaitState(State.REFUSED);
        assertThat(callback.state()).isEqualTo(State.REFUSED);
        assertThat(failure(first, ConnectionLostException.class).isSent()).isTrue();
        failure(second, ConnectionLostException.class);
        failure(callback.call(Rpc.echo(0, 0)), ConnectionLostException.class);
        // The next connection is left alone, though the client is as ready as before.
        assertThat(attached.poll(PATIENCE_SECONDS, TimeUnit.SECONDS)).isNotNull();
        client.call(Rpc.echo(0, 0)).sync().getNow().release();
        RdmaChannel next = server.accepted.get(1);
        assertThat(on(next, () -> callback.tryAttach(next))).isFalse();
        client.call(Rpc.echo(0, 0)).sync().getNow().release();
        assertThat(deadly).hasValue(1);
        assertThat(server.accepted).hasSize(2);
    }

    /** The upper layer makes another one for the next connection, and no callback stays for as long as the loop. */
    @Test
    @Proves("BIDI-27")
    void theEventLoopDoesNotKeepACallbackThatWasRefused() throws Exception {
        serve();
        client = clientBuilder().reverseProgram(() -> new Deadly(new AtomicInteger())).build();
        client.connect().sync();
        awaitAttached(true);
        awaitState(State.UP);
        failure(callback.call(Rpc.echo(0, 0)), ConnectionLostException.class);
        awaitState(State.REFUSED);
        failure(callback.call(Rpc.echo(0, 0)), ConnectionLostException.class);
        client.closeAsync().sync();
        server.close(); // which would be told to those that the event loop knows
        server = null;
        assertThat(states).isEmpty();
        assertThat(callback.state()).isEqualTo(State.REFUSED);
        failure(callback.call(Rpc.echo(0, 0)), ConnectionLostException.class);
    }

    /** It has come back before its first connection was seen to end: nobody knows yet what that call does. */
    @Test
    @Proves({"BIDI-27", "SEC-19"})
    void aSecondConnectionWaitsForTheFateOfTheFirstCall() throws Exception {
        connect(false);
        Future<ByteBuf> first = callback.call(Rpc.echo(0, 8));
        Received there = take();
        RpcRdmaClient second = clientBuilder().reverseProgram(Program::new).build();
        try {
            second.connect().sync();
            awaitAttached(true);
            second.call(Rpc.echo(0, 0)).sync().getNow().release();
            assertThat(received).isEmpty();
            there.reply();
            answered(first, there.xid());
            assertThat(works()).isNotSameAs(there.channel());
        } finally {
            second.closeAsync().sync();
        }
    }

    /** Nobody will ever know then, and nothing keeps the second connection from its turn. */
    @Test
    @Proves("BIDI-23")
    void aSecondConnectionIsUsedWhenTheFirstCallIsGivenUp() throws Exception {
        connect(false);
        Future<ByteBuf> first = callback.call(Rpc.echo(0, 8));
        Received there = take();
        RpcRdmaClient second = clientBuilder().reverseProgram(Program::new).build();
        try {
            second.connect().sync();
            awaitAttached(true);
            first.cancel(false);
            assertThat(works()).isNotSameAs(there.channel());
        } finally {
            second.closeAsync().sync();
        }
    }

    /** The client is called on the connection that it has, and not given up for one that it has no more. */
    @Test
    @Proves("BIDI-23")
    void aSecondConnectionThatIsLostBeforeItsTurnIsForgotten() throws Exception {
        connect(false);
        Future<ByteBuf> first = callback.call(Rpc.echo(0, 8));
        Received there = take();
        RpcRdmaClient second = clientBuilder().reverseProgram(Program::new).build();
        second.connect().sync();
        awaitAttached(true);
        second.closeAsync().sync();
        server.accepted.get(1).closeFuture().sync();
        there.reply();
        answered(first, there.xid());
        works();
        assertThat(states).isEmpty();
        assertThat(callback.state()).isEqualTo(State.UP);
    }

    @Test
    @Proves({"BIDI-27", "BIDI-24", "API-15"})
    void aClientDoesNotComeBackForEverToDieByReverseCalls() throws Exception {
        // Each connection gets a callback of its own, which knows nothing of the one before.
        server =
                new ScriptedResponder(
                        config,
                        (channel, connection, call) -> {
                            if (isReady(call)) {
                                RpcRdmaReverseRequester.builder(config)
                                        .attachTo(channel)
                                        .call(Rpc.echo(0, 0));
                            } else {
                                channel.writeAndFlush(Rpc.reply(Rpc.xid(call)));
                            }
                        });
        BlockingQueue<Channel> dead = new LinkedBlockingQueue<>();
        client =
                clocked(clientBuilder(), clock)
                        .keepConnected(true)
                        .reverseProgram(
                                () -> {
                                    attempts.incrementAndGet();
                                    return new Deadly(new AtomicInteger()) {
                                        @Override
                                        public void channelInactive(ChannelHandlerContext ctx) {
                                            dead.add(ctx.channel());
                                        }
                                    };
                                })
                        .build();
        client.connect().sync();
        Channel last = null;
        for (int i = 0; i < ClientTestAccess.MOST_LOSSES; i++) {
            last = lose(dead);
        }
        clock.advanceMillis(1000);
        settle(last);
        assertThat(attempts).hasValue(ClientTestAccess.MOST_LOSSES);
        assertThat(client.openConnections()).isEmpty();

        // Nor after connections that a call has needed, which end in the same way.
        Future<ByteBuf> call =
                client.call(
                        Rpc.echo(0, 0), CallOptions.DEFAULT.withTimeout(Duration.ofSeconds(100)));
        lose(dead);
        clock.advanceMillis(100_000);
        failure(call, CallTimeoutException.class);
        int seen = ClientTestAccess.MOST_LOSSES + 1;
        Awaitility.await()
                .atMost(PATIENCE_SECONDS, TimeUnit.SECONDS)
                .until(() -> seen + dead.size() == attempts.get());
        int made = attempts.get();
        settle(last);
        clock.advanceMillis(1000);
        settle(last);
        assertThat(attempts).hasValue(made);
    }

    /** Lets the time of the back-off pass until the next connection is lost, and seen to be. */
    private Channel lose(BlockingQueue<Channel> dead) throws Exception {
        Channel lost = null;
        while (lost == null) {
            clock.advanceMillis(4);
            lost = dead.poll(1, TimeUnit.MILLISECONDS);
        }
        settle(lost);
        return lost;
    }

    /** What has happened on the event loop has had its consequences. */
    private static void settle(Channel channel) throws Exception {
        for (int i = 0; i < 3; i++) {
            on(channel, () -> null);
        }
    }

    /** An exception that has ended a connection is the cause of its loss, and of no other one. */
    @Test
    void aLossIsNotBlamedOnAnEarlierConnection() throws Exception {
        connect();
        Exception cause = new IllegalStateException("of the first connection");
        for (int connection = 0; connection < 2; connection++) {
            works();
            Future<ByteBuf> call = callback.call(Rpc.echo(0, 8), ONCE);
            take();
            Channel channel = server.accepted.get(connection);
            if (connection == 0) {
                channel.pipeline().fireExceptionCaught(cause);
            }
            channel.close();
            assertThat(failure(call, ConnectionLostException.class).getCause())
                    .isSameAs(connection == 0 ? cause : null);
            awaitState(State.DOWN);
            awaitAttached(true);
            awaitState(State.UP);
        }
    }

    // ------------------------------------------------------------------ client

    @Test
    @Proves({"BIDI-24", "API-15"})
    void withoutKeepConnectedNoConnectionIsMadeForNothing() throws Exception {
        serve();
        client =
                clocked(clientBuilder(), clock)
                        .reverseProgram(
                                () -> {
                                    attempts.incrementAndGet();
                                    return new Program();
                                })
                        .build();
        client.connect().sync();
        awaitAttached(true);
        awaitState(State.UP);
        works();
        Channel clients = clientChannel();
        server.accepted.get(0).close().sync();
        awaitState(State.DOWN);
        clients.closeFuture().sync();
        settle(clients);
        clock.advanceMillis(1000);
        settle(clients);
        assertThat(attempts).hasValue(1);
        Future<ByteBuf> needs = client.call(Rpc.echo(0, 0));
        Awaitility.await()
                .atMost(PATIENCE_SECONDS, TimeUnit.SECONDS)
                .until(
                        () -> {
                            clock.advanceMillis(4);
                            return needs.isDone();
                        });
        needs.getNow().release();
        awaitAttached(true);
        awaitState(State.UP);
        works();
    }

    private Channel clientChannel() {
        return client.openConnections().get(0).link().channel;
    }

    @Test
    void theAnnouncementGoesBeforeTheCallsThatWait() throws Exception {
        serve();
        client = clientBuilder().reverseProgram(Program::new).build();
        Future<ByteBuf> call = client.call(Rpc.echo(0, 0));
        call.sync().getNow().release();
        assertThat(isReady(Unpooled.wrappedBuffer(server.take().bytes()))).isTrue();
        assertThat(isReady(Unpooled.wrappedBuffer(server.take().bytes()))).isFalse();
    }

    @Test
    void theAnnouncementEndsWithItsConnection() throws Exception {
        AtomicInteger count = new AtomicInteger();
        server =
                new ScriptedResponder(
                        config,
                        (channel, connection, call) -> {
                            if (isReady(call) && count.getAndIncrement() == 0) {
                                channel.close();
                            } else {
                                channel.writeAndFlush(Rpc.reply(Rpc.xid(call)));
                            }
                        });
        client = clientBuilder().reverseProgram(Program::new).build();
        client.call(Rpc.echo(0, 0)).sync().getNow().release();
        assertThat(announcements).hasSize(2);
        failure(announcements.get(0), ConnectionLostException.class);
        assertThat(announcements.get(1).isSuccess()).isTrue();
    }

    @Test
    void aReverseProgramNeedsRoom() throws Exception {
        serve();
        assertThatThrownBy(
                        () ->
                                RpcRdmaClient.builder(group, server.address())
                                        .reverseProgram(Program::new)
                                        .build())
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("reverseCredits is 0");
    }

    // ------------------------------------------------------------------ the object

    @Test
    void oneCallbackForAChannel() throws Exception {
        connect();
        RdmaChannel channel = server.accepted.get(0);
        assertThat(on(channel, () -> callback.tryAttach(channel))).isTrue();
        assertThatThrownBy(() -> on(channel, () -> callbackBuilder().attachTo(channel)))
                .hasStackTraceContaining("another RpcRdmaReverseRequester is attached");
        assertThatThrownBy(() -> callback.tryAttach(new RdmaChannel()))
                .isInstanceOf(IllegalArgumentException.class);
        works();
    }

    /** A client with two connections. */
    private void connectTwice() throws Exception {
        connectTwice(config);
    }

    private void connectTwice(RpcRdmaConfig serverConfig) throws Exception {
        connectTwice(serverConfig, config, 1);
    }

    private void connectTwice(RpcRdmaConfig serverConfig, RpcRdmaConfig clientConfig, int loops)
            throws Exception {
        server =
                new ScriptedResponder(
                        serverConfig,
                        (channel, connection, call) ->
                                channel.writeAndFlush(Rpc.reply(Rpc.xid(call))),
                        loops);
        client =
                RpcRdmaClient.builder(group, server.address())
                        .config(clientConfig)
                        .connections(2)
                        .reverseProgram(Program::new)
                        .build();
        client.connect().sync();
        Awaitility.await()
                .atMost(PATIENCE_SECONDS, TimeUnit.SECONDS)
                .until(() -> server.accepted.size() == 2 && server.accepted.get(1).isActive());
    }

    /** Whoever hears of the loss has another channel of the client at hand. */
    @Test
    @Proves("BIDI-23")
    void anotherChannelMayBeAttachedWhenTheLossIsTold() throws Exception {
        connectTwice();
        RdmaChannel first = server.accepted.get(0);
        RdmaChannel second = server.accepted.get(1);
        callback =
                on(
                        first,
                        () ->
                                RpcRdmaReverseRequester.builder(config)
                                        .onState(
                                                state -> {
                                                    states.add(state);
                                                    if (state == State.DOWN && callback != null) {
                                                        callback.tryAttach(second);
                                                    }
                                                })
                                        .attachTo(first));
        awaitState(State.UP);
        works();
        Future<ByteBuf> inDoubt = callback.call(Rpc.echo(0, 8));
        Received lost = take();
        first.close();
        awaitState(State.DOWN);
        Received again = take();
        assertThat(again.xid()).isEqualTo(lost.xid());
        again.reply();
        answered(inDoubt, lost.xid());
        works();
        assertThat(callback.state()).isEqualTo(State.UP);
    }

    /** So has whoever hears that a call is lost, while the calls behind it are looked through. */
    @Test
    @Proves("BIDI-23")
    void anotherChannelMayBeAttachedWhenACallIsLost() throws Exception {
        connectTwice();
        RdmaChannel first = server.accepted.get(0);
        RdmaChannel second = server.accepted.get(1);
        callback = on(first, () -> callbackBuilder().attachTo(first));
        awaitState(State.UP);
        works();
        Future<ByteBuf> lost = callback.call(Rpc.echo(0, 8), ONCE);
        lost.addListener(failed -> callback.tryAttach(second));
        Future<ByteBuf> inDoubt = callback.call(Rpc.echo(0, 8));
        take();
        Received before = take();
        first.close();
        failure(lost, ConnectionLostException.class);
        Received again = take();
        assertThat(again.xid()).isEqualTo(before.xid());
        again.reply();
        answered(inDoubt, before.xid());
        works();
        assertThat(callback.state()).isEqualTo(State.UP);
    }

    /**
     * So has whoever hears that a channel is used, or that a call cannot be sent on it. Its version is not settled yet.
     */
    @ParameterizedTest
    @ValueSource(strings = {"state", "call"})
    @Proves("BIDI-23")
    void anotherChannelMayBeAttachedWhenCallsAreAboutToBeSent(String told) throws Exception {
        connectTwice(
                RpcPair.usual().reverseCredits(4).versionTwo(VersionTwoConfig.defaults()).build());
        client.call(Rpc.echo(0, 0)).sync().getNow().release();
        boolean isFirst =
                RpcRdmaConnection.of(server.accepted.get(0)).value(RpcRdmaCounter.REPLIES_SENT) > 0;
        RdmaChannel settled = server.accepted.get(isFirst ? 0 : 1);
        RdmaChannel unsettled = server.accepted.get(isFirst ? 1 : 0);
        Consumer<State> listener =
                state -> {
                    if (state == State.UP && told.equals("state")) {
                        callback.tryAttach(unsettled);
                    }
                };
        callback = on(unsettled, () -> callbackBuilder().onState(listener).attachTo(unsettled));
        Future<ByteBuf> tooLong = callback.call(Rpc.echo(0, 8000));
        if (told.equals("call")) {
            tooLong.addListener(failed -> callback.tryAttach(unsettled));
        }
        Future<ByteBuf> behind = callback.call(Rpc.echo(0, 8));
        assertThat(on(settled, () -> callback.tryAttach(settled))).isTrue();
        Awaitility.await()
                .atMost(PATIENCE_SECONDS, TimeUnit.SECONDS)
                .until(
                        () -> {
                            client.call(Rpc.echo(0, 0)).sync().getNow().release();
                            return !received.isEmpty();
                        });
        Received there = take();
        failure(tooLong, CallTooLongException.class);
        there.reply();
        answered(behind, there.xid());
        // The call may have been out already on the channel before.
        Awaitility.await()
                .atMost(PATIENCE_SECONDS, TimeUnit.SECONDS)
                .until(
                        () -> {
                            client.call(Rpc.echo(0, 0)).sync().getNow().release();
                            return callback.state() == State.UP;
                        });
        works();
    }

    /** Its version is settled when the calls are about to come back to its event loop. */
    @Test
    @Proves("BIDI-23")
    void aChannelIsUsedOnItsEventLoopAlone() throws Exception {
        connectTwice(
                RpcPair.usual().reverseCredits(4).versionTwo(VersionTwoConfig.defaults()).build(),
                config,
                2);
        client.call(Rpc.echo(0, 0)).sync().getNow().release();
        boolean isFirst =
                RpcRdmaConnection.of(server.accepted.get(0)).value(RpcRdmaCounter.REPLIES_SENT) > 0;
        RdmaChannel settled = server.accepted.get(isFirst ? 0 : 1);
        RdmaChannel unsettled = server.accepted.get(isFirst ? 1 : 0);
        callback = on(unsettled, () -> callbackBuilder().attachTo(unsettled));
        assertThat(on(settled, () -> callback.tryAttach(settled))).isTrue();
        awaitState(State.UP);
        CountDownLatch isSettled = new CountDownLatch(1);
        settled.eventLoop().execute(() -> awaitUninterruptibly(isSettled));
        assertThat(on(unsettled, () -> callback.tryAttach(unsettled))).isTrue();
        Awaitility.await()
                .atMost(PATIENCE_SECONDS, TimeUnit.SECONDS)
                .until(
                        () -> {
                            announcements.add(client.call(Rpc.echo(0, 0)));
                            RpcRdmaConnection other = RpcRdmaConnection.of(unsettled);
                            return other.value(RpcRdmaCounter.REPLIES_SENT) > 0;
                        });
        isSettled.countDown();
        awaitState(State.DOWN);
        awaitState(State.UP);
        works();
    }

    private static void awaitUninterruptibly(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** The channel that is being left is attached again by whoever hears that a call is lost by that. */
    @Test
    void theChannelThatIsBeingLeftMayBeAttachedAgain() throws Exception {
        connectTwice();
        RdmaChannel first = server.accepted.get(0);
        RdmaChannel second = server.accepted.get(1);
        callback = on(first, () -> callbackBuilder().attachTo(first));
        awaitState(State.UP);
        works();
        Future<ByteBuf> lost = callback.call(Rpc.echo(0, 8), ONCE);
        lost.addListener(failed -> attached.add(callback.tryAttach(first)));
        Received before = take();
        assertThat(on(second, () -> callback.tryAttach(second))).isTrue();
        failure(lost, ConnectionLostException.class);
        awaitAttached(true);
        settle(first);
        Future<ByteBuf> next = callback.call(Rpc.echo(0, 8));
        Received there = take();
        assertThat(there.channel()).isSameAs(before.channel());
        there.reply();
        answered(next, there.xid());
        assertThat(callback.state()).isEqualTo(State.UP);
    }

    /** The newest word of the client holds, also when it says the same again. */
    @Test
    void theChannelThatWasAttachedLastIsUsed() throws Exception {
        connect(false);
        Future<ByteBuf> first = callback.call(Rpc.echo(0, 8));
        Received there = take();
        RpcRdmaClient second = clientBuilder().reverseProgram(Program::new).build();
        RpcRdmaClient third = clientBuilder().reverseProgram(Program::new).build();
        try {
            second.connect().sync();
            awaitAttached(true);
            third.connect().sync();
            awaitAttached(true);
            second.call(ready()).sync().getNow().release();
            awaitAttached(true);
            there.reply();
            answered(first, there.xid());
            Future<ByteBuf> next = callback.call(Rpc.echo(0, 8));
            Received nextThere = take();
            assertThat(nextThere.channel())
                    .isSameAs(second.openConnections().get(0).link().channel);
            nextThere.reply();
            answered(next, nextThere.xid());
        } finally {
            second.closeAsync().sync();
            third.closeAsync().sync();
        }
    }

    /** One that is closed, or waits for its turn on a second channel, does not keep another from it. */
    @Test
    void aClosedCallbackMakesRoomForAnother() throws Exception {
        connect(false);
        callback.call(Rpc.echo(0, 8));
        take();
        RpcRdmaClient second = clientBuilder().reverseProgram(Program::new).build();
        try {
            second.connect().sync();
            awaitAttached(true);
            RdmaChannel channel = server.accepted.get(1);
            callback.close().sync();
            callback = on(channel, () -> RpcRdmaReverseRequester.builder(config).attachTo(channel));
            works();
        } finally {
            second.closeAsync().sync();
        }
    }

    @Test
    void closingEndsTheCallsAndLeavesTheConnection() throws Exception {
        connect();
        works();
        Future<ByteBuf> out = callback.call(Rpc.echo(0, 0));
        Received there = take();
        callback.close().sync();
        awaitState(State.CLOSED);
        failure(out, ConnectionLostException.class);
        failure(callback.call(Rpc.echo(0, 0)), ConnectionLostException.class);
        there.reply();
        client.call(Rpc.echo(0, 0)).sync().getNow().release();
        RdmaChannel channel = server.accepted.get(0);
        assertThat(channel.isActive()).isTrue();
        assertThat(on(channel, () -> callback.tryAttach(channel))).isFalse();
    }

    @Test
    void theEndOfTheEventLoopEndsAllCalls() throws Exception {
        connect();
        works();
        client.closeAsync().sync();
        awaitState(State.DOWN);
        Future<ByteBuf> waiting = callback.call(Rpc.echo(0, 0));
        server.close();
        server = null;
        failure(waiting, ConnectionLostException.class);
        failure(callback.call(Rpc.echo(0, 0)), ConnectionLostException.class);
        assertThat(callback.state()).isEqualTo(State.CLOSED);
    }
}
