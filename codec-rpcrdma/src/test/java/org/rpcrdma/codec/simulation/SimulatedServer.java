// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.simulation;

import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.CompositeByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.util.ReferenceCountUtil;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import org.rpcrdma.channel.RdmaChannel;
import org.rpcrdma.channel.RdmaServerChannel;
import org.rpcrdma.codec.BoundedDuplicateRequestCache;
import org.rpcrdma.codec.ConnectionRemains;
import org.rpcrdma.codec.CreditPolicy;
import org.rpcrdma.codec.DuplicateRequestCache;
import org.rpcrdma.codec.RpcMessage;
import org.rpcrdma.codec.RpcRdmaCodec;
import org.rpcrdma.codec.RpcRdmaConfig;
import org.rpcrdma.codec.RpcRdmaConnection;
import org.rpcrdma.codec.RpcRdmaCounter;
import org.rpcrdma.codec.RpcRdmaGauge;
import org.rpcrdma.codec.RpcRdmaMetrics;
import org.rpcrdma.codec.client.RpcRdmaReverseRequester;
import org.rpcrdma.codec.client.SimulatedClocks;
import org.rpcrdma.codec.fault.FaultQueuePair;

/** A server of {@link SimulatedProgram}, which counts how often it executes each call. */
final class SimulatedServer {

    private static final int PORT = 20049;
    private static final int HOUR_MILLIS = (int) TimeUnit.HOURS.toMillis(1);
    private static final int FORGOTTEN_MILLIS = 700;
    private static final int MOST_PIECES = 8;

    /** What no peer of this project gives a reason for, unless something was lost. */
    private static final List<RpcRdmaCounter> NEVER_BETWEEN_US =
            List.of(
                    RpcRdmaCounter.DROPPED_COMPLETIONS,
                    RpcRdmaCounter.READ_CHUNK_REPLIES_EXPIRED,
                    RpcRdmaCounter.DROPPED_SHORT,
                    RpcRdmaCounter.DROPPED_VERSION,
                    RpcRdmaCounter.DROPPED_PROCEDURE,
                    RpcRdmaCounter.DROPPED_DUPLICATE_XID,
                    RpcRdmaCounter.DROPPED_UNEXPECTED_CALL);

    final SimulatedHost host;
    final InetSocketAddress address;
    final boolean hasCache;
    final RpcRdmaMetrics metrics = new RpcRdmaMetrics();

    /** By the numbers of the clients. */
    final Map<Integer, RpcRdmaReverseRequester> callbacks = new TreeMap<>();

    /** By the numbers of the calls. */
    final Map<Integer, Integer> executions = new HashMap<>();

    private final SimulatedWorld world;
    private final int number;
    private final RpcRdmaConfig config;
    private final Set<Channel> accepted = new LinkedHashSet<>();
    private final boolean answersInParts;

    /** Whether replies are flushed when all calls that have come together were read. */
    private final boolean flushesBatches;

    /** Whether it does not read for a time now and then. */
    private final boolean pausesReading;

    /** Whether replies are in memory of several pieces. */
    private final boolean answersInPieces;

    /** Whether nobody answers a call whose connection is gone: so it is abandoned. */
    private final boolean forgets;

    /** XIDs of calls that may be executed again. */
    private final Set<Integer> abandoned = new HashSet<>();

    private final int backlog;

    /** {@code null} when everybody may connect. */
    private final SimulatedAdmission admission;

    private final int mostCredits;
    private final DuplicateRequestCache duplicates =
            new BoundedDuplicateRequestCache(
                    4096,
                    1 << 20,
                    64 << 20,
                    (program, version, procedure) ->
                            program == SimulatedProgram.PROGRAM
                                    && procedure == SimulatedProgram.APPEND);

    /** Replies whose writer was not told yet what became of them. */
    private final List<String> untold = new ArrayList<>();

    private boolean mayOverrun;
    private boolean mayDrop;
    private boolean mayUnderrun;
    private int replies;
    private Channel listener;
    private Channel streamListener;

