// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.simulation;

import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.SimpleChannelInboundHandler;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.rpcrdma.channel.RdmaChannel;
import org.rpcrdma.channel.RdmaChannelOption;
import org.rpcrdma.codec.PrivateData;
import org.rpcrdma.codec.wire.TransportHeader;

/**
 * A requester without the codec, which keeps to all rules, and whose chunks have several segments. It looks at each
 * byte of the memory that it has offered, reads replies that stay in Read chunks, uses all of its credits, and sends a
 * call again on another connection while the first one is executed.
 */
final class SegmentedCaller {

    private static final int MOST_CALLS = 4;
    private static final int SHORT_THRESHOLD = 1024;
    private static final int USUAL_THRESHOLD = 4096;

    /** More than any server grants. */
    private static final int RECEIVES = 80;

    final SimulatedHost host;
    private final SimulatedWorld world;
    private final SimulatedServer server;
    private final Random random;
    private final List<Connection> connections = new ArrayList<>();
    private int closes;

    SegmentedCaller(SimulatedWorld world, SimulatedServer server, Random random) {
        this.world = world;
        this.server = server;
        this.random = random;
        host = new SimulatedHost(world, "caller in segments of " + server, random);
    }

    /** Calls, on a new connection if the last one is gone; or sends a call again that is out, on another one. */
    void act() {
        Connection last = connections.isEmpty() ? null : connections.get(connections.size() - 1);
        SegmentedCall again = last == null ? null : last.notIdempotent();
        boolean isAgain = again != null && random.nextInt(3) != 0;
        if (last == null || !last.channel.isOpen() || isAgain) {
            connections.add(connect());
        }
        Connection by = connections.get(connections.size() - 1);
        if (isAgain) {
            world.network.note("call " + again.number() + " in segments is sent again");
            by.waiting.add(again);
            if (random.nextBoolean()) {
                closes++;
                last.isClosed = true;
                last.channel.close();
            }
        }
        for (int i = random.nextInt(MOST_CALLS); i >= 0; i--) {
            by.waiting.add(SegmentedCall.of(world, random));
        }
        by.channel.eventLoop().execute(() -> by.call((RdmaChannel) by.channel));
    }

    private Connection connect() {
        Connection made = new Connection(random.nextBoolean());
        int threshold = random.nextBoolean() ? SHORT_THRESHOLD : USUAL_THRESHOLD;
        PrivateData announced =
                new PrivateData(threshold, threshold, random.nextBoolean(), made.announcesReads, 0);
        Bootstrap bootstrap = new Bootstrap().group(host.group);
        host.kind.setDepths(bootstrap::option);
        made.channel =
                bootstrap
                        .channel(RdmaChannel.class)
                        .option(RdmaChannelOption.PRIVATE_DATA, announced.encode())
                        .option(RdmaChannelOption.RECEIVE_DEPTH, RECEIVES)
                        .handler(
                                new ChannelInitializer<>() {
                                    @Override
                                    protected void initChannel(Channel channel) {
                                        channel.pipeline().addLast(made);
                                    }
                                })
                        .connect(server.address)
                        .channel();
        return made;
    }

    /** Whether each call of a connection that is open was answered. */
    boolean isIdle() {
        return connections.stream().allMatch(Connection::isIdle);
    }

    /** How many connections it has closed while it was calling. */
    int closes() {
        return closes;
    }

    void close() {
        connections.forEach(each -> each.channel.close());
    }

    /** A connection and its calls. */
    private final class Connection extends SimpleChannelInboundHandler<ByteBuf> {

        final ArrayDeque<SegmentedCall> waiting = new ArrayDeque<>();

        /** By XID. */
        private final Map<Integer, SegmentedTransmission> out = new LinkedHashMap<>();

        /**
         * Whether it announces replies in Read chunks, so that its pull completions are within its credits. Then there
         * is one message at a time, for which there always is one.
         */
        private final boolean announcesReads;

        private Channel channel;
        private long granted = 1;

        /** Replies that are being read. */
        private int reading;

        /** Whether it was closed here while it was calling. */
        private boolean isClosed;

        Connection(boolean announcesReads) {
            this.announcesReads = announcesReads;
        }

