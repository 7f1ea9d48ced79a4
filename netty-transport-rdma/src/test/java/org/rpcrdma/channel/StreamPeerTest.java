// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelOption;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.Arrays;
import java.util.Random;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.rpcrdma.NeedsDevice;
import org.rpcrdma.channel.StreamPair.Collector;
import org.rpcrdma.stream.PeerReceiveBufferTable;
import org.rpcrdma.stream.ReceiveBufferAddress;
import org.rpcrdma.stream.RsocketMessage;
import org.rpcrdma.stream.RsocketMessage.Kind;
import org.rpcrdma.stream.StreamPrivateData;
import org.rpcrdma.stream.StreamProtocolException;
import org.rpcrdma.verbs.RejectedException;
import org.rpcrdma.verbs.ffm.SoftwareRoceProvider;

/** A stream against peers that do not do what this library does: others' ways, and hostile ones. */
@NeedsDevice("privateDataOnAccept")
class StreamPeerTest {

    private static final int RING = 2000;
    private static final int HALF = RING / 2;
    private static final byte[] ONE = {1};

    private final RdmaEventLoopGroup group = newGroup();
    private final BlockingQueue<Collector> accepted = new LinkedBlockingQueue<>();
    private InetSocketAddress address;

    /** Of the channels under test. */
    RdmaEventLoopGroup newGroup() {
        return new RdmaEventLoopGroup(1);
    }

    /** Whether a range has no memory before it is written, so that what was written is known. */
    private boolean exposesWithoutMemory() {
        return ((RdmaEventLoop) group.next())
                .poller()
                .context()
                .capabilities()
                .exposesWithoutMemory();
    }

    @BeforeEach
    void listen() throws Exception {
        Channel listener =
                new ServerBootstrap()
                        .group(group)
                        .channel(RdmaServerStreamChannel.class)
                        .childHandler(StreamPair.initializer(accepted))
                        .childOption(ChannelOption.SO_RCVBUF, RING)
                        .childOption(RdmaChannelOption.RECEIVE_DEPTH, 16)
                        .childOption(ChannelOption.ALLOW_HALF_CLOSURE, true)
                        .bind(InetAddress.getLoopbackAddress(), 0)
                        .sync()
                        .channel();
        address = (InetSocketAddress) listener.localAddress();
    }

    @AfterEach
    void shutDown() {
        group.shutdownGracefully(0, StreamPair.PATIENCE_SECONDS, TimeUnit.SECONDS)
                .syncUninterruptibly();
    }

    private Collector accepted() throws InterruptedException {
        return accepted.poll(StreamPair.PATIENCE_SECONDS, TimeUnit.SECONDS);
    }

    private static byte[] random(int length) {
        byte[] bytes = new byte[length];
        new Random(length).nextBytes(bytes);
        return bytes;
    }

    private static void sendData(
            RawStreamPeer peer, ReceiveBufferAddress buffer, int at, byte... data) {
        peer.write(buffer.offset() + at, buffer.key(), data);
        peer.send(RsocketMessage.data(data.length));
    }

    // ------------------------------------------------------------------ what comes in

    @Test
    void theFirstBufferStandsInThePrivateData() throws Exception {
        try (RawStreamPeer peer = new RawStreamPeer().connect(address, 100)) {
            assertThat(peer.peerData).hasSize(StreamPrivateData.BYTES);
            assertThat(peer.peerData[1]).describedAs("flags: IOMAP, not NET").isEqualTo((byte) 2);
            assertThat(peer.peerData[7]).describedAs("iomap entries").isZero();
            assertThat(peer.peer.tableEntries()).isEqualTo(PeerReceiveBufferTable.ENTRIES);
            assertThat(peer.peer.credits()).isEqualTo(16);
            assertThat(peer.peer.buffer().length()).isEqualTo(HALF);
            sendData(peer, peer.peer.buffer(), 0, random(10));
            accepted().awaitBytes(random(10));
        }
    }

    /** As librdmacm does it where messages are immediates. */
    @Test
    void aWriteMayTellOfItself() throws Exception {
        try (RawStreamPeer peer = new RawStreamPeer().connect(address, 100)) {
            assumeTrue(peer.hasImmediates);
            ReceiveBufferAddress buffer = peer.peer.buffer();
            peer.writeWithImmediate(buffer.offset(), buffer.key(), 3, (byte) 1, (byte) 2, (byte) 3);
            peer.write(buffer.offset() + 3, buffer.key(), (byte) 4);
            peer.writeWithImmediate(buffer.offset() + 4, buffer.key(), 2, (byte) 5);
            accepted().awaitBytes(new byte[] {1, 2, 3, 4, 5});
        }
    }

