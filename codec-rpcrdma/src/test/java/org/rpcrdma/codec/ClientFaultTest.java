// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.EventLoop;
import io.netty.util.ReferenceCountUtil;
import io.netty.util.ReferenceCounted;
import io.netty.util.concurrent.Future;
import java.net.InetAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CancellationException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.rpcrdma.Proves;
import org.rpcrdma.channel.RdmaServerChannel;
import org.rpcrdma.codec.FaultPair.Role;
import org.rpcrdma.codec.client.RpcRdmaClient;
import org.rpcrdma.codec.fault.FaultContext;
import org.rpcrdma.codec.fault.FaultPlan;
import org.rpcrdma.codec.fault.FaultQueuePair;
import org.rpcrdma.codec.fault.NthStep;
import org.rpcrdma.codec.fault.Step;
import org.rpcrdma.codec.fault.UserMemory;

/**
 * Invariants 1, 5 and 6 through {@link RpcRdmaClient}: a connection is lost, or the user gives up, at every step of a
 * call, connecting included. The future completes once; what is sent again has the same XID, fresh handles, and nothing
 * of the lost connection within reach.
 */
class ClientFaultTest {

    /** What happens at a step. */
    enum Blow {
        /** The connection breaks. */
        BREAK(true) {
            @Override
            void strike(Run run, Role role, Step step) {
                for (FaultQueuePair queuePair : run.pair.device(role).context().queuePairs()) {
                    queuePair.breakDown();
                }
            }
        },
        /** The device refuses the call. */
        REFUSE(false) {
            @Override
            void strike(Run run, Role role, Step step) {
                if (step.mayFail()) {
                    throw new IllegalStateException("the device refuses " + step);
                }
            }
        },
        /** The user gives the call up: in a listener or a handler when the step is an event, else in the next task. */
        CANCEL(false) {
            @Override
            void strike(Run run, Role role, Step step) {
                if (step.isEvent() && role == Role.REQUESTER) {
                    run.futures.get(0).cancel(false);
                } else {
                    run.requester.execute(() -> run.futures.get(0).cancel(false));
                }
            }
        },
        /** The user closes the client. */
        CLOSE(false) {
            @Override
            void strike(Run run, Role role, Step step) {
                run.client.close();
            }
        };

        /** Whether the calls are answered all the same. */
        private final boolean isSurvived;

        Blow(boolean isSurvived) {
            this.isSurvived = isSurvived;
        }

        abstract void strike(Run run, Role role, Step step);
    }

    private FaultPair pair;

    @BeforeEach
    void open() {
        pair = new FaultPair();
    }

    @AfterEach
    void close() throws Exception {
        pair.close();
    }

    static List<Arguments> everything() {
        List<Arguments> all = new ArrayList<>();
        for (Form form :
                List.of(
                        Form.SHORT,
                        Form.READ_CHUNK,
                        Form.LONG_BOTH,
                        Form.ALL_CHUNKS,
                        Form.APART_RESULT,
                        Form.APART_ALL)) {
            for (Role role : Role.values()) {
                for (Blow blow : Blow.values()) {
                    all.add(Arguments.of(form, role, blow));
                }
            }
        }
        return all;
    }

    @ParameterizedTest
    @MethodSource("everything")
    @Proves({"V1-ERR-22", "V1-CRED-19", "V1-MR-10", "V1-MR-05", "API-11", "SEC-04"})
    void everyFutureCompletesOnce(Form form, Role role, Blow blow) throws Exception {
        List<Step> hit = new ArrayList<>();
        while (true) {
            String at = form + ", " + role + ", " + blow + " at step " + hit.size() + ' ' + hit;
            try (Run run = new Run(pair, form)) {
                run.plan(role, blow, hit.size());
                run.call();
                Step reached = run.check(blow);
                if (reached == null) {
                    assertThat(hit).isNotEmpty();
                    return;
                }
                hit.add(reached);
            } catch (AssertionError | java.util.concurrent.ExecutionException e) {
                throw new AssertionError(at + ": " + e.getMessage(), e);
            }
        }
    }

    /** Two calls through one client, of which the second waits for a credit. */
    private static final class Run implements AutoCloseable {
        final FaultPair pair;
        final Form form;
        final RpcRdmaClient client;
        final List<Future<? extends ReferenceCounted>> futures = new ArrayList<>();
        private final Channel listener;
        private final EventLoop requester;
        private final List<ReferenceCounted> messages = new ArrayList<>();
        private final List<UserMemory> lent = new ArrayList<>();
        private final List<AtomicInteger> completions = new ArrayList<>();
        private final List<Integer> sent = new ArrayList<>();

        /** What was wrong with memory when its call was answered. */
        private final List<String> givenBack = new ArrayList<>();

        private NthStep plan;

        Run(FaultPair pair, Form form) throws Exception {
            this.pair = pair;
            this.form = form;
            requester = pair.group(Role.REQUESTER).next();

            RpcRdmaConfig config = Enumeration.responder(form);
            ServerBootstrap server =
                    new ServerBootstrap()
                            .group(pair.group(Role.RESPONDER))
                            .channel(RdmaServerChannel.class)
                            .childHandler(
                                    new ChannelInitializer<>() {
                                        @Override
                                        protected void initChannel(Channel channel) {
                                            channel.pipeline()
                                                    .addLast(
                                                            new RpcRdmaCodec(config),
                                                            new Answers(form));
                                        }
                                    });
            listener =
                    config.applyTo(server)
                            .bind(InetAddress.getLoopbackAddress(), 0)
                            .sync()
                            .channel();
            client =
                    RpcRdmaClient.builder(pair.group(Role.REQUESTER), listener.localAddress())
                            .config(Enumeration.requester())
                            .connections(1)
                            .backOff(Duration.ofMillis(1), Duration.ofMillis(1))
                            .firstCallTimeout(Duration.ofSeconds(1_000))
                            .callTimeout(Duration.ofSeconds(1_000))
                            .build();
            on(Role.REQUESTER, context -> context.atCreation(this::watch));
        }

