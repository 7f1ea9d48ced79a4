// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.conformance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;
import static org.rpcrdma.verbs.QueuePair.SIGNALED;
import static org.rpcrdma.verbs.conformance.Ends.NO_DATA;

import com.ibm.disni.verbs.RdmaCmEvent.EventType;
import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelOption;
import io.netty.channel.ConnectTimeoutException;
import java.io.IOException;
import java.net.BindException;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.NoRouteToHostException;
import java.net.SocketException;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.rpcrdma.channel.PollMode;
import org.rpcrdma.channel.RdmaChannel;
import org.rpcrdma.channel.RdmaEventLoopGroup;
import org.rpcrdma.channel.RdmaServerChannel;
import org.rpcrdma.verbs.RejectedException;
import org.rpcrdma.verbs.WorkStatus;
import org.rpcrdma.verbs.disni.software.SoftwareDisniProvider;
import org.rpcrdma.verbs.disni.software.SoftwareRdmaProvider;

/** Every event of the connection manager that DiSNI can deliver ends what waits for it. */
class ConnectionEventsTest {

    private final SoftwareDisniProvider provider = new SoftwareDisniProvider();
    private final SoftwareRdmaProvider device = SoftwareRdmaProvider.install();

    @AfterEach
    void noMoreFaults() {
        device.filterEvents(UnaryOperator.identity());
        assertThat(device.problems()).isEmpty();
    }

    private void instead(EventType event, EventType fault) {
        device.filterEvents(happened -> happened == event ? fault : happened);
    }

    static Stream<Arguments> failures() {
        return Stream.of(
                failure("ADDR_RESOLVED", "ADDR_ERROR", NoRouteToHostException.class),
                failure("ROUTE_RESOLVED", "ROUTE_ERROR", NoRouteToHostException.class),
                failure("ESTABLISHED", "UNREACHABLE", ConnectException.class),
                failure("ESTABLISHED", "CONNECT_ERROR", ConnectException.class),
                failure("ESTABLISHED", "REJECTED", RejectedException.class),
                failure("ESTABLISHED", "DISCONNECTED", ConnectException.class),
                failure("ADDR_RESOLVED", "DEVICE_REMOVAL", IOException.class),
                failure("ESTABLISHED", "DEVICE_REMOVAL", IOException.class));
    }

    private static Arguments failure(String event, String fault, Class<?> cause) {
        return Arguments.of(
                EventType.valueOf("RDMA_CM_EVENT_" + event),
                EventType.valueOf("RDMA_CM_EVENT_" + fault),
                cause);
    }

    @ParameterizedTest
    @MethodSource("failures")
    void aConnectThatCannotBecomeOneFails(EventType event, EventType fault, Class<?> cause)
            throws IOException {
        try (Ends ends = new Ends(provider)) {
            ends.listen();
            instead(event, fault);
            End end = ends.newActive();
            end.queuePair.connect(ends.listener.localAddress(), null, NO_DATA);
            if (event == EventType.RDMA_CM_EVENT_ESTABLISHED) {
                End passive = ends.accept();
                ends.until(() -> passive.hasFailed);
                assertThat(passive.failure).isInstanceOf(cause);
                passive.queuePair.close();
            }
            ends.until(() -> end.hasFailed);
            assertThat(end.failure).isInstanceOf(cause);
            assertThat(end.failure.getMessage())
                    .contains(String.valueOf(ends.listener.localAddress()));
            assertThat(end.heard).containsExactly("connectFailed");
            end.queuePair.close();
        }
    }

    @Test
    void aConnectionThatEndsFlushesWhatIsPosted() throws IOException {
        try (Ends ends = Ends.connected(provider)) {
            ends.active.receive(1, 0, 10);
            ends.activeContext.poll(1);
            ends.passive.queuePair.close();
            ends.until(() -> ends.active.hasEnded);
            assertThat(ends.active.heard)
                    .containsExactly(
                            "connected",
                            new End.Completion(1, WorkStatus.FLUSHED, 0, 0),
                            "disconnected");
            assertThat(ends.active.endedBy).isNull();
        }
    }