    /** Its length is what the message says, not what that Write has: others may have come before. */
    @Test
    void aWriteThatTellsOfMoreThanItself() throws Exception {
        try (RawStreamPeer peer = new RawStreamPeer().connect(address, 100)) {
            assumeTrue(peer.hasImmediates);
            ReceiveBufferAddress buffer = peer.peer.buffer();
            peer.writeWithImmediate(buffer.offset(), buffer.key(), 5, (byte) 1);
            accepted().awaitBytes(new byte[] {1, 0, 0, 0, 0});
        }
    }

    /** Both ends see what order the table of the peer has; over iWARP there is none but one. */
    @Test
    void aPeerMayReadItsTableInBigEndianOrder() throws Exception {
        try (RawStreamPeer peer = new RawStreamPeer()) {
            byte[] data = peer.bigEndian(address);
            if (!peer.hasImmediates) {
                assertThat(peer.connectFailure).isInstanceOf(RejectedException.class);
                return;
            }
            peer.peer = StreamPrivateData.decode(data, true);
            peer.await(() -> !peer.messages(Kind.SGL).isEmpty());
            ReceiveBufferAddress second = peer.ownEntry(1, true);
            assertThat(second.length()).isEqualTo(HALF);
            sendData(peer, peer.peer.buffer(), 0, random(HALF));
            sendData(peer, second, 0, random(10));
            Collector server = accepted();
            StreamPair.await(() -> server.size() == HALF + 10);
        }
    }

    /** Several Writes may stand before one DATA message. */
    @Test
    void oneMessageMayTellOfSeveralWrites() throws Exception {
        try (RawStreamPeer peer = new RawStreamPeer().connect(address, 100)) {
            byte[] bytes = random(30);
            ReceiveBufferAddress buffer = peer.peer.buffer();
            for (int i = 0; i < 30; i += 10) {
                peer.write(buffer.offset() + i, buffer.key(), Arrays.copyOfRange(bytes, i, i + 10));
            }
            peer.send(RsocketMessage.data(30));
            accepted().awaitBytes(bytes);
        }
    }

    @Test
    void bytesThatWereNeverWrittenBreakTheConnectionWhereThatIsKnown() throws Exception {
        assumeTrue(exposesWithoutMemory());
        assertBroken(peer -> peer.send(HALF), "announces 1000 bytes of data, and has written 0");
        assertBroken(
                peer -> {
                    sendData(peer, peer.peer.buffer(), 0, random(10));
                    peer.write(peer.peer.buffer().offset() + 10, peer.peer.buffer().key(), ONE);
                    peer.send(2);
                },
                "announces 2 bytes of data, and has written 1 of them");
    }

    /** Where it is known where a peer writes, it writes in order. */
    @Test
    void aPeerThatLeavesBytesOutIsCutOffWhereThatIsKnown() throws Exception {
        assumeTrue(exposesWithoutMemory());
        assertBroken(
                peer -> peer.write(peer.peer.buffer().offset() + 1, peer.peer.buffer().key(), ONE),
                "connection reset");
    }

    @Test
    void aPeerThatWritesIntoItsSecondBufferFirstIsCutOffWhereThatIsKnown() throws Exception {
        assumeTrue(exposesWithoutMemory());
        assertBroken(
                peer -> {
                    peer.await(() -> peer.ownEntry(1, false).length() > 0);
                    ReceiveBufferAddress second = peer.ownEntry(1, false);
                    peer.write(second.offset(), second.key(), ONE);
                },
                "connection reset");
    }

