// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;
import static org.rpcrdma.channel.ConnectedPair.PATIENCE_SECONDS;

import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ServerChannel;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.rpcrdma.Device;
import org.rpcrdma.NeedsDevice;
import org.rpcrdma.channel.admission.AddressAllowList;
import org.rpcrdma.channel.admission.AdmissionDecision;
import org.rpcrdma.channel.admission.AdmissionPolicy;
import org.rpcrdma.channel.admission.AdmissionRequest;
import org.rpcrdma.channel.admission.ConnectionLimits;
import org.rpcrdma.verbs.RejectedException;

/** Who may connect to a server channel. */
class AdmissionTest {

    private final RdmaEventLoopGroup group = new RdmaEventLoopGroup(1);
    private final RdmaEventLoopGroup clients = new RdmaEventLoopGroup(1);
    private final BlockingQueue<Channel> accepted = new LinkedBlockingQueue<>();
    private Channel server;

    @AfterEach
    void shutDown() {
        clients.shutdownGracefully(0, PATIENCE_SECONDS, TimeUnit.SECONDS).syncUninterruptibly();
        group.shutdownGracefully(0, PATIENCE_SECONDS, TimeUnit.SECONDS).syncUninterruptibly();
    }

    /** Keeps what the policy is asked, and decides when the test says so. */
    private static final class LatePolicy implements AdmissionPolicy {

        private record Asked(
                AdmissionRequest request, CompletableFuture<AdmissionDecision> decision) {}

        private final BlockingQueue<Asked> asked = new LinkedBlockingQueue<>();

        @Override
        public CompletionStage<AdmissionDecision> decide(AdmissionRequest request) {
            CompletableFuture<AdmissionDecision> decision = new CompletableFuture<>();
            asked.add(new Asked(request, decision));
            return decision;
        }

        Asked next() throws InterruptedException {
            return asked.poll(PATIENCE_SECONDS, TimeUnit.SECONDS);
        }
    }

    private static AdmissionPolicy always(AdmissionDecision decision) {
        return request -> CompletableFuture.completedStage(decision);
    }

    private void serve(AdmissionPolicy policy) throws Exception {
        serve(RdmaServerChannel.class, policy, bootstrap -> {});
    }

    private void serve(
            Class<? extends ServerChannel> type,
            AdmissionPolicy policy,
            Consumer<ServerBootstrap> options)
            throws Exception {
        serve(type, policy, options, group);
    }

    private void serve(
            Class<? extends ServerChannel> type,
            AdmissionPolicy policy,
            Consumer<ServerBootstrap> options,
            RdmaEventLoopGroup children)
            throws Exception {
        ServerBootstrap bootstrap =
                new ServerBootstrap()
                        .group(group, children)
                        .channel(type)
                        .option(RdmaChannelOption.ADMISSION_POLICY, policy)
                        .childHandler(new Accepted());
        options.accept(bootstrap);
        server = bootstrap.bind(InetAddress.getLoopbackAddress(), 0).sync().channel();
    }

    @ChannelHandler.Sharable
    private final class Accepted extends ChannelInboundHandlerAdapter {
        @Override
        public void channelActive(ChannelHandlerContext ctx) {
            accepted.add(ctx.channel());
        }
    }

    private ChannelFuture connect() {
        return connect(RdmaChannel.class);
    }

    private ChannelFuture connect(Class<? extends Channel> type) {
        return bootstrap(type).connect((InetSocketAddress) server.localAddress());
    }

    private Bootstrap bootstrap(Class<? extends Channel> type) {
        return new Bootstrap()
                .group(clients)
                .channel(type)
                .handler(new ChannelInboundHandlerAdapter());
    }

    private Channel accepted() throws InterruptedException {
        Channel channel = accepted.poll(PATIENCE_SECONDS, TimeUnit.SECONDS);
        assertThat(channel).as("accepted channel").isNotNull();
        return channel;
    }