    @Test
    void aDeviceThatIsRemovedEndsTheConnection() throws IOException {
        try (Ends ends = Ends.connected(provider)) {
            instead(EventType.RDMA_CM_EVENT_DISCONNECTED, EventType.RDMA_CM_EVENT_DEVICE_REMOVAL);
            ends.passive.queuePair.close();
            ends.until(() -> ends.active.hasEnded);
            assertThat(ends.active.heard).containsExactly("connected", "disconnected");
            assertThat(ends.active.endedBy).hasMessageContaining("gone");
        }
    }

    /** As a device that is gone: the end must not depend on it. */
    @Test
    void whatTheDeviceNeverCompletesIsFlushedAllTheSame() throws IOException {
        try (Ends ends = Ends.connected(provider)) {
            ends.active.receive(1, 0, 10);
            ends.activeContext.poll(1);
            device.loseCompletions(true);
            ends.active.queuePair.disconnect();
            while (!ends.active.hasEnded) {
                ends.activeContext.await(-1);
                ends.activeContext.poll(8);
            }
            assertThat(ends.active.heard)
                    .containsExactly(
                            "connected",
                            new End.Completion(1, WorkStatus.FLUSHED, 0, 0),
                            "disconnected");
        } finally {
            device.loseCompletions(false);
        }
    }

    /** The queue may not be destroyed under those who use it, and they must not wait for ever. */
    @Test
    void whatIsNotNotifiedIsFoundAllTheSame() throws IOException {
        try (Ends ends = Ends.connected(provider)) {
            device.failNotifications(true);
            for (int number = 1; number <= 3; number++) {
                ends.active.queuePair.write(number, SIGNALED, 0, 0);
                ends.active.queuePair.doorbell();
                while (!ends.active.isComplete(number)) {
                    ends.activeContext.await(-1);
                    ends.activeContext.poll(8);
                }
            }
        } finally {
            device.failNotifications(false);
        }
    }

    /** On a real device the first message can overtake the event that the connection exists. */
    @Test
    void aMessageBeforeTheEventMakesTheConnection() throws IOException {
        try (Ends ends = new Ends(provider)) {
            ends.listen();
            End active = ends.newActive();
            active.queuePair.connect(ends.listener.localAddress(), null, NO_DATA);
            End passive = ends.newPassive();
            passive.receive(1, 0, 10);
            int[] established = new int[1];
            // The passive side's is the first.
            device.filterEvents(
                    event ->
                            event == EventType.RDMA_CM_EVENT_ESTABLISHED && established[0]++ == 0
                                    ? null
                                    : event);
            passive.queuePair.accept(NO_DATA);
            ends.until(() -> active.isConnected);
            active.queuePair.send(2, SIGNALED);
            active.queuePair.doorbell();
            ends.until(() -> passive.isComplete(1));
            assertThat(passive.heard)
                    .containsExactly("connected", new End.Completion(1, WorkStatus.SUCCESS, 0, 0));
        }
    }

    /** So can a message that is too long, and then nothing else tells of the queue pair that it has broken. */
    @Test
    void anErrorBeforeTheEventEndsTheConnection() throws IOException {
        try (Ends ends = new Ends(provider)) {
            ends.listen();
            End active = ends.newActive();
            active.queuePair.connect(ends.listener.localAddress(), null, NO_DATA);
            End passive = ends.newPassive();
            passive.receive(1, 0, 10);
            int[] established = new int[1];
            device.filterEvents(
                    event ->
                            event == EventType.RDMA_CM_EVENT_DISCONNECTED
                                            || (event == EventType.RDMA_CM_EVENT_ESTABLISHED
                                                    && established[0]++ == 0)
                                    ? null
                                    : event);
            passive.queuePair.accept(NO_DATA);
            ends.until(() -> active.isConnected);
            active.queuePair.send(2, SIGNALED);
            active.gather(0, 11);
            active.queuePair.doorbell();
            ends.until(() -> passive.hasEnded);
            assertThat(passive.heard)
                    .containsExactly(
                            "connected",
                            new End.Completion(1, WorkStatus.LOCAL_LENGTH_ERROR, 0, 0),
                            "disconnected");
            assertThat(passive.endedBy).hasMessageContaining("LOC_LEN_ERR");
        }
    }

