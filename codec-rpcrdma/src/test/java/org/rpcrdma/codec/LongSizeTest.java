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
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.util.concurrent.Future;
import java.net.InetAddress;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
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
import org.rpcrdma.channel.RdmaChannelOption;
import org.rpcrdma.channel.RdmaEventLoopGroup;
import org.rpcrdma.channel.RdmaServerChannel;
import org.rpcrdma.codec.client.RpcRdmaClient;
import org.rpcrdma.codec.wire.OncRpcHeaderDecoder;
import org.rpcrdma.codec.wire.TransportHeader;

/** Long Sends between two ends that both take them: when there are any, and what goes in them. */
@NeedsDevice("receivesWithoutMemory")
class LongSizeTest {

    private static final int KIB = 1024;
    private static final int LONG = 128 * KIB;
    private static final int USUAL = 4096;
    private static final int HEADER = TransportHeader.MINIMUM_BYTES;
    private static final int REPLY_HEADER =
            OncRpcHeaderDecoder.REPLY_HEADER_BYTES + OncRpcHeaderDecoder.MAXIMUM_VERIFIER_BYTES;

    private static RpcRdmaConfig.Builder config() {
        return RpcRdmaConfig.builder().bindings(List.of(new BlobBinding(), new TestBinding()));
    }

    private static RpcRdmaConfig ofLongSize(int bytes) {
        return config().longSize(bytes).build();
    }

    private static void checkThresholds(RpcPair pair, int bytes) {
        assertThat(pair.clientConnection().sendThreshold()).isEqualTo(bytes);
        assertThat(pair.clientConnection().receiveThreshold()).isEqualTo(bytes);
        assertThat(pair.serverConnection().sendThreshold()).isEqualTo(bytes);
        assertThat(pair.serverConnection().receiveThreshold()).isEqualTo(bytes);
    }

    /** The calls of the client with chunks of any kind. */
    private static long chunks(RpcPair pair) {
        return chunks(pair.clientConnection());
    }

    private static long chunks(RpcRdmaConnection requester) {
        return requester.value(RpcRdmaCounter.READ_CHUNK_CALLS)
                + requester.value(RpcRdmaCounter.LONG_CALLS)
                + requester.value(RpcRdmaCounter.WRITE_CHUNK_CALLS)
                + requester.value(RpcRdmaCounter.REPLY_CHUNK_CALLS);
    }

    private static long value(RpcPair pair, RpcRdmaCounter counter) {
        return pair.clientConnection().value(counter);
    }

    private static ByteBuf blobCall(int xid, int maximum, byte[] data) {
        return BlobBinding.call(BlobBinding.GET, maximum, 4, data).setInt(0, xid);
    }

    /** One call and its reply, both compared. */
    private static void exchange(RpcPair pair, ByteBuf call, ByteBuf reply) throws Exception {
        byte[] sent = ByteBufUtil.getBytes(call);
        byte[] answered = ByteBufUtil.getBytes(reply);
        pair.call(call);
        assertThat(pair.server.takeBytes()).isEqualTo(sent);
        pair.reply(reply);
        assertThat(pair.client.takeBytes()).isEqualTo(answered);
    }

    // ------------------------------------------------------------------ when there is one

    @ParameterizedTest
    @CsvSource({
        "131072, 131072, 131072",
        "131072, 32768, 32768",
        "8192, 262144, 8192",
        "131072, 0, 4096",
        "0, 131072, 4096",
        "0, 0, 4096",
        "1024, 131072, 4096"
    })
    @Proves("V1-INL-01")
    void theSmallerOneHoldsWhereBothHaveOne(int client, int server, int threshold)
            throws Exception {
        try (RpcPair pair = RpcPair.of(ofLongSize(client), ofLongSize(server))) {
            checkThresholds(pair, threshold);
            exchange(pair, Rpc.echo(1, 2000), Rpc.reply(1).writeBytes(Rpc.random(2000)));
        }
    }

    @Test
    void itIsThereByDefault() throws Exception {
        try (RpcPair pair = RpcPair.of(RpcRdmaConfig.defaults(), RpcRdmaConfig.defaults())) {
            checkThresholds(pair, LONG);
            assertThat(pair.clientConnection().peer().longSize()).isEqualTo(LONG);
            assertThat(pair.clientConnection().announced().longSize()).isEqualTo(LONG);
        }
    }

