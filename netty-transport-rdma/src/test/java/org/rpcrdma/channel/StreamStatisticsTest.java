// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelOption;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.rpcrdma.NeedsDevice;
import org.rpcrdma.channel.StreamPair.Collector;
import org.rpcrdma.stream.RsocketMessage;

/** What event loops count of streams. */
@NeedsDevice("privateDataOnAccept")
class StreamStatisticsTest {

    private static final int CREDITS = RawStreamPeer.CREDITS / 2; // the others are reserved

    private static RdmaEventLoopGroupStatistics of(RdmaStreamChannel channel) {
        return RdmaEventLoopGroupStatistics.of(channel.eventLoop().parent());
    }

    /** Has the loop of the channel done what came before. */
    private static void settle(RdmaStreamChannel channel) throws Exception {
        channel.eventLoop().submit(() -> {}).sync();
    }

    @Test
    void bytesAndConnectionsOfBothEndsAreCounted() throws Exception {
        try (StreamPair pair = new StreamPair()) {
            RdmaEventLoopGroupStatistics client = of(pair.client);
            RdmaEventLoopGroupStatistics server = of(pair.server);
            byte[] sent = new byte[100_000];
            pair.client.writeAndFlush(Unpooled.wrappedBuffer(sent)).sync();
            pair.serverSide.awaitBytes(sent);
            assertThat(client.openStreams()).isEqualTo(1);
            assertThat(server.openStreams()).isEqualTo(1);
            assertThat(client.streamCredits()).isPositive();
            assertThat(client.value(RdmaCounter.STREAM_BYTES_OUT)).isEqualTo(sent.length);
            assertThat(server.value(RdmaCounter.STREAM_BYTES_IN)).isEqualTo(sent.length);
            assertThat(server.value(RdmaCounter.STREAM_BYTES_OUT)).isZero();
            assertThat(client.value(RdmaCounter.STREAM_BYTES_IN)).isZero();
            pair.client.close().sync();
            pair.serverSide.awaitClosed();
            for (RdmaEventLoopGroupStatistics end :
                    new RdmaEventLoopGroupStatistics[] {client, server}) {
                assertThat(end.value(RdmaCounter.STREAMS_OPENED)).isEqualTo(1);
                assertThat(end.value(RdmaCounter.STREAMS_CLOSED)).isEqualTo(1);
                assertThat(end.value(RdmaCounter.STREAMS_RESET)).isZero();
                assertThat(end.value(RdmaCounter.STREAMS_RESET_BY_PEER)).isZero();
                assertThat(end.openStreams()).isZero();
                assertThat(end.streamCredits()).isZero();
            }
        }
    }

    /** Nobody knows then what the peer has got. */
    @Test
    @NeedsDevice("receivesWithoutMemory") // another takes a message without the peer's event loop
    void aCloseThatTheDrainTimeoutCutsIsAReset() throws Exception {
        CountDownLatch begun = new CountDownLatch(1);
        CountDownLatch standstill = new CountDownLatch(1);
        try (StreamPair pair = new StreamPair();
                AutoCloseable end = standstill::countDown) {
            RdmaEventLoopGroupStatistics client = of(pair.client);
            pair.server
                    .eventLoop()
                    .execute(
                            () -> {
                                begun.countDown();
                                try {
                                    standstill.await();
                                } catch (InterruptedException e) {
                                    throw new AssertionError(e);
                                }
                            });
            begun.await();
            pair.client.config().setOption(RdmaChannelOption.DRAIN_MILLIS, 1);
            pair.client.close().sync();
            assertThat(client.value(RdmaCounter.STREAMS_RESET)).isEqualTo(1);
            assertThat(client.value(RdmaCounter.STREAMS_CLOSED)).isZero();
            assertThat(client.value(RdmaCounter.STREAMS_RESET_BY_PEER)).isZero();
            end.close();
            pair.serverSide.awaitClosed();
        }
    }

    @Test
    void aHalfClosedStreamIsSeenFromBothEnds() throws Exception {
        try (StreamPair pair =
                new StreamPair(
                        client -> client.option(ChannelOption.ALLOW_HALF_CLOSURE, true),
                        server -> server.childOption(ChannelOption.ALLOW_HALF_CLOSURE, true))) {
            RdmaEventLoopGroupStatistics client = of(pair.client);
            RdmaEventLoopGroupStatistics server = of(pair.server);
            pair.client.shutdownOutput().sync();
            StreamPair.await(() -> server.streamsWithoutInput() == 1);
            assertThat(server.streamsWithoutOutput()).isZero();
            assertThat(client.streamsWithoutOutput()).isEqualTo(1);
            assertThat(client.streamsWithoutInput()).isZero();
            pair.server.shutdownOutput().sync();
            StreamPair.await(() -> client.streamsWithoutOutput() == 0);
            pair.client.close().sync();
            pair.server.close().sync();
            for (RdmaEventLoopGroupStatistics end :
                    new RdmaEventLoopGroupStatistics[] {client, server}) {
                assertThat(end.streamsWithoutInput()).isZero();
                assertThat(end.streamsWithoutOutput()).isZero();
                assertThat(end.value(RdmaCounter.STREAMS_CLOSED)).isEqualTo(1);
            }
        }
    }

