// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.util.ReferenceCountUtil;
import io.netty.util.ReferenceCounted;
import io.netty.util.collection.IntObjectHashMap;
import io.netty.util.concurrent.DefaultThreadFactory;
import java.net.InetAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import org.rpcrdma.channel.PollMode;
import org.rpcrdma.channel.RdmaChannel;
import org.rpcrdma.channel.RdmaChannelOption;
import org.rpcrdma.channel.RdmaEventLoopGroup;
import org.rpcrdma.channel.RdmaServerChannel;
import org.rpcrdma.channel.RegistrationPolicy;
import org.rpcrdma.codec.fault.FaultContext;
import org.rpcrdma.codec.fault.FaultPlan;
import org.rpcrdma.codec.fault.FaultProvider;
import org.rpcrdma.codec.fault.FaultQueuePair;
import org.rpcrdma.codec.fault.UserMemory;

/** A requester and a responder on one event loop each, over devices that fail on demand. */
final class FaultPair implements AutoCloseable {

    /** Whose device fails. */
    enum Role {
        REQUESTER,
        RESPONDER
    }

    final FaultProvider requesterDevice = new FaultProvider();
    final FaultProvider responderDevice = new FaultProvider();
    private final RdmaEventLoopGroup requesters = group(requesterDevice);
    private final RdmaEventLoopGroup responders = group(responderDevice);

    private static RdmaEventLoopGroup group(FaultProvider device) {
        return new RdmaEventLoopGroup(
                1, new DefaultThreadFactory("fault"), device, PollMode.ADAPTIVE);
    }

    /** What the responders of all connections remember; {@code null} when each is to have a memory of its own. */
    CrossConnectionPeerState memory;

    private int receiveDepth;
    private RegistrationPolicy registration = RegistrationPolicy.EXACT;

    /** Of the requester. */
    void registration(RegistrationPolicy policy) {
        registration = policy;
    }

    /** Receives of the responder, in the place of those that go with its credits. */
    void receiveDepth(int receives) {
        receiveDepth = receives;
    }

    /** The memory of the user in a message. */
    static List<UserMemory> memory(ReferenceCounted message) {
        List<UserMemory> all = new ArrayList<>();
        if (message instanceof RpcMessage apart) {
            for (int i = 0; i < apart.items(); i++) {
                all.add((UserMemory) apart.item(i));
            }
            for (int i = 0; i < apart.sinks(); i++) {
                all.add((UserMemory) apart.sink(i));
            }
        }
        return all;
    }

    RdmaEventLoopGroup group(Role role) {
        return role == Role.REQUESTER ? requesters : responders;
    }

    /** Registered bytes that are lent, without a channel that could be asked. */
    long memoryInUse(Role role) throws Exception {
        RdmaChannel probe = new RdmaChannel();
        group(role).register(probe).sync();
        try {
            return RpcPair.on(probe, probe::registeredBytesInUse);
        } finally {
            probe.close().sync();
        }
    }

    FaultProvider device(Role role) {
        return role == Role.REQUESTER ? requesterDevice : responderDevice;
    }

    /** A connection with the responder that answers each call by {@code service}. */
    Connection connect(
            RpcRdmaConfig requester,
            RpcRdmaConfig responder,
            Function<ReferenceCounted, ReferenceCounted> service)
            throws Exception {
        return connect(CodecEnd.of(requester), CodecEnd.of(responder), service);
    }

    /** As above, with counters or a cache of the test. */
    Connection connect(
            CodecEnd requester,
            CodecEnd responder,
            Function<ReferenceCounted, ReferenceCounted> service)
            throws Exception {
        return new Connection(requester, responder, service);
    }

    @Override
    public void close() throws InterruptedException {
        requesters.shutdownGracefully(0, RpcPair.PATIENCE_SECONDS, TimeUnit.SECONDS).sync();
        responders.shutdownGracefully(0, RpcPair.PATIENCE_SECONDS, TimeUnit.SECONDS).sync();
    }

    /** How calls have ended, and what must hold for them. Its fields belong to the requester's event loop. */
    final class Connection implements AutoCloseable {

