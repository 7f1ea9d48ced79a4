// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.simulation;

import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.SimpleChannelInboundHandler;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import org.rpcrdma.channel.RdmaChannel;
import org.rpcrdma.channel.RdmaChannelOption;
import org.rpcrdma.channel.RdmaRead;
import org.rpcrdma.channel.RdmaSendWithInvalidate;
import org.rpcrdma.channel.RdmaWrite;
import org.rpcrdma.channel.RemoteAccess;
import org.rpcrdma.codec.PrivateData;
import org.rpcrdma.codec.wire.SegmentList;
import org.rpcrdma.codec.wire.TransportHeader;

/**
 * A requester that lies, over a channel without the codec, on connections of its own. Its server has to go on serving
 * all others.
 */
final class RogueClient {

    /** What a rogue lies about. */
    enum Personality {
        /** Sends without credits, and asks for none, or all. */
        CREDITS,
        /** Offers chunks that are none. */
        CHUNKS,
        /** Reads and writes by every handle it ever saw. */
        HANDLES,
        /** Invalidates what nobody gave it, and what it gave itself. */
        INVALIDATIONS,
        /** Uses XIDs again, and answers calls that nobody sent. */
        XIDS,
        /** Speaks versions and procedures that do not exist. */
        VERSIONS,
        /** Makes mistakes that are answered, within its credits, all of which it uses. */
        ERRORS,
        /** Says that it has pulled replies that it has not, never, or twice. */
        COMPLETIONS,
        /** A responder alone: answers in Read chunks, twice, and calls that nobody has sent. */
        PULLS,
        /** Behaves, keeps all handles, and tries them when their calls have ended, or on other connections. */
        KEEPER
    }

    private static final int MOST_KNOWN = 64;

    private static final int MOST_MISTAKES = 40;

    /** Where a call says after how long it wants its answer. */
    private static final int LATE_AT = SimulatedProgram.CALL_BYTES + 8;

    private final SimulatedWorld world;
    private final Personality personality;
    private final SimulatedServer server;
    private final SimulatedHost host;
    private final Random random;
    private final List<ByteBuf> memory = new ArrayList<>();

    /** Of both sides. */
    private final List<Integer> handles = new ArrayList<>();

    /** The connections that a server has told of a handle. */
    private final Map<Integer, Channel> owners = new HashMap<>();

    private final List<Integer> xids = new ArrayList<>();

    /** Calls of the last connection that were not answered, where they are counted. */
    private final Set<Integer> out = new HashSet<>();

    /** By the last answer on that connection. */
    private long granted;

    /** How many calls and mistakes it has to make. */
    private int left;

    private ChannelFuture connecting;
    private Channel channel;

    RogueClient(SimulatedWorld world, Personality personality, SimulatedServer server, long seed) {
        this.world = world;
        this.personality = personality;
        this.server = server;
        random = new Random(seed);
        host = new SimulatedHost(world, "rogue for " + personality, random);
        warn();
    }

    /** What its server has to expect of it. */
    private void warn() {
        if (personality == Personality.ERRORS) {
            server.expectMistakes();
        } else {
            server.expectOverruns();
        }
    }

    boolean is(Personality one, SimulatedServer at) {
        return personality == one && server == at;
    }

    /** Whether all that keeps to its credits was answered, calls and mistakes. */
    boolean isAnswered() {
        return personality != Personality.ERRORS
                || channel == null
                || !channel.isActive()
                || out.isEmpty();
    }

    /** Does so many bad things, on a new connection if the last one is gone. */
    void act(int times) {
        if (channel == null || !channel.isOpen()) {
            connect();
        }
        Channel to = channel;
        connecting.addListener(
                connected -> {
                    for (int i = 0; i < times && to.isActive(); i++) {
                        actOnce((RdmaChannel) to);
                    }
                });
    }

    private void connect() {
        left = 0;
        out.clear();
        granted = 1;
        byte[] announced = new PrivateData(4096, 4096, random.nextBoolean()).encode();
        connecting =
                new Bootstrap()
                        .group(host.group)
                        .channel(RdmaChannel.class)
                        .option(RdmaChannelOption.PRIVATE_DATA, announced)
                        .handler(
                                new ChannelInitializer<>() {
                                    @Override
                                    protected void initChannel(Channel made) {
                                        made.pipeline().addLast(new Inbox());
                                    }
                                })
                        .connect(server.address);
        channel = connecting.channel();
        world.network.note(host + " connects");
    }

