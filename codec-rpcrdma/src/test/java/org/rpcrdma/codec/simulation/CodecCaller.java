// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.simulation;

import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelPromise;
import io.netty.util.ReferenceCountUtil;
import java.net.SocketAddress;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.rpcrdma.channel.RdmaChannel;
import org.rpcrdma.channel.RdmaRead;
import org.rpcrdma.codec.CallFailureMessage;
import org.rpcrdma.codec.ConnectionRemains;
import org.rpcrdma.codec.RpcRdmaCancel;
import org.rpcrdma.codec.RpcRdmaCodec;
import org.rpcrdma.codec.RpcRdmaConfig;
import org.rpcrdma.codec.RpcRdmaConnection;
import org.rpcrdma.codec.RpcRdmaGauge;
import org.rpcrdma.codec.fault.FaultQueuePair;
import org.rpcrdma.codec.fault.UserMemory;

/**
 * A user of the codec alone, who writes more calls than the credits and the memory of a connection admit, cancels them
 * in the queue of the codec and closes connections over it.
 */
final class CodecCaller {

    private static final int MOST_CALLS = 16;
    private static final int MOST_DELAY_MILLIS = 3000;
    private static final int EACH_REFUSED = 5;

    /** A call and what becomes of it. */
    private static final class Written {
        final int number;
        final boolean isSmall;
        final byte[] results;
        final UserMemory message;
        ChannelFuture promise;
        boolean isCancelled;
        boolean isAnswered;

        /** It has waited when its connection ended. */
        boolean isUnsent;

        Written(int number, boolean isSmall, byte[] results, UserMemory message) {
            this.number = number;
            this.isSmall = isSmall;
            this.results = results;
            this.message = message;
        }

        boolean isFailed() {
            return promise.isDone() && !promise.isSuccess();
        }
    }

    /** A connection with its calls in the order of their writes. */
    private final class Connection extends ChannelInboundHandlerAdapter {
        final List<Written> calls = new ArrayList<>();
        final Map<Integer, Written> byNumber = new HashMap<>();

        /** Whether its long replies are to be pulled, as many at a time as a server has room for. */
        final boolean isPulling;

        Channel channel;
        int reads;
        boolean isSettled;
        boolean isClosed;

        /** Whether writes were cancelled in the queue of the codec, where they stay until there is a credit. */
        boolean hasCancelledWrites;

        /** {@code null} until it is looked for. */
        private FaultQueuePair device;

        Connection(boolean isPulling) {
            this.isPulling = isPulling;
        }

        /** The calls that wait in the codec. Before the version is settled there is another place to wait in. */
        List<Written> queue() {
            RpcRdmaConnection codec = isSettled ? RpcRdmaConnection.of(channel) : null;
            if (codec == null || hasCancelledWrites) {
                return List.of();
            }
            List<Written> alive = calls.stream().filter(call -> !call.isFailed()).toList();
            int waiting = (int) codec.value(RpcRdmaGauge.CALLS_WAITING);
            return alive.subList(Math.max(0, alive.size() - waiting), alive.size());
        }

        /** No more memory is offered for replies than the connection may have. */
        void checkOffers() {
            if (device == null) {
                device =
                        host.context().queuePairs().stream()
                                .filter(one -> channel.localAddress().equals(one.localAddress()))
                                .findFirst()
                                .orElse(null);
            }
            long offered = device == null ? 0 : device.exposedBytes();
            if (offered > config.maxConnectionBytes()) {
                world.wrong("a connection of the codec offers " + offered + " bytes");
            }
        }

        @Override
        public void channelRead(ChannelHandlerContext ctx, Object message) {
            if (message instanceof ByteBuf reply) {
                answered(this, reply);
            } else {
                world.network.note("the codec says " + message.getClass());
                Written call =
                        message instanceof CallFailureMessage failure
                                ? byNumber.get(failure.xid())
                                : null;
                if (call != null) {
                    call.isAnswered = true;
                }
                if (++failures > refusals && !world.plan.hasLosses()) {
                    world.wrong("the codec fails a call: " + message);
                }
                ReferenceCountUtil.release(message);
            }
        }