    /** Soft devices complete nothing that is posted so late: the end would wait for it in vain. */
    @Test
    void aBrokenQueuePairGetsNoReceivesAnyMore() throws IOException {
        try (Ends ends = Ends.connected(provider)) {
            ends.active.receive(1, 0, 10);
            ends.activeContext.poll(1);
            ends.active.queuePair.disconnect();
            ends.active.receive(2, 10, 10);
            ends.until(() -> ends.active.hasEnded);
            assertThat(ends.active.heard)
                    .containsExactly(
                            "connected",
                            new End.Completion(1, WorkStatus.FLUSHED, 0, 0),
                            new End.Completion(2, WorkStatus.FLUSHED, 0, 0),
                            "disconnected");
        }
    }

    @Test
    void aConnectThatIsGivenUpLeavesNothing() throws IOException {
        try (Ends ends = new Ends(provider)) {
            ends.listen();
            device.filterEvents(
                    event -> event == EventType.RDMA_CM_EVENT_ESTABLISHED ? null : event);
            End end = ends.newActive();
            end.queuePair.connect(ends.listener.localAddress(), null, NO_DATA);
            ends.until(() -> !ends.requests.isEmpty());
            end.queuePair.disconnect();
            ends.until(() -> end.hasFailed);
            end.queuePair.close();
            assertThat(end.failure).hasMessageContaining("given up");
        }
    }

    /** Taking the peer's rejection, librdmacm changes the state of the queue pair. */
    @Test
    void anAcceptThatIsGivenUpLeavesNothing() throws IOException {
        try (Ends ends = new Ends(provider)) {
            ends.listen();
            device.filterEvents(
                    event -> event == EventType.RDMA_CM_EVENT_ESTABLISHED ? null : event);
            End end = ends.newActive();
            end.queuePair.connect(ends.listener.localAddress(), null, NO_DATA);
            End passive = ends.accept();
            passive.queuePair.close();
            end.queuePair.close();
        }
    }

    /** The peer has gone before its request is answered. */
    @Test
    void aRequestOfAPeerThatIsGoneIsNotAccepted() throws IOException {
        try (Ends ends = new Ends(provider)) {
            ends.listen();
            End end = ends.newActive();
            end.queuePair.connect(ends.listener.localAddress(), null, NO_DATA);
            ends.until(() -> !ends.requests.isEmpty());
            end.queuePair.close();
            try {
                End passive = ends.accept();
                ends.until(() -> passive.hasFailed || passive.hasEnded);
            } catch (IOException e) {
                assertThat(e).hasMessageContaining("closed");
            }
        }
    }

    @Test
    void noAnswerEndsWithTheTimeoutOfTheChannel() {
        device.filterEvents(
                event -> event == EventType.RDMA_CM_EVENT_ROUTE_RESOLVED ? null : event);
        RdmaEventLoopGroup group = new RdmaEventLoopGroup(1, provider, PollMode.ADAPTIVE);
        try {
            ChannelFuture connect =
                    new Bootstrap()
                            .group(group)
                            .channel(RdmaChannel.class)
                            .option(ChannelOption.CONNECT_TIMEOUT_MILLIS, 50)
                            .handler(new ChannelInboundHandlerAdapter())
                            .connect(InetAddress.getLoopbackAddress(), 20049)
                            .awaitUninterruptibly();
            assertThat(connect.cause()).isInstanceOf(ConnectTimeoutException.class);
            connect.channel().closeFuture().awaitUninterruptibly();
        } finally {
            group.shutdownGracefully(0, 30, TimeUnit.SECONDS).syncUninterruptibly();
        }
    }