    private void actOnce(RdmaChannel to) {
        world.network.note(host + " acts");
        try {
            switch (personality) {
                case CREDITS -> {
                    int credits = random.nextInt(3) == 0 ? random.nextInt() : random.nextInt(2);
                    for (int i = 0; i < 30; i++) {
                        ByteBuf call = call(random.nextInt(60)).setInt(LATE_AT, lateMillis());
                        send(to, header(random.nextInt(), credits), call);
                    }
                }
                case ERRORS -> {
                    left += MOST_MISTAKES;
                    callWithinCredits(to);
                }
                case CHUNKS -> send(to, withChunks(to), call(random.nextInt(60)));
                case HANDLES, KEEPER -> {
                    send(to, withChunks(to), call(random.nextInt(60)));
                    tryHandles(to);
                }
                case INVALIDATIONS -> {
                    ByteBuf message = message(withChunks(to), call(20));
                    to.writeAndFlush(new RdmaSendWithInvalidate(message, anyOf(handles)));
                }
                case XIDS -> {
                    int xid = random.nextInt(4);
                    boolean isReply = random.nextInt(4) == 0;
                    ByteBuf payload = isReply ? SimulatedProgram.reply(xid) : call(16);
                    send(to, header(xid, 32), payload.setInt(0, random.nextInt(8) == 0 ? 9 : xid));
                }
                case VERSIONS -> {
                    ByteBuf out = Unpooled.buffer().writeInt(random.nextInt(4));
                    out.writeInt(random.nextInt(5)).writeInt(random.nextInt(40));
                    out.writeInt(random.nextInt(8));
                    for (int i = random.nextInt(40); i > 0; i--) {
                        out.writeInt(random.nextInt(3));
                    }
                    to.writeAndFlush(out.readSlice(random.nextInt(out.readableBytes() + 1)));
                }
                case COMPLETIONS -> {
                    send(to, header(random.nextInt(), 32), call(40).setInt(44, 30_000));
                    ByteBuf done = Unpooled.buffer();
                    TransportHeader.encodeDone(done, anyOf(xids), 32);
                    to.writeAndFlush(done);
                }
                case PULLS -> throw new IllegalStateException("no requester is of this kind");
            }
        } catch (RuntimeException e) {
            world.network.note(host + " cannot: " + e.getClass());
        }
    }

    /** After how long a call wants its answer: those before the last one are out meanwhile. */
    private int lateMillis() {
        return random.nextInt(3) == 0 ? 0 : random.nextInt(300);
    }

    private void callWithinCredits(RdmaChannel to) {
        while (out.size() < granted && left-- > 0 && to.isActive()) {
            callOrMistake(to);
        }
    }

    /** A call that is answered late, or with an error: of no version, or with lists that are none. */
    private void callOrMistake(RdmaChannel to) {
        int xid = random.nextInt();
        out.add(xid);
        ByteBuf payload = call(random.nextInt(20)).setInt(LATE_AT, lateMillis());
        ByteBuf message = message(header(xid, 1 << 16), payload);
        switch (random.nextInt(4)) {
            case 0 -> message.setInt(4, 7);
            case 1 -> message.setInt(TransportHeader.FIXED_BYTES, 7);
            default -> {}
        }
        to.writeAndFlush(message);
    }

    private int anyOf(List<Integer> known) {
        return known.isEmpty() || random.nextInt(4) == 0
                ? random.nextInt()
                : known.get(random.nextInt(known.size()));
    }

    private static TransportHeader header(int xid, int credits) {
        return new TransportHeader().set(xid, credits, TransportHeader.RDMA_MSG);
    }

    private ByteBuf call(int length) {
        ByteBuf call =
                SimulatedProgram.call(
                        random.nextBoolean() ? SimulatedProgram.PROGRAM : SimulatedProgram.UNBOUND,
                        1 + random.nextInt(4));
        // The numbers of no call that anybody looks after.
        return call.writeInt(-1).writeInt(random.nextInt(60_000)).writeInt(0).writeZero(4 * length);
    }

    private TransportHeader withChunks(RdmaChannel to) {
        TransportHeader header =
                new TransportHeader()
                        .set(
                                random.nextInt(),
                                32,
                                random.nextInt(3) == 0
                                        ? TransportHeader.RDMA_NOMSG
                                        : TransportHeader.RDMA_MSG);
        for (int i = random.nextInt(4); i > 0; i--) {
            int handle = handle(to);
            header.reads().add(position(), handle, length(), offset(to, handle));
        }
        for (int i = random.nextInt(3); i > 0; i--) {
            addSegments(to, header.writes());
            header.writes().endChunk();
        }
        if (random.nextBoolean()) {
            header.reply().setPresent();
            addSegments(to, header.reply());
        }
        return header;
    }

