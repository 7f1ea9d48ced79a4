// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import static org.assertj.core.api.Assertions.assertThat;
import static org.rpcrdma.codec.RpcPair.on;

import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.util.concurrent.Future;
import java.net.InetAddress;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.rpcrdma.NeedsDevice;
import org.rpcrdma.Proves;
import org.rpcrdma.channel.RdmaChannel;
import org.rpcrdma.channel.RdmaEventLoopGroup;
import org.rpcrdma.channel.RdmaServerChannel;
import org.rpcrdma.channel.RemoteAccess;
import org.rpcrdma.codec.client.RpcRdmaClient;
import org.rpcrdma.codec.wire.TransportHeader;

/** Programs without a binding, with the defaults at both ends: messages of any length go both ways, as on TCP. */
@NeedsDevice("privateDataOnAccept")
class LongReplyTest {

    private static final int MIB = 1 << 20;

    private static RpcRdmaConfig bounded(int bytes) {
        return RpcPair.usual().maxConnectionBytes(bytes).build();
    }

    static byte[] reply(int xid, int length) {
        return ByteBufUtil.getBytes(Rpc.reply(xid).writeBytes(Rpc.random(length - 24)));
    }

    @ParameterizedTest
    @CsvSource({"4068", "4072", "65536", "65537", "65560", "1048576", "5242880", "16777216"})
    @Proves({"RR-01", "RR-05", "API-18"})
    void aReplyOfAnyLength(int length) throws Exception {
        try (RpcPair pair = RpcPair.of(RpcPair.usual().build(), RpcPair.usual().build())) {
            byte[] reply = reply(7, length);
            for (boolean isDirect : new boolean[] {false, true}) {
                pair.call(Rpc.echo(7, 8));
                assertThat(pair.server.takeXid()).isEqualTo(7);
                ByteBuf written =
                        isDirect
                                ? Unpooled.directBuffer(length).writeBytes(reply)
                                : Unpooled.wrappedBuffer(reply);
                pair.reply(written).sync();
                assertThat(pair.client.takeBytes()).isEqualTo(reply);
            }
            assertThat(pair.clientConnection().callsInFlight()).isZero();
            assertThat(readBytesHeld(pair)).isZero();
        }
    }

    private static long readBytesHeld(RpcPair pair) throws Exception {
        return on(
                pair.clientChannel,
                () -> pair.clientConnection().value(RpcRdmaGauge.READ_BYTES_HELD));
    }

    @ParameterizedTest
    @ValueSource(ints = {4 * MIB + (64 << 10) + 4, 16 * MIB})
    void aCallOfAnyLength(int length) throws Exception {
        try (RpcPair pair = RpcPair.of(RpcPair.usual().build(), RpcPair.usual().build())) {
            byte[] call = ByteBufUtil.getBytes(Rpc.echo(7, length));
            pair.call(Unpooled.wrappedBuffer(call));
            assertThat(pair.server.takeBytes()).isEqualTo(call);
            pair.reply(Rpc.reply(7));
            assertThat(pair.client.takeXid()).isEqualTo(7);
        }
    }

    /** More than the bound in all, at once: each takes its turn, and the bound holds at either end. */
    @ParameterizedTest
    @CsvSource({"4, 4", "4, 64", "64, 4"})
    @Proves({"RR-20", "RR-21"})
    void severalAtOnceWithinTheBound(int clientMib, int serverMib) throws Exception {
        int calls = 24;
        try (RpcPair pair = RpcPair.of(bounded(clientMib * MIB), bounded(serverMib * MIB))) {
            pair.call(Rpc.echo(1000, 8));
            pair.reply(Rpc.reply(pair.server.takeXid()));
            pair.client.takeXid();
            Map<Integer, byte[]> replies = new HashMap<>();
            for (int xid = 0; xid < calls; xid++) {
                pair.call(Rpc.echo(xid, 8));
                replies.put(xid, reply(xid, (1 + xid % 3) * MIB));
            }
            for (int xid = 0; xid < calls; xid++) {
                assertThat(pair.server.takeXid()).isEqualTo(xid);
            }
            for (int xid = 0; xid < calls; xid++) {
                pair.serverChannel.write(Unpooled.wrappedBuffer(replies.get(xid)));
            }
            pair.serverChannel.flush();
            for (int i = 0; i < calls; i++) {
                byte[] reply = pair.client.takeBytes();
                int xid = Unpooled.wrappedBuffer(reply).getInt(0);
                assertThat(Arrays.equals(reply, replies.remove(xid))).isTrue();
                assertThat(readBytesHeld(pair)).isLessThanOrEqualTo((long) clientMib * MIB);
                assertThat(
                                on(
                                        pair.serverChannel,
                                        pair.serverConnection().responder().waiting()::bytes))
                        .isLessThanOrEqualTo((long) serverMib * MIB);
            }
            assertThat(replies).isEmpty();
            assertThat(pair.serverConnection().value(RpcRdmaCounter.CHUNK_ERRORS_SENT)).isZero();
        }
    }