        private void watch(FaultQueuePair queuePair) {
            queuePair.watch((length, xid, credits, procedure, covered) -> sent.add(xid));
        }

        private FaultContext context(Role role) {
            return pair.device(role).context();
        }

        private void on(Role role, Consumer<FaultContext> action) throws Exception {
            RpcPair.on(pair.group(role), () -> action.accept(context(role)));
        }

        void plan(Role role, Blow blow, int at) throws Exception {
            plan =
                    new NthStep(
                            at,
                            step -> step.mayFail() || blow != Blow.REFUSE,
                            step -> blow.strike(this, role, step));
            on(role, context -> context.plan(plan));
        }

        void call() throws Exception {
            // Both are there before the first step.
            requester
                    .submit(
                            () -> {
                                for (int i = 0; i < 2; i++) {
                                    call(i);
                                }
                            })
                    .get(RpcPair.PATIENCE_SECONDS, TimeUnit.SECONDS);
        }

        private void call(int number) {
            ReferenceCounted message = form.written(form.xids() + number);
            messages.add(message);
            for (UserMemory memory : FaultPair.memory(message)) {
                memory.lentTo(context(Role.REQUESTER));
                lent.add(memory);
            }
            Future<? extends ReferenceCounted> future =
                    message instanceof RpcMessage apart
                            ? client.call(apart)
                            : client.call((ByteBuf) message);
            AtomicInteger count = new AtomicInteger();
            future.addListener(
                    done -> {
                        count.incrementAndGet();
                        if (done.isSuccess()) {
                            FaultPair.memory(message)
                                    .forEach(memory -> givenBack.add(memory.problem()));
                        }
                    });
            completions.add(count);
            futures.add(future);
        }

        /** Returns the step that was hit. */
        Step check(Blow blow) throws Exception {
            for (Future<? extends ReferenceCounted> future : futures) {
                assertThat(future.await(RpcPair.PATIENCE_SECONDS, TimeUnit.SECONDS))
                        .as("a call that never ends")
                        .isTrue();
                if (future.isSuccess()) {
                    on(Role.REQUESTER, context -> checkReply(future.getNow()));
                } else {
                    assertThat(plan.reached()).isNotNull();
                    assertThat(blow.isSurvived).as(String.valueOf(future.cause())).isFalse();
                    assertThat(future.cause())
                            .isInstanceOfAny(
                                    CancellationException.class,
                                    ConnectionLostException.class,
                                    MarshalException.class,
                                    ErrChunkReplyException.class);
                }
            }
            on(
                    Role.REQUESTER,
                    context -> {
                        assertThat(context.problems()).isEmpty();
                        assertThat(givenBack).allMatch(Objects::isNull);
                        // Each call has one XID, however often it is sent.
                        assertThat(sent.stream().distinct().count()).isLessThanOrEqualTo(2);
                    });
            return plan.reached();
        }

        private void checkReply(ReferenceCounted reply) {
            ByteBuf whole = ItemsBinding.whole(reply);
            ByteBuf right = form.reply(Rpc.xid(reply));
            byte[] expected = Rpc.bytes(right);
            assertThat(ByteBufUtil.getBytes(whole)).isEqualTo(expected);
            whole.release();
            reply.release();
        }

        @Override
        public void close() throws Exception {
            on(Role.REQUESTER, context -> context.plan(FaultPlan.NONE));
            on(Role.RESPONDER, context -> context.plan(FaultPlan.NONE));
            assertThat(client.closeAsync().await(RpcPair.PATIENCE_SECONDS, TimeUnit.SECONDS))
                    .isTrue();
            assertThat(client.outstandingCalls()).isZero();
            listener.close().sync();
            // Both ends close by themselves: nobody closes the responder's.
            for (Role role : Role.values()) {
                Awaitility.await()
                        .pollInterval(1, TimeUnit.MILLISECONDS)
                        .atMost(RpcPair.PATIENCE_SECONDS, TimeUnit.SECONDS)
                        .untilAsserted(() -> on(role, Run::assertNothingLeft));
                assertThat(pair.memoryInUse(role)).as("%s: registered memory", role).isZero();
            }
            for (AtomicInteger count : completions) {
                assertThat(count).hasValue(1);
            }
            for (ReferenceCounted message : messages) {
                assertThat(message.refCnt()).as("references to a call").isZero();
            }
            for (UserMemory memory : lent) {
                assertThat(memory.refCnt()).as("references to memory of the user").isZero();
                assertThat(memory.problems()).isEmpty();
            }
        }

        private static void assertNothingLeft(FaultContext context) {
            assertThat(context.queuePairs()).as("queue pairs").isEmpty();
            assertThat(context.connections()).as("sockets").isZero();
            assertThat(context.smallRegistrations()).as("registrations").isZero();
            assertThat(context.problems()).isEmpty();
        }
    }

    private static final class Answers extends ChannelInboundHandlerAdapter {
        private final Form form;

        Answers(Form form) {
            this.form = form;
        }

        @Override
        public void channelRead(ChannelHandlerContext ctx, Object message) {
            int xid = Rpc.xid((ReferenceCounted) message);
            ReferenceCountUtil.release(message);
            ReferenceCounted answer = form.answer(xid);
            ctx.writeAndFlush(answer);
        }

        @Override
        public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
            // Faults are what these tests are made of.
        }
    }
}
