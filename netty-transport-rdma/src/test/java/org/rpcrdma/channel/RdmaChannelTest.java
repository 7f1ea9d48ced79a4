// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;
import static org.rpcrdma.channel.ConnectedPair.PATIENCE_SECONDS;
import static org.rpcrdma.channel.ConnectedPair.on;

import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelOption;
import io.netty.channel.ChannelPromise;
import io.netty.channel.ConnectTimeoutException;
import io.netty.channel.FixedRecvByteBufAllocator;
import java.lang.reflect.Method;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.channels.AlreadyConnectedException;
import java.nio.channels.ClosedChannelException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Random;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CancellationException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.rpcrdma.NeedsDevice;
import org.rpcrdma.Proves;
import org.rpcrdma.channel.internal.ChannelInternals;

class RdmaChannelTest {

    private static byte[] random(int length) {
        byte[] bytes = new byte[length];
        new Random(length).nextBytes(bytes);
        return bytes;
    }

    @Test
    void eachWrittenBufferArrivesAsOneMessage() throws Exception {
        try (ConnectedPair pair = new ConnectedPair()) {
            int[] sizes = {1, 2, 3, 4, 5, 1023, 1024, 4095, 4096};
            for (int size : sizes) {
                pair.client.write(Unpooled.wrappedBuffer(random(size)));
            }
            pair.client.flush();
            for (int size : sizes) {
                assertThat(pair.serverInbox.takeBytes()).isEqualTo(random(size));
            }
        }
    }

    @Test
    @Proves("V1-CORE-02")
    void moreMessagesThanThereAreReceivesAndSendSlotsArriveInOrder() throws Exception {
        int count = 2_000;
        try (ConnectedPair pair =
                new ConnectedPair(
                        client -> client.option(RdmaChannelOption.SEND_DEPTH, 4),
                        server -> server.childOption(RdmaChannelOption.RECEIVE_DEPTH, 64))) {
            // The receiver's depth is the sender's to respect: one batch is answered before the
            // next goes out.
            for (int i = 0; i < count; i += 32) {
                for (int j = i; j < i + 32; j++) {
                    pair.client.write(Unpooled.copyInt(j));
                }
                pair.client.flush();
                for (int j = i; j < i + 32; j++) {
                    ByteBuf message = pair.serverInbox.take();
                    assertThat(message.readInt()).isEqualTo(j);
                    message.release();
                }
            }
        }
    }

    /** A pipeline that reads replaces its receives; the device holds the peer up until it has. */
    @NeedsDevice("receivesWithoutMemory")
    @ParameterizedTest
    @ValueSource(ints = {1, 16, 1_000})
    @Proves("V1-CORE-02")
    void moreMessagesInAFlushThanThereAreReceivesReachAPipelineThatReads(int perRead)
            throws Exception {
        int count = 1_000;
        try (ConnectedPair pair =
                new ConnectedPair(
                        client -> {},
                        server ->
                                server.childOption(
                                        ChannelOption.RCVBUF_ALLOCATOR,
                                        new FixedRecvByteBufAllocator(4096)
                                                .maxMessagesPerRead(perRead)))) {
            for (int i = 0; i < count; i++) {
                pair.client.write(Unpooled.copyInt(i));
            }
            pair.client.flush();
            for (int i = 0; i < count; i++) {
                ByteBuf message = pair.serverInbox.take();
                assertThat(message).as("message %d", i).isNotNull();
                assertThat(message.readInt()).isEqualTo(i);
                message.release();
            }
            assertThat(pair.client.isActive()).isTrue();
        }
    }