        final RdmaChannel requester;
        final RdmaChannel responder;
        private final Channel listener;
        private final Caller caller = new Caller();
        private final List<ReferenceCounted> calls = new ArrayList<>();
        private final List<ReferenceCounted> replies = new ArrayList<>();
        private final List<UserMemory> lent = new ArrayList<>();
        private final BlockingQueue<RdmaChannel> accepted = new LinkedBlockingQueue<>();
        private final CountDownLatch responderInactive = new CountDownLatch(1);
        private final List<String> grantProblems = new ArrayList<>();

        Connection(
                CodecEnd requesterEnd,
                CodecEnd responderEnd,
                Function<ReferenceCounted, ReferenceCounted> service)
                throws Exception {
            ServerBootstrap server =
                    new ServerBootstrap()
                            .group(responders)
                            .channel(RdmaServerChannel.class)
                            .childHandler(with(responderEnd, new ResponderState(service)));
            responderEnd.config().applyTo(server);
            if (memory != null) {
                server.childAttr(CrossConnectionPeerState.KEY, memory);
            }
            if (receiveDepth > 0) {
                server.childOption(RdmaChannelOption.RECEIVE_DEPTH, receiveDepth);
            }
            listener = server.bind(InetAddress.getLoopbackAddress(), 0).sync().channel();
            Bootstrap client =
                    new Bootstrap()
                            .group(requesters)
                            .channel(RdmaChannel.class)
                            .option(RdmaChannelOption.REGISTRATION, registration)
                            .handler(with(requesterEnd, caller));
            requester =
                    (RdmaChannel)
                            requesterEnd
                                    .config()
                                    .applyTo(client)
                                    .connect(listener.localAddress())
                                    .sync()
                                    .channel();
            RpcPair.settle(requester); // a connect is told before channelActive
            responder = accepted.poll(RpcPair.PATIENCE_SECONDS, TimeUnit.SECONDS);
            assertThat(responder).isNotNull();
            RpcPair.on(
                    responder,
                    () -> {
                        queuePair(Role.RESPONDER).watch(this::checkGrant);
                        return null;
                    });
        }

        private ChannelInitializer<Channel> with(
                CodecEnd end, ChannelInboundHandlerAdapter handler) {
            return new ChannelInitializer<>() {
                @Override
                protected void initChannel(Channel channel) {
                    channel.pipeline().addLast(end.codec(), handler);
                }
            };
        }

        /** The peer may have as many calls out as it is granted, less those that have come already. */
        private void checkGrant(int length, int xid, int credits, int procedure, int covered) {
            if (credits <= 0 || credits > covered) {
                grantProblems.add("grant of " + credits + " with " + covered + " receives");
            }
        }

        RdmaChannel channel(Role role) {
            return role == Role.REQUESTER ? requester : responder;
        }

        FaultContext context(Role role) {
            return device(role).context();
        }

        FaultQueuePair queuePair(Role role) {
            List<FaultQueuePair> open = context(role).queuePairs();
            return open.isEmpty() ? null : open.get(0);
        }

        /** Sets the plan on the device's own thread, so that it counts from here. */
        void plan(Role role, FaultPlan plan) throws Exception {
            RpcPair.on(
                    channel(role),
                    () -> {
                        context(role).plan(plan);
                        return null;
                    });
        }

        void delivery(Role role, FaultContext.Delivery delivery) throws Exception {
            RpcPair.on(
                    channel(role),
                    () -> {
                        context(role).delivery(delivery);
                        return null;
                    });
        }

        /** Looks at the Sends of a role, beside the checks that are always made. */
        void watch(Role role, FaultQueuePair.SendWatcher watcher) throws Exception {
            RpcPair.on(
                    channel(role),
                    () -> {
                        queuePair(role)
                                .watch(role == Role.REQUESTER ? watcher : checkGrantAnd(watcher));
                        return null;
                    });
        }

        private FaultQueuePair.SendWatcher checkGrantAnd(FaultQueuePair.SendWatcher watcher) {
            return (length, xid, credits, procedure, covered) -> {
                checkGrant(length, xid, credits, procedure, covered);
                watcher.send(length, xid, credits, procedure, covered);
            };
        }

        /** Replies are not compared with those of the form. */
        void anyReplyWillDo() {
            caller.takesAnyReply = true;
        }

