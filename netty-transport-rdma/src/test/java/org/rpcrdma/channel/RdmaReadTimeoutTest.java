// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import static org.assertj.core.api.Assertions.assertThat;
import static org.rpcrdma.channel.ConnectedPair.PATIENCE_SECONDS;
import static org.rpcrdma.channel.ConnectedPair.on;

import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import java.io.IOException;
import java.net.InetAddress;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.rpcrdma.Proves;
import org.rpcrdma.verbs.QueuePair;
import org.rpcrdma.verbs.VerbsProvider;

/** A peer that does not answer an RDMA Read loses its connection; time passes by the looks of the test alone. */
class RdmaReadTimeoutTest {

    private static final Set<String> WORK = Set.of("read", "send", "gather");

    private static final int NEVER = Integer.MAX_VALUE;

    /** What the client's device says of Read Responses. Its event loop only. */
    private long readBytes;

    private final ConnectedPair.Inbox clientInbox = new ConnectedPair.Inbox();
    private final ConnectedPair.Inbox serverInbox = new ConnectedPair.Inbox();
    private RdmaEventLoopGroup clients;
    private RdmaEventLoopGroup servers;
    private Channel listener;

    @BeforeEach
    void begin() {
        clients = new RdmaEventLoopGroup(1, unanswered(), PollMode.BLOCKING);
        servers = new RdmaEventLoopGroup(1);
        listener =
                new ServerBootstrap()
                        .group(servers)
                        .channel(RdmaServerChannel.class)
                        .childHandler(ConnectedPair.initializer(serverInbox))
                        .bind(InetAddress.getLoopbackAddress(), 0)
                        .syncUninterruptibly()
                        .channel();
    }

    @AfterEach
    void end() {
        clients.shutdownGracefully(0, PATIENCE_SECONDS, TimeUnit.SECONDS).syncUninterruptibly();
        servers.shutdownGracefully(0, PATIENCE_SECONDS, TimeUnit.SECONDS).syncUninterruptibly();
        clientInbox.releaseAll();
        serverInbox.releaseAll();
    }

    /**
     * The device, with queue pairs whose Reads get no answer: from the first one on nothing goes out, for work
     * completes in its order.
     */
    private VerbsProvider unanswered() {
        return InterceptedDevice.of(
                call ->
                        call.name().equals("createQueuePair")
                                ? withoutReads((QueuePair) call.proceed())
                                : call.proceed());
    }

    private QueuePair withoutReads(QueuePair queuePair) {
        boolean[] isStuck = new boolean[1];
        return InterceptedDevice.intercepted(
                QueuePair.class,
                queuePair,
                call -> {
                    if (call.name().equals("readBytes")) {
                        return readBytes;
                    }
                    isStuck[0] |= call.name().equals("read");
                    return isStuck[0] && WORK.contains(call.name()) ? null : call.proceed();
                });
    }

    private RdmaChannel connect(int timeoutMillis) throws InterruptedException {
        ChannelFuture connected =
                new Bootstrap()
                        .group(clients)
                        .channel(RdmaChannel.class)
                        .option(RdmaChannelOption.READ_TIMEOUT_MILLIS, timeoutMillis)
                        .handler(ConnectedPair.initializer(clientInbox))
                        .connect(listener.localAddress());
        assertThat(connected.await(PATIENCE_SECONDS, TimeUnit.SECONDS)).isTrue();
        return (RdmaChannel) connected.channel();
    }

    private ChannelFuture read(RdmaChannel channel) throws Exception {
        return on(
                channel,
                () -> {
                    ByteBuf sink = channel.registeredBuffer(1000);
                    return channel.writeAndFlush(new RdmaRead(sink, 0x1234, 0));
                });
    }

    private void look(RdmaChannel channel, int times) throws Exception {
        on(
                channel,
                () -> {
                    for (int i = 0; i < times; i++) {
                        ((MessageChannelDataPath) channel.dataPath()).readDeadline.look();
                    }
                    return null;
                });
    }

