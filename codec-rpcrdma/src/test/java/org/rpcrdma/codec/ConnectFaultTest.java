// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandler.Sharable;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.util.ReferenceCountUtil;
import java.net.InetAddress;
import java.net.SocketAddress;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.rpcrdma.Proves;
import org.rpcrdma.channel.RdmaChannel;
import org.rpcrdma.channel.RdmaServerChannel;
import org.rpcrdma.codec.FaultPair.Role;
import org.rpcrdma.codec.fault.FaultContext;
import org.rpcrdma.codec.fault.FaultPlan;
import org.rpcrdma.codec.fault.FaultQueuePair;
import org.rpcrdma.codec.fault.NthStep;
import org.rpcrdma.codec.fault.Step;

/**
 * Invariants 5 and 6 for the exchange that every connection starts with: whatever happens at whichever step of
 * connecting and accepting, the connect future completes once, nothing is left of that connection, and another one on
 * the same event loops goes on.
 */
class ConnectFaultTest {

    /** What happens at a step of the set-up. */
    enum Blow {
        /** The user closes the channel of that side: in a handler when the step is an event, else in the next task. */
        CLOSE {
            @Override
            void strike(ConnectFaultTest test, Role role, Step step) {
                for (Channel channel : test.channels(role)) {
                    if (step.isEvent()) {
                        channel.close();
                    } else {
                        channel.eventLoop().execute(channel::close);
                    }
                }
            }
        },
        /** The user cancels the connect future. */
        CANCEL {
            @Override
            void strike(ConnectFaultTest test, Role role, Step step) {
                test.connecting.eventLoop().execute(() -> test.future.cancel(false));
            }
        },
        /** The device of that side refuses. */
        REFUSE {
            @Override
            void strike(ConnectFaultTest test, Role role, Step step) {
                if (step.mayFail()) {
                    throw new IllegalStateException("the device refuses " + step);
                }
            }
        },
        /** The connection breaks under that side. */
        BREAK {
            @Override
            void strike(ConnectFaultTest test, Role role, Step step) {
                List<FaultQueuePair> open = test.pair.device(role).context().queuePairs();
                if (open.size() > 1) {
                    open.get(open.size() - 1).breakDown();
                }
            }
        },
        /** The listening channel is closed. */
        STOP_LISTENING {
            @Override
            void strike(ConnectFaultTest test, Role role, Step step) {
                test.listener.close();
            }
        };

        abstract void strike(ConnectFaultTest test, Role role, Step step);
    }

    private final FaultPair pair = new FaultPair();
    private final List<Channel> accepted = new CopyOnWriteArrayList<>();
    private final AtomicInteger actives = new AtomicInteger();
    private final AtomicInteger inactives = new AtomicInteger();
    private final AtomicInteger completions = new AtomicInteger();
    private RpcRdmaConfig requester;
    private Channel listener;
    private Bystander bystander;
    private volatile boolean isTurnedAway;
    private volatile Channel connecting;
    private volatile ChannelFuture future;
    private volatile CountDownLatch answered = new CountDownLatch(1);

    @BeforeEach
    void open() throws Exception {
        requester = Enumeration.requester();
        listen();
        bystander = new Bystander();
    }

    @AfterEach
    void close() throws Exception {
        bystander.close();
        listener.close().sync();
        pair.close();
    }

    private void listen() throws Exception {
        RpcRdmaConfig config = Enumeration.responder();
        ServerBootstrap server =
                new ServerBootstrap()
                        .group(pair.group(Role.RESPONDER))
                        .channel(RdmaServerChannel.class)
                        .handler(
                                new ChannelInboundHandlerAdapter() {
                                    @Override
                                    public void channelRead(
                                            ChannelHandlerContext ctx, Object message) {
                                        accepted.add((Channel) message);
                                        if (isTurnedAway) {
                                            ((Channel) message).unsafe().closeForcibly();
                                        } else {
                                            ctx.fireChannelRead(message);
                                        }
                                    }
                                })
                        .childHandler(with(config, new Answers()));
        listener =
                config.applyTo(server).bind(InetAddress.getLoopbackAddress(), 0).sync().channel();
    }

    private static ChannelInitializer<Channel> with(
            RpcRdmaConfig config, ChannelInboundHandlerAdapter handler) {
        return new ChannelInitializer<>() {
            @Override
            protected void initChannel(Channel channel) {
                channel.pipeline().addLast(new RpcRdmaCodec(config), handler);
            }
        };
    }

    private List<Channel> channels(Role role) {
        return role == Role.REQUESTER ? List.of(connecting) : accepted;
    }