    /** Of several segments nobody knows at first how long a message is; it keeps no more memory than it needs. */
    @NeedsDevice("receivesWithoutMemory")
    @ParameterizedTest
    @ValueSource(ints = {1, 4096, 4097, 65_000, 70_000, 131_072})
    @Proves("V1-CORE-02")
    void takesLongerMessagesFromThePeerThatMaySendThem(int length) throws Exception {
        try (ConnectedPair pair =
                new ConnectedPair(
                        client -> client.option(RdmaChannelOption.MAX_SEND_SIZE, 1 << 20),
                        server -> {})) {
            on(
                    pair.server,
                    () -> {
                        ChannelInternals.of(pair.server).receiveUpTo(131_072);
                        return null;
                    });
            pair.client.write(Unpooled.copyInt(7));
            pair.client.writeAndFlush(Unpooled.wrappedBuffer(random(length)));
            assertThat(pair.serverInbox.takeBytes()).hasSize(4);
            ByteBuf message = pair.serverInbox.take();
            assertThat(message.capacity()).isBetween(length, length + 4096);
            long lent = on(pair.server, pair.server::registeredBytesInUse);
            assertThat(lent).isLessThan(length + length / 8 + 4096 + 256);
            assertThat(ByteBufUtil.getBytes(message)).isEqualTo(random(length));
            message.release();
            pair.client.writeAndFlush(Unpooled.wrappedBuffer(random(131_073)));
            assertThat(pair.serverInbox.inactive.poll(PATIENCE_SECONDS, TimeUnit.SECONDS))
                    .isNotNull();
            assertThat(pair.serverInbox.messages).isEmpty();
        }
    }

    @NeedsDevice("receivesWithoutMemory")
    @Test
    void aMessageIsNeverLongerThanAReceiveUnlessItIsSaid() throws Exception {
        try (ConnectedPair pair =
                new ConnectedPair(
                        client -> client.option(RdmaChannelOption.MAX_SEND_SIZE, 1 << 20),
                        server -> {})) {
            pair.client.writeAndFlush(Unpooled.wrappedBuffer(random(4096)));
            assertThat(pair.serverInbox.takeBytes()).hasSize(4096);
            pair.client.writeAndFlush(Unpooled.wrappedBuffer(random(4097)));
            assertThat(pair.serverInbox.inactive.poll(PATIENCE_SECONDS, TimeUnit.SECONDS))
                    .isNotNull();
            assertThat(pair.serverInbox.messages).isEmpty();
            assertThatThrownBy(() -> ChannelInternals.of(pair.client).receiveUpTo(1023))
                    .isInstanceOf(IllegalArgumentException.class);
            assertThatThrownBy(() -> ChannelInternals.of(pair.client).receiveUpTo(4096))
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("event loop");
        }
    }

    @Test
    void takesBuffersOfAnyKind() throws Exception {
        try (ConnectedPair pair = new ConnectedPair()) {
            byte[] data = random(100);
            List<ByteBuf> kinds = new ArrayList<>();
            kinds.add(Unpooled.wrappedBuffer(data));
            kinds.add(Unpooled.directBuffer().writeBytes(data));
            kinds.add(ByteBufAllocator.DEFAULT.directBuffer().writeBytes(data));
            kinds.add(
                    Unpooled.compositeBuffer()
                            .addComponent(true, Unpooled.copiedBuffer(data, 0, 40))
                            .addComponent(true, Unpooled.directBuffer().writeBytes(data, 40, 60)));
            kinds.add(on(pair.client, () -> pair.client.registeredBuffer(300).writeBytes(data)));
            kinds.add(
                    on(
                            pair.client,
                            () -> {
                                ByteBuf buffer =
                                        pair.client
                                                .registeredBuffer(300)
                                                .writeZero(50)
                                                .writeBytes(data);
                                ByteBuf slice = buffer.retainedSlice(50, 100);
                                buffer.release();
                                return slice;
                            }));
            for (ByteBuf buffer : kinds) {
                // With one more reference no pool reuses the object.
                ChannelFuture future = pair.client.writeAndFlush(buffer.retain());
                assertThat(pair.serverInbox.takeBytes()).isEqualTo(data);
                future.sync();
                assertThat(buffer.refCnt()).isOne();
                buffer.release();
            }
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 3, 4096, 70_001, 3_000_000})
    @Proves("V1-CORE-03")
    void writesIntoExposedMemoryAndNowhereElse(int length) throws Exception {
        try (ConnectedPair pair = new ConnectedPair()) {
            int guard = 64;
            ByteBuf target =
                    on(
                            pair.server,
                            () ->
                                    pair.server
                                            .registeredBuffer(length + 2 * guard)
                                            .writeZero(length + 2 * guard));
            int handle =
                    on(
                            pair.server,
                            () -> pair.server.expose(target, guard, length, RemoteAccess.WRITE));
            long offset = on(pair.server, () -> pair.server.exposedOffset(handle));
            pair.client.write(
                    new RdmaWrite(Unpooled.wrappedBuffer(random(length)), handle, offset));
            pair.client.writeAndFlush(Unpooled.copyInt(7)).sync();
            // All Writes before a Send are visible when the Send has arrived (RFC 8166, 2.3.2).
            pair.serverInbox.takeBytes();
            byte[] got = new byte[length];
            target.getBytes(guard, got);
            assertThat(got).isEqualTo(random(length));
            for (int i = 0; i < guard; i++) {
                assertThat(target.getByte(i)).isZero();
                assertThat(target.getByte(guard + length + i)).isZero();
            }
            on(
                    pair.server,
                    () -> {
                        pair.server.invalidate(handle);
                        assertThat(pair.server.isExposed(handle)).isFalse();
                        return null;
                    });
            target.release();
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 3, 4096, 70_001, 3_000_000})
    void readsExposedMemory(int length) throws Exception {
        try (ConnectedPair pair = new ConnectedPair()) {
            ByteBuf source = Unpooled.directBuffer(length).writeBytes(random(length));
            int handle =
                    on(pair.client, () -> pair.client.expose(source, 0, length, RemoteAccess.READ));
            long offset = on(pair.client, () -> pair.client.exposedOffset(handle));
            ByteBuf sink =
                    on(pair.server, () -> pair.server.registeredBuffer(length).writerIndex(length));
            pair.server.writeAndFlush(new RdmaRead(sink.retain(), handle, offset)).sync();
            byte[] got = new byte[length];
            sink.readBytes(got);
            assertThat(got).isEqualTo(random(length));
            on(
                    pair.client,
                    () -> {
                        pair.client.invalidate(handle);
                        return null;
                    });
            sink.release();
            source.release();
        }
    }

