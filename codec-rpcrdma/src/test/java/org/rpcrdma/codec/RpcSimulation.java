// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.channel.group.DefaultChannelGroup;
import io.netty.util.concurrent.Future;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.rpcrdma.channel.PollMode;
import org.rpcrdma.channel.RdmaChannel;
import org.rpcrdma.channel.RdmaEventLoopGroup;
import org.rpcrdma.channel.RdmaServerChannel;
import org.rpcrdma.codec.binding.BindingRegistry;
import org.rpcrdma.codec.client.ClientTestAccess;
import org.rpcrdma.codec.client.RpcRdmaClient;
import org.rpcrdma.codec.rpc.CallOptions;
import org.rpcrdma.verbs.iwarp.IwarpConfig;
import org.rpcrdma.verbs.iwarp.SimulatedConnection;
import org.rpcrdma.verbs.iwarp.SimulatedNetwork;

/**
 * A history of clients and a server on a {@link SimulatedNetwork}: calls of all kinds at random times, and faults
 * between them. Checks that each call ends in time, once, with the right bytes or a typed error; that without losses
 * each call is answered; that clients are served again when the faults have ended; and that event loops end.
 */
final class RpcSimulation {

    private static final InetSocketAddress ADDRESS =
            new InetSocketAddress(InetAddress.getLoopbackAddress(), 20049);

    /** The time-out of calls that may be lost. */
    private static final long CALL_MILLIS = 20_000;

    /** The time-out of calls that are only delayed: more than all delays of a history. */
    private static final long DELAYED_CALL_MILLIS = 600_000;

    private static final long PATIENCE_MILLIS = 60_000;
    private static final int MAX_CALLS = 40;
    private static final long MILLI = TimeUnit.MILLISECONDS.toNanos(1);

    private final SimulatedNetwork network;
    private final Random random;
    private final List<SimulatedClient> clients = new ArrayList<>();
    private final List<SimulatedCall> calls = new ArrayList<>();
    private final boolean hasFaults;

    /** Whether connections and the server may be lost; otherwise faults are delays and cancelled calls. */
    private final boolean hasLosses;

    private final boolean isLong;
    private final int connectionBytes;
    private final long callMillis;
    private SimulatedServer server;

    RpcSimulation(SimulatedNetwork network) {
        this.network = network;
        random = new Random(~network.seed());
        hasFaults = random.nextInt(4) != 0;
        hasLosses = hasFaults && random.nextBoolean();
        isLong = random.nextBoolean();
        connectionBytes = random.nextBoolean() ? 128 << 20 : 256 << 10;
        callMillis = hasLosses ? CALL_MILLIS : DELAYED_CALL_MILLIS;
    }

    /**
     * Runs the history.
     *
     * @throws AssertionError when a check fails
     */
    void run() {
        int credits = 1 + random.nextInt(random.nextBoolean() ? 4 : 64);
        RpcRdmaConfig.Builder serverConfig =
                RpcRdmaConfig.builder()
                        .grantedCredits(credits)
                        .longSize(isLong ? 128 << 10 : 0)
                        .maxConnectionBytes(connectionBytes)
                        .bindings(BindingRegistry.of(List.of(new TestBinding())));
        if (random.nextInt(3) == 0) {
            serverConfig.creditPolicy(CreditPolicy.adaptive(4));
        }
        server = new SimulatedServer(serverConfig.build());
        server.start();
        int count = 1 + random.nextInt(3);
        for (int i = 0; i < count; i++) {
            clients.add(new SimulatedClient(i));
        }
        while (calls.size() < MAX_CALLS) {
            for (int i = random.nextInt(4); i > 0; i--) {
                call(clients.get(random.nextInt(clients.size())));
            }
            network.run(random.nextInt(60));
            if (hasFaults && random.nextInt(4) == 0) {
                fault();
            }
        }
        server.start();
        expect("all calls end", this::haveAllEnded, 3 * callMillis);
        calls.forEach(SimulatedCall::check);
        for (SimulatedClient client : clients) {
            checkIsServed(client);
        }
        clients.forEach(SimulatedClient::close);
        server.stop();
        server.group.shutdownGracefully(0, 1, TimeUnit.SECONDS);
        clients.forEach(client -> client.group.shutdownGracefully(0, 1, TimeUnit.SECONDS));
        expect("all event loops end", () -> network.threadCount() == 0, PATIENCE_MILLIS);
    }

    private boolean haveAllEnded() {
        return calls.stream().allMatch(call -> call.future.isDone());
    }

    /** A silent connection costs the calls on it. Those that are submitted later go out on another one. */
    private void checkIsServed(SimulatedClient client) {
        for (int i = 0; i < 3; i++) {
            SimulatedCall call = new SimulatedCall(client, calls.size(), 64, 0, false);
            expect("a call ends", call.future::isDone, 2 * callMillis);
            if (call.future.isSuccess()) {
                call.check();
                return;
            }
            network.note("without faults " + call + " fails: " + call.future.cause());
        }
        throw new AssertionError(client + " is not served any more");
    }

