// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.rpcrdma.channel.ConnectedPair.PATIENCE_SECONDS;
import static org.rpcrdma.channel.ConnectedPair.on;

import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelOption;
import java.net.InetAddress;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.rpcrdma.verbs.DeviceCapabilities;
import org.rpcrdma.verbs.QueuePair;
import org.rpcrdma.verbs.VerbsProvider;
import org.rpcrdma.verbs.iwarp.IwarpProvider;

/** That the peer of an idle channel is looked for: by the device, or by Writes of no bytes. */
class KeepAliveChannelTest {

    private final ConnectedPair.Inbox clientInbox = new ConnectedPair.Inbox();
    private final ConnectedPair.Inbox serverInbox = new ConnectedPair.Inbox();
    private final Device device = new Device();
    private final RdmaEventLoopGroup group =
            new RdmaEventLoopGroup(1, device.provider(), PollMode.ADAPTIVE);

    /** A device that may be one without a keep-alive of its own, and tells what it is asked for. */
    private static final class Device {
        final List<Object> idleSeconds = new CopyOnWriteArrayList<>();
        final AtomicInteger writes = new AtomicInteger();
        volatile boolean keepsAlive = true;

        VerbsProvider provider() {
            return InterceptedDevice.of(
                    new IwarpProvider(),
                    call -> {
                        Object result = call.proceed();
                        return switch (call.name()) {
                            case "capabilities" ->
                                    ((DeviceCapabilities) result)
                                            .toBuilder().keepAlive(keepsAlive).build();
                            case "createQueuePair" -> counted((QueuePair) result);
                            default -> result;
                        };
                    });
        }

        private QueuePair counted(QueuePair queuePair) {
            return InterceptedDevice.intercepted(
                    QueuePair.class,
                    queuePair,
                    call -> {
                        Object result = call.proceed();
                        if (call.name().equals("keepAlive")) {
                            idleSeconds.add(call.argument(0));
                        } else if (call.name().equals("write")) {
                            writes.incrementAndGet();
                        }
                        return result;
                    });
        }
    }

    @AfterEach
    void end() {
        group.shutdownGracefully(0, PATIENCE_SECONDS, TimeUnit.SECONDS).syncUninterruptibly();
        clientInbox.releaseAll();
        serverInbox.releaseAll();
    }

    private RdmaChannel connect(boolean keepAlive, int seconds) throws Exception {
        Channel listener =
                new ServerBootstrap()
                        .group(group)
                        .channel(RdmaServerChannel.class)
                        .childHandler(ConnectedPair.initializer(serverInbox))
                        .bind(InetAddress.getLoopbackAddress(), 0)
                        .sync()
                        .channel();
        Channel client =
                new Bootstrap()
                        .group(group)
                        .channel(RdmaChannel.class)
                        .option(ChannelOption.SO_KEEPALIVE, keepAlive)
                        .option(RdmaChannelOption.KEEP_ALIVE_SECONDS, seconds)
                        .handler(ConnectedPair.initializer(clientInbox))
                        .connect(listener.localAddress())
                        .sync()
                        .channel();
        serverInbox.channels.take();
        return (RdmaChannel) client;
    }

    @Test
    void itIsOnByDefaultAndTheDevicesMatter() throws Exception {
        connect(true, 33);
        assertThat(device.idleSeconds).containsExactlyInAnyOrder(33, 60);
    }

    @Test
    void itCanBeSwitchedOff() throws Exception {
        connect(false, 33);
        assertThat(device.idleSeconds).containsExactly(60);
    }

    @Test
    void otherDevicesLookByWritesOfNoBytes() throws Exception {
        device.keepsAlive = false;
        RdmaChannel client = connect(true, 33);
        assertThat(device.idleSeconds).isEmpty();
        for (int i = 1; i <= 3; i++) {
            on(client, () -> look(client));
            assertThat(device.writes).hasValue(i);
            client.writeAndFlush(Unpooled.copyInt(i)).sync();
            assertThat(serverInbox.takeBytes()).containsExactly(0, 0, 0, i);
        }
        assertThat(clientInbox.errors).isEmpty();
        assertThat(serverInbox.errors).isEmpty();
    }

    private static Object look(RdmaChannel channel) {
        ((MessageChannelDataPath) channel.dataPath()).lookForPeer();
        return null;
    }

    /** What the user has not flushed stays where it is. */
    @Test
    void whatIsWrittenIsNotFlushedByIt() throws Exception {
        device.keepsAlive = false;
        RdmaChannel client = connect(true, 33);
        on(
                client,
                () -> {
                    client.write(Unpooled.copyInt(7));
                    look(client);
                    assertThat(device.writes).hasValue(0);
                    assertThat(client.unsafe().outboundBuffer().isEmpty()).isTrue();
                    return client.flush();
                });
        assertThat(serverInbox.takeBytes()).containsExactly(0, 0, 0, 7);
    }

    @Test
    void theTimeIsWhatTcpTakes() {
        for (int seconds : new int[] {0, 32768}) {
            assertThatThrownBy(() -> new RdmaChannel().config().setKeepAliveSeconds(seconds))
                    .hasMessageContaining("KEEP_ALIVE_SECONDS");
        }
    }
}