    @NeedsDevice("remoteInvalidation")
    @Test
    void sendWithInvalidateEndsTheExposureBeforeItIsDelivered() throws Exception {
        try (ConnectedPair pair = new ConnectedPair()) {
            ByteBuf target = on(pair.client, () -> pair.client.registeredBuffer(16));
            int handle =
                    on(pair.client, () -> pair.client.expose(target, 0, 16, RemoteAccess.WRITE));
            pair.server
                    .writeAndFlush(new RdmaSendWithInvalidate(Unpooled.copyInt(1), handle))
                    .sync();
            pair.clientInbox.takeBytes();
            assertThat(on(pair.client, () -> pair.client.isExposed(handle))).isFalse();
            on(
                    pair.client,
                    () -> {
                        pair.client.invalidate(handle);
                        return null;
                    });
            target.release();
        }
    }

    @NeedsDevice("disconnectCause")
    @Test
    @Proves("SEC-04")
    void aWriteAfterInvalidationCostsTheConnectionAndChangesNothing() throws Exception {
        try (ConnectedPair pair = new ConnectedPair()) {
            ByteBuf target = on(pair.client, () -> pair.client.registeredBuffer(16).writeZero(16));
            int handle =
                    on(pair.client, () -> pair.client.expose(target, 0, 16, RemoteAccess.WRITE));
            long offset = on(pair.client, () -> pair.client.exposedOffset(handle));
            on(
                    pair.client,
                    () -> {
                        pair.client.invalidate(handle);
                        return null;
                    });
            pair.server.writeAndFlush(new RdmaWrite(Unpooled.copyLong(-1), handle, offset));
            assertThat(pair.client.closeFuture().await(PATIENCE_SECONDS, TimeUnit.SECONDS))
                    .isTrue();
            assertThat(pair.server.closeFuture().await(PATIENCE_SECONDS, TimeUnit.SECONDS))
                    .isTrue();
            assertThat(target.getLong(0)).isZero();
            assertThat(pair.clientInbox.errors).isNotEmpty();
            target.release();
        }
    }

    @Test
    void closingInTheListenerOfAWriteLosesNothing() throws Exception {
        try (ConnectedPair pair = new ConnectedPair()) {
            for (int i = 0; i < 50; i++) {
                pair.client.write(Unpooled.copyInt(i));
            }
            pair.client
                    .writeAndFlush(Unpooled.copyInt(50))
                    .addListener(ChannelFutureListener.CLOSE);
            for (int i = 0; i <= 50; i++) {
                ByteBuf message = pair.serverInbox.take();
                assertThat(message.readInt()).isEqualTo(i);
                message.release();
            }
            assertThat(pair.server.closeFuture().await(PATIENCE_SECONDS, TimeUnit.SECONDS))
                    .isTrue();
        }
    }