    private static Throwable failure(ChannelFuture connect) throws InterruptedException {
        assertThat(connect.await(PATIENCE_SECONDS, TimeUnit.SECONDS)).isTrue();
        return connect.cause();
    }

    // ------------------------------------------------------------------ decisions

    @ParameterizedTest
    @MethodSource("types")
    void aPeerThatThePolicyAcceptsIsConnected(Class<? extends Channel> type) throws Exception {
        LatePolicy policy = new LatePolicy();
        serve(serverOf(type), policy, bootstrap -> {});
        ChannelFuture connect = connect(type);
        LatePolicy.Asked asked = policy.next();

        assertThat(asked.request().remoteAddress().getAddress())
                .isEqualTo(InetAddress.getLoopbackAddress());
        assertThat(asked.request().localAddress()).isEqualTo(server.localAddress());
        assertThat(connect.isDone()).isFalse();
        asked.decision().complete(AdmissionDecision.accept());
        assertThat(failure(connect)).isNull();
        assertThat(accepted().isActive()).isTrue();
    }

    /** Byte streams need private data in both directions. */
    static Stream<Class<? extends Channel>> types() {
        return Device.can("privateDataOnAccept")
                ? Stream.of(RdmaChannel.class, RdmaStreamChannel.class)
                : Stream.of(RdmaChannel.class);
    }

    private static Class<? extends ServerChannel> serverOf(Class<? extends Channel> type) {
        return type == RdmaChannel.class ? RdmaServerChannel.class : RdmaServerStreamChannel.class;
    }

    @ParameterizedTest
    @MethodSource("types")
    void aPeerThatThePolicyRejectsIsRefused(Class<? extends Channel> type) throws Exception {
        serve(serverOf(type), always(AdmissionDecision.reject("not today")), bootstrap -> {});

        assertThat(failure(connect(type))).isNotNull();
        await().until(() -> group.value(RdmaCounter.ADMISSIONS_REJECTED) == 1);
        assertThat(accepted).isEmpty();
        assertThat(server.isActive()).isTrue();
    }

    @Test
    @NeedsDevice("rejectWithData")
    void thePeerSeesTheReason() throws Exception {
        serve(always(AdmissionDecision.reject("not today")));

        Throwable failure = failure(connect());
        assertThat(failure).hasMessageContaining("not today");
        assertThat(failure).hasRootCauseInstanceOf(RejectedException.class);
    }

    @Test
    @NeedsDevice("rejectWithData")
    void thePeerSeesThePrivateDataOfTheRejection() throws Exception {
        byte[] data = {1, 2, 3, 0, -1};
        serve(always(AdmissionDecision.reject("not today", data)));

        assertThat(rejection(connect()).privateData()).startsWith(data);
    }

    private static RejectedException rejection(ChannelFuture connect) throws InterruptedException {
        Throwable cause = failure(connect);
        while (cause != null && !(cause instanceof RejectedException)) {
            cause = cause.getCause();
        }
        assertThat(cause).isNotNull();
        return (RejectedException) cause;
    }

    @Test
    @NeedsDevice("rejectWithData")
    void privateDataThatTheDeviceDoesNotCarryIsCutOff() throws Exception {
        byte[] data = "x".repeat(5_000).getBytes(US_ASCII);
        serve(always(AdmissionDecision.reject("long", data)));

        assertThat(rejection(connect()).privateData()).hasSizeBetween(1, 512).startsWith('x');
        assertThat(failure(connect())).isNotNull();
        assertThat(server.isActive()).isTrue();
    }

    @Test
    @NeedsDevice("privateDataOnAccept")
    void thePolicySeesThePrivateDataOfThePeer() throws Exception {
        LatePolicy policy = new LatePolicy();
        serve(policy);
        byte[] data = {7, 8, 9};
        ChannelFuture connect =
                bootstrap(RdmaChannel.class)
                        .option(RdmaChannelOption.PRIVATE_DATA, data)
                        .connect((InetSocketAddress) server.localAddress());
        LatePolicy.Asked asked = policy.next();

        assertThat(asked.request().privateData()).startsWith(data);
        asked.decision().complete(AdmissionDecision.accept());
        assertThat(failure(connect)).isNull();
    }