    private void expect(String what, BooleanSupplier condition, long millis) {
        if (!network.runUntil(condition, millis * MILLI)) {
            StringBuilder state = new StringBuilder();
            for (SimulatedCall call : calls) {
                if (!call.future.isDone()) {
                    state.append('\n').append(call).append(" of ").append(call.client.client);
                }
            }
            throw new AssertionError("not so: " + what + state);
        }
    }

    private void call(SimulatedClient client) {
        int length =
                switch (random.nextInt(6)) {
                    case 0 -> 0;
                    case 1 -> 4 * random.nextInt(1200);
                    case 2 -> 4 * random.nextInt(30_000);
                    default -> 4 * random.nextInt(100);
                };
        calls.add(new SimulatedCall(client, calls.size(), length, random.nextInt(3), true));
    }

    private void fault() {
        List<SimulatedConnection> open = network.connections();
        SimulatedConnection one = open.isEmpty() ? null : open.get(random.nextInt(open.size()));
        long until = network.nanoTime() + random.nextInt(5_000) * MILLI;
        switch (hasLosses ? random.nextInt(8) : 2 + random.nextInt(4)) {
            case 0 -> {
                if (one != null) {
                    network.note(one + " is reset");
                    one.reset();
                }
            }
            case 1 -> {
                if (one != null && random.nextInt(4) == 0) {
                    network.note(one + " becomes silent");
                    one.silence(random.nextBoolean());
                }
            }
            case 2, 3 -> {
                if (one != null) {
                    network.note(one + " stalls");
                    one.stall(random.nextBoolean(), until);
                }
            }
            case 4 -> {
                int thread = random.nextInt(1 + clients.size());
                network.note("thread " + thread + " pauses");
                network.pause(thread, until);
            }
            case 5 -> {
                List<SimulatedCall> out =
                        calls.stream().filter(call -> !call.future.isDone()).toList();
                if (!out.isEmpty()) {
                    // The oldest of a client is often the head of a queue.
                    SimulatedCall victim = out.get(random.nextInt(Math.min(3, out.size())));
                    network.note(victim + " is cancelled");
                    victim.isCancelled = victim.future.cancel(false);
                }
            }
            case 6 -> {
                network.note("time passes");
                network.advance(random.nextInt(3_000) * MILLI);
            }
            default -> {
                if (random.nextInt(3) == 0) {
                    server.stop();
                    network.run(random.nextInt(200));
                    server.start();
                }
            }
        }
    }

    private final class SimulatedServer {

        final RdmaEventLoopGroup group =
                new RdmaEventLoopGroup(
                        1,
                        network.executor(),
                        network.provider(IwarpConfig.defaults()),
                        PollMode.BLOCKING);
        private final RpcRdmaConfig config;
        private final DefaultChannelGroup accepted = new DefaultChannelGroup(group.next());
        private Channel listener;

        SimulatedServer(RpcRdmaConfig config) {
            this.config = config;
        }

        void start() {
            if (listener != null && listener.isActive()) {
                return;
            }
            network.note("the server starts");
            ServerBootstrap bootstrap =
                    new ServerBootstrap().group(group).channel(RdmaServerChannel.class);
            config.applyTo(bootstrap)
                    .childHandler(
                            new ChannelInitializer<RdmaChannel>() {
                                @Override
                                protected void initChannel(RdmaChannel channel) {
                                    accepted.add(channel);
                                    channel.pipeline()
                                            .addLast(new RpcRdmaCodec(config), new Program());
                                }
                            });
            ChannelFuture bound = bootstrap.bind(ADDRESS);
            expect("the server listens", bound::isDone, PATIENCE_MILLIS);
            if (!bound.isSuccess()) {
                throw new AssertionError("no server", bound.cause());
            }
            listener = bound.channel();
        }

        void stop() {
            network.note("the server stops");
            listener.close();
            accepted.close();
            expect("the listener closes", () -> !listener.isOpen(), PATIENCE_MILLIS);
        }
    }

    /** The results of a call, whose arguments begin with their length. */
    private static byte[] results(byte[] arguments, boolean isKnown) {
        ByteBuf in = Unpooled.wrappedBuffer(arguments);
        if (isKnown) {
            in.skipBytes(8);
        }
        int length = in.readInt();
        ByteBuf out = Unpooled.buffer();
        byte[] bytes = Rpc.random(length);
        if (!isKnown) {
            return Rpc.bytes(out.writeBytes(bytes));
        }
        return Rpc.bytes(
                Rpc.opaque(out.writeInt(TestBinding.ELIGIBLE), bytes).writeInt(TestBinding.END));
    }

    /** Answers at once. */
    private static final class Program extends SimpleChannelInboundHandler<ByteBuf> {
        @Override
        protected void channelRead0(ChannelHandlerContext ctx, ByteBuf call) {
            int xid = Rpc.xid(call);
            ByteBuf reply = Rpc.reply(xid);
            int body = call.readerIndex() + 40;
            boolean isKnown = call.getInt(call.readerIndex() + 12) == TestBinding.PROGRAM;
            byte[] echoed = ByteBufUtil.getBytes(call, body, call.readableBytes() - 40);
            reply.writeBytes(results(echoed, isKnown));
            ctx.writeAndFlush(reply);
        }
    }

