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
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import java.io.IOException;
import java.net.InetAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.rpcrdma.NeedsDevice;
import org.rpcrdma.channel.internal.ChannelInternals;
import org.rpcrdma.channel.memory.RegisteredBufferPool;
import org.rpcrdma.verbs.DeviceCapabilities;
import org.rpcrdma.verbs.DirectMemoryBudget;
import org.rpcrdma.verbs.ListenerHandler;
import org.rpcrdma.verbs.VerbsProvider;

/** A lack of memory costs the connection that asks for it, and no other one. */
class MemoryShortageTest {

    private static final int MIB = 1 << 20;

    private final DirectMemoryBudget serverMemory = new DirectMemoryBudget(4 * MIB);
    private final DirectMemoryBudget clientMemory = new DirectMemoryBudget(64 * MIB);

    /** The call of the server's context that runs out of heap memory the next time. */
    private final AtomicReference<String> failing = new AtomicReference<>();

    /** What the server's device tells of connections. */
    private volatile ListenerHandler listening;

    /** Whether the devices need the memory of a receive when it is posted. */
    private volatile boolean needsMemoryAtOnce;

    private final ConnectedPair.Inbox clientInbox = new ConnectedPair.Inbox();
    private final ConnectedPair.Inbox serverErrors = new ConnectedPair.Inbox();
    private final ConnectedPair.Inbox serverInbox = new ConnectedPair.Inbox();
    private RdmaEventLoopGroup clients;
    private RdmaEventLoopGroup servers;
    private Channel listener;

    /** No constructor: it would also run for a test that is skipped, and what ends it would not. */
    @BeforeEach
    void begin() {
        clients = new RdmaEventLoopGroup(1, forgetful(false), clientMemory);
        servers = new RdmaEventLoopGroup(1, forgetful(true), serverMemory);
        listener =
                new ServerBootstrap()
                        .group(servers)
                        .channel(RdmaServerChannel.class)
                        .handler(serverErrors)
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
        assertThat(serverMemory.used()).isZero();
        assertThat(clientMemory.used()).isZero();
    }

    /** The device. The contexts of the server's throw where they are told to. */
    private VerbsProvider forgetful(boolean forgets) {
        return InterceptedDevice.of(
                call -> {
                    if (forgets && failing.compareAndSet(call.name(), null)) {
                        throw new OutOfMemoryError("of the test");
                    }
                    if (needsMemoryAtOnce && call.name().equals("capabilities")) {
                        return ((DeviceCapabilities) call.proceed())
                                .toBuilder().receivesWithoutMemory(false).build();
                    }
                    if (call.name().equals("listen")) {
                        listening = (ListenerHandler) call.argument(2);
                    }
                    return call.proceed();
                });
    }

    private ChannelFuture connect() throws InterruptedException {
        ChannelFuture future =
                new Bootstrap()
                        .group(clients)
                        .channel(RdmaChannel.class)
                        .handler(ConnectedPair.initializer(clientInbox))
                        .connect(listener.localAddress());
        assertThat(future.await(PATIENCE_SECONDS, TimeUnit.SECONDS)).isTrue();
        return future;
    }

    private void checkWorks(Channel client) throws InterruptedException {
        client.writeAndFlush(Unpooled.copyInt(7));
        assertThat(serverInbox.takeBytes()).containsExactly(0, 0, 0, 7);
    }

    @Test
    void aRoundThatRunsOutOfMemoryEndsNeitherLoopNorConnections() throws Exception {
        Channel client = connect().sync().channel();
        failing.set("poll");
        servers.submit(() -> {}).sync();
        await().until(() -> failing.get() == null);
        checkWorks(client);
        checkWorks(connect().sync().channel());
    }

    @Test
    void aConnectionThatCannotBeMadeForLackOfMemoryIsClosedAlone() throws Exception {
        Channel client = connect().sync().channel();
        failing.set("createQueuePair");
        ChannelFuture second = connect();
        // What it hears is the end of the connection, before or after it was made.
        assertThat(second.channel().closeFuture().await(PATIENCE_SECONDS, TimeUnit.SECONDS))
                .isTrue();
        assertThat(failing.get()).isNull();
        checkWorks(client);
        checkWorks(connect().sync().channel());
    }

    /** The pipeline would log each as an exception that nobody handles, and stop reading for a second. */
    @Test
    void aLackOfDescriptorsIsNoExceptionOfTheServerChannel() throws Exception {
        for (int i = 0; i < 100; i++) {
            on(
                    listener,
                    () -> {
                        listening.acceptFailed(new IOException("Too many open files"));
                        return null;
                    });
        }
        assertThat(serverErrors.errors).isEmpty();
        assertThat(listener.isOpen()).isTrue();
        assertThat(listener.config().isAutoRead()).isTrue();
        checkWorks(connect().sync().channel());
    }