    @Test
    void closingReleasesWhatWasWritten() throws Exception {
        try (ConnectedPair pair = new ConnectedPair()) {
            List<ByteBuf> written = new ArrayList<>();
            List<ChannelFuture> futures = new ArrayList<>();
            on(
                    pair.client,
                    () -> {
                        for (int i = 0; i < 40; i++) {
                            ByteBuf buffer = Unpooled.directBuffer(20_000).writeZero(4_000);
                            written.add(buffer);
                            futures.add(pair.client.write(buffer));
                        }
                        return null;
                    });
            pair.client.close().sync();
            for (ByteBuf buffer : written) {
                assertThat(buffer.refCnt()).isZero();
            }
            for (ChannelFuture future : futures) {
                assertThat(future.await(PATIENCE_SECONDS, TimeUnit.SECONDS)).isTrue();
                assertThat(future.cause()).isInstanceOf(ClosedChannelException.class);
            }
        }
    }

    @Test
    void aChannelWhoseOutputIsShutDownCloses() throws Exception {
        try (ConnectedPair pair = new ConnectedPair()) {
            List<ByteBuf> written = new ArrayList<>();
            on(
                    pair.client,
                    () -> {
                        for (int i = 0; i < 10; i++) {
                            ByteBuf buffer = Unpooled.directBuffer(20_000).writeZero(4_000);
                            written.add(buffer);
                            pair.client.write(buffer);
                        }
                        pair.client.flush();
                        shutdownOutput(pair.client);
                        return null;
                    });
            assertThat(pair.client.closeFuture().await(PATIENCE_SECONDS, TimeUnit.SECONDS))
                    .isTrue();
            assertThat(pair.clientInbox.inactive.poll(PATIENCE_SECONDS, TimeUnit.SECONDS))
                    .isSameAs(pair.client);
            assertThat(pair.server.closeFuture().await(PATIENCE_SECONDS, TimeUnit.SECONDS))
                    .isTrue();
            assertThat(written).allMatch(buffer -> buffer.refCnt() == 0);
        }
    }

    /** Netty releases flushed messages when the output ends; the device has not read all of them yet. */
    @Test
    void memoryOfPostedMessagesStaysWhenTheOutputIsShutDown() throws Exception {
        try (ConnectedPair pair = new ConnectedPair()) {
            int references =
                    on(
                            pair.client,
                            () -> {
                                ByteBuf buffer = pair.client.sendBuffer(4_000).writeZero(4_000);
                                pair.client.writeAndFlush(buffer);
                                shutdownOutput(pair.client);
                                return buffer.refCnt();
                            });
            assertThat(references).isEqualTo(1);
            assertThat(pair.client.closeFuture().await(PATIENCE_SECONDS, TimeUnit.SECONDS))
                    .isTrue();
        }
    }

    private static void flushSeven(ConnectedPair pair, AtomicReference<ChannelFuture> written) {
        written.set(pair.client.writeAndFlush(Unpooled.wrappedBuffer(new byte[] {7})));
    }

    /** Its promise is told while flushed messages are posted. */
    @Test
    void whatTheListenerOfAnEmptyBufferFlushesIsSent() throws Exception {
        try (ConnectedPair pair = new ConnectedPair()) {
            AtomicReference<ChannelFuture> written = new AtomicReference<>();
            on(
                    pair.client,
                    () -> {
                        pair.client
                                .write(Unpooled.EMPTY_BUFFER)
                                .addListener(f -> flushSeven(pair, written));
                        return pair.client.flush();
                    });
            assertThat(pair.serverInbox.takeBytes()).containsExactly(7);
            assertThat(written.get().sync().isSuccess()).isTrue();
        }
    }