    private Bootstrap bootstrap() {
        return bootstrap(pair);
    }

    private Bootstrap bootstrap(FaultPair on) {
        return requester
                .applyTo(new Bootstrap())
                .group(on.group(Role.REQUESTER))
                .channel(RdmaChannel.class)
                .handler(with(requester, new Counts()));
    }

    /** Starts to connect; what was counted before is forgotten. */
    private void connect(SocketAddress to, int timeoutMillis) throws Exception {
        completions.set(0);
        actives.set(0);
        inactives.set(0);
        accepted.clear();
        connecting =
                bootstrap()
                        .option(ChannelOption.CONNECT_TIMEOUT_MILLIS, timeoutMillis)
                        .register()
                        .sync()
                        .channel();
        on(
                Role.REQUESTER,
                () -> {
                    future = connecting.newPromise();
                    future.addListener(done -> completions.incrementAndGet());
                    connecting.connect(to, (io.netty.channel.ChannelPromise) future);
                });
    }

    private void on(Role role, Runnable action) throws Exception {
        RpcPair.on(pair.group(role), action);
    }

    private FaultContext context(Role role) {
        return pair.device(role).context();
    }

    /** Ends the connection, however far it has come, and looks at what is left. */
    private void check() throws Exception {
        assertThat(future.await(RpcPair.PATIENCE_SECONDS, TimeUnit.SECONDS))
                .as("the connect future completes")
                .isTrue();
        if (!future.isSuccess()) {
            // Not only with a Bootstrap, which closes what could not be connected.
            assertThat(connecting.closeFuture().await(RpcPair.PATIENCE_SECONDS, TimeUnit.SECONDS))
                    .as("the channel that was not connected is closed")
                    .isTrue();
        }
        connecting.close().sync();
        for (Role role : Role.values()) {
            on(role, () -> context(role).plan(FaultPlan.NONE));
        }
        // The accepting side notices by itself.
        for (Role role : Role.values()) {
            Awaitility.await()
                    .pollInterval(1, TimeUnit.MILLISECONDS)
                    .atMost(RpcPair.PATIENCE_SECONDS, TimeUnit.SECONDS)
                    .untilAsserted(() -> on(role, () -> bystander.assertAlone(role)));
        }
        Awaitility.await()
                .pollInterval(1, TimeUnit.MILLISECONDS)
                .atMost(RpcPair.PATIENCE_SECONDS, TimeUnit.SECONDS)
                .untilAsserted(() -> assertThat(accepted).noneMatch(Channel::isOpen));
        RpcPair.settle(connecting);
        assertThat(completions).hasValue(1);
        assertThat(actives.get()).isEqualTo(inactives.get()).isLessThanOrEqualTo(1);
        if (!listener.isOpen()) {
            listen();
        }
        bystander.call();
    }

    @ParameterizedTest
    @CsvSource({
        "REQUESTER, CLOSE",
        "REQUESTER, CANCEL",
        "REQUESTER, REFUSE",
        "REQUESTER, BREAK",
        "RESPONDER, CLOSE",
        "RESPONDER, CANCEL",
        "RESPONDER, REFUSE",
        "RESPONDER, BREAK",
        "RESPONDER, STOP_LISTENING"
    })
    @Proves("API-11")
    void everyStep(Role role, Blow blow) throws Exception {
        List<Step> hit = new ArrayList<>();
        while (true) {
            NthStep plan =
                    new NthStep(
                            hit.size(),
                            s -> s != Step.DISCONNECTED && (s.mayFail() || blow != Blow.REFUSE),
                            s -> blow.strike(this, role, s));
            on(role, () -> context(role).plan(plan));
            try {
                connect(listener.localAddress(), 100_000);
                if (future.await(RpcPair.PATIENCE_SECONDS, TimeUnit.SECONDS)
                        && future.isSuccess()) {
                    // The last steps of the accepting side come later than the future.
                    Awaitility.await()
                            .pollInterval(1, TimeUnit.MILLISECONDS)
                            .until(() -> isAcceptedOrClosed());
                }
                check();
            } catch (Throwable e) {
                throw new AssertionError("step " + hit.size() + ' ' + hit + ": " + e, e);
            }
            if (plan.reached() == null) {
                assertThat(future.isSuccess()).isTrue();
                assertThat(hit).contains(Step.CREATE, Step.POST_RECEIVE);
                return;
            }
            hit.add(plan.reached());
        }
    }