    /**
     * Connections come until the server has no memory left, and go. Those that it has keep working; afterwards the
     * memory that their small receives had taken serves large buffers.
     */
    @Test
    void memoryOfConnectionsThatAreGoneServesEverySize() throws Exception {
        needsMemoryAtOnce = true;
        List<Channel> served = new ArrayList<>();
        for (Channel client = connect().channel(); isServed(client); client = connect().channel()) {
            served.add(client);
        }
        assertThat(served).hasSizeGreaterThanOrEqualTo(3);
        for (Channel client : served) {
            checkWorks(client);
        }
        for (Channel client : served.subList(1, served.size())) {
            client.close().sync();
        }
        await().until(() -> serverMemory.used() == MIB);
        checkWorks(served.get(0));
        for (int size : new int[] {200_000, 300_000, 850_000, 700_000, 2048}) {
            ByteBuf buffer = on(listener, () -> serverPool().registered(size));
            on(listener, () -> buffer.release());
        }
    }

    /** Whether the server has taken the newest connection. */
    private boolean isServed(Channel client) throws InterruptedException {
        while (serverInbox.channels.poll(10, TimeUnit.MILLISECONDS) == null) {
            if (!client.isOpen()) {
                return false;
            }
        }
        return true;
    }

    @Test
    void aClientWithoutMemoryIsToldSo() throws Exception {
        needsMemoryAtOnce = true;
        RdmaEventLoopGroup poor =
                new RdmaEventLoopGroup(1, forgetful(false), new DirectMemoryBudget(1000));
        try {
            ChannelFuture future =
                    new Bootstrap()
                            .group(poor)
                            .channel(RdmaChannel.class)
                            .handler(ConnectedPair.initializer(clientInbox))
                            .connect(listener.localAddress());
            assertThat(future.await(PATIENCE_SECONDS, TimeUnit.SECONDS)).isTrue();
            assertThat(future.cause())
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("raise -Dorg.rpcrdma.registeredMemoryLimit");
        } finally {
            poor.shutdownGracefully(0, PATIENCE_SECONDS, TimeUnit.SECONDS).syncUninterruptibly();
        }
    }

    /** It would hold credits times the inline threshold otherwise, for nothing. */
    @Test
    @NeedsDevice("receivesWithoutMemory")
    void anIdleConnectionHoldsNoRegisteredMemory() throws Exception {
        List<Channel> idle = new ArrayList<>();
        for (int i = 0; i < 50; i++) {
            idle.add(connect().sync().channel());
        }
        assertThat(on(listener, () -> serverPool().bytes())).isZero();
        for (Channel client : idle) {
            checkWorks(client);
        }
        await().until(() -> on(listener, () -> serverPool().lentBytes()) == 0);
        assertThat(serverMemory.used()).isEqualTo(on(listener, () -> serverPool().spareBytes()));
    }

    private RegisteredBufferPool serverPool() {
        return ((RdmaEventLoop) listener.eventLoop()).poller().pool;
    }

    @Test
    void receivesThatHaveTheirMemoryKeepTheirSize() throws Exception {
        needsMemoryAtOnce = true;
        connect().sync();
        RdmaChannel server = (RdmaChannel) serverInbox.channels.take();
        assertThat(on(server, ChannelInternals.of(server)::receivesWithoutMemory)).isFalse();
        assertThatThrownBy(
                        () ->
                                on(
                                        server,
                                        () -> {
                                            ChannelInternals.of(server).receiveUpTo(65536);
                                            return null;
                                        }))
                .cause()
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("RECEIVE_SIZE");
    }

    /** A message finds no memory: the peer is held up by TCP, until there is some. */
    @Test
    @NeedsDevice("receivesWithoutMemory")
    void aMessageWaitsForMemory() throws Exception {
        Channel client = connect().sync().channel();
        Channel other = connect().sync().channel();
        List<ByteBuf> all = on(listener, this::takeAllOfTheServer);
        int messages = 60;
        for (int i = 0; i < messages; i++) {
            client.write(Unpooled.copyInt(i));
        }
        client.flush();
        other.writeAndFlush(Unpooled.copyInt(-1));
        // It costs no connection: the first message has found none, however long that takes.
        for (int i = 0; i < 3; i++) {
            on(listener, () -> 1);
        }
        assertThat(serverInbox.messages).isEmpty();
        on(listener, () -> all.stream().allMatch(ByteBuf::release));
        int next = 0;
        for (int i = 0; i <= messages; i++) {
            int value = Unpooled.wrappedBuffer(serverInbox.takeBytes()).readInt();
            if (value >= 0) {
                assertThat(value).isEqualTo(next++);
            }
        }
        checkWorks(client);
        checkWorks(other);
    }

    private List<ByteBuf> takeAllOfTheServer() {
        List<ByteBuf> all = new ArrayList<>();
        for (; ; ) {
            try {
                all.add(serverPool().registered(256));
            } catch (IllegalStateException e) {
                return all;
            }
        }
    }
}