    /** Else an echo server would hand out what others have sent. */
    @Test
    void bytesThatWereNeverWrittenAreZerosWhereThatIsNotKnown() throws Exception {
        assumeTrue(!exposesWithoutMemory());
        for (int i = 0; i < 4; i++) {
            try (RawStreamPeer peer = new RawStreamPeer().connect(address, 100)) {
                Collector server = accepted();
                byte[] secret = new byte[HALF];
                Arrays.fill(secret, (byte) 0x55);
                sendData(peer, peer.peer.buffer(), 0, secret);
                server.awaitBytes(secret);
            }
        }
        try (RawStreamPeer peer = new RawStreamPeer().connect(address, 100)) {
            Collector server = accepted();
            peer.send(RsocketMessage.data(HALF));
            server.awaitBytes(new byte[HALF]);
            peer.send(RsocketMessage.data(HALF));
            server.awaitBytes(new byte[RING]);
        }
        try (RawStreamPeer peer = new RawStreamPeer().connect(address, 100)) {
            Collector server = accepted();
            ReceiveBufferAddress buffer = peer.peer.buffer();
            // Part of it, in any order, and some of it too late.
            peer.write(buffer.offset() + 10, buffer.key(), (byte) 3);
            sendData(peer, buffer, 2, (byte) 1, (byte) 2);
            peer.send(RsocketMessage.data(20));
            sendData(peer, buffer, 15, (byte) 4);
            peer.write(buffer.offset() + HALF - 1, buffer.key(), (byte) 5);
            peer.send(RsocketMessage.data(HALF - 23));
            byte[] expected = new byte[HALF];
            expected[2] = 1;
            expected[3] = 2;
            expected[10] = 3;
            expected[HALF - 1] = 5;
            StreamPair.await(() -> server.size() == HALF);
            byte[] received = server.bytes();
            received[15] = 0; // it may have come in time
            assertThat(received).isEqualTo(expected);
        }
    }

    @Test
    void theKeyOfAFullBufferIsDead() throws Exception {
        try (RawStreamPeer peer = new RawStreamPeer().connect(address, 100)) {
            Collector server = accepted();
            ReceiveBufferAddress buffer = peer.peer.buffer();
            byte[] bytes = random(HALF);
            sendData(peer, buffer, 0, bytes);
            server.awaitBytes(bytes);
            peer.write(buffer.offset(), buffer.key(), (byte) 1);
            peer.await(() -> peer.hasEnded);
            server.awaitClosed();
            assertThat(server.bytes()).isEqualTo(bytes);
        }
    }

    @Test
    void creditsAreGrantedWithABufferAndWhenHalfOfThemAreUsed() throws Exception {
        try (RawStreamPeer peer = new RawStreamPeer().connect(address, 100)) {
            ReceiveBufferAddress buffer = peer.peer.buffer();
            for (int i = 0; i < 8; i++) {
                sendData(peer, buffer, i, (byte) i);
            }
            peer.await(() -> !peer.messages(Kind.SGL).isEmpty());
            peer.await(() -> peer.messages.contains(RsocketMessage.sgl(16 + 8)));
            assertThat(accepted().channel.isActive()).isTrue();
        }
    }

    /** What it grants for keeping a credit that nobody counts on would be lost for ever. */
    @Test
    void aMessageAboutDirectWritesIsAnswered() throws Exception {
        try (RawStreamPeer peer = new RawStreamPeer().connect(address, 100)) {
            Collector server = accepted();
            for (int i = 0; i < 8; i++) {
                peer.send(0xc000_0000);
            }
            peer.await(() -> peer.messages.contains(RsocketMessage.sgl(16 + 8)));
            assertThat(server.channel.isActive()).isTrue();
        }
    }

    @Test
    void whatALaterVersionSendsIsIgnored() throws Exception {
        try (RawStreamPeer peer = new RawStreamPeer().connect(address, 100)) {
            peer.send(0x4000_0000);
            peer.send(0xe000_0001);
            peer.send(0xe000_0077);
            peer.queuePair.write(7, 0, 0, 0);
            sendData(peer, peer.peer.buffer(), 0, random(10));
            accepted().awaitBytes(random(10));
        }
    }

    // ------------------------------------------------------------------ what breaks the connection

    private void assertBroken(Consumer<RawStreamPeer> misdeed, String sentence) throws Exception {
        try (RawStreamPeer good = new RawStreamPeer().connect(address, 100);
                RawStreamPeer bad = new RawStreamPeer().connect(address, 100)) {
            Collector goodSide = accepted();
            Collector badSide = accepted();
            misdeed.accept(bad);
            bad.await(() -> bad.hasEnded);
            badSide.awaitClosed();
            assertThat(badSide.errors)
                    .singleElement()
                    .isInstanceOf(IOException.class)
                    .extracting(Throwable::getMessage)
                    .asString()
                    .contains(sentence);
            assertThat(bad.messages).doesNotContain(RsocketMessage.DISCONNECT);
            sendData(good, good.peer.buffer(), 0, random(10));
            goodSide.awaitBytes(random(10));
        }
    }

    @Test
    void dataOfNoLength() throws Exception {
        assertBroken(peer -> peer.send(0), "announces 0 bytes");
    }

    @Test
    void dataBeyondTheBuffer() throws Exception {
        assertBroken(peer -> peer.send(HALF + 1), "expected 1 to 1000");
    }

