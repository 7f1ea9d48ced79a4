// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

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
import io.netty.channel.ChannelOption;
import io.netty.channel.socket.ChannelInputShutdownEvent;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.rpcrdma.verbs.DirectMemoryBudget;
import org.rpcrdma.verbs.iwarp.IwarpConfig;
import org.rpcrdma.verbs.iwarp.SimulatedConnection;
import org.rpcrdma.verbs.iwarp.SimulatedNetwork;

/**
 * A history of byte streams on a {@link SimulatedNetwork}: both ends write, flush, stop and resume reading, and shut
 * their output down at random times, with faults between. Without losses each byte arrives once and in order, each
 * promise succeeds, and each end sees the end of its input. With losses the received bytes are a prefix of the written
 * ones, and each promise is completed.
 */
public final class StreamSimulation {

    private static final InetSocketAddress ADDRESS =
            new InetSocketAddress(InetAddress.getLoopbackAddress(), 20111);
    private static final long MILLI = TimeUnit.MILLISECONDS.toNanos(1);
    private static final long PATIENCE_MILLIS = 60_000;

    private final SimulatedNetwork network;
    private final Random random;

    /** Whether connections may be reset; otherwise faults are delays. */
    private final boolean hasLosses;

    private final List<End> ends = new ArrayList<>();

    /** A history that has not begun. */
    public StreamSimulation(SimulatedNetwork network) {
        this.network = network;
        random = new Random(~network.seed());
        hasLosses = random.nextInt(3) == 0;
    }

    /**
     * Runs the history.
     *
     * @throws AssertionError when a check fails
     */
    public void run() {
        RdmaEventLoopGroup servers = group();
        List<RdmaEventLoopGroup> groups = new ArrayList<>(List.of(servers));
        ServerBootstrap server =
                new ServerBootstrap()
                        .group(servers)
                        .channel(RdmaServerStreamChannel.class)
                        .childOption(ChannelOption.ALLOW_HALF_CLOSURE, true)
                        .childHandler(
                                new ChannelInitializer<Channel>() {
                                    @Override
                                    protected void initChannel(Channel channel) {
                                        End.of(channel, ends, "server " + ends.size(), network);
                                    }
                                });
        sizes(server::childOption);
        ChannelFuture bound = server.bind(ADDRESS);
        expect("the server listens", bound::isDone);
        int pairs = 1 + random.nextInt(2);
        for (int i = 0; i < pairs; i++) {
            RdmaEventLoopGroup group = group();
            groups.add(group);
            connect(group);
        }
        for (int i = 10 + random.nextInt(60); i > 0; i--) {
            act();
            network.run(random.nextInt(80));
            if (random.nextInt(10) == 0) {
                fault();
            }
        }
        for (End end : ends) {
            end.finish();
        }
        expect("all promises end", () -> ends.stream().allMatch(End::isSettled));
        if (!hasLosses) {
            expect("all bytes arrive", () -> ends.stream().allMatch(End::hasAll));
        }
        ends.forEach(this::check);
        ends.forEach(end -> end.channel.close());
        bound.channel().close();
        groups.forEach(group -> group.shutdownGracefully(0, 1, TimeUnit.SECONDS));
        expect("all event loops end", () -> network.threadCount() == 0);
    }

    private RdmaEventLoopGroup group() {
        return SimulatedGroups.single(
                network.executor(),
                network.provider(IwarpConfig.defaults()),
                random.nextBoolean() ? PollMode.BLOCKING : PollMode.ADAPTIVE,
                DirectMemoryBudget.jvm());
    }

    private interface Options {
        <T> void set(ChannelOption<T> option, T value);
    }

    private void sizes(Options options) {
        options.set(ChannelOption.SO_RCVBUF, 1024 << random.nextInt(9));
        options.set(ChannelOption.SO_SNDBUF, 1024 << random.nextInt(9));
    }

    private void connect(RdmaEventLoopGroup group) {
        Bootstrap bootstrap =
                new Bootstrap()
                        .group(group)
                        .channel(RdmaStreamChannel.class)
                        .option(ChannelOption.ALLOW_HALF_CLOSURE, true)
                        .handler(
                                new ChannelInitializer<Channel>() {
                                    @Override
                                    protected void initChannel(Channel channel) {
                                        End.of(channel, ends, "client " + ends.size(), network);
                                    }
                                });
        sizes(bootstrap::option);
        int before = ends.size();
        ChannelFuture connected = bootstrap.connect(ADDRESS);
        expect("the stream is connected", () -> connected.isDone() && ends.size() == before + 2);
        End one = ends.get(before);
        End two = ends.get(before + 1);
        one.peer = two;
        two.peer = one;
    }