    SimulatedServer(SimulatedWorld world, int number, Random random) {
        this.world = world;
        this.number = number;
        address = new InetSocketAddress(InetAddress.getLoopbackAddress(), PORT + number);
        host = new SimulatedHost(world, this.toString(), random);
        answersInParts = random.nextInt(3) == 0;
        answersInPieces = random.nextInt(3) == 0;
        hasCache = random.nextBoolean();
        forgets = random.nextInt(3) == 0;
        int few = random.nextBoolean() ? 1 : 128;
        // A crowd is to meet other limits than this one.
        backlog = world.plan.has(SimulationAction.Kind.CROWD) ? 4096 : few;
        mostCredits = 1 + random.nextInt(random.nextBoolean() ? 4 : 64);
        RpcRdmaConfig.Builder builder =
                world.settings
                        .builder()
                        .grantedCredits(mostCredits)
                        .annotatedCalls(random.nextInt(3) == 0)
                        .remoteInvalidation(random.nextInt(4) != 0);
        if (random.nextInt(3) == 0) {
            builder.creditPolicy(CreditPolicy.adaptive(4));
        }
        if (hasCache) {
            builder.lateReplyMillis(forgets ? FORGOTTEN_MILLIS : HOUR_MILLIS);
        }
        config = builder.build();
        flushesBatches = new Random(world.plan.seed() * 43 + number).nextInt(3) == 0;
        pausesReading = new Random(world.plan.seed() * 41 + number).nextInt(4) == 0;
        admission = SimulatedAdmission.of(world, number, host);
        host.context().atCreation(this::checkGrants);
    }

    /** A peer that lies may have more calls out than it was granted. */
    void expectOverruns() {
        mayOverrun = true;
    }

    /** A peer that makes mistakes keeps to its credits, and what it sends may be dropped. */
    void expectMistakes() {
        mayDrop = true;
    }

    /** A stream that lies may send more messages than it was granted. */
    void expectUnderruns() {
        mayUnderrun = true;
    }

    /** No more is granted than there are receives for (RFC 8166, 3.3.1). Calls of this side carry no grant. */
    private void checkGrants(FaultQueuePair made) {
        if (!world.settings.hasReverse()) {
            WireReceives.watch(
                    made,
                    world.settings.areCompletionsOutside(),
                    what -> {
                        if (!mayOverrun) {
                            world.wrong(this + " " + what);
                        }
                    });
        }
    }

    void start() {
        if (listener != null && listener.isActive()) {
            return;
        }
        world.network.note(this + " starts");
        for (int i = 0; i < 3; i++) {
            ServerBootstrap bootstrap =
                    new ServerBootstrap()
                            .group(host.group)
                            .channel(RdmaServerChannel.class)
                            .option(ChannelOption.SO_BACKLOG, backlog);
            host.kind.setDepths(bootstrap::childOption);
            if (admission != null) {
                admission.applyTo(bootstrap);
            }
            config.applyTo(bootstrap)
                    .childHandler(
                            new ChannelInitializer<RdmaChannel>() {
                                @Override
                                protected void initChannel(RdmaChannel channel) {
                                    accepted.add(channel);
                                    Program program = new Program();
                                    channel.pipeline().addLast(program.codec(), program);
                                }
                            });
            ChannelFuture bound = bootstrap.bind(address);
            world.expect(this + " listens", bound::isDone);
            if (bound.isSuccess()) {
                listener = bound.channel();
                startStreams();
                return;
            }
        }
        throw new AssertionError(this + " does not listen");
    }

    private void startStreams() {
        if (!world.plan.hasStreams()) {
            return;
        }
        for (int i = 0; i < 3; i++) {
            ChannelFuture bound =
                    world.streams()
                            .bootstrap(host, new Random(world.plan.seed() + number))
                            .option(ChannelOption.SO_BACKLOG, backlog)
                            .bind(SimulatedStreams.address(number));
            world.expect(this + " listens for streams", bound::isDone);
            if (bound.isSuccess()) {
                streamListener = bound.channel();
                return;
            }
        }
        throw new AssertionError(this + " does not listen for streams");
    }

    void stop() {
        world.network.note(this + " stops");
        listener.close();
        if (streamListener != null) {
            streamListener.close();
            world.streams().closeAt(host);
        }
        List.copyOf(accepted).forEach(Channel::close);
        accepted.clear();
        world.expect(this + " stops", () -> !isListening());
    }