    /** Event loops without a slab yet, so that the first receives have to be registered. */
    @ParameterizedTest
    @EnumSource(Role.class)
    @Proves("API-11")
    void memoryThatCannotBeRegistered(Role role) throws Exception {
        try (FaultPair fresh = new FaultPair()) {
            RpcRdmaConfig config = Enumeration.responder();
            Channel bound =
                    config.applyTo(new ServerBootstrap())
                            .group(fresh.group(Role.RESPONDER))
                            .channel(RdmaServerChannel.class)
                            .childHandler(with(config, new Answers()))
                            .bind(InetAddress.getLoopbackAddress(), 0)
                            .sync()
                            .channel();
            FaultContext context = fresh.device(role).context();
            fresh.group(role).submit(context::needMemoryAtOnce).sync();
            fresh.group(role).submit(() -> context.plan(refusing(Step.REGISTER))).sync();
            Bootstrap client = bootstrap(fresh);
            ChannelFuture refused = client.connect(bound.localAddress()).await();
            refused.channel().closeFuture().sync();
            fresh.group(role).submit(() -> context.plan(FaultPlan.NONE)).sync();
            for (Role side : Role.values()) {
                FaultContext device = fresh.device(side).context();
                Awaitility.await()
                        .pollInterval(1, TimeUnit.MILLISECONDS)
                        .atMost(RpcPair.PATIENCE_SECONDS, TimeUnit.SECONDS)
                        .until(
                                () ->
                                        fresh.group(side)
                                                .submit(
                                                        () ->
                                                                device.queuePairs().isEmpty()
                                                                        && device.connections()
                                                                                == 0)
                                                .get());
                assertThat(fresh.memoryInUse(side)).isZero();
            }
            Channel second = client.connect(bound.localAddress()).sync().channel();
            answered = new CountDownLatch(1);
            second.writeAndFlush(Form.SHORT.call(2)).sync();
            assertThat(answered.await(RpcPair.PATIENCE_SECONDS, TimeUnit.SECONDS)).isTrue();
            second.close().sync();
            bound.close().sync();
        }
    }

    private static FaultPlan refusing(Step refused) {
        return step -> {
            if (step == refused) {
                throw new IllegalStateException("the device refuses " + step);
            }
        };
    }

    /** As by a handler of the listening channel that limits connections: the channel never has an event loop. */
    @Test
    @Proves("API-11")
    void acceptedChannelThatIsTurnedAway() throws Exception {
        isTurnedAway = true;
        connect(listener.localAddress(), 100_000);
        check();
        assertThat(future.isSuccess()).isFalse();
        assertThat(accepted).hasSize(1);
    }

    private boolean isAcceptedOrClosed() throws Exception {
        if (accepted.isEmpty()) {
            return !connecting.isOpen();
        }
        CompletableFuture<Boolean> result = new CompletableFuture<>();
        on(
                Role.RESPONDER,
                () -> result.complete(accepted.get(0).isActive() || !accepted.get(0).isOpen()));
        return result.get();
    }

    /** Every byte of the set-up, and of the first call and its reply, is the last one that arrives. */
    @ParameterizedTest
    @CsvSource({
        "TO_ACCEPTING, FINISH",
        "TO_ACCEPTING, RESET",
        "TO_ACCEPTING, SILENCE",
        "TO_CONNECTING, FINISH",
        "TO_CONNECTING, RESET",
        "TO_CONNECTING, SILENCE"
    })
    @Proves("API-11")
    void everyByte(CutProxy.Direction direction, CutProxy.End end) throws Exception {
        int length = lengthOfFirstCall(direction);
        assertThat(length).isGreaterThan(100);
        for (int at = 0; at <= length; at++) {
            try (CutProxy proxy = new CutProxy(listener.localAddress(), direction, end, at)) {
                connect(proxy.address(), 100_000);
                callWhenConnected();
                if (end == CutProxy.End.SILENCE) {
                    proxy.awaitReached();
                    if (!future.cancel(false)) {
                        connecting.close();
                    }
                }
                if (future.await(RpcPair.PATIENCE_SECONDS, TimeUnit.SECONDS)
                        && future.isSuccess()) {
                    assertThat(
                                    connecting
                                            .closeFuture()
                                            .await(RpcPair.PATIENCE_SECONDS, TimeUnit.SECONDS))
                            .isTrue();
                }
                check();
            } catch (Throwable e) {
                throw new AssertionError("byte " + at + ": " + e, e);
            }
        }
    }

    private void callWhenConnected() {
        future.addListener(
                done -> {
                    if (done.isSuccess()) {
                        connecting.writeAndFlush(Form.SHORT.call(1));
                    }
                });
    }