    @Test
    void dataBeyondTheBufferAfterSome() throws Exception {
        assertBroken(
                peer -> {
                    sendData(peer, peer.peer.buffer(), 0, random(999));
                    peer.send(2);
                },
                "expected 1 to 1,");
    }

    @Test
    void theLongestData() throws Exception {
        assertBroken(peer -> peer.send(RsocketMessage.MAX_DATA), "expected 1 to 1000");
    }

    @ParameterizedTest
    @ValueSource(ints = {0x2000_0001, 0x6000_0001, 0xa000_0001})
    void reservedKinds(int message) throws Exception {
        assertBroken(peer -> peer.send(message), "reserved");
    }

    /** Where messages are immediates, there is no memory for a Send. */
    private static String orReset(String sentence) {
        return Rdma.provider().name().equals(SoftwareRoceProvider.ROCE)
                ? "connection reset"
                : sentence;
    }

    @Test
    void aShortMessage() throws Exception {
        assertBroken(peer -> peer.sendLength(3), orReset("message of 3 bytes"));
    }

    @Test
    void aMessageOfTheOtherKindOfDevice() throws Exception {
        try (RawStreamPeer peer = new RawStreamPeer()) {
            assumeTrue(peer.hasImmediates);
        }
        assertBroken(peer -> peer.sendLength(4), "connection reset");
    }

    @Test
    void anEmptyMessage() throws Exception {
        assertBroken(peer -> peer.sendLength(0), "message of 0 bytes");
    }

    @Test
    void aLongMessageFindsNoRoom() throws Exception {
        assertBroken(peer -> peer.sendLength(5), "connection reset");
    }

    @Test
    void creditsThatWereNeverOffered() throws Exception {
        assertBroken(peer -> peer.send(RsocketMessage.sgl(17)), "credit limit to 17");
        assertBroken(peer -> peer.send(RsocketMessage.sgl(-1)), "credit limit to 65535");
    }

    @Test
    void moreMessagesThanCredits() throws Exception {
        assertBroken(
                peer -> {
                    peer.write(peer.peer.buffer().offset(), peer.peer.buffer().key(), random(HALF));
                    // Where the server saw part of a burst and granted, nothing was wrong: then
                    // there is one more.
                    for (int burst = 0; burst < HALF / 17 && !peer.hasEnded; burst++) {
                        int before = peer.messages.size();
                        for (int i = 0; i < 16; i++) {
                            peer.open(1, 4096);
                        }
                        peer.send(1);
                        peer.await(() -> peer.hasEnded || peer.messages.size() > before);
                    }
                },
                "without a credit");
    }

    @Test
    void dataAfterTheEndOfTheDirection() throws Exception {
        assertBroken(
                peer -> {
                    peer.send(RsocketMessage.SHUTDOWN);
                    peer.send(1);
                },
                "after its SHUTDOWN");
    }

    @Test
    void memoryThatWasNotPublished() throws Exception {
        assertBroken(
                peer ->
                        peer.write(
                                peer.peer.buffer().offset() + HALF - 1,
                                peer.peer.buffer().key(),
                                (byte) 1,
                                (byte) 2),
                "connection reset");
        assertBroken(
                peer ->
                        peer.write(
                                peer.peer.tableOffset() + PeerReceiveBufferTable.BYTES,
                                peer.peer.tableKey(),
                                (byte) 1),
                "connection reset");
    }

    // ------------------------------------------------------------------ who is let in

    @Test
    void whatIsNoRsocketIsRejected() throws Exception {
        byte[] good =
                new StreamPrivateData(16, 0, 1, 2, new ReceiveBufferAddress(0, 2, 100)).encode();
        byte[][] bad = {
            {},
            Arrays.copyOf(good, 39),
            with(good, 0, 2),
            with(good, 23, 1),
            with(with(good, 2, 0), 3, 0)
        };
        for (byte[] data : bad) {
            try (RawStreamPeer peer = new RawStreamPeer().connect(address, data)) {
                assertThat(peer.connectFailure)
                        .isInstanceOf(RejectedException.class)
                        .hasMessageContaining(" rejected the connection: \"The peer");
            }
        }
        assertThat(accepted).isEmpty();
        try (RawStreamPeer peer = new RawStreamPeer().connect(address, Arrays.copyOf(good, 56))) {
            assertThat(peer.connectFailure).isNull();
            assertThat(accepted()).isNotNull();
        }
    }