    private boolean isListening() {
        return listener.isOpen() || (streamListener != null && streamListener.isOpen());
    }

    int number() {
        return number;
    }

    boolean admitsAtOnce() {
        return admission == null;
    }

    /** What its connections have of calls that are over; empty for nothing. */
    String remains() {
        StringBuilder left = new StringBuilder();
        accepted.stream()
                .filter(Channel::isActive)
                .map(each -> ConnectionRemains.of(RpcRdmaConnection.of(each)))
                .forEach(left::append);
        return left.isEmpty() ? "" : this + ": " + left;
    }

    void close() {
        stop();
        callbacks.values().forEach(RpcRdmaReverseRequester::close);
    }

    void check() {
        if (!mayOverrun && !mayUnderrun && host.context().underruns() > 0) {
            throw new AssertionError(this + " had no receive for what it has granted");
        }
        if (!mayOverrun && metrics.value(RpcRdmaCounter.CREDIT_OVERRUNS) > 0) {
            throw new AssertionError("more calls are out at " + this + " than it has granted");
        }
        if (!mayOverrun && !mayDrop && !world.plan.hasLosses()) {
            for (RpcRdmaCounter counter : NEVER_BETWEEN_US) {
                if (metrics.value(counter) != 0) {
                    throw new AssertionError(
                            this + " has counted " + metrics.value(counter) + " of " + counter);
                }
            }
        }
        if (!untold.isEmpty()) {
            throw new AssertionError(this + " is not told what became of " + untold);
        }
        if (!duplicates.toString().endsWith(", 0 calls in progress)")) {
            throw new AssertionError(this + " is left with " + duplicates);
        }
        for (RpcRdmaGauge gauge : RpcRdmaGauge.values()) {
            if (metrics.value(gauge) != 0) {
                throw new AssertionError(
                        this + " is left with " + metrics.value(gauge) + " of " + gauge);
            }
        }
    }

    /** Answers the calls of one connection, some later than others. */
    private final class Program extends ChannelInboundHandlerAdapter {
        private final ConnectionDuplicates known = new ConnectionDuplicates(duplicates, abandoned);
        private int unanswered;
        private boolean isReading;

        RpcRdmaCodec codec() {
            return hasCache
                    ? new RpcRdmaCodec(config, metrics, known)
                    : new RpcRdmaCodec(config, metrics);
        }

        /** Called behind the codec, which knows of the end. */
        @Override
        public void channelInactive(ChannelHandlerContext ctx) {
            if (known.isWaiting()) {
                world.wrong(this + " has a call that waits for its duplicate without a connection");
            }
        }

        @Override
        public void channelRead(ChannelHandlerContext ctx, Object message) {
            byte[] call;
            if (message instanceof RpcMessage parts) {
                call = SimulatedProgram.whole(parts);
            } else if (message instanceof ByteBuf bytes) {
                call = ByteBufUtil.getBytes(bytes);
            } else {
                return;
            }
            ReferenceCountUtil.release(message);
            if (++unanswered > mostCredits) {
                world.wrong(this + " has granted " + mostCredits + ", and executes " + unanswered);
            }
            if (call.length < SimulatedProgram.CALL_BYTES + 12) {
                answer(ctx, reply(ctx, call, new byte[0]));
                return;
            }
            ByteBuf in = Unpooled.wrappedBuffer(call);
            int id = in.getInt(SimulatedProgram.CALL_BYTES);
            int wanted = in.getInt(SimulatedProgram.CALL_BYTES + 4);
            int delay = in.getInt(SimulatedProgram.CALL_BYTES + 8);
            if (in.getInt(20) == SimulatedProgram.READY) {
                attach(ctx.channel(), id);
            }
            world.arrives(id, in.getInt(0), ctx.channel());
            int times = executions.merge(id, 1, Integer::sum);
            world.network.note(this + " executes call " + id);
            boolean isOnce = hasCache && !(forgets && abandoned.contains(in.getInt(0)));
            if (id >= 0 && times > 1 && isOnce && in.getInt(20) == SimulatedProgram.APPEND) {
                world.wrong("call " + id + " is executed " + times + " times");
            }
            byte[] sent = Arrays.copyOfRange(call, SimulatedProgram.CALL_BYTES, call.length);
            if (!world.isRight(id, sent)) {
                world.wrong("call " + id + " arrives with other bytes");
            }
            byte[] data = SimulatedProgram.data(id, Math.min(wanted, 1 << 17));
            if (pausesReading && id % 4 == 0) {
                pauseReading(ctx.channel(), 1 + (id & 31));
            }
            if (delay == 0) {
                isReading = true;
                answer(ctx, reply(ctx, call, data));
                isReading = false;
            } else {
                ctx.channel()
                        .eventLoop()
                        .schedule(() -> answerLate(ctx, call, data), delay, TimeUnit.MILLISECONDS);
            }
        }