    @Test
    void anEmptyBufferCompletesAfterWhatWasWrittenBeforeIt() throws Exception {
        try (ConnectedPair pair = new ConnectedPair()) {
            List<Integer> order = new ArrayList<>();
            on(
                    pair.client,
                    () -> {
                        pair.client.write(Unpooled.EMPTY_BUFFER).addListener(f -> order.add(0));
                        pair.client.write(Unpooled.copyInt(1)).addListener(f -> order.add(1));
                        pair.client.write(Unpooled.EMPTY_BUFFER).addListener(f -> order.add(2));
                        pair.client.write(Unpooled.copyInt(3)).addListener(f -> order.add(3));
                        return null;
                    });
            pair.client.writeAndFlush(Unpooled.EMPTY_BUFFER).sync();
            assertThat(on(pair.client, () -> List.copyOf(order))).containsExactly(0, 1, 2, 3);
            assertThat(pair.serverInbox.takeBytes()).containsExactly(0, 0, 0, 1);
            assertThat(pair.serverInbox.takeBytes()).containsExactly(0, 0, 0, 3);
        }
    }

    /** The peer ends the connection at the first message; the sockets take a part of what is behind it. */
    @Test
    void anEmptyBufferDoesNotCompleteWhatWasNeverSentBeforeIt() throws Exception {
        int megabyte = 1 << 20;
        try (ConnectedPair pair =
                new ConnectedPair(
                        client -> client.option(RdmaChannelOption.MAX_SEND_SIZE, megabyte),
                        server -> {})) {
            List<ChannelFuture> written = new ArrayList<>();
            on(
                    pair.client,
                    () -> {
                        ByteBuf content = Unpooled.directBuffer(megabyte).writeZero(megabyte);
                        for (int i = 0; i < 40; i++) {
                            written.add(pair.client.write(content.retainedDuplicate()));
                        }
                        content.release();
                        written.add(pair.client.write(Unpooled.EMPTY_BUFFER));
                        ByteBuf sink = pair.client.registeredBuffer(8).writerIndex(8);
                        written.add(pair.client.write(new RdmaRead(sink, 1, 0)));
                        written.add(pair.client.write(Unpooled.EMPTY_BUFFER));
                        return pair.client.flush();
                    });
            List<Boolean> succeeded = new ArrayList<>();
            for (ChannelFuture future : written) {
                assertThat(future.await(PATIENCE_SECONDS, TimeUnit.SECONDS)).isTrue();
                succeeded.add(future.isSuccess());
            }
            assertThat(succeeded).isSortedAccordingTo(Comparator.reverseOrder());
            assertThat(succeeded.subList(30, 43)).containsOnly(false);
        }
    }

    /** Both look like an empty buffer to Netty. */
    @Test
    void aCancelledWriteIsNotTakenForAnEmptyOne() throws Exception {
        try (ConnectedPair pair = new ConnectedPair()) {
            AtomicReference<ChannelFuture> empty = new AtomicReference<>();
            on(
                    pair.client,
                    () -> {
                        pair.client.write(Unpooled.copyInt(1));
                        assertThat(pair.client.write(Unpooled.copyInt(2)).cancel(false)).isTrue();
                        empty.set(pair.client.write(Unpooled.EMPTY_BUFFER));
                        return pair.client.flush();
                    });
            assertThat(empty.get().await(PATIENCE_SECONDS, TimeUnit.SECONDS)).isTrue();
            assertThat(empty.get().isSuccess()).isTrue();
            assertThat(pair.serverInbox.takeBytes()).containsExactly(0, 0, 0, 1);
        }
    }

    @Test
    void cancelledWritesAreSkipped() throws Exception {
        try (ConnectedPair pair = new ConnectedPair()) {
            on(
                    pair.client,
                    () -> {
                        assertThat(pair.client.write(Unpooled.copyInt(1)).cancel(false)).isTrue();
                        pair.client.write(Unpooled.copyInt(2));
                        assertThat(pair.client.write(Unpooled.copyInt(3)).cancel(false)).isTrue();
                        pair.client.flush();
                        return null;
                    });
            assertThat(pair.serverInbox.takeBytes()).containsExactly(0, 0, 0, 2);
            pair.client.writeAndFlush(Unpooled.copyInt(4)).sync();
            assertThat(pair.serverInbox.takeBytes()).containsExactly(0, 0, 0, 4);
        }
    }

    @Test
    @Proves("V1-INL-10")
    void aMessageLongerThanThePeerTakesFailsAlone() throws Exception {
        try (ConnectedPair pair =
                new ConnectedPair(
                        client -> client.option(RdmaChannelOption.MAX_SEND_SIZE, 8),
                        server -> {})) {
            ByteBuf message = Unpooled.buffer().writeZero(9);
            ChannelFuture future = pair.client.writeAndFlush(message).await();
            assertThat(future.cause())
                    .isInstanceOf(MessageTooLongException.class)
                    .hasMessageContaining("9 bytes")
                    .hasMessageContaining("at most 8");
            assertThat(message.refCnt()).isZero();
            pair.client.writeAndFlush(Unpooled.copyLong(5)).sync();
            assertThat(pair.serverInbox.takeBytes()).hasSize(8);
        }
    }