    private void checkEnds(RdmaChannel channel, ChannelFuture read) throws InterruptedException {
        assertThat(channel.closeFuture().await(PATIENCE_SECONDS, TimeUnit.SECONDS)).isTrue();
        assertThat(read.await(PATIENCE_SECONDS, TimeUnit.SECONDS)).isTrue();
        assertThat(read.isSuccess()).isFalse();
        assertThat(clientInbox.errors.poll())
                .isInstanceOf(IOException.class)
                .hasMessageContaining("answered nothing to an RDMA Read");
        assertThat(clients.value(RdmaCounter.READS_STALLED)).isEqualTo(1);
    }

    @Test
    @Proves("SEC-27")
    void aReadWithoutAnAnswerEndsTheConnection() throws Exception {
        RdmaChannel channel = connect(NEVER);
        final RdmaChannel other = connect(NEVER);
        final ChannelFuture read = read(channel);
        long before = on(channel, channel::registeredBytesInUse);
        look(channel, RdmaReadTimeout.LOOKS);
        assertThat(channel.isActive()).isTrue();
        look(channel, 1);
        checkEnds(channel, read);
        assertThat(on(other, other::registeredBytesInUse)).isLessThan(before);
        other.writeAndFlush(Unpooled.copyInt(7));
        assertThat(serverInbox.takeBytes()).containsExactly(0, 0, 0, 7);
    }

    /** What is posted behind the Read, or was complete before it, is no answer to it. */
    @Test
    void otherWorkIsNoAnswer() throws Exception {
        RdmaChannel channel = connect(NEVER);
        channel.writeAndFlush(Unpooled.copyInt(1)).await(PATIENCE_SECONDS, TimeUnit.SECONDS);
        ChannelFuture read = read(channel);
        look(channel, 1);
        for (int i = 0; i < RdmaReadTimeout.LOOKS; i++) {
            assertThat(channel.isActive()).isTrue();
            channel.writeAndFlush(Unpooled.copyInt(i));
            look(channel, 1);
        }
        checkEnds(channel, read);
    }

    /** What is complete before the Read is told of by itself, and keeps nobody from seeing that the Read stands. */
    @Test
    void aSendOfTheSameFlushIsNoAnswer() throws Exception {
        RdmaChannel channel = connect(NEVER);
        ChannelFuture send = channel.write(Unpooled.copyInt(1));
        ChannelFuture read = read(channel);
        assertThat(send.await(PATIENCE_SECONDS, TimeUnit.SECONDS)).isTrue();
        look(channel, 1 + RdmaReadTimeout.LOOKS);
        checkEnds(channel, read);
    }

    @Test
    void aReadThatGoesOnDoesNot() throws Exception {
        RdmaChannel channel = connect(NEVER);
        read(channel);
        for (int i = 0; i < 10; i++) {
            look(channel, RdmaReadTimeout.LOOKS);
            on(channel, () -> readBytes++);
        }
        assertThat(channel.isActive()).isTrue();
    }

    @Test
    void withoutReadsThereIsNoEnd() throws Exception {
        RdmaChannel channel = connect(NEVER);
        channel.writeAndFlush(Unpooled.copyInt(1)).await(PATIENCE_SECONDS, TimeUnit.SECONDS);
        look(channel, 3 * RdmaReadTimeout.LOOKS);
        assertThat(channel.isActive()).isTrue();
    }

    /** The clock does it too. */
    @Test
    void timeEndsTheConnection() throws Exception {
        RdmaChannel channel = connect(1);
        checkEnds(channel, read(channel));
    }

    /** A channel that is closed leaves no timer behind: shutting down would wait for it. */
    @Test
    void aClosedChannelHasNoTimer() throws Exception {
        RdmaChannel channel = connect(NEVER);
        ChannelFuture read = read(channel);
        channel.close().await(PATIENCE_SECONDS, TimeUnit.SECONDS);
        assertThat(read.isSuccess()).isFalse();
        on(channel, () -> null);
        assertThat(clients.value(RdmaCounter.READS_STALLED)).isZero();
    }
}