        @Override
        public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
            world.network.note("a user of the codec is told of " + cause.getClass());
        }
    }

    /** Sees the end of a connection before the codec does, and lets some Reads fail that the device never gets. */
    private final class First extends ChannelDuplexHandler {
        private final Connection connection;

        First(Connection connection) {
            this.connection = connection;
        }

        @Override
        public void write(ChannelHandlerContext ctx, Object message, ChannelPromise promise) {
            if (message instanceof RdmaRead && connection.reads++ % EACH_REFUSED == 1) {
                refusals++;
                ReferenceCountUtil.release(message);
                promise.tryFailure(new IllegalStateException("a Read is refused"));
            } else {
                ctx.write(message, promise);
            }
        }

        @Override
        public void channelInactive(ChannelHandlerContext ctx) {
            connection.queue().forEach(call -> call.isUnsent = true);
            ctx.fireChannelInactive();
        }
    }

    private final SimulatedWorld world;
    private final SimulatedHost host;
    private final SocketAddress address;
    private final RpcRdmaConfig config;
    private final int requested;
    private int closes;

    /** Reads that were refused, each of which may cost a call. */
    private int refusals;

    private int failures;
    private final List<Connection> connections = new ArrayList<>();

    CodecCaller(SimulatedWorld world, SimulatedHost host, SocketAddress address, Random random) {
        this.world = world;
        this.host = host;
        this.address = address;
        requested = 1 + random.nextInt(32);
        config =
                world.settings
                        .builder()
                        .longSize(0)
                        .maxConnectionBytes((72 << 10) << random.nextInt(3))
                        .defaultMaximumReply(world.settings.defaultMaximumReply())
                        .requestedCredits(requested)
                        .build();
    }

    /** Writes calls, and cancels one, or closes the connection. */
    void act(Random random) {
        if (connections.isEmpty() || !last().channel.isOpen()) {
            connect(random.nextInt(3) == 0);
        }
        Connection to = last();
        long seed = random.nextLong();
        to.channel
                .eventLoop()
                .execute(
                        () -> {
                            if (to.channel.isActive()) {
                                actNow(to, new Random(seed));
                            }
                        });
    }

    private void actNow(Connection to, Random random) {
        for (int i = random.nextInt(MOST_CALLS); i >= 0; i--) {
            write(to, random);
        }
        to.checkOffers();
        List<Written> queue = to.queue();
        int roll = random.nextInt(8);
        if (roll == 0) {
            world.network.note("a user of the codec closes");
            to.isClosed = true;
            closes++;
            to.channel.close();
        } else if (roll < 4 && !queue.isEmpty()) {
            cancel(to, queue.get(random.nextBoolean() ? 0 : random.nextInt(queue.size())), true);
        } else if (roll == 5 && !queue.isEmpty()) {
            Written any = queue.get(random.nextInt(queue.size()));
            any.isCancelled |= any.promise.cancel(false);
            to.hasCancelledWrites |= any.promise.isCancelled();
            world.network.note("the write of call " + any.number + " of the codec is cancelled");
        } else if (roll == 4) {
            // A fence may cost the connection.
            Written any = to.calls.get(random.nextInt(to.calls.size()));
            boolean fences =
                    random.nextBoolean() && world.plan.hasLosses() && !world.plan.isShortOfMemory();
            if (!any.isAnswered) {
                cancel(to, any, fences);
            }
        }
    }

    private void cancel(Connection to, Written call, boolean fences) {
        world.network.note("call " + call.number + " of the codec is cancelled");
        call.isCancelled = true;
        to.channel.writeAndFlush(new RpcRdmaCancel(call.number, fences));
    }

    private void write(Connection to, Random random) {
        int number = world.nextCodecCall();
        boolean isSmall = random.nextInt(3) != 0;
        int procedure = isSmall ? SimulatedProgram.WRITE : SimulatedProgram.COPY;
        boolean isBound = isSmall || !to.isPulling;
        int program = isBound ? SimulatedProgram.PROGRAM : SimulatedProgram.UNBOUND;
        int wanted =
                random.nextInt(isSmall ? SimulatedProgram.SHORT : SimulatedProgram.LONGEST_COPY);
        int millis = random.nextInt(3) == 0 ? random.nextInt(MOST_DELAY_MILLIS) : 0;
        ByteBuf call = SimulatedProgram.call(program, procedure).setInt(0, number);
        byte[] data = SimulatedProgram.data(~number, random.nextInt(300));
        SimulatedCall.arguments(call, number, wanted, millis, data);
        ByteBuf results = Unpooled.buffer().writeInt(number);
        SimulatedProgram.opaque(results, SimulatedProgram.data(number, wanted));
        UserMemory message = new UserMemory(ByteBufUtil.getBytes(call));
        message.lentTo(host.context());
        world.expectArguments(
                number,
                Arrays.copyOfRange(
                        ByteBufUtil.getBytes(call),
                        SimulatedProgram.CALL_BYTES,
                        call.readableBytes()));
        Written written = new Written(number, isSmall, ByteBufUtil.getBytes(results), message);
        world.network.note("call " + number + " is written to the codec, wants " + wanted);
        to.calls.add(written);
        to.byNumber.put(number, written);
        written.promise = to.channel.newPromise();
        to.channel.writeAndFlush(message, (ChannelPromise) written.promise);
    }

    private Connection last() {
        return connections.get(connections.size() - 1);
    }

    private void connect(boolean isPulling) {
        Connection made = new Connection(isPulling);
        Bootstrap bootstrap = new Bootstrap().group(host.group).channel(RdmaChannel.class);
        host.kind.setDepths(bootstrap::option);
        made.channel =
                config.applyTo(bootstrap)
                        .handler(
                                new ChannelInitializer<>() {
                                    @Override
                                    protected void initChannel(Channel channel) {
                                        channel.pipeline()
                                                .addLast(
                                                        new First(made),
                                                        new RpcRdmaCodec(config),
                                                        made);
                                    }
                                })
                        .connect(address)
                        .channel();
        connections.add(made);
    }

    private void answered(Connection by, ByteBuf reply) {
        by.isSettled = true;
        byte[] came = ByteBufUtil.getBytes(reply);
        reply.release();
        int number = Unpooled.wrappedBuffer(came).getInt(0);
        Written call = by.byNumber.get(number);
        if (call == null || call.isAnswered) {
            world.wrong("call " + number + " of the codec is answered twice, or was not called");
            return;
        }
        call.isAnswered = true;
        if (call.promise.isCancelled()) {
            world.wrong("call " + number + " of the codec is sent, and its write was cancelled");
        }
        by.checkOffers();
        boolean isError = came.length == SimulatedProgram.REPLY_BYTES && came[came.length - 1] != 0;
        byte[] body = Arrays.copyOfRange(came, SimulatedProgram.REPLY_BYTES, came.length);
        if (!(isError && world.plan.hasLosses()) && !Arrays.equals(body, call.results)) {
            world.wrong("call " + number + " of the codec has wrong bytes");
        }
    }

    /** Between steps: a call that offers no memory does not wait while there is a credit. */
    void checkNow() {
        if (!world.settings.hasPlainCredits()) {
            return; // a pull completion takes a credit too
        }
        for (Connection each : connections) {
            if (each.isPulling || !each.isSettled || !each.channel.isActive()) {
                continue;
            }
            RpcRdmaConnection codec = RpcRdmaConnection.of(each.channel);
            if (codec.value(RpcRdmaGauge.CALLS_WAITING) == 0
                    || Math.min(requested, codec.creditsGranted()) <= codec.callsInFlight()) {
                continue;
            }
            List<Written> queue = each.queue();
            if (!queue.isEmpty() && queue.get(0).isSmall) {
                world.wrong("call " + queue.get(0).number + " waits, and there is a credit");
            }
        }
    }

    /** Whether each write has ended, and each call of a connection that is open still was answered. */
    boolean isIdle() {
        for (Connection each : connections) {
            for (Written call : each.calls) {
                boolean isOver =
                        call.isAnswered
                                || call.isCancelled
                                || call.isFailed()
                                || !each.channel.isOpen();
                if (!call.promise.isDone() || !isOver) {
                    return false;
                }
            }
        }
        return true;
    }

    /** What its connections have of calls that are over; empty for nothing. */
    String remains() {
        StringBuilder left = new StringBuilder();
        connections.stream()
                .filter(each -> each.channel.isActive())
                .map(each -> ConnectionRemains.of(RpcRdmaConnection.of(each.channel)))
                .forEach(left::append);
        return left.toString();
    }

    /** How many connections it has closed itself. */
    int closes() {
        return closes;
    }

    void close() {
        connections.forEach(each -> each.channel.close());
    }

    /** When all connections have ended. */
    void check() {
        for (Connection each : connections) {
            for (Written call : each.calls) {
                String name = "call " + call.number + " of the codec";
                if (!call.promise.isDone()) {
                    throw new AssertionError("nobody is told what became of " + name);
                }
                if (call.isUnsent && call.promise.isSuccess()) {
                    throw new AssertionError(name + " was not sent, and its write succeeds");
                }
                boolean mayFail = call.isCancelled || each.isClosed || world.plan.hasLosses();
                if (call.isFailed() && !mayFail) {
                    throw new AssertionError(name + " fails", call.promise.cause());
                }
                if (call.message.refCnt() != 0 || !call.message.problems().isEmpty()) {
                    throw new AssertionError(name + ": " + call.message.problems());
                }
            }
        }
    }
}
