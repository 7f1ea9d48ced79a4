// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.simulation;

import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.SimpleChannelInboundHandler;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import org.rpcrdma.channel.RdmaChannel;
import org.rpcrdma.channel.RdmaChannelOption;
import org.rpcrdma.channel.RdmaRead;
import org.rpcrdma.channel.RdmaSendWithInvalidate;
import org.rpcrdma.channel.RdmaServerChannel;
import org.rpcrdma.channel.RdmaWrite;
import org.rpcrdma.channel.RemoteAccess;
import org.rpcrdma.codec.PrivateData;
import org.rpcrdma.codec.RpcRdmaConnection;
import org.rpcrdma.codec.wire.SegmentList;
import org.rpcrdma.codec.wire.TransportHeader;

/**
 * A responder that lies, over channels without the codec. Calls to it end, by whatever error; what they have lent is
 * nobody's to reach afterwards.
 */
final class RogueServer {

    private static final int PORT = 21_000;
    private static final int MOST_KNOWN = 48;
    private static final int PULLED_CREDITS = 2;

    /** What a requester has offered. */
    private record Segment(int handle, long offset, long length, int xid) {
        Segment of(int call) {
            return new Segment(handle, offset, length, call);
        }
    }

    final SimulatedHost host;
    final SimulatedClient victim;
    private final SimulatedWorld world;
    private final RogueClient.Personality personality;
    private final Random random;
    private final List<Segment> known = new ArrayList<>();

    /** All that was ever offered, and on which connection. */
    private final Map<Segment, Channel> kept = new LinkedHashMap<>();

    /** Replies that are read. */
    private final List<ByteBuf> exposed = new ArrayList<>();

    private final Set<Channel> accepted = new LinkedHashSet<>();
    private final Channel listener;
    private int lastXid;

    RogueServer(SimulatedWorld world, RogueClient.Personality personality, int number, long seed) {
        this.world = world;
        this.personality = personality;
        random = new Random(seed);
        host = new SimulatedHost(world, "rogue server for " + personality, random);
        InetSocketAddress address =
                new InetSocketAddress(InetAddress.getLoopbackAddress(), PORT + number);
        boolean pulls = personality == RogueClient.Personality.PULLS;
        byte[] announced =
                new PrivateData(4096, 4096, !pulls && random.nextBoolean(), pulls, 0).encode();
        ServerBootstrap bootstrap =
                new ServerBootstrap()
                        .group(host.group)
                        .channel(RdmaServerChannel.class)
                        .childOption(RdmaChannelOption.PRIVATE_DATA, announced)
                        .childOption(RdmaChannelOption.RECEIVE_DEPTH, 80)
                        .childHandler(
                                new ChannelInitializer<>() {
                                    @Override
                                    protected void initChannel(Channel made) {
                                        accepted.add(made);
                                        made.pipeline().addLast(new Inbox());
                                    }
                                });
        ChannelFuture bound = bootstrap.bind(address);
        world.expect(host + " listens", bound::isDone);
        listener = bound.channel();
        victim = new SimulatedClient(world, 1000 + number, address, random);
        if (pulls && !world.settings.hasReverse()) {
            victim.host
                    .context()
                    .atCreation(
                            made ->
                                    WireCredits.watchDeceived(
                                            made, what -> world.wrong(victim + " " + what)));
        }
    }

    boolean is(RogueClient.Personality one) {
        return personality == one;
    }

    void close() {
        victim.close();
        listener.close();
        List.copyOf(accepted).forEach(Channel::close);
        exposed.forEach(ByteBuf::release);
        exposed.clear();
    }

    void shutdown() {
        victim.host.shutdown();
        host.shutdown();
    }

    /** Answers each call, in a way of its own. */
    private final class Inbox extends SimpleChannelInboundHandler<ByteBuf> {
        @Override
        protected void channelRead0(ChannelHandlerContext ctx, ByteBuf message) {
            if (message.readableBytes() < TransportHeader.MINIMUM_BYTES) {
                return;
            }
            TransportHeader header = new TransportHeader();
            header.decodeFixed(message, message.readerIndex());
            if (header.proc() > TransportHeader.RDMA_NOMSG) {
                return;
            }
            int start = message.readerIndex() + TransportHeader.FIXED_BYTES;
            header.decodeLists(message, start, message.writerIndex(), 4096);
            remember(header.reads());
            remember(header.writes());
            remember(header.reply());
            try {
                answer((RdmaChannel) ctx.channel(), header);
            } catch (RuntimeException e) {
                world.network.note(host + " cannot: " + e.getClass());
            }
            lastXid = header.xid();
        }