    @Test
    void aListenerWhoseDeviceIsRemovedCloses() throws InterruptedException {
        instead(EventType.RDMA_CM_EVENT_CONNECT_REQUEST, EventType.RDMA_CM_EVENT_DEVICE_REMOVAL);
        RdmaEventLoopGroup group = new RdmaEventLoopGroup(1, provider, PollMode.ADAPTIVE);
        try {
            CompletableFuture<Throwable> cause = new CompletableFuture<>();
            Channel listener =
                    new ServerBootstrap()
                            .group(group)
                            .channel(RdmaServerChannel.class)
                            .handler(
                                    new ChannelInboundHandlerAdapter() {
                                        @Override
                                        public void exceptionCaught(
                                                ChannelHandlerContext context, Throwable caught) {
                                            cause.complete(caught);
                                        }
                                    })
                            .childHandler(new ChannelInboundHandlerAdapter())
                            .bind(InetAddress.getLoopbackAddress(), 0)
                            .sync()
                            .channel();
            Channel client =
                    new Bootstrap()
                            .group(group)
                            .channel(RdmaChannel.class)
                            .handler(new ChannelInboundHandlerAdapter())
                            .connect(listener.localAddress())
                            .channel();
            assertThat(listener.closeFuture().await(60, TimeUnit.SECONDS)).isTrue();
            assertThat(cause.join()).hasMessageContaining("gone");
            client.close().sync();
        } finally {
            group.shutdownGracefully(0, 30, TimeUnit.SECONDS).syncUninterruptibly();
        }
    }

    /** As after a device that was unplugged: nothing can be done about it, and the rest has to go all the same. */
    @Test
    void aLoopEndsAlthoughTheDeviceEndsNoRegistration() {
        await().until(device::living, living -> !living.containsKey("SoftwareId"));
        Map<String, Integer> before = device.living();
        RdmaEventLoopGroup group = new RdmaEventLoopGroup(1, provider, PollMode.ADAPTIVE);
        RdmaChannel channel = new RdmaChannel();
        group.register(channel).syncUninterruptibly();
        channel.eventLoop()
                .submit(() -> channel.registeredBuffer(1).release())
                .syncUninterruptibly();
        device.failDeregistrations(true);
        try {
            group.shutdownGracefully(0, 30, TimeUnit.SECONDS).syncUninterruptibly();
            await().until(device::living, before::equals);
        } finally {
            device.failDeregistrations(false);
        }
    }

    @Test
    void aPortInUseIsSaidInOneSentence() throws IOException {
        try (Ends ends = new Ends(provider)) {
            ends.listen();
            InetSocketAddress taken = ends.listener.localAddress();
            assertThatThrownBy(() -> ends.activeContext.listen(taken, 1, new Deaf()))
                    .isInstanceOf(BindException.class)
                    .hasMessageContaining("Cannot listen at " + taken)
                    .hasMessageContaining("the port has to be free");
        }
    }

    @Test
    void aWrongAddressIsSaidInOneSentence() throws IOException {
        InetSocketAddress foreign = new InetSocketAddress("192.0.2.1", 1);
        try (Ends ends = new Ends(provider)) {
            assertThatThrownBy(() -> ends.passiveContext.listen(foreign, 1, new Deaf()))
                    .isInstanceOf(BindException.class)
                    .hasMessageContaining("Cannot listen at " + foreign + ": No such device; ");
            End end = ends.newActive();
            end.queuePair.connect(foreign, foreign, NO_DATA);
            ends.until(() -> end.hasFailed);
            assertThat(end.failure)
                    .isInstanceOf(BindException.class)
                    .hasMessageContaining("Cannot connect from " + foreign + ": No such device; ");
        }
    }

    @Test
    void anAddressOfIpv6IsRefusedInOneSentence() throws IOException {
        InetSocketAddress ipv6 = new InetSocketAddress(InetAddress.getByName("2001:db8::1"), 1);
        try (Ends ends = new Ends(provider)) {
            assertThatThrownBy(() -> ends.passiveContext.listen(ipv6, 1, new Deaf()))
                    .isInstanceOf(SocketException.class)
                    .hasMessageContaining("IPv4 only");
            End end = ends.newActive();
            end.queuePair.connect(ipv6, null, NO_DATA);
            ends.until(() -> end.hasFailed);
            assertThat(end.failure).hasMessageContaining("IPv4 only");
        }
    }
}