        /** Replies are compared with these in the place of those of the form. */
        void compareWith(IntObjectHashMap<byte[]> replies) throws Exception {
            RpcPair.on(requester, () -> caller.rightReplies = replies);
        }

        /** Writes these calls in one go. */
        void call(ReferenceCounted... messages) throws Exception {
            RpcPair.on(
                    requester,
                    () -> {
                        for (ReferenceCounted message : messages) {
                            calls.add(message);
                            lend(Role.REQUESTER, message);
                            caller.sent(requester, message);
                        }
                        requester.flush();
                        return null;
                    });
        }

        private void lend(Role role, ReferenceCounted message) {
            for (UserMemory memory : memory(message)) {
                memory.lentTo(context(role));
                synchronized (lent) {
                    lent.add(memory);
                }
            }
        }

        /** Waits until every call has ended, one way or the other; returns how, by XID. */
        Map<Integer, String> outcomes() throws Exception {
            if (!caller.ended.await(RpcPair.PATIENCE_SECONDS, TimeUnit.SECONDS)) {
                throw new AssertionError(
                        "calls that never end; so far: "
                                + RpcPair.on(requester, () -> caller.outcomes.toString()));
            }
            return RpcPair.on(requester, () -> new TreeMap<>(caller.outcomes));
        }

        /** The handles of the requester that were valid when the last call ended. */
        int exposuresAtLastEnd() {
            return caller.exposuresAtLastEnd;
        }

        /** Whether the requester's connection was gone when the last call ended. */
        boolean wasClosedAtLastEnd() {
            return caller.wasClosedAtLastEnd;
        }

        /** How each call has to end: once. */
        void expectCalls(int count) {
            caller.ended = new CountDownLatch(count);
        }

        /** Closes both sides and checks that nothing is left of the connection. */
        @Override
        public void close() throws Exception {
            plan(Role.REQUESTER, FaultPlan.NONE);
            plan(Role.RESPONDER, FaultPlan.NONE);
            listener.close().sync();
            requester.close().sync();
            responder.close().sync();
            assertThat(responderInactive.await(RpcPair.PATIENCE_SECONDS, TimeUnit.SECONDS))
                    .as("channelInactive of the responder")
                    .isTrue();
            assertThat(caller.inactive.await(RpcPair.PATIENCE_SECONDS, TimeUnit.SECONDS))
                    .as("channelInactive of the requester")
                    .isTrue();
            RpcPair.settle(requester);
            RpcPair.settle(responder);
            List<String> problems = RpcPair.on(requester, () -> List.copyOf(caller.problems));
            assertThat(problems).isEmpty();
            assertThat(RpcPair.on(responder, () -> List.copyOf(grantProblems))).isEmpty();
            for (Role role : Role.values()) {
                RpcPair.on(channel(role), () -> nothingLeft(role));
            }
            for (Role role : Role.values()) {
                assertThat(RpcPair.on(channel(role), () -> context(role).problems())).isEmpty();
            }
            for (UserMemory memory : lent) {
                assertThat(memory.refCnt()).as("references to memory of the user").isZero();
                assertThat(memory.problems()).isEmpty();
            }
            for (ReferenceCounted message : calls) {
                assertThat(message.refCnt()).as("references to a call").isZero();
            }
            for (ReferenceCounted message : replies) {
                assertThat(message.refCnt()).as("references to a reply").isZero();
            }
        }

        private Object nothingLeft(Role role) {
            FaultContext context = context(role);
            assertThat(context.queuePairs()).as("%s: queue pairs", role).isEmpty();
            assertThat(context.connections()).as("%s: sockets", role).isZero();
            assertThat(context.smallRegistrations()).as("%s: registrations", role).isZero();
            assertThat(channel(role).registeredBytesInUse())
                    .as("%s: registered memory in use", role)
                    .isZero();
            return null;
        }

        private final class ResponderState extends ChannelInboundHandlerAdapter {
            private final Function<ReferenceCounted, ReferenceCounted> service;

            ResponderState(Function<ReferenceCounted, ReferenceCounted> service) {
                this.service = service;
            }

            @Override
            public void channelActive(ChannelHandlerContext ctx) {
                accepted.add((RdmaChannel) ctx.channel());
            }