    private static byte[] with(byte[] data, int index, int value) {
        byte[] copy = data.clone();
        copy[index] = (byte) value;
        return copy;
    }

    @Test
    void anAnswerThatIsNoRsocketFailsTheConnect() throws Exception {
        try (RawStreamPeer peer = new RawStreamPeer()) {
            InetSocketAddress listening = peer.listen(with(new byte[40], 0, 9));
            ChannelFuture connect =
                    new Bootstrap()
                            .group(group)
                            .channel(RdmaStreamChannel.class)
                            .handler(new ChannelInboundHandlerAdapter())
                            .connect(listening);
            peer.await(connect::isDone);
            assertThat(connect.cause())
                    .isInstanceOf(StreamProtocolException.class)
                    .hasMessageContaining("version 9");
            // Whoever has connected hears of it first.
            StreamPair.await(() -> !connect.channel().isOpen());
        }
    }

    @Test
    void aDeviceWithoutPrivateDataIsRefusedInOneSentence() {
        RdmaEventLoopGroup disni =
                new RdmaEventLoopGroup(1, Rdma.provider("disni-software"), PollMode.ADAPTIVE);
        try {
            assertThatThrownBy(
                            () ->
                                    new ServerBootstrap()
                                            .group(disni)
                                            .channel(RdmaServerStreamChannel.class)
                                            .childHandler(new ChannelInboundHandlerAdapter())
                                            .bind(InetAddress.getLoopbackAddress(), 0)
                                            .sync())
                    .isInstanceOf(UnsupportedOperationException.class)
                    .hasMessageContaining("40 bytes of connection private data");
            assertThatThrownBy(
                            () ->
                                    new Bootstrap()
                                            .group(disni)
                                            .channel(RdmaStreamChannel.class)
                                            .handler(new ChannelInboundHandlerAdapter())
                                            .connect(address)
                                            .sync())
                    .isInstanceOf(UnsupportedOperationException.class)
                    .hasMessageContaining("40 bytes of connection private data");
        } finally {
            disni.shutdownGracefully(0, StreamPair.PATIENCE_SECONDS, TimeUnit.SECONDS)
                    .syncUninterruptibly();
        }
    }

    // ------------------------------------------------------------------ what goes out

    @Test
    void dataGoesIntoThePeersBuffersWhateverTheirSizes() throws Exception {
        try (RawStreamPeer peer = new RawStreamPeer().connect(address, 333)) {
            peer.publish(1, 333, 1, 16);
            Collector server = accepted();
            byte[] bytes = random(10_000);
            server.channel.writeAndFlush(Unpooled.wrappedBuffer(bytes));
            peer.await(() -> peer.dataReceived() == 334);
            int[] lengths = {100, 5000, 1, 65, 4500};
            int start = 334;
            for (int i = 0; i < lengths.length; i++) {
                int end = start + lengths[i];
                peer.publish(
                        i % PeerReceiveBufferTable.ENTRIES,
                        start,
                        lengths[i],
                        peer.messages.size() + 14);
                peer.await(() -> peer.dataReceived() == end);
                start = end;
            }
            assertThat(peer.received(0, bytes.length)).isEqualTo(bytes);
        }
    }

    /** A receive that is missing costs the connection, and messages without credit need some. */
    @Test
    void halfOfThePeersReceivesAreLeftAlone() throws Exception {
        try (RawStreamPeer peer = new RawStreamPeer().connect(address, 10_000)) {
            Collector server = accepted();
            sendData(peer, peer.peer.buffer(), 0, (byte) 1);
            server.awaitBytes(new byte[] {1});
            ChannelFuture last = null;
            for (int i = 0; i < 100; i++) {
                last = server.channel.writeAndFlush(Unpooled.copiedBuffer(new byte[] {(byte) i}));
                if (i < 8) {
                    last.sync();
                }
            }
            peer.await(() -> peer.messages(Kind.DATA).size() == 8);
            server.channel.eventLoop().submit(() -> {}).sync();
            assertThat(last.isDone()).isFalse();
            assertThat(peer.messages(Kind.DATA)).hasSize(8);
            peer.send(RsocketMessage.sgl(16 + 1));
            peer.await(() -> peer.dataReceived() == 100);
            assertThat(peer.messages(Kind.DATA)).describedAs("the rest goes at once").hasSize(9);
            last.sync();
            for (int i = 0; i < 100; i++) {
                assertThat(peer.received(i, 1)).containsExactly(i);
            }
        }
    }