        /** As a program that has enough to do for a while. */
        private void pauseReading(Channel channel, int millis) {
            channel.config().setAutoRead(false);
            channel.eventLoop()
                    .schedule(
                            () -> channel.config().setAutoRead(true),
                            millis,
                            TimeUnit.MILLISECONDS);
        }

        private void answerLate(ChannelHandlerContext ctx, byte[] call, byte[] data) {
            if (!forgets || ctx.channel().isActive()) {
                answer(ctx, reply(ctx, call, data));
            }
        }

        private void answer(ChannelHandlerContext ctx, Object reply) {
            unanswered--;
            String name = "reply " + replies++;
            untold.add(name);
            ctx.channel()
                    .write(reply)
                    .addListener(
                            done -> {
                                if (!untold.remove(name)) {
                                    world.wrong(this + " is told twice of " + name);
                                }
                            });
            if (!isReading || !flushesBatches) {
                ctx.channel().flush();
            }
        }

        /** As many handlers do: what was read together is answered together. */
        @Override
        public void channelReadComplete(ChannelHandlerContext ctx) {
            ctx.channel().flush();
        }

        @Override
        public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
            world.network.note(SimulatedServer.this + " is told of " + cause.getClass());
        }

        @Override
        public String toString() {
            return SimulatedServer.this.toString();
        }
    }

    private Object reply(ChannelHandlerContext ctx, byte[] call, byte[] data) {
        ByteBuf in = Unpooled.wrappedBuffer(call);
        ByteBuf out = SimulatedProgram.reply(in.getInt(0));
        if (call.length < SimulatedProgram.CALL_BYTES + 4) {
            return out;
        }
        out.writeInt(in.getInt(SimulatedProgram.CALL_BYTES));
        if (!answersInParts || in.getInt(12) != SimulatedProgram.PROGRAM || data.length == 0) {
            ByteBuf whole = SimulatedProgram.opaque(out, data);
            return answersInPieces ? inPieces((RdmaChannel) ctx.channel(), whole) : whole;
        }
        out.writeInt(data.length);
        int position = out.readableBytes();
        return new RpcMessage(out)
                .addItem(position, Unpooled.directBuffer(data.length).writeBytes(data));
    }

    /** The same in registered memory of several pieces, of odd sizes; without memory for them as it is. */
    private static ByteBuf inPieces(RdmaChannel channel, ByteBuf whole) {
        CompositeByteBuf pieces = Unpooled.compositeBuffer();
        try {
            for (int part = 1; whole.isReadable(); part = 3 * part + MOST_PIECES) {
                int length = Math.min(part, whole.readableBytes());
                ByteBuf piece = channel.registeredBuffer(length);
                pieces.addComponent(true, piece.writeBytes(whole, length));
            }
        } catch (RuntimeException | OutOfMemoryError e) {
            pieces.release();
            return whole.readerIndex(0);
        }
        whole.release();
        return pieces;
    }

    private void attach(Channel channel, int client) {
        RpcRdmaReverseRequester known = callbacks.get(client);
        if (known == null) {
            callbacks.put(
                    client,
                    SimulatedClocks.on(
                                    world.network::nanoTime,
                                    RpcRdmaReverseRequester.builder(config))
                            .callTimeout(Duration.ofMillis(world.callMillis))
                            .attachTo(channel));
        } else {
            known.tryAttach(channel);
        }
    }

    @Override
    public String toString() {
        return "server " + number;
    }
}