    private void addSegments(RdmaChannel to, SegmentList list) {
        for (int i = random.nextInt(5); i > 0; i--) {
            int handle = handle(to);
            list.add(handle, length(), offset(to, handle));
        }
    }

    private long position() {
        return random.nextInt(3) == 0 ? random.nextInt() & 0xFFFF_FFFFL : 4L * random.nextInt(20);
    }

    private long length() {
        return random.nextInt(3) == 0 ? random.nextInt() & 0xFFFF_FFFFL : random.nextInt(70_000);
    }

    private static long offset(RdmaChannel to, int handle) {
        return to.isExposed(handle) ? to.exposedOffset(handle) : handle;
    }

    private int handle(RdmaChannel to) {
        if (memory.size() < 8 && random.nextBoolean()) {
            ByteBuf mine = to.registeredBuffer(64 << 10);
            memory.add(mine);
            RemoteAccess[] accesses = RemoteAccess.values();
            remember(
                    handles, to.expose(mine, 0, 60_000, accesses[random.nextInt(accesses.length)]));
        }
        return anyOf(handles);
    }

    private static void remember(List<Integer> list, int one) {
        if (list.size() < MOST_KNOWN) {
            list.add(one);
        }
    }

    private void tryHandles(RdmaChannel to) {
        for (int handle : List.copyOf(handles)) {
            ByteBuf buffer = to.registeredBuffer(64).writerIndex(64);
            if (random.nextBoolean()) {
                to.writeAndFlush(new RdmaWrite(buffer, handle, random.nextInt(4)));
                continue;
            }
            // What this connection was never given is out of its reach at any time.
            boolean isForeign = owners.containsKey(handle) && owners.get(handle) != to;
            to.writeAndFlush(new RdmaRead(buffer, handle, random.nextInt(4)))
                    .addListener(
                            read -> {
                                if (read.isSuccess() && isForeign) {
                                    world.wrong(host + " reads memory of another connection");
                                }
                            });
        }
    }

    private static ByteBuf message(TransportHeader header, ByteBuf payload) {
        ByteBuf out = Unpooled.buffer();
        header.encode(out);
        payload.setInt(0, header.xid());
        out.writeBytes(payload);
        payload.release();
        return out;
    }

    private void send(RdmaChannel to, TransportHeader header, ByteBuf payload) {
        ByteBuf out = message(header, payload);
        if (random.nextInt(10) == 0) {
            out.writerIndex(random.nextInt(out.writerIndex() + 1));
        }
        to.writeAndFlush(out);
    }

    void close() {
        if (channel != null) {
            channel.close();
        }
        memory.forEach(ByteBuf::release);
        memory.clear();
    }

    void shutdown() {
        host.shutdown();
    }

    /** Keeps the XIDs and handles of what comes. */
    private final class Inbox extends SimpleChannelInboundHandler<ByteBuf> {
        @Override
        protected void channelRead0(ChannelHandlerContext ctx, ByteBuf message) {
            int length = message.readableBytes();
            if (length < TransportHeader.FIXED_BYTES) {
                return;
            }
            TransportHeader header = new TransportHeader();
            header.decodeFixed(message, message.readerIndex());
            remember(xids, header.xid());
            if (ctx.channel() == channel && out.remove(header.xid())) {
                long credits = Math.max(1, Integer.toUnsignedLong(header.credit()));
                boolean isError = header.proc() == TransportHeader.RDMA_ERROR;
                granted = isError ? Math.min(granted, credits) : credits;
                callWithinCredits((RdmaChannel) channel);
            }
            if (header.proc() > TransportHeader.RDMA_NOMSG
                    || length < TransportHeader.MINIMUM_BYTES) {
                return;
            }
            int start = message.readerIndex() + TransportHeader.FIXED_BYTES;
            header.decodeLists(message, start, message.writerIndex(), 4096);
            for (int i = 0; i < header.reads().segments(); i++) {
                remember(handles, header.reads().handle(i));
                owners.put(header.reads().handle(i), ctx.channel());
            }
        }

        @Override
        public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
            world.network.note(host + " is told of " + cause.getClass());
        }
    }
}