            @Override
            public void channelInactive(ChannelHandlerContext ctx) {
                responderInactive.countDown();
            }

            @Override
            public void channelRead(ChannelHandlerContext ctx, Object message) {
                ReferenceCounted reply = service.apply((ReferenceCounted) message);
                ReferenceCountUtil.release(message);
                if (reply != null) {
                    replies.add(reply);
                    lend(Role.RESPONDER, reply);
                    ctx.writeAndFlush(reply);
                }
            }

            @Override
            public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
                // Faults are what these tests are made of.
            }
        }

        /** Counts how often each call ends. */
        private final class Caller extends ChannelInboundHandlerAdapter {
            final Map<Integer, String> outcomes = new TreeMap<>();
            final List<String> problems = new ArrayList<>();
            final CountDownLatch inactive = new CountDownLatch(1);
            final IntObjectHashMap<List<UserMemory>> expected = new IntObjectHashMap<>();
            volatile CountDownLatch ended = new CountDownLatch(0);
            private boolean isInactive;
            volatile boolean takesAnyReply;
            IntObjectHashMap<byte[]> rightReplies;
            int exposuresAtLastEnd;
            boolean wasClosedAtLastEnd;

            void sent(Channel channel, ReferenceCounted message) {
                int xid = Rpc.xid(message);
                expected.put(xid, memory(message));
                ChannelFuture written = channel.write(message);
                written.addListener(
                        future -> {
                            if (!future.isSuccess() && !outcomes.containsKey(xid)) {
                                end(xid, "failed: " + future.cause());
                            }
                        });
            }

            private void end(int xid, String how) {
                String before = outcomes.putIfAbsent(xid, how);
                if (before != null) {
                    problems.add("call " + xid + " ended twice: " + before + ", " + how);
                    return;
                }
                FaultQueuePair queuePair = queuePair(Role.REQUESTER);
                exposuresAtLastEnd = queuePair == null ? 0 : queuePair.exposures();
                wasClosedAtLastEnd = queuePair == null && !requester.isOpen();
                ended.countDown();
            }

            private boolean isRight(ReferenceCounted reply, int xid) {
                ByteBuf right =
                        rightReplies == null
                                ? Form.of(xid).reply(xid)
                                : Unpooled.wrappedBuffer(rightReplies.get(xid));
                ByteBuf whole = ItemsBinding.whole(reply);
                try {
                    return ByteBufUtil.equals(whole, right);
                } finally {
                    right.release();
                    whole.release();
                }
            }

            /** The user may do what it likes with its memory from here on. */
            private void givenBack(int xid) {
                for (UserMemory memory : expected.get(xid)) {
                    String problem = memory.problem();
                    if (problem != null) {
                        problems.add(problem);
                    }
                }
            }

            @Override
            public void channelRead(ChannelHandlerContext ctx, Object message) {
                if (isInactive) {
                    problems.add("message after channelInactive: " + message);
                }
                if (message instanceof CallFailureMessage failure) {
                    givenBack(failure.xid());
                    end(failure.xid(), "refused: " + failure.cause());
                    return;
                }
                ReferenceCounted reply = (ReferenceCounted) message;
                int xid = Rpc.xid(reply);
                givenBack(xid);
                boolean isRight = takesAnyReply || isRight(reply, xid);
                reply.release();
                end(xid, isRight ? "replied" : "wrong reply");
                FaultQueuePair queuePair = queuePair(Role.REQUESTER);
                if (queuePair == null || !requester.isOpen()) {
                    problems.add("reply to call " + xid + " after the connection was closed");
                } else if (expected.size() == outcomes.size() && queuePair.exposures() > 0) {
                    problems.add(queuePair.exposures() + " handles valid after the last reply");
                }
            }

            @Override
            public void channelInactive(ChannelHandlerContext ctx) {
                isInactive = true;
                inactive.countDown();
                // What is out is lost; a promise that fails later belongs to the same end.
                for (int xid : expected.keySet()) {
                    if (!outcomes.containsKey(xid)) {
                        end(xid, "lost");
                    }
                }
            }

            @Override
            public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
                // Faults are what these tests are made of.
            }
        }
    }
}