    private void act() {
        End end = ends.get(random.nextInt(ends.size()));
        switch (random.nextInt(12)) {
            case 0 -> end.setReading(random.nextInt(3) != 0);
            case 1 -> end.write(0);
            case 2 -> end.flush();
            case 3 -> {
                if (random.nextInt(5) == 0) {
                    end.finish();
                }
            }
            case 4, 5 -> end.write(1 + random.nextInt(200_000));
            default -> end.write(1 + random.nextInt(3000));
        }
        if (random.nextInt(3) != 0) {
            end.flush();
        }
    }

    private void fault() {
        List<SimulatedConnection> open = network.connections();
        if (open.isEmpty()) {
            return;
        }
        SimulatedConnection one = open.get(random.nextInt(open.size()));
        long until = network.nanoTime() + random.nextInt(3_000) * MILLI;
        switch (hasLosses ? random.nextInt(3) : 1 + random.nextInt(2)) {
            case 0 -> {
                network.note(one + " is reset");
                one.reset();
            }
            case 1 -> one.stall(random.nextBoolean(), until);
            default -> network.pause(random.nextInt(3), until);
        }
    }

    private void check(End end) {
        if (end.wrong != null) {
            throw new AssertionError(end + " " + end.wrong);
        }
        if (!hasLosses) {
            for (ChannelFuture promise : end.promises) {
                if (!promise.isSuccess()) {
                    throw new AssertionError("a promise of " + end + " fails", promise.cause());
                }
            }
        }
    }

    private void expect(String what, BooleanSupplier condition) {
        if (!network.runUntil(condition, PATIENCE_MILLIS * MILLI)) {
            StringBuilder state = new StringBuilder();
            for (End end : ends) {
                state.append('\n').append(end.state());
            }
            throw new AssertionError("not so: " + what + state);
        }
        for (End end : ends) {
            if (end.wrong != null) {
                throw new AssertionError(end + " " + end.wrong);
            }
        }
    }

    /** One end of a stream. The value of each byte follows from its position, so that any can be checked alone. */
    private static final class End extends ChannelInboundHandlerAdapter {

        private final String name;
        private final SimulatedNetwork network;
        private final Channel channel;
        private final List<ChannelFuture> promises = new ArrayList<>();
        private End peer;
        private long written;
        private long received;
        private boolean isFinished;
        private boolean hasSeenEnd;
        private String wrong;

        private End(Channel channel, String name, SimulatedNetwork network) {
            this.channel = channel;
            this.name = name;
            this.network = network;
        }

        static void of(Channel channel, List<End> ends, String name, SimulatedNetwork network) {
            End end = new End(channel, name, network);
            ends.add(end);
            channel.pipeline().addLast(end);
        }

        void write(int length) {
            if (isFinished) {
                return;
            }
            byte[] bytes = new byte[length];
            for (int i = 0; i < length; i++) {
                bytes[i] = (byte) at(written + i);
            }
            long end = written + length;
            written = end;
            ChannelFuture promise = channel.write(Unpooled.wrappedBuffer(bytes));
            promises.add(promise);
        }

        private static int at(long position) {
            return (int) (position * 31 + (position >> 8) * 7);
        }

        void flush() {
            channel.flush();
        }

        void setReading(boolean isReading) {
            channel.config().setAutoRead(isReading);
        }

        /** Shuts the output down behind all that was written, and reads the rest of the input. */
        void finish() {
            setReading(true);
            if (!isFinished) {
                isFinished = true;
                channel.flush();
                network.note(this + " shuts its output down after " + written);
                promises.add(((RdmaStreamChannel) channel).shutdownOutput());
            }
        }

        boolean isSettled() {
            return promises.stream().allMatch(ChannelFuture::isDone);
        }

        boolean hasAll() {
            return received == peer.written && hasSeenEnd;
        }

        @Override
        public void channelRead(ChannelHandlerContext ctx, Object message) {
            ByteBuf bytes = (ByteBuf) message;
            byte[] came = ByteBufUtil.getBytes(bytes);
            bytes.release();
            for (byte one : came) {
                if (one != (byte) at(received) && wrong == null) {
                    wrong = "reads another byte at " + received;
                }
                received++;
            }
            if (peer != null && received > peer.written) {
                wrong = "reads more than was written";
            }
        }

        @Override
        public void userEventTriggered(ChannelHandlerContext ctx, Object event) {
            if (event instanceof ChannelInputShutdownEvent) {
                hasSeenEnd = true;
            }
        }

        @Override
        public void channelInactive(ChannelHandlerContext ctx) {
            hasSeenEnd = true;
            network.note(this + " is closed");
        }

        @Override
        public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
            network.note(this + " is told of " + cause);
        }

        String state() {
            return name
                    + ": written "
                    + written
                    + ", received "
                    + received
                    + (isFinished ? ", finished" : "")
                    + (hasSeenEnd ? ", has seen the end, " : ", ")
                    + promises.stream().filter(promise -> !promise.isDone()).count()
                    + " promises open, "
                    + promises.stream().filter(p -> p.isDone() && !p.isSuccess()).count()
                    + " failed, open: "
                    + channel.isOpen();
        }

        @Override
        public String toString() {
            return name;
        }
    }
}