    private final class SimulatedClient {

        final RdmaEventLoopGroup group =
                new RdmaEventLoopGroup(
                        1,
                        network.executor(),
                        network.provider(IwarpConfig.defaults()),
                        random.nextBoolean() ? PollMode.BLOCKING : PollMode.ADAPTIVE);
        final RpcRdmaClient client;
        private final int number;

        SimulatedClient(int number) {
            this.number = number;
            RpcRdmaConfig config =
                    RpcRdmaConfig.builder()
                            .requestedCredits(1 + random.nextInt(64))
                            .longSize(isLong ? 128 << 10 : 0)
                            .maxConnectionBytes(connectionBytes)
                            .bindings(BindingRegistry.of(List.of(new TestBinding())))
                            .build();
            RpcRdmaClient.Builder builder =
                    RpcRdmaClient.builder(group, ADDRESS)
                            .config(config)
                            .connections(1)
                            .callTimeout(Duration.ofMillis(callMillis));
            client =
                    ClientTestAccess.clocked(
                                    builder,
                                    network::nanoTime,
                                    (loop, task, nanos) ->
                                            loop.schedule(task, nanos, TimeUnit.NANOSECONDS))
                            .build();
        }

        void close() {
            client.closeAsync();
        }

        @Override
        public String toString() {
            return "client " + number;
        }
    }

    private final class SimulatedCall {

        final SimulatedClient client;
        final Future<ByteBuf> future;
        private final int number;
        private final byte[] arguments;
        private final byte[] results;
        private boolean isCancelled;

        /** Whether its time-out may end it. */
        private final boolean isShort;

        /** Whether its encoder throws. */
        private final boolean isFailing;

        SimulatedCall(SimulatedClient client, int number, int length, int kind, boolean mayFail) {
            this.client = client;
            this.number = number;
            ByteBuf call;
            int wanted =
                    random.nextInt(3) == 0 ? 4 * random.nextInt(15_000) : 4 * random.nextInt(50);
            if (kind == 0) {
                byte[] opaque = new byte[length + 4];
                new Random(number).nextBytes(opaque);
                arguments = Rpc.bytes(Unpooled.wrappedBuffer(opaque).setInt(0, wanted));
                call = Rpc.call(0, Rpc.UNKNOWN, 1, 1);
            } else {
                // The binding knows both versions; the second one offers memory for results.
                int version = kind;
                wanted = Math.min(wanted, version == 2 ? TestBinding.SINK : 1900);
                byte[] opaque = new byte[length + 4];
                new Random(number).nextBytes(opaque);
                Unpooled.wrappedBuffer(opaque).setInt(0, wanted);
                ByteBuf out = Unpooled.buffer();
                Rpc.opaque(out.writeInt(TestBinding.ELIGIBLE), opaque).writeInt(TestBinding.END);
                arguments = Rpc.bytes(out);
                call = Rpc.call(0, TestBinding.PROGRAM, version, 1);
            }
            results = results(arguments, kind != 0);
            call.writeBytes(arguments);
            network.note(
                    this
                            + " of "
                            + client
                            + ", "
                            + arguments.length
                            + " bytes, "
                            + results.length
                            + " wanted, kind "
                            + kind);
            isShort = mayFail && random.nextInt(10) == 0;
            CallOptions options =
                    isShort
                            ? CallOptions.DEFAULT.withTimeout(
                                    Duration.ofMillis(1 + random.nextInt(2000)))
                            : CallOptions.DEFAULT;
            isFailing = mayFail && random.nextInt(30) == 0;
            if (isFailing) {
                call.release();
                future =
                        client.client.<ByteBuf>call(
                                xid -> {
                                    throw new AssertionError("the encoder of " + number);
                                },
                                options);
            } else {
                future = client.client.call(call, options);
            }
            future.addListener(
                    done ->
                            network.note(
                                    this
                                            + (done.isSuccess()
                                                    ? " is answered"
                                                    : " fails: " + done.cause())));
        }

        void check() {
            if (future.isSuccess()) {
                ByteBuf reply = future.getNow();
                try {
                    byte[] came =
                            ByteBufUtil.getBytes(
                                    reply, reply.readerIndex() + 24, reply.readableBytes() - 24);
                    if (!Arrays.equals(came, results)) {
                        throw new AssertionError(this + " has wrong bytes");
                    }
                } finally {
                    reply.release();
                }
            } else if (!isCancelled && !hasLosses && !isShort && !isFailing) {
                throw new AssertionError(this + " fails, though nothing was lost", future.cause());
            } else if (!isCancelled
                    && !isFailing
                    && !(future.cause() instanceof RpcRdmaException)) {
                throw new AssertionError(
                        this + " fails without an error of the codec", future.cause());
            }
        }

        @Override
        public String toString() {
            return "call " + number;
        }
    }
}