    /** To a responder that writes long replies each call offers memory beforehand: it waits until there is some. */
    @Test
    void callsWaitForTheMemoryThatTheyOffer() throws Exception {
        RpcRdmaConfig plain = RpcPair.usual().announceReadChunkReplies(false).build();
        try (RpcPair pair = RpcPair.rawServer(bounded(100_000), plain);
                RawPeer server = RawPeer.server(pair)) {
            pair.call(Rpc.echo(1000, 8));
            server.take();
            server.send(server.mirrored(0), Rpc.reply(1000));
            pair.client.takeXid();
            for (int xid = 1; xid <= 3; xid++) {
                pair.call(Rpc.readdir3(xid, 60_000));
            }
            for (int xid = 1; xid <= 3; xid++) {
                server.take();
                assertThat(server.header.xid()).isEqualTo(xid);
                assertThat(server.header.reply().chunkLength()).isGreaterThan(60_000);
                assertThat(on(pair.clientChannel, pair.clientConnection()::callsInFlight))
                        .isEqualTo(1);
                server.send(server.mirrored(0), Rpc.reply(xid));
                assertThat(pair.client.takeXid()).isEqualTo(xid);
            }
        }
    }

    /** The codec tells the channel itself what a bootstrap was not told. */
    @Test
    @Proves({"API-07", "API-16"})
    void theBootstrapsNeedNotKnowTheConfiguration() throws Exception {
        RpcRdmaConfig config = RpcPair.usual().build();
        byte[] expected = reply(7, 200_000);
        BlockingQueue<byte[]> replies = new LinkedBlockingQueue<>();
        RdmaEventLoopGroup group = new RdmaEventLoopGroup(1);
        try {
            Channel listener =
                    new ServerBootstrap()
                            .group(group)
                            .channel(RdmaServerChannel.class)
                            .childHandler(
                                    RpcPair.pipeline(
                                            config,
                                            (ctx, call) ->
                                                    ctx.writeAndFlush(
                                                            Unpooled.wrappedBuffer(expected))))
                            .bind(InetAddress.getLoopbackAddress(), 0)
                            .sync()
                            .channel();
            Channel client =
                    new Bootstrap()
                            .group(group)
                            .channel(RdmaChannel.class)
                            .handler(
                                    RpcPair.pipeline(
                                            config,
                                            (ctx, reply) ->
                                                    replies.add(ByteBufUtil.getBytes(reply))))
                            .connect(listener.localAddress())
                            .sync()
                            .channel();
            RpcPair.settle(client); // a connect is told before channelActive
            RpcRdmaConnection connection = RpcRdmaConnection.of(client);
            assertThat(connection.sendThreshold()).isEqualTo(4096);
            assertThat(connection.receiveThreshold()).isEqualTo(4096);
            client.writeAndFlush(Rpc.echo(7, 8)).sync();
            assertThat(replies.poll(RpcPair.PATIENCE_SECONDS, TimeUnit.SECONDS))
                    .isEqualTo(expected);
        } finally {
            group.shutdownGracefully(0, RpcPair.PATIENCE_SECONDS, TimeUnit.SECONDS)
                    .syncUninterruptibly();
        }
    }