    /** What an old peer looks at is what it always was. */
    @Test
    @Proves("V1-INL-02")
    void aPeerThatKnowsOnlyTheRfcSeesNoDifference() throws Exception {
        RpcRdmaConfig config = config().announceReadChunkReplies(false).build();
        try (RpcPair pair = RpcPair.rawServer(config, config);
                RawPeer server = RawPeer.server(pair)) {
            byte[] seen = pair.serverChannel.peerPrivateData();
            assertThat(Arrays.copyOf(seen, PrivateData.BYTES))
                    .isEqualTo(new PrivateData(USUAL, USUAL, true).encode());
            assertThat(pair.clientConnection().sendThreshold()).isEqualTo(USUAL);
            assertThat(pair.clientConnection().receiveThreshold()).isEqualTo(USUAL);
            pair.call(blobCall(1, 8000, Rpc.random(8000)));
            assertThat(server.take()).isLessThan(USUAL);
            assertThat(server.header.reads().segments()).isEqualTo(1);
            assertThat(server.header.writes().segments()).isEqualTo(1);
        }
    }

    @Test
    void aDeviceThatWantsTheMemoryOfReceivesAtOnceHasNone() throws Exception {
        try (FaultPair pair = new FaultPair()) {
            RpcRdmaConfig config = config().build();
            FaultPair.Role role = FaultPair.Role.RESPONDER;
            pair.group(role).submit(pair.device(role).context()::needMemoryAtOnce).sync();
            try (FaultPair.Connection connection =
                    pair.connect(config, config, call -> Rpc.reply(Rpc.xid(call)))) {
                RpcRdmaConnection requester = RpcRdmaConnection.of(connection.requester);
                RpcRdmaConnection responder = RpcRdmaConnection.of(connection.responder);
                assertThat(responder.announced().longSize()).isZero();
                assertThat(requester.announced().longSize()).isEqualTo(LONG);
                assertThat(requester.sendThreshold()).isEqualTo(USUAL);
                assertThat(responder.receiveThreshold()).isEqualTo(USUAL);
            }
        }
    }

    /** What receives may take together is bounded, and so is a message. */
    @Test
    void theMemoryOfAConnectionBoundsIt() throws Exception {
        RpcRdmaConfig whole = ofLongSize(256 * KIB);
        RpcRdmaConfig small =
                config().longSize(256 * KIB)
                        .grantedCredits(24) // and eight more receives
                        .announceReadChunkReplies(false)
                        .maxConnectionBytes(32L * 4 * 20_000)
                        .build();
        try (RpcPair pair = RpcPair.of(whole, small)) {
            checkThresholds(pair, 19 * KIB);
        }
        try (RpcPair pair = RpcPair.of(whole, config().maxMessageBytes(10_000).build())) {
            checkThresholds(pair, 9 * KIB);
        }
        RpcRdmaConfig tiny = config().maxConnectionBytes(100_000).build();
        try (RpcPair pair = RpcPair.of(whole, tiny)) {
            checkThresholds(pair, USUAL);
            assertThat(pair.serverConnection().announced().longSize()).isZero();
        }
    }

    /** Version 2 has thresholds of its own, and a long Send only of version 1. */
    @Test
    void itBelongsToVersionOne() throws Exception {
        RpcRdmaConfig two = config().versionTwo(VersionTwoConfig.defaults()).build();
        try (RpcPair pair = RpcPair.of(two, two)) {
            pair.call(blobCall(1, 0, Rpc.random(8000)));
            // The question whether version 2 is spoken.
            pair.reply(Rpc.reply(pair.server.takeXid()));
            assertThat(pair.server.takeXid()).isEqualTo(1);
            pair.reply(BlobBinding.reply(1, 4, new byte[0]));
            assertThat(pair.client.takeXid()).isEqualTo(1);
            assertThat(pair.clientConnection().version()).isEqualTo(2);
            assertThat(pair.clientConnection().sendThreshold()).isEqualTo(USUAL);
            assertThat(value(pair, RpcRdmaCounter.READ_CHUNK_CALLS)).isEqualTo(1);
        }
        try (RpcPair pair = RpcPair.of(two, config().build())) {
            exchange(pair, blobCall(1, 0, Rpc.random(8000)), BlobBinding.reply(1, 4, new byte[0]));
            assertThat(pair.clientConnection().version()).isEqualTo(1);
            assertThat(pair.clientConnection().sendThreshold()).isEqualTo(LONG);
            assertThat(value(pair, RpcRdmaCounter.READ_CHUNK_CALLS)).isZero();
        }
    }