    private int lengthOfFirstCall(CutProxy.Direction direction) throws Exception {
        try (CutProxy proxy =
                new CutProxy(
                        listener.localAddress(),
                        direction,
                        CutProxy.End.FINISH,
                        Integer.MAX_VALUE)) {
            answered = new CountDownLatch(1);
            connect(proxy.address(), 100_000);
            callWhenConnected();
            assertThat(answered.await(RpcPair.PATIENCE_SECONDS, TimeUnit.SECONDS)).isTrue();
            int passed = proxy.passed();
            check();
            return passed;
        }
    }

    /** The peer falls silent at every byte of its answer, and the time-out of the user ends it. */
    @ParameterizedTest
    @EnumSource(CutProxy.Direction.class)
    @Proves("API-11")
    void timeOutAtEveryByte(CutProxy.Direction direction) throws Exception {
        int length = lengthOfFirstCall(direction);
        for (int at = 0; at < length; at++) {
            try (CutProxy proxy =
                    new CutProxy(listener.localAddress(), direction, CutProxy.End.SILENCE, at)) {
                connect(proxy.address(), 2);
                check();
            }
        }
    }

    /** A connection that has nothing to do with the others, but for its event loops. */
    private final class Bystander implements AutoCloseable {
        private final Channel channel;
        private final Map<Role, RdmaChannel> ends = new EnumMap<>(Role.class);
        private final List<ByteBuf> replies = new CopyOnWriteArrayList<>();
        private final Map<Role, Long> memory = new EnumMap<>(Role.class);
        private int xid;

        Bystander() throws Exception {
            channel =
                    bootstrap()
                            .handler(
                                    with(
                                            requester,
                                            new ChannelInboundHandlerAdapter() {
                                                @Override
                                                public void channelRead(
                                                        ChannelHandlerContext ctx, Object message) {
                                                    replies.add((ByteBuf) message);
                                                }
                                            }))
                            .connect(listener.localAddress())
                            .sync()
                            .channel();
            call();
            ends.put(Role.REQUESTER, (RdmaChannel) channel);
            ends.put(Role.RESPONDER, (RdmaChannel) accepted.get(0));
        }

        /** One call and its reply; then both sides are at rest. */
        void call() throws Exception {
            channel.writeAndFlush(Form.SHORT.call(++xid)).sync();
            Awaitility.await()
                    .pollInterval(1, TimeUnit.MILLISECONDS)
                    .atMost(RpcPair.PATIENCE_SECONDS, TimeUnit.SECONDS)
                    .until(() -> replies.size() == 1);
            assertThat(Rpc.xid(replies.get(0))).isEqualTo(xid);
            replies.remove(0).release();
            for (Role role : Role.values()) {
                Awaitility.await()
                        .pollInterval(1, TimeUnit.MILLISECONDS)
                        .atMost(RpcPair.PATIENCE_SECONDS, TimeUnit.SECONDS)
                        .untilAsserted(
                                () ->
                                        on(
                                                role,
                                                () ->
                                                        assertThat(context(role).isAtRest())
                                                                .isTrue()));
                memory.put(role, pair.memoryInUse(role));
            }
        }

        void assertAlone(Role role) {
            FaultContext context = context(role);
            assertThat(context.queuePairs()).as("%s: queue pairs", role).hasSize(1);
            assertThat(context.connections()).as("%s: sockets", role).isEqualTo(1);
            assertThat(context.smallRegistrations()).as("%s: registrations", role).isZero();
            assertThat(context.problems()).isEmpty();
            assertThat(ends.get(role).registeredBytesInUse())
                    .as("%s: registered memory", role)
                    .isEqualTo(memory.get(role));
        }

        @Override
        public void close() throws Exception {
            channel.close().sync();
        }
    }

    @Sharable
    private final class Counts extends ChannelInboundHandlerAdapter {
        @Override
        public void channelRead(ChannelHandlerContext ctx, Object message) {
            ReferenceCountUtil.release(message);
            answered.countDown();
        }

        @Override
        public void channelActive(ChannelHandlerContext ctx) {
            actives.incrementAndGet();
        }

        @Override
        public void channelInactive(ChannelHandlerContext ctx) {
            inactives.incrementAndGet();
        }

        @Override
        public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
            // Faults are what these tests are made of.
        }
    }

    @Sharable
    private static final class Answers extends ChannelInboundHandlerAdapter {
        @Override
        public void channelRead(ChannelHandlerContext ctx, Object message) {
            ByteBuf call = (ByteBuf) message;
            int xid = Rpc.xid(call);
            call.release();
            ctx.writeAndFlush(Form.SHORT.reply(xid));
        }

        @Override
        public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
            // Faults are what these tests are made of.
        }
    }
}