    @Test
    void writesOfOneFlushAreOneMessage() throws Exception {
        try (RawStreamPeer peer = new RawStreamPeer().connect(address, 10_000)) {
            Collector server = accepted();
            sendData(peer, peer.peer.buffer(), 0, (byte) 1);
            server.channel
                    .eventLoop()
                    .execute(
                            () -> {
                                for (int i = 0; i < 100; i++) {
                                    server.channel.write(Unpooled.copiedBuffer(new byte[10]));
                                }
                                server.channel.flush();
                            });
            peer.await(() -> peer.dataReceived() == 1000);
            assertThat(peer.messages(Kind.DATA)).containsExactly(1000);
        }
    }

    /** One system call of the software RNIC takes both. */
    @Test
    void theNewsOfABufferGoesOutWithTheAnswerToWhatWasInIt() throws Exception {
        try (RawStreamPeer peer = new RawStreamPeer().connect(address, 100)) {
            Channel server = accepted().channel;
            server.eventLoop()
                    .submit(() -> server.pipeline().addLast(new AnswerOnReadComplete()))
                    .sync();
            sendData(peer, peer.peer.buffer(), 0, random(HALF));
            peer.await(() -> peer.dataReceived() == 1);
            assertThat(peer.messages)
                    .extracting(RsocketMessage::kind)
                    .containsExactly(Kind.SGL, Kind.SGL, Kind.DATA);
        }
    }

    private static final class AnswerOnReadComplete extends ChannelInboundHandlerAdapter {
        @Override
        public void channelReadComplete(ChannelHandlerContext ctx) {
            ctx.writeAndFlush(Unpooled.wrappedBuffer(new byte[1]));
        }
    }

    // ------------------------------------------------------------------ the end

    @Test
    void aPeerThatVanishesHasCutTheStream() throws Exception {
        try (RawStreamPeer peer = new RawStreamPeer().connect(address, 100)) {
            Collector server = accepted();
            sendData(peer, peer.peer.buffer(), 0, random(10));
            peer.queuePair.disconnect();
            peer.await(() -> peer.hasEnded); // a device sends before it ends, and is polled for it
            server.awaitClosed();
            assertThat(server.bytes()).isEqualTo(random(10));
            assertThat(server.errors)
                    .singleElement()
                    .extracting(Throwable::getMessage)
                    .asString()
                    .startsWith("connection reset by peer");
        }
    }

    @Test
    void aPeerThatDisconnectsGetsNoAnswer() throws Exception {
        try (RawStreamPeer peer = new RawStreamPeer().connect(address, 100)) {
            Collector server = accepted();
            // The peer stays where it is, and is not waited for.
            server.channel.config().setOption(RdmaChannelOption.DRAIN_MILLIS, 1);
            sendData(peer, peer.peer.buffer(), 0, random(10));
            peer.send(RsocketMessage.DISCONNECT);
            peer.publish(1, 0, 10, 16);
            server.awaitClosed();
            assertThat(server.bytes()).isEqualTo(random(10));
            assertThat(server.errors).isEmpty();
            peer.await(() -> peer.hasEnded);
            assertThat(peer.messages).doesNotContain(RsocketMessage.DISCONNECT);
        }
    }

    @Test
    void noBufferIsPublishedToAPeerThatSendsNoMore() throws Exception {
        try (RawStreamPeer peer = new RawStreamPeer().connect(address, 100)) {
            Collector server = accepted();
            peer.await(() -> peer.messages(Kind.SGL).size() == 1 || probe(peer));
            ReceiveBufferAddress buffer = peer.peer.buffer();
            byte[] bytes = random(HALF);
            peer.memory.put(4096, bytes);
            peer.queuePair.write(-1, 0, buffer.offset(), buffer.key());
            peer.queuePair.gather(peer.base + 4096, HALF, peer.region.localKey());
            peer.open(HALF, 8192);
            peer.open(RsocketMessage.SHUTDOWN, 8196);
            peer.queuePair.doorbell();
            server.awaitBytes(bytes);
            server.channel.close();
            peer.await(() -> peer.messages.contains(RsocketMessage.DISCONNECT));
            assertThat(peer.messages(Kind.SGL)).hasSize(1);
        }
    }

    /** The acceptor says nothing before the first message of the initiator. */
    private static boolean probe(RawStreamPeer peer) {
        if (peer.messages.isEmpty() && peer.memory.get(16384) == 0) {
            peer.memory.put(16384, (byte) 1);
            peer.send(RsocketMessage.sgl(16));
        }
        return false;
    }
}