    // ------------------------------------------------------------------ policies that fail

    private static AdmissionPolicy failing(String how) {
        return switch (how) {
            case "throws" ->
                    request -> {
                        throw new IllegalStateException("of the user");
                    };
            case "error" ->
                    request -> {
                        throw new StackOverflowError("of the user");
                    };
            case "null stage" -> request -> null;
            case "null decision" -> request -> CompletableFuture.completedStage(null);
            case "failed stage" ->
                    request -> CompletableFuture.failedStage(new IllegalStateException("later"));
            case "failed thread" ->
                    request ->
                            CompletableFuture.supplyAsync(
                                    () -> {
                                        throw new IllegalStateException("elsewhere");
                                    });
            case "first of two" -> failing("throws").and(AdmissionPolicy.acceptAll());
            default -> AdmissionPolicy.acceptAll().and(failing("null stage"));
        };
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "throws",
                "error",
                "null stage",
                "null decision",
                "failed stage",
                "failed thread",
                "first of two",
                "second of two"
            })
    void aPolicyThatFailsRefusesThePeerAndCostsNothingElse(String how) throws Exception {
        serve(failing(how));

        assertThat(failure(connect())).isNotNull();
        await().until(() -> group.value(RdmaCounter.ADMISSIONS_FAILED) == 1);
        assertThat(server.isActive()).isTrue();
        server.config().setOption(RdmaChannelOption.ADMISSION_POLICY, AdmissionPolicy.acceptAll());
        assertThat(failure(connect())).isNull();
        assertThat(accepted().isActive()).isTrue();
    }

    @Test
    void aPolicyThatDoesNotDecideInTimeRefusesThePeer() throws Exception {
        LatePolicy policy = new LatePolicy();
        serve(
                RdmaServerChannel.class,
                policy,
                bootstrap -> bootstrap.option(RdmaChannelOption.ADMISSION_TIMEOUT_MILLIS, 10));
        ChannelFuture connect = connect();
        LatePolicy.Asked asked = policy.next();

        assertThat(failure(connect)).isNotNull();
        assertThat(group.value(RdmaCounter.ADMISSIONS_TIMED_OUT)).isEqualTo(1);
        asked.request().ended().toCompletableFuture().get(PATIENCE_SECONDS, TimeUnit.SECONDS);
        // Too late.
        asked.decision().complete(AdmissionDecision.accept());
        ConnectedPair.on(server, () -> null);
        assertThat(accepted).isEmpty();
        assertThat(server.isActive()).isTrue();
    }

    // ------------------------------------------------------------------ bounds

    @Test
    void noMoreRequestsAreUndecidedThanConfigured() throws Exception {
        LatePolicy policy = new LatePolicy();
        serve(
                RdmaServerChannel.class,
                policy,
                bootstrap -> bootstrap.option(RdmaChannelOption.MAX_UNDECIDED_REQUESTS, 2));
        List<ChannelFuture> connects = new ArrayList<>();
        for (int i = 0; i < 6; i++) {
            connects.add(connect());
        }
        LatePolicy.Asked first = policy.next();
        LatePolicy.Asked second = policy.next();
        for (int i = 2; i < 6; i++) {
            assertThat(policy.asked).isEmpty();
            first.decision().complete(AdmissionDecision.accept());
            first = second;
            second = policy.next();
        }
        assertThat(policy.asked).isEmpty();
        first.decision().complete(AdmissionDecision.accept());
        second.decision().complete(AdmissionDecision.accept());
        for (ChannelFuture connect : connects) {
            assertThat(failure(connect)).isNull();
        }
    }

    @Test
    void aClosedServerChannelRefusesWhatIsUndecided() throws Exception {
        LatePolicy policy = new LatePolicy();
        serve(
                RdmaServerChannel.class,
                policy,
                bootstrap -> bootstrap.option(RdmaChannelOption.MAX_UNDECIDED_REQUESTS, 1));
        ChannelFuture undecided = connect();
        LatePolicy.Asked asked = policy.next();
        ChannelFuture waiting = connect();
        server.close().sync();

        assertThat(failure(undecided)).isNotNull();
        assertThat(failure(waiting)).isNotNull();
        asked.request().ended().toCompletableFuture().get(PATIENCE_SECONDS, TimeUnit.SECONDS);
        asked.decision().complete(AdmissionDecision.accept());
        assertThat(accepted).isEmpty();
        assertThat(group.value(RdmaCounter.ADMISSIONS_REJECTED)).isZero();
    }

    /** Its queue pair is never made, or has nobody at its other end. */
    @Test
    void aPeerThatHasGoneWhenItIsAcceptedGivesBackItsShare() throws Exception {
        ConnectionLimits limits = new ConnectionLimits(1, 1);
        LatePolicy policy = new LatePolicy();
        serve(limits.and(policy));
        ChannelFuture gone = connect();
        LatePolicy.Asked asked = policy.next();
        assertThat(limits.connections()).isEqualTo(1);
        gone.channel().close().sync();
        asked.decision().complete(AdmissionDecision.accept());

        await().until(() -> limits.connections() == 0);
        ChannelFuture next = connect();
        policy.next().decision().complete(AdmissionDecision.accept());
        assertThat(failure(next)).isNull();
    }

    @Test
    void theNextOfTwoPoliciesIsAskedOnTheEventLoop() throws Exception {
        LatePolicy first = new LatePolicy();
        CompletableFuture<Boolean> isInEventLoop = new CompletableFuture<>();
        serve(
                first.and(
                        request -> {
                            isInEventLoop.complete(server.eventLoop().inEventLoop());
                            return CompletableFuture.completedStage(AdmissionDecision.accept());
                        }));
        ChannelFuture connect = connect();
        first.next().decision().complete(AdmissionDecision.accept());

        assertThat(isInEventLoop.get(PATIENCE_SECONDS, TimeUnit.SECONDS)).isTrue();
        assertThat(failure(connect)).isNull();
    }

    // ------------------------------------------------------------------ limits

    @Test
    void aConnectionGivesBackItsShareWhenItEnds() throws Exception {
        ConnectionLimits limits = new ConnectionLimits(10, 2);
        serve(limits);
        Channel first = connect().sync().channel();
        connect().sync();
        assertThat(failure(connect())).isNotNull();
        assertThat(limits.connections()).isEqualTo(2);

        first.close().sync();
        await().until(() -> limits.connections() == 1);
        assertThat(failure(connect())).isNull();
        server.close().sync();
        assertThat(limits.connections()).isEqualTo(2);
        accepted().close();
        accepted().close();
        accepted().close();
        await().until(() -> limits.connections() == 0);
        assertThat(limits.addresses()).isZero();
    }

    /** A channel that fails before it is registered is never told of its close by Netty. */
    @Test
    void aChildThatNoEventLoopTakesGivesBackItsShare() throws Exception {
        ConnectionLimits limits = new ConnectionLimits(1, 1);
        RdmaEventLoopGroup children = new RdmaEventLoopGroup(1);
        children.shutdownGracefully(0, 0, TimeUnit.SECONDS).sync();
        serve(RdmaServerChannel.class, limits, bootstrap -> {}, children);

        assertThat(failure(connect())).isNotNull();
        await().until(() -> limits.connections() == 0);
        assertThat(failure(connect())).isNotNull();
        await().until(() -> limits.connections() == 0);
        assertThat(group.value(RdmaCounter.ADMISSIONS_REJECTED)).isZero();
    }

    /** The child's own handler ends it before its queue pair is made. */
    @Test
    void aChildWhoseInitializationFailsGivesBackItsShare() throws Exception {
        ConnectionLimits limits = new ConnectionLimits(1, 1);
        serve(
                RdmaServerChannel.class,
                limits,
                bootstrap ->
                        bootstrap.childHandler(
                                new ChannelInitializer<>() {
                                    @Override
                                    protected void initChannel(Channel channel) {
                                        throw new IllegalStateException("of the user");
                                    }
                                }));

        assertThat(failure(connect())).isNotNull();
        await().until(() -> limits.connections() == 0);
    }

    /** Accepts with these settings are refused by the device. */
    @Test
    void aChildThatTheDeviceDoesNotTakeGivesBackItsShare() throws Exception {
        ConnectionLimits limits = new ConnectionLimits(1, 1);
        serve(
                RdmaServerChannel.class,
                limits,
                bootstrap ->
                        bootstrap.childOption(RdmaChannelOption.RECEIVE_DEPTH, Integer.MAX_VALUE));

        assertThat(failure(connect())).isNotNull();
        await().until(() -> limits.connections() == 0);
        assertThat(server.isActive()).isTrue();
    }

    @Test
    void anAllowListLetsIn() throws Exception {
        serve(AddressAllowList.of("127.0.0.0/8", "::1").and(new ConnectionLimits(2, 1)));
        assertThat(failure(connect())).isNull();

        server.config()
                .setOption(RdmaChannelOption.ADMISSION_POLICY, AddressAllowList.of("192.0.2.0/24"));
        assertThat(failure(connect())).isNotNull();
    }

    /** Half of them are accepted, by a thread of the policy, and end in any order. */
    @Test
    void aThousandPeersLeaveNothingBehind() throws Exception {
        ConnectionLimits limits = new ConnectionLimits(1_000, 1_000);
        LatePolicy policy = new LatePolicy();
        serve(limits.and(policy));
        int accepts = 0;
        List<ChannelFuture> connects = new ArrayList<>();
        for (int i = 0; i < 1_000; i++) {
            connects.add(connect());
            if (connects.size() == 20) {
                for (int j = 0; j < 20; j++) {
                    policy.next()
                            .decision()
                            .complete(
                                    j % 2 == 0
                                            ? AdmissionDecision.accept()
                                            : AdmissionDecision.reject("every other one"));
                }
                for (ChannelFuture connect : connects) {
                    accepts += failure(connect) == null ? 1 : 0;
                    connect.channel().close();
                }
                connects.clear();
            }
            if (i % 100 == 99) {
                // A device has room for so many connections, those that are ending among them.
                await().until(() -> group.registeredChannels() == 1);
            }
        }

        assertThat(accepts).isEqualTo(500);
        await().until(() -> limits.connections() == 0);
        assertThat(limits.addresses()).isZero();
        assertThat(group.value(RdmaCounter.ADMISSIONS_REJECTED)).isEqualTo(500);
        await().until(() -> group.registeredChannels() == 1);
        await().until(() -> group.registeredBytesInUse() == 0);
    }

    // ------------------------------------------------------------------ configuration

    @Test
    void optionsAreChecked() {
        RdmaServerChannelConfig config = new RdmaServerChannel().config();

        assertThat(config.getOptions())
                .containsEntry(RdmaChannelOption.ADMISSION_POLICY, AdmissionPolicy.acceptAll());
        assertThatThrownBy(() -> config.setAdmissionTimeoutMillis(0))
                .hasMessageContaining("ADMISSION_TIMEOUT_MILLIS");
        assertThatThrownBy(() -> config.setOption(RdmaChannelOption.MAX_UNDECIDED_REQUESTS, 0))
                .hasMessageContaining("MAX_UNDECIDED_REQUESTS");
    }
}