    @Test
    void aResetIsThatOfWhoHasCutTheConnection() throws Exception {
        try (StreamPair pair =
                new StreamPair(client -> client.option(ChannelOption.SO_LINGER, 0), server -> {})) {
            RdmaEventLoopGroupStatistics client = of(pair.client);
            RdmaEventLoopGroupStatistics server = of(pair.server);
            pair.client.close().sync();
            pair.serverSide.awaitClosed();
            assertThat(client.value(RdmaCounter.STREAMS_RESET)).isEqualTo(1);
            assertThat(client.value(RdmaCounter.STREAMS_RESET_BY_PEER)).isZero();
            assertThat(server.value(RdmaCounter.STREAMS_RESET)).isZero();
            assertThat(server.value(RdmaCounter.STREAMS_RESET_BY_PEER)).isEqualTo(1);
            assertThat(client.value(RdmaCounter.STREAMS_CLOSED)).isZero();
            assertThat(server.value(RdmaCounter.STREAMS_CLOSED)).isZero();
        }
    }

    /** The stream ends inside of the flush. */
    @Test
    void aStreamThatTheListenerOfAnEmptyWriteBreaksIsNotCountedAgain() throws Exception {
        try (StreamPair pair =
                new StreamPair(client -> client.option(ChannelOption.SO_LINGER, 0), server -> {})) {
            RdmaEventLoopGroupStatistics client = of(pair.client);
            pair.client
                    .eventLoop()
                    .submit(
                            () -> {
                                pair.client
                                        .write(Unpooled.EMPTY_BUFFER)
                                        .addListener(ChannelFutureListener.CLOSE);
                                pair.client.write(Unpooled.copyInt(1));
                                pair.client.flush();
                            })
                    .sync();
            pair.clientSide.awaitClosed();
            settle(pair.client);
            assertThat(client.openStreams()).isZero();
            assertThat(client.streamCredits()).isZero();
            assertThat(client.waitingStreams()).isZero();
            assertThat(client.value(RdmaCounter.STREAM_BYTES_OUT))
                    .describedAs("the flush has posted them")
                    .isEqualTo(Integer.BYTES);
        }
    }

    @Test
    void aStreamWaitsWhileItsPeerHasNoCreditOrNoRoom() throws Exception {
        RdmaEventLoopGroup group = new RdmaEventLoopGroup(1);
        try (RawStreamPeer peer = new RawStreamPeer()) {
            BlockingQueue<Collector> accepted = new LinkedBlockingQueue<>();
            InetSocketAddress address =
                    (InetSocketAddress)
                            new ServerBootstrap()
                                    .group(group)
                                    .channel(RdmaServerStreamChannel.class)
                                    .childHandler(StreamPair.initializer(accepted))
                                    .bind(InetAddress.getLoopbackAddress(), 0)
                                    .sync()
                                    .channel()
                                    .localAddress();
            peer.connect(address, CREDITS + 2);
            peer.write(peer.peer.buffer().offset(), peer.peer.buffer().key(), (byte) 1);
            peer.send(RsocketMessage.data(1));
            RdmaStreamChannel channel =
                    accepted.poll(StreamPair.PATIENCE_SECONDS, TimeUnit.SECONDS).channel;
            RdmaEventLoopGroupStatistics loops = RdmaEventLoopGroupStatistics.of(group);
            assertThat(loops.streamCredits()).isEqualTo(CREDITS);
            for (int i = 0; i < CREDITS; i++) {
                channel.writeAndFlush(Unpooled.wrappedBuffer(new byte[1])).sync();
            }
            assertThat(loops.streamCredits()).isZero();
            assertThat(loops.waitingStreams()).describedAs("nothing is left to send").isZero();
            assertThat(loops.value(RdmaCounter.STREAM_WAIT_NANOS)).isZero();

            ChannelFuture last = channel.writeAndFlush(Unpooled.wrappedBuffer(new byte[3]));
            settle(channel);
            assertThat(loops.waitingStreams()).describedAs("for a credit").isEqualTo(1);
            assertGrows(loops);
            peer.send(RsocketMessage.sgl(RawStreamPeer.CREDITS + 1));
            peer.await(() -> peer.dataReceived() == CREDITS + 2);
            // The peer may have the byte before the loop has counted what it could not send.
            settle(channel);
            assertThat(loops.waitingStreams()).describedAs("for room").isEqualTo(1);
            assertThat(last.isDone()).isFalse();
            assertGrows(loops);
            peer.publish(1, CREDITS + 2, 100, RawStreamPeer.CREDITS + 2);
            peer.await(() -> peer.dataReceived() == CREDITS + 3);
            last.sync();
            settle(channel);
            assertThat(loops.waitingStreams()).isZero();
            long waited = loops.value(RdmaCounter.STREAM_WAIT_NANOS);
            channel.writeAndFlush(Unpooled.EMPTY_BUFFER).sync();
            assertThat(loops.value(RdmaCounter.STREAM_WAIT_NANOS)).isEqualTo(waited);
            assertThat(loops.value(RdmaCounter.STREAM_BYTES_OUT)).isEqualTo(CREDITS + 3);
        } finally {
            group.shutdownGracefully(0, StreamPair.PATIENCE_SECONDS, TimeUnit.SECONDS)
                    .syncUninterruptibly();
        }
    }