    @Test
    @Proves("API-07")
    void theClientNeedsNoSettingEither() throws Exception {
        RdmaEventLoopGroup group = new RdmaEventLoopGroup(1);
        byte[] expected = reply(0, 16 * MIB);
        try (ScriptedResponder responder =
                new ScriptedResponder(
                        RpcPair.usual().build(),
                        (channel, connection, call) ->
                                channel.writeAndFlush(
                                        Unpooled.wrappedBuffer(reply(Rpc.xid(call), 16 * MIB))))) {
            RpcRdmaClient client = RpcRdmaClient.builder(group, responder.address()).build();
            List<Future<ByteBuf>> calls = new ArrayList<>();
            for (int i = 0; i < 4; i++) {
                calls.add(client.call(Rpc.echo(0, 8)));
            }
            for (Future<ByteBuf> call : calls) {
                byte[] reply = Rpc.bytes(call.get(RpcPair.PATIENCE_SECONDS, TimeUnit.SECONDS));
                assertThat(Arrays.equals(reply, 4, reply.length, expected, 4, expected.length))
                        .isTrue();
            }
            client.closeAsync().sync();
        } finally {
            group.shutdownGracefully(0, RpcPair.PATIENCE_SECONDS, TimeUnit.SECONDS).sync();
        }
    }

    /** Above the bound alone: there is no room that it could wait for. */
    @Test
    @Proves("RR-06")
    void aReplyAboveTheBoundIsAnError() throws Exception {
        try (RpcPair pair = RpcPair.of(bounded(MIB), bounded(MIB))) {
            pair.call(Rpc.echo(7, 8));
            pair.server.takeXid();
            pair.reply(Unpooled.wrappedBuffer(reply(7, MIB + 4)));
            assertThat(pair.client.takeFailure()).isInstanceOf(ErrChunkReplyException.class);
            pair.call(Rpc.echo(8, 8));
            pair.server.takeXid();
            pair.reply(Unpooled.wrappedBuffer(reply(8, MIB)));
            assertThat(pair.client.takeXid()).isEqualTo(8);
        }
    }

    /** Who has not announced it gets, and sends, no such reply. */
    @ParameterizedTest
    @CsvSource({"false, true", "true, false", "false, false"})
    @Proves({"RR-01", "RR-06", "API-18"})
    void bothSidesHaveToAnnounceIt(boolean requester, boolean responder) throws Exception {
        RpcRdmaConfig.Builder client = RpcPair.usual().announceReadChunkReplies(requester);
        RpcRdmaConfig.Builder server = RpcPair.usual().announceReadChunkReplies(responder);
        try (RpcPair pair = RpcPair.of(client.build(), server.build())) {
            pair.call(Rpc.echo(7, 8));
            pair.server.takeXid();
            pair.reply(Unpooled.wrappedBuffer(reply(7, 70_000)));
            assertThat(pair.client.takeFailure()).isInstanceOf(ErrChunkReplyException.class);
        }
    }

    /** A requester of ours, and a responder that has announced nothing and does it all the same. */
    @Test
    @Proves("RR-01")
    void anUnannouncedReplyIsDropped() throws Exception {
        try (RpcPair pair = RpcPair.rawServer(RpcPair.usual().build(), RpcPair.usual().build());
                RawPeer server = RawPeer.server(pair)) {
            pair.call(Rpc.echo(7, 8));
            server.take();
            byte[] reply = reply(7, 70_000);
            int handle = server.expose(server.memory(reply), RemoteAccess.READ);
            TransportHeader header = server.mirrored(TransportHeader.RDMA_NOMSG);
            header.reads().add(0, handle, reply.length, server.offset(handle));
            server.send(header, RawPeer.nothing());
            server.send(server.mirrored(TransportHeader.RDMA_MSG), Rpc.reply(7));
            assertThat(pair.client.takeBytes()).hasSize(24);
            assertThat(pair.clientConnection().value(RpcRdmaCounter.READ_BYTES)).isZero();
        }
    }

    /** Those that are held back end with the connection too. */
    @Test
    @Proves("RR-23")
    void aConnectionThatIsLostLeavesNothing() throws Exception {
        ByteBuf[] replies = new ByteBuf[6];
        try (RpcPair pair = RpcPair.of(bounded(64 * MIB), bounded(MIB))) {
            pair.call(Rpc.echo(1000, 8));
            pair.reply(Rpc.reply(pair.server.takeXid()));
            pair.client.takeXid();
            for (int xid = 0; xid < replies.length; xid++) {
                pair.call(Rpc.echo(xid, 8));
                pair.server.takeXid();
                replies[xid] = Unpooled.directBuffer(MIB).writeBytes(reply(xid, MIB));
            }
            on(
                    pair.serverChannel,
                    () -> {
                        for (ByteBuf reply : replies) {
                            pair.serverChannel.write(reply);
                        }
                        return pair.serverChannel.close();
                    });
            pair.serverChannel.closeFuture().sync();
        }
        assertThat(replies).allMatch(reply -> reply.refCnt() == 0);
    }
}