    @Test
    void messagesWaitWhileAutoReadIsOff() throws Exception {
        try (ConnectedPair pair =
                new ConnectedPair(
                        client -> {},
                        server -> server.childOption(ChannelOption.AUTO_READ, false))) {
            for (int i = 0; i < 3; i++) {
                pair.client.write(Unpooled.copyInt(i));
            }
            pair.client.writeAndFlush(Unpooled.EMPTY_BUFFER).sync();
            // An answer of the server's loop after the messages came in shows that they were
            // held back.
            pair.server.writeAndFlush(Unpooled.copyInt(9)).sync();
            pair.clientInbox.takeBytes();
            assertThat(pair.serverInbox.messages).isEmpty();
            for (int i = 0; i < 3; i++) {
                pair.server.read();
                assertThat(pair.serverInbox.takeBytes()).containsExactly(0, 0, 0, i);
            }
        }
    }

    @Test
    void receivesArePostedAndBecomeFewWhenThePipelineDoesNotRead() throws Exception {
        int depth = 8;
        try (ConnectedPair pair =
                new ConnectedPair(
                        client -> client.option(RdmaChannelOption.RECEIVE_DEPTH, depth),
                        server ->
                                server.childOption(RdmaChannelOption.RECEIVE_DEPTH, depth)
                                        .childOption(ChannelOption.AUTO_READ, false))) {
            RdmaEventLoopGroup loops = (RdmaEventLoopGroup) pair.server.eventLoop().parent();
            assertThat(loops.postedReceives()).isEqualTo(depth);
            for (int i = 0; i < depth - 3; i++) {
                pair.client.writeAndFlush(Unpooled.copyInt(i)).sync();
            }
            assertThat(loops.value(RdmaCounter.RECEIVES_LOW)).isZero();
            pair.client.writeAndFlush(Unpooled.copyInt(depth)).sync();
            await().until(() -> loops.value(RdmaCounter.RECEIVES_LOW) == 1);
            assertThat(loops.value(RdmaCounter.REGISTRATIONS)).isPositive();
            pair.server.close().sync();
            assertThat(loops.postedReceives()).isZero();
        }
    }

    @NeedsDevice("privateDataOnAccept")
    @Test
    void privateDataGoesBothWays() throws Exception {
        try (ConnectedPair pair =
                new ConnectedPair(
                        client ->
                                client.option(RdmaChannelOption.PRIVATE_DATA, new byte[] {1, 2, 3}),
                        server ->
                                server.childOption(
                                        RdmaChannelOption.PRIVATE_DATA, new byte[] {4, 5}))) {
            assertThat(pair.server.peerPrivateData()).containsExactly(1, 2, 3);
            assertThat(pair.client.peerPrivateData()).containsExactly(4, 5);
            assertThat(pair.client.remoteAddress()).isEqualTo(pair.server.localAddress());
            assertThat(pair.client.localAddress()).isEqualTo(pair.server.remoteAddress());
        }
    }