    // ------------------------------------------------------------------ what goes inline

    /** 4 KiB below and above: the limit is that of a whole Send. */
    @ParameterizedTest
    @ValueSource(ints = {8192, 20480, 131072, 262144})
    void argumentsGoInlineUpToTheirLimit(int limit) throws Exception {
        int most = Math.min(limit, LONG);
        RpcRdmaConfig config = config().inlineArguments(limit).build();
        try (RpcPair pair = RpcPair.of(config, config)) {
            ByteBuf empty = blobCall(0, 0, new byte[0]);
            int fitting = most - HEADER - empty.readableBytes();
            empty.release();
            int xid = 0;
            for (int length : new int[] {USUAL, fitting - 4, fitting}) {
                exchange(
                        pair,
                        blobCall(++xid, 0, Rpc.random(length)),
                        BlobBinding.reply(xid, 4, new byte[0]));
                assertThat(chunks(pair)).as("%d bytes", length).isZero();
            }
            for (int length : new int[] {fitting + 1, 2 * fitting}) {
                exchange(
                        pair,
                        blobCall(++xid, 0, Rpc.random(length)),
                        BlobBinding.reply(xid, 4, new byte[0]));
                assertThat(value(pair, RpcRdmaCounter.READ_CHUNK_CALLS)).isEqualTo(xid - 3);
            }
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {8192, 20480, 131072, 262144})
    void resultsComeInlineUpToTheirLimit(int limit) throws Exception {
        int most = Math.min(limit, LONG);
        RpcRdmaConfig config = config().inlineResults(limit).build();
        try (RpcPair pair = RpcPair.of(config, config)) {
            int fitting = most - HEADER - REPLY_HEADER - BlobBinding.SHORT;
            int xid = 0;
            for (int length : new int[] {USUAL, fitting - 4, fitting}) {
                exchange(
                        pair,
                        blobCall(++xid, length, new byte[0]),
                        BlobBinding.reply(xid, 4, Rpc.random(length)));
                assertThat(chunks(pair)).as("%d bytes", length).isZero();
            }
            for (int length : new int[] {fitting + 1, 2 * fitting}) {
                exchange(
                        pair,
                        blobCall(++xid, length, new byte[0]),
                        BlobBinding.reply(xid, 4, Rpc.random(length)));
                assertThat(value(pair, RpcRdmaCounter.WRITE_CHUNK_CALLS)).isEqualTo(xid - 3);
            }
        }
    }

    /** What NFS clients ask for. */
    @Test
    void middleSizesNeedNoChunkAndLargeOnesKeepThem() throws Exception {
        RpcRdmaConfig config = RpcRdmaConfig.defaults();
        try (RpcPair pair = RpcPair.of(config, config)) {
            int xid = 0;
            for (int length : new int[] {USUAL, 16 * KIB, 64 * KIB}) {
                exchange(pair, Rpc.write3(++xid, Rpc.random(length)), Rpc.reply(xid));
            }
            for (int length : new int[] {USUAL, 16 * KIB, 48 * KIB}) {
                exchange(pair, Rpc.read3(++xid, length), Rpc.read3Reply(xid, Rpc.random(length)));
            }
            assertThat(chunks(pair)).isZero();
            assertThat(value(pair, RpcRdmaCounter.SHORT_MESSAGES)).isEqualTo(2L * xid);
            exchange(pair, Rpc.write3(++xid, Rpc.random(128 * KIB)), Rpc.reply(xid));
            assertThat(value(pair, RpcRdmaCounter.READ_CHUNK_CALLS)).isEqualTo(1);
            exchange(pair, Rpc.read3(++xid, 64 * KIB), Rpc.read3Reply(xid, Rpc.random(64 * KIB)));
            assertThat(value(pair, RpcRdmaCounter.WRITE_CHUNK_CALLS)).isEqualTo(1);
            assertThat(chunks(pair)).isEqualTo(2);
        }
    }

    /** Limits below the usual threshold mean that. */
    @Test
    void limitsOfNothingAreTheUsualThreshold() throws Exception {
        RpcRdmaConfig config = config().inlineArguments(0).inlineResults(0).build();
        try (RpcPair pair = RpcPair.of(config, config)) {
            exchange(
                    pair,
                    blobCall(1, 3000, Rpc.random(3000)),
                    BlobBinding.reply(1, 4, Rpc.random(3000)));
            assertThat(chunks(pair)).isZero();
            exchange(
                    pair,
                    blobCall(2, 5000, new byte[0]),
                    BlobBinding.reply(2, 4, Rpc.random(5000)));
            assertThat(value(pair, RpcRdmaCounter.WRITE_CHUNK_CALLS)).isEqualTo(1);
            exchange(pair, blobCall(3, 0, Rpc.random(5000)), BlobBinding.reply(3, 4, new byte[0]));
            assertThat(value(pair, RpcRdmaCounter.READ_CHUNK_CALLS)).isEqualTo(1);
        }
    }

    /** A reply that nobody knows the length of: up to the long size it needs no Reply chunk. */
    @Test
    void aReplyWithoutABindingNeedsNoReplyChunkWhenTheLongestFits() throws Exception {
        RpcRdmaConfig client = config().defaultMaximumReply(120 * KIB).build();
        try (RpcPair pair = RpcPair.of(client, config().build())) {
            exchange(pair, Rpc.echo(1, 8), Rpc.reply(1).writeBytes(Rpc.random(8)));
            exchange(pair, Rpc.echo(2, 8), Rpc.reply(2).writeBytes(Rpc.random(120 * KIB)));
            assertThat(chunks(pair)).isZero();
            assertThat(value(pair, RpcRdmaCounter.READ_CHUNK_REPLIES)).isZero();
            // One that is longer than it was said to be stays where it is, to be read.
            exchange(pair, Rpc.echo(3, 8), Rpc.reply(3).writeBytes(Rpc.random(200 * KIB)));
            assertThat(value(pair, RpcRdmaCounter.READ_CHUNK_REPLIES)).isEqualTo(1);
        }
        RpcRdmaConfig more = config().defaultMaximumReply(LONG).build();
        try (RpcPair pair = RpcPair.of(more, config().build())) {
            exchange(pair, Rpc.echo(1, 8), Rpc.reply(1).writeBytes(Rpc.random(8)));
            assertThat(value(pair, RpcRdmaCounter.REPLY_CHUNK_CALLS)).isEqualTo(1);
        }
    }

    /** Who gives memory for results wants them there. */
    @Test
    void sinksOfTheCallerAreOfferedAsEver() throws Exception {
        RpcRdmaConfig config = config().build();
        try (RpcPair pair = RpcPair.of(config, config)) {
            ByteBuf sink = Unpooled.directBuffer(USUAL);
            pair.call(new RpcMessage(blobCall(1, USUAL, new byte[0])).addSink(sink));
            pair.server.takeBytes();
            byte[] data = Rpc.random(USUAL);
            pair.reply(BlobBinding.reply(1, 4, data));
            RpcMessage reply = (RpcMessage) pair.client.take();
            assertThat(ByteBufUtil.getBytes(reply.sink(0))).isEqualTo(data);
            reply.release();
            assertThat(value(pair, RpcRdmaCounter.WRITE_CHUNK_CALLS)).isEqualTo(1);
        }
    }

    @Test
    void argumentsApartGoInlineToo() throws Exception {
        RpcRdmaConfig config = config().build();
        try (RpcPair pair = RpcPair.of(config, config)) {
            byte[] data = Rpc.random(10_001);
            ByteBuf head = BlobBinding.call(BlobBinding.GET, 0, 4, data.length).setInt(0, 1);
            int position = head.readableBytes();
            pair.call(new RpcMessage(head).addItem(position, Unpooled.wrappedBuffer(data)));
            assertThat(pair.server.takeBytes()).isEqualTo(Rpc.bytes(blobCall(1, 0, data)));
            assertThat(chunks(pair)).isZero();
        }
    }

    /** Reverse calls have no chunks: they are as long as a Send can be. */
    @Test
    void reverseCallsAndTheirRepliesMayBeLong() throws Exception {
        RpcRdmaConfig config = config().reverseCredits(2).build();
        try (RpcPair pair = RpcPair.of(config, config)) {
            exchange(pair, Rpc.echo(1, 8), Rpc.reply(1));
            pair.openReverse(2);
            byte[] call = ByteBufUtil.getBytes(Rpc.echo(7, 120_000));
            pair.reply(Unpooled.wrappedBuffer(call));
            assertThat(pair.client.takeBytes()).isEqualTo(call);
            byte[] reply = ByteBufUtil.getBytes(Rpc.reply(7).writeBytes(Rpc.random(120_000)));
            pair.call(Unpooled.wrappedBuffer(reply));
            assertThat(pair.server.takeBytes()).isEqualTo(reply);
            assertThat(chunks(pair.serverConnection())).isZero();
        }
    }

    // ------------------------------------------------------------------ peers

    /** A call that went inline goes by a chunk to the next connection, which takes no long Sends. */
    @Test
    @Proves("PD-15")
    void aCallIsPlannedAnewForAPeerWithoutALongSize() throws Exception {
        ScriptedResponder responder =
                new ScriptedResponder(
                        config().build(),
                        new ScriptedResponder.Script() {
                            @Override
                            public void received(
                                    RdmaChannel channel, int connection, ByteBuf call) {
                                if (connection == 0) {
                                    channel.close();
                                } else {
                                    channel.writeAndFlush(
                                            BlobBinding.reply(Rpc.xid(call), 4, new byte[0]));
                                }
                            }

                            @Override
                            public void initialized(RdmaChannel channel, int connection) {
                                if (connection > 0) {
                                    byte[] plain = new PrivateData(2048, 2048, false).encode();
                                    channel.config().setPrivateData(plain);
                                }
                            }
                        });
        RpcRdmaClient client =
                RpcRdmaClient.builder(responder.group, responder.address())
                        .config(config().build())
                        .backOff(Duration.ofMillis(1), Duration.ofMillis(1))
                        .build();
        try (responder) {
            byte[] sent = ByteBufUtil.getBytes(blobCall(0, 0, Rpc.random(50_000)));
            Future<ByteBuf> call = client.call(Unpooled.wrappedBuffer(sent));
            for (int connection = 0; connection < 2; connection++) {
                ScriptedResponder.Call received = responder.take();
                assertThat(received.connection()).isEqualTo(connection);
                byte[] bytes = received.bytes();
                assertThat(Arrays.copyOfRange(bytes, 4, bytes.length))
                        .isEqualTo(Arrays.copyOfRange(sent, 4, sent.length));
                RpcRdmaConnection accepted =
                        RpcRdmaConnection.of(responder.accepted.get(connection));
                assertThat(accepted.value(RpcRdmaCounter.READ_CHUNK_CALLS)).isEqualTo(connection);
            }
            call.get(RpcPair.PATIENCE_SECONDS, TimeUnit.SECONDS).release();
            client.closeAsync().syncUninterruptibly();
        }
    }

    /** Whoever has not announced to take long Sends may not send any, as ever. */
    @ParameterizedTest
    @CsvSource({"0, 4096, true", "0, 4100, false", "65536, 65536, true", "65536, 65540, false"})
    void aSendLongerThanWasAgreedCostsTheConnection(int theirs, int length, boolean isTaken)
            throws Exception {
        RpcRdmaConfig raw = config().build();
        byte[] data = new PrivateData(USUAL, USUAL, false, false, theirs).encode();
        try (RpcPair pair =
                RpcPair.rawClient(
                        raw,
                        config().build(),
                        bootstrap -> bootstrap.option(RdmaChannelOption.PRIVATE_DATA, data))) {
            on(
                    pair.clientChannel,
                    () ->
                            pair.clientChannel
                                    .config()
                                    .setOption(RdmaChannelOption.MAX_SEND_SIZE, LONG));
            byte[] call = ByteBufUtil.getBytes(Rpc.echo(1, length - HEADER - 40));
            ByteBuf send = RawPeer.message(RawPeer.header(1, 0), Unpooled.wrappedBuffer(call));
            assertThat(send.readableBytes()).isEqualTo(length);
            pair.clientChannel.writeAndFlush(send);
            if (isTaken) {
                assertThat(pair.server.takeBytes()).isEqualTo(call);
            } else {
                assertThat(pair.server.awaitInactive()).isTrue();
                assertThat(pair.server.messages).isEmpty();
            }
        }
    }

    // ------------------------------------------------------------------ others in the pipeline and
    // on the wire

    /** A handler in front of the codec looks at the peer first, and the codec hears of the connection after that. */
    @Test
    void theFirstMessageMayBeLongAlsoWhereTheCodecHearsLate() throws Exception {
        RpcRdmaConfig config = config().build();
        BlockingQueue<ChannelHandlerContext> held = new LinkedBlockingQueue<>();
        RpcPair.Inbox inbox = new RpcPair.Inbox();
        RdmaEventLoopGroup group = new RdmaEventLoopGroup(2);
        try {
            ServerBootstrap server =
                    new ServerBootstrap()
                            .group(group)
                            .channel(RdmaServerChannel.class)
                            .childOption(ChannelOption.AUTO_READ, false)
                            .childHandler(
                                    new ChannelInitializer<>() {
                                        @Override
                                        protected void initChannel(Channel channel) {
                                            channel.pipeline()
                                                    .addLast(new Holding(held))
                                                    .addLast(new RpcRdmaCodec(config), inbox);
                                        }
                                    });
            Channel listener =
                    config.applyTo(server)
                            .bind(InetAddress.getLoopbackAddress(), 0)
                            .sync()
                            .channel();
            Channel client =
                    config.applyTo(
                                    new Bootstrap()
                                            .group(group)
                                            .channel(RdmaChannel.class)
                                            .handler(new RpcRdmaCodec(config)))
                            .connect(listener.localAddress())
                            .sync()
                            .channel();
            ByteBuf call = Rpc.echo(1, 20_000);
            byte[] sent = ByteBufUtil.getBytes(call);
            client.writeAndFlush(call).sync();
            ChannelHandlerContext context = held.poll(RpcPair.PATIENCE_SECONDS, TimeUnit.SECONDS);
            // So that the message is there before the codec hears of anything.
            for (int turn = 0; turn < 100; turn++) {
                context.executor().submit(() -> {}).sync();
            }
            context.executor()
                    .execute(
                            () -> {
                                context.fireChannelActive();
                                context.channel().config().setAutoRead(true);
                            });
            assertThat(inbox.takeBytes()).isEqualTo(sent);
        } finally {
            group.shutdownGracefully(0, RpcPair.PATIENCE_SECONDS, TimeUnit.SECONDS).sync();
        }
    }

    /** What other layers have put around the message stays. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void whatStandsAroundItStays(boolean saysMore) throws Exception {
        RpcRdmaConfig config = config().announceReadChunkReplies(saysMore).build();
        byte[] own = config.privateData().encode();
        byte[] around = Rpc.random(8);
        byte[] data = ByteBuffer.allocate(16 + own.length).put(around).put(own).put(around).array();
        try (RpcPair pair =
                RpcPair.rawServer(
                        config,
                        config,
                        bootstrap -> bootstrap.option(RdmaChannelOption.PRIVATE_DATA, data))) {
            byte[] expected = config.privateData().withLongSize(LONG).encode();
            assertThat(pair.serverChannel.peerPrivateData())
                    .isEqualTo(
                            ByteBuffer.allocate(16 + expected.length)
                                    .put(around)
                                    .put(expected)
                                    .put(around)
                                    .array());
        }
    }

    /** Keeps the news of a connection until somebody gives them on. */
    private static final class Holding extends ChannelInboundHandlerAdapter {

        private final BlockingQueue<ChannelHandlerContext> held;

        Holding(BlockingQueue<ChannelHandlerContext> held) {
            this.held = held;
        }

        @Override
        public void channelActive(ChannelHandlerContext context) {
            held.add(context);
        }
    }
}