        /** A call that is out and must be executed once; {@code null} for none. */
        SegmentedCall notIdempotent() {
            return out.values().stream()
                    .map(sent -> sent.call)
                    .filter(call -> call.procedure() == SimulatedProgram.APPEND)
                    .findFirst()
                    .orElse(null);
        }

        boolean isIdle() {
            return (waiting.isEmpty() && out.isEmpty() && reading == 0) || !channel.isOpen();
        }

        void call(RdmaChannel to) {
            while (to.isActive() && !waiting.isEmpty() && maySend()) {
                send(waiting.poll(), to);
            }
        }

        private boolean maySend() {
            return announcesReads ? out.isEmpty() && reading == 0 : out.size() < granted;
        }

        private void send(SegmentedCall call, RdmaChannel to) {
            SegmentedTransmission sent = new SegmentedTransmission(call, to, random);
            out.put(call.number(), sent);
            world.network.note(sent + " is sent in segments");
            to.writeAndFlush(sent.message())
                    .addListener(
                            done -> {
                                if (!done.isSuccess()) {
                                    fails("is not sent", done.cause());
                                }
                            });
        }

        private void fails(String what, Throwable cause) {
            String problem = "a call in segments " + what + ": " + cause;
            world.network.note(problem);
            if (!world.plan.hasLosses() && !isClosed) {
                world.wrong(problem);
            }
            channel.close();
        }

        @Override
        public void channelActive(ChannelHandlerContext ctx) {
            call((RdmaChannel) ctx.channel());
        }

        @Override
        public void channelInactive(ChannelHandlerContext ctx) {
            out.values().forEach(SegmentedTransmission::free);
            out.clear();
        }

        @Override
        protected void channelRead0(ChannelHandlerContext ctx, ByteBuf message) {
            RdmaChannel to = (RdmaChannel) ctx.channel();
            TransportHeader header = new TransportHeader();
            header.decodeFixed(message, message.readerIndex());
            SegmentedTransmission sent = out.remove(header.xid());
            if (sent == null) {
                world.wrong("a call in segments is answered twice, or was not called: " + header);
                return;
            }
            long credits = Integer.toUnsignedLong(header.credit());
            if (credits == 0) {
                world.wrong(server + " grants nothing");
            }
            if (header.proc() == TransportHeader.RDMA_ERROR) {
                granted = Math.min(granted, credits);
                if (!sent.mayBeRefused() && !world.plan.hasLosses()) {
                    world.wrong(sent + " is refused");
                }
                ended(sent, to);
                return;
            }
            granted = credits;
            int start = message.readerIndex() + TransportHeader.FIXED_BYTES;
            int payload = header.decodeLists(message, start, message.writerIndex(), 64);
            if (header.reads().segments() > 0) {
                reading++;
                new SegmentedPull(to, header.reads(), random)
                        .read(came -> pulled(sent, to, header, came));
                return;
            }
            boolean isLong = header.proc() == TransportHeader.RDMA_NOMSG;
            int length = message.writerIndex() - payload;
            check(sent, header, isLong ? null : ByteBufUtil.getBytes(message, payload, length));
            ended(sent, to);
        }

        /** All of a reply has come; {@code null} when it has not. */
        private void pulled(
                SegmentedTransmission sent, RdmaChannel to, TransportHeader header, byte[] came) {
            reading--;
            if (came == null) {
                fails("cannot read its reply", null);
                sent.free();
                return;
            }
            check(sent, header, came);
            ByteBuf done = Unpooled.buffer();
            TransportHeader.encodeDone(done, header.xid(), 1);
            to.writeAndFlush(done);
            ended(sent, to);
        }

        private void check(SegmentedTransmission sent, TransportHeader header, byte[] came) {
            boolean isError =
                    came != null
                            && came.length == SimulatedProgram.REPLY_BYTES
                            && came[came.length - 1] != 0;
            if (isError && world.plan.hasLosses()) {
                return; // a device has refused, and the server has said SYSTEM_ERR
            }
            String problem = sent.problem(header, came);
            if (problem != null) {
                world.wrong(sent + " " + problem);
            }
        }

        private void ended(SegmentedTransmission sent, RdmaChannel to) {
            world.network.note("call " + sent.call.number() + " in segments is answered");
            sent.free();
            call(to);
        }

        @Override
        public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
            world.network.note("a caller in segments is told of " + cause);
        }
    }
}