        @Override
        public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
            world.network.note(host + " is told of " + cause.getClass());
        }
    }

    private void remember(SegmentList list) {
        for (int i = 0; i < list.segments(); i++) {
            if (known.size() == MOST_KNOWN) {
                known.remove(random.nextInt(MOST_KNOWN));
            }
            known.add(new Segment(list.handle(i), list.offset(i), list.length(i), 0));
        }
    }

    private void answer(RdmaChannel to, TransportHeader call) {
        world.network.note(host + " answers");
        for (RpcRdmaConnection connection : victim.rpc.openConnections()) {
            if (connection.callsInFlight() < 0) {
                world.wrong(victim + " has less than no calls in flight: " + connection);
            }
        }
        int xid = call.xid();
        switch (personality) {
            case CREDITS -> to.writeAndFlush(reply(call, xid, oddCredits()));
            case CHUNKS -> {
                TransportHeader reply = mirrored(call, xid, 8);
                spoil(reply.writes());
                spoil(reply.reply());
                to.writeAndFlush(message(reply, xid));
            }
            case KEEPER -> keep(to, call);
            case HANDLES -> {
                if (random.nextBoolean()) {
                    tryHandles(to);
                }
                to.writeAndFlush(reply(call, xid, 8));
                tryHandles(to);
            }
            case INVALIDATIONS -> {
                int handle =
                        known.isEmpty() || random.nextInt(4) == 0
                                ? random.nextInt()
                                : known.get(random.nextInt(known.size())).handle;
                to.writeAndFlush(new RdmaSendWithInvalidate(reply(call, xid, 8), handle));
            }
            case XIDS -> {
                to.writeAndFlush(reply(call, random.nextBoolean() ? lastXid : xid, 8));
                to.writeAndFlush(reply(call, random.nextBoolean() ? xid + 1 : xid, 8));
            }
            case VERSIONS -> {
                ByteBuf out = reply(call, xid, 8).setInt(4, random.nextInt(4));
                if (random.nextBoolean()) {
                    out.setInt(12, random.nextInt(6));
                }
                to.writeAndFlush(out.writerIndex(16 + random.nextInt(out.writerIndex() - 15)));
            }
            case ERRORS -> {
                ByteBuf error = Unpooled.buffer().writeInt(xid).writeInt(1).writeInt(oddCredits());
                error.writeInt(TransportHeader.RDMA_ERROR).writeInt(random.nextInt(3));
                to.writeAndFlush(error.writeInt(random.nextInt(3)).writeInt(random.nextInt(3)));
                to.writeAndFlush(reply(call, xid, 8));
            }
            case PULLS -> {
                boolean isKnown = world.settings.hasVersionTwo() || random.nextBoolean();
                if (!isKnown) {
                    to.writeAndFlush(pulled(to, random.nextInt()));
                }
                ByteBuf reply =
                        random.nextBoolean() ? pulled(to, xid) : reply(call, xid, PULLED_CREDITS);
                if (random.nextInt(3) == 0) {
                    to.writeAndFlush(reply.copy());
                }
                to.writeAndFlush(reply);
            }
            case COMPLETIONS -> {
                ByteBuf done = Unpooled.buffer();
                TransportHeader.encodeDone(done, random.nextBoolean() ? xid : lastXid, 8);
                to.writeAndFlush(done);
                TransportHeader reply = mirrored(call, xid, 8);
                reply.reads().add(0, random.nextInt(), random.nextInt(9000), random.nextInt());
                to.writeAndFlush(message(reply, xid));
            }
        }
    }

    /**
     * Grants one credit, so that a further call of the connection proves that all earlier ones have ended. Whatever
     * they had offered is out of reach then, and what others offer always is.
     */
    private void keep(RdmaChannel to, TransportHeader call) {
        Map<Segment, Channel> over = new LinkedHashMap<>();
        kept.forEach(
                (segment, owner) -> {
                    if (segment.xid != call.xid() || owner != to) {
                        over.put(segment, owner);
                    }
                });
        known.clear();
        remember(call.reads());
        remember(call.writes());
        remember(call.reply());
        known.forEach(segment -> kept.put(segment.of(call.xid()), to));
        known.clear();
        if (!over.isEmpty() && random.nextInt(3) == 0) {
            List<Segment> all = List.copyOf(over.keySet());
            for (int i = 1 + random.nextInt(4); i > 0; i--) {
                reach(to, all.get(random.nextInt(all.size())));
            }
        }
        to.writeAndFlush(reply(call, call.xid(), 1));
    }

    private void reach(RdmaChannel to, Segment segment) {
        int length = (int) Math.min(64, segment.length);
        if (length == 0) {
            return;
        }
        ByteBuf buffer = to.registeredBuffer(length).writerIndex(length);
        if (random.nextInt(3) == 0) {
            to.writeAndFlush(new RdmaWrite(buffer, segment.handle, segment.offset));
            return;
        }
        to.writeAndFlush(new RdmaRead(buffer, segment.handle, segment.offset))
                .addListener(
                        read -> {
                            if (read.isSuccess()) {
                                world.wrong(host + " reads memory of a call that has ended");
                            }
                        });
    }

    /** A reply in a Read chunk of two segments. */
    private ByteBuf pulled(RdmaChannel to, int xid) {
        ByteBuf payload = SimulatedProgram.reply(xid).writeZero(8);
        int length = payload.readableBytes();
        ByteBuf memory = to.registeredBuffer(length).writeBytes(payload);
        payload.release();
        exposed.add(memory);
        int handle = to.expose(memory, 0, length, RemoteAccess.READ);
        long offset = to.exposedOffset(handle);
        TransportHeader header =
                new TransportHeader().set(xid, PULLED_CREDITS, TransportHeader.RDMA_NOMSG);
        int first = 1 + random.nextInt(length - 1);
        header.reads().add(0, handle, first, offset);
        header.reads().add(0, handle, length - first, offset + first);
        ByteBuf out = Unpooled.buffer();
        header.encode(out);
        return out;
    }

    private int oddCredits() {
        return random.nextInt(3) == 0 ? random.nextInt() : random.nextInt(3);
    }

    private void spoil(SegmentList list) {
        for (int i = 0; i < list.segments(); i++) {
            list.length(i, random.nextInt(3) == 0 ? 0xFFFF_FFFFL : random.nextInt(20_000));
        }
    }

    private static TransportHeader mirrored(TransportHeader call, int xid, int credits) {
        TransportHeader reply = new TransportHeader().set(xid, credits, TransportHeader.RDMA_MSG);
        reply.writes().copy(call.writes());
        reply.reply().copy(call.reply());
        for (int i = 0; i < reply.writes().segments(); i++) {
            reply.writes().length(i, 0);
        }
        for (int i = 0; i < reply.reply().segments(); i++) {
            reply.reply().length(i, 0);
        }
        return reply;
    }

    private static ByteBuf reply(TransportHeader call, int xid, int credits) {
        return message(mirrored(call, xid, credits), xid);
    }

    private static ByteBuf message(TransportHeader header, int xid) {
        ByteBuf out = Unpooled.buffer();
        header.encode(out);
        ByteBuf payload = SimulatedProgram.reply(xid).writeZero(8);
        out.writeBytes(payload);
        payload.release();
        return out;
    }

    /** Reaches for all that it ever saw, in a way that is right if the handle still is. */
    private void tryHandles(RdmaChannel to) {
        for (Segment segment : List.copyOf(known)) {
            int length = (int) Math.min(64, segment.length);
            if (length > 0) {
                ByteBuf buffer = to.registeredBuffer(length).writerIndex(length);
                to.writeAndFlush(
                        random.nextBoolean()
                                ? new RdmaRead(buffer, segment.handle, segment.offset)
                                : new RdmaWrite(buffer, segment.handle, segment.offset));
            }
        }
    }
}