    /** A stream that waits for credits, with data of its peer that are not read. */
    private static RdmaStreamChannel waiting(RdmaEventLoopGroup group, RawStreamPeer peer)
            throws Exception {
        BlockingQueue<Collector> accepted = new LinkedBlockingQueue<>();
        InetSocketAddress address =
                (InetSocketAddress)
                        new ServerBootstrap()
                                .group(group)
                                .channel(RdmaServerStreamChannel.class)
                                .childHandler(StreamPair.initializer(accepted))
                                .childOption(ChannelOption.AUTO_READ, false)
                                .bind(InetAddress.getLoopbackAddress(), 0)
                                .sync()
                                .channel()
                                .localAddress();
        peer.connect(address, 1);
        peer.write(peer.peer.buffer().offset(), peer.peer.buffer().key(), (byte) 1);
        peer.send(RsocketMessage.data(1));
        RdmaStreamChannel channel =
                accepted.poll(StreamPair.PATIENCE_SECONDS, TimeUnit.SECONDS).channel;
        StreamPair.await(
                () -> channel.eventLoop().submit(() -> channel.dataPath().hasInbound()).get());
        return channel;
    }

    @Test
    void aStreamThatClosesWaitsForNoCredit() throws Exception {
        RdmaEventLoopGroup group = new RdmaEventLoopGroup(1);
        try (RawStreamPeer peer = new RawStreamPeer()) {
            RdmaStreamChannel channel = waiting(group, peer);
            RdmaEventLoopGroupStatistics loops = RdmaEventLoopGroupStatistics.of(group);
            channel.writeAndFlush(Unpooled.wrappedBuffer(new byte[2]));
            settle(channel);
            assertThat(loops.waitingStreams()).isEqualTo(1);
            channel.eventLoop()
                    .submit(
                            () -> {
                                channel.close();
                                assertThat(channel.isClosing()).isTrue();
                                assertThat(loops.waitingStreams()).isZero();
                            })
                    .sync();
        } finally {
            group.shutdownGracefully(0, StreamPair.PATIENCE_SECONDS, TimeUnit.SECONDS)
                    .syncUninterruptibly();
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aStreamWhosePeerHasEndedWaitsForNoCredit(boolean isOrderly) throws Exception {
        RdmaEventLoopGroup group = new RdmaEventLoopGroup(1);
        try (RawStreamPeer peer = new RawStreamPeer()) {
            RdmaStreamChannel channel = waiting(group, peer);
            RdmaEventLoopGroupStatistics loops = RdmaEventLoopGroupStatistics.of(group);
            ChannelFuture write = channel.writeAndFlush(Unpooled.wrappedBuffer(new byte[2]));
            settle(channel);
            assertThat(loops.waitingStreams()).isEqualTo(1);
            if (isOrderly) {
                peer.send(RsocketMessage.DISCONNECT);
            } else {
                peer.queuePair.disconnect();
            }
            peer.await(write::isDone);
            settle(channel);
            assertThat(write.isSuccess()).isFalse();
            assertThat(channel.isOpen()).describedAs("a byte is unread").isTrue();
            assertThat(loops.waitingStreams()).isZero();
        } finally {
            group.shutdownGracefully(0, StreamPair.PATIENCE_SECONDS, TimeUnit.SECONDS)
                    .syncUninterruptibly();
        }
    }

    /** A wait that has no end yet counts. */
    private static void assertGrows(RdmaEventLoopGroupStatistics loops) {
        long before = loops.value(RdmaCounter.STREAM_WAIT_NANOS);
        StreamPair.await(() -> loops.value(RdmaCounter.STREAM_WAIT_NANOS) > before);
    }

    /** The three numbers behind it change together, and are read on another thread. */
    @Test
    void theTimeOfWaitsNeverGoesBack() throws Exception {
        EventLoopStreamStateGauges counters = new EventLoopStreamStateGauges();
        Thread loop =
                new Thread(
                        () -> {
                            for (int i = 0; i < 200_000; i++) {
                                counters.waiting(1, System.nanoTime());
                                counters.waiting(-1, System.nanoTime());
                            }
                        });
        long start = System.nanoTime();
        loop.start();
        long last = 0;
        do {
            long next = counters.waitedNanos(System.nanoTime());
            assertThat(next).isLessThanOrEqualTo(System.nanoTime() - start);
            last = Math.max(last, next);
        } while (loop.isAlive());
        loop.join();
        assertThat(counters.waiting()).isZero();
        assertThat(counters.waitedNanos(System.nanoTime())).isGreaterThanOrEqualTo(0);
    }
}