    @Test
    void connectingWhereNobodyListensIsRefused() throws Exception {
        RdmaEventLoopGroup group = new RdmaEventLoopGroup(1);
        try {
            int port;
            try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
                port = socket.getLocalPort();
            }
            ChannelFuture future =
                    client(group).connect(InetAddress.getLoopbackAddress(), port).await();
            assertThat(future.cause()).isInstanceOf(ConnectException.class);
            assertThat(future.channel().closeFuture().await(PATIENCE_SECONDS, TimeUnit.SECONDS))
                    .isTrue();
        } finally {
            group.shutdownGracefully(0, PATIENCE_SECONDS, TimeUnit.SECONDS).sync();
        }
    }

    @Test
    void connectingToOneWhoNeverAnswersTimesOutOrCanBeCancelled() throws Exception {
        RdmaEventLoopGroup group = new RdmaEventLoopGroup(1);
        try (ServerSocket silent = new ServerSocket(0, 10, InetAddress.getLoopbackAddress())) {
            InetSocketAddress address = (InetSocketAddress) silent.getLocalSocketAddress();
            ChannelFuture timed =
                    client(group)
                            .option(ChannelOption.CONNECT_TIMEOUT_MILLIS, 1)
                            .connect(address)
                            .await();
            assertThat(timed.cause()).isInstanceOf(ConnectTimeoutException.class);
            ChannelFuture cancelled = client(group).connect(address);
            assertThat(cancelled.cancel(false)).isTrue();
            assertThat(cancelled.channel().closeFuture().await(PATIENCE_SECONDS, TimeUnit.SECONDS))
                    .isTrue();
            assertThatThrownBy(cancelled::get).isInstanceOf(CancellationException.class);
        } finally {
            group.shutdownGracefully(0, PATIENCE_SECONDS, TimeUnit.SECONDS).sync();
        }
    }

    @Test
    void aConnectedChannelDoesNotConnectAgain() throws Exception {
        try (ConnectedPair pair = new ConnectedPair()) {
            ChannelFuture again = pair.client.connect(pair.address()).await();
            assertThat(again.cause()).isInstanceOf(AlreadyConnectedException.class);
            assertThat(pair.client.isActive()).isTrue();
        }
    }

    @Test
    void shuttingDownTheGroupEndsBothSides() throws Exception {
        ConnectedPair pair = new ConnectedPair();
        pair.client
                .eventLoop()
                .parent()
                .shutdownGracefully(0, PATIENCE_SECONDS, TimeUnit.SECONDS)
                .sync();
        Channel gone = pair.serverInbox.inactive.poll(PATIENCE_SECONDS, TimeUnit.SECONDS);
        assertThat(gone).isSameAs(pair.server);
        pair.close();
    }

    /** As Netty does after a failed write with AUTO_CLOSE off. */
    @Test
    void aPeerThatIsGoneBeforeItIsAcceptedDoesNotHoldTheLoop() throws Exception {
        RdmaEventLoopGroup group = new RdmaEventLoopGroup(1);
        BlockingQueue<Channel> children = new LinkedBlockingQueue<>();
        Channel listener =
                new ServerBootstrap()
                        .group(group)
                        .channel(RdmaServerChannel.class)
                        .option(ChannelOption.AUTO_READ, false)
                        .handler(
                                new ChannelInboundHandlerAdapter() {
                                    @Override
                                    public void channelRead(
                                            ChannelHandlerContext ctx, Object child) {
                                        children.add((Channel) child);
                                        ctx.fireChannelRead(child);
                                    }
                                })
                        .childHandler(ConnectedPair.initializer(new ConnectedPair.Inbox()))
                        .bind(InetAddress.getLoopbackAddress(), 0)
                        .sync()
                        .channel();
        InetSocketAddress address = (InetSocketAddress) listener.localAddress();
        try (Socket peer = new Socket(address.getAddress(), address.getPort())) {
            // RFC 5044, 7.1: key, CRC, revision 1, no private data.
            peer.getOutputStream().write("MPA ID Req Frame".getBytes(StandardCharsets.US_ASCII));
            peer.getOutputStream().write(new byte[] {0x40, 1, 0, 0});
        }
        listener.read();
        Channel child = children.poll(ConnectedPair.PATIENCE_SECONDS, TimeUnit.SECONDS);
        assertThat(child.closeFuture().await(ConnectedPair.PATIENCE_SECONDS, TimeUnit.SECONDS))
                .isTrue();
        group.shutdownGracefully(0, ConnectedPair.PATIENCE_SECONDS, TimeUnit.SECONDS);
        assertThat(group.awaitTermination(ConnectedPair.PATIENCE_SECONDS, TimeUnit.SECONDS))
                .isTrue();
    }

    private static void shutdownOutput(RdmaChannel channel) throws ReflectiveOperationException {
        Method shutdown =
                channel.unsafe()
                        .getClass()
                        .getSuperclass()
                        .getMethod("shutdownOutput", ChannelPromise.class);
        shutdown.setAccessible(true);
        shutdown.invoke(channel.unsafe(), channel.newPromise());
    }

    private static Bootstrap client(RdmaEventLoopGroup group) {
        return new Bootstrap()
                .group(group)
                .channel(RdmaChannel.class)
                .handler(new ChannelInboundHandlerAdapter() {});
    }
}
