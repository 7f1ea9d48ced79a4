// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.metrics;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.awaitility.Awaitility.await;

import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tag;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.Timer;
import io.micrometer.core.instrument.distribution.CountAtBucket;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.SimpleChannelInboundHandler;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.rpcrdma.channel.RdmaChannel;
import org.rpcrdma.channel.RdmaCounter;
import org.rpcrdma.channel.RdmaEventLoopGroup;
import org.rpcrdma.channel.RdmaServerChannel;
import org.rpcrdma.codec.RpcRdmaCodec;
import org.rpcrdma.codec.RpcRdmaConfig;
import org.rpcrdma.codec.RpcRdmaMetrics;
import org.rpcrdma.codec.client.RpcRdmaClient;
import org.rpcrdma.codec.rpc.CallHeader;
import org.rpcrdma.codec.rpc.OpaqueAuth;
import org.rpcrdma.codec.rpc.ReplyHeader;

class RpcRdmaMeterBinderTest {

    private static final int NFS = 100003;
    private static final int UNKNOWN_PROGRAM = 0x20000001;

    private final MeterRegistry registry = new SimpleMeterRegistry();
    private final RpcRdmaMetrics serverMetrics = new RpcRdmaMetrics();
    private final RpcRdmaConfig serverConfig = RpcRdmaConfig.defaults();
    private RdmaEventLoopGroup group;
    private SocketAddress address;

    @BeforeEach
    void startServer() {
        group = new RdmaEventLoopGroup(2);
        ServerBootstrap bootstrap =
                new ServerBootstrap()
                        .group(group)
                        .channel(RdmaServerChannel.class)
                        .childHandler(
                                new ChannelInitializer<RdmaChannel>() {
                                    @Override
                                    protected void initChannel(RdmaChannel channel) {
                                        channel.pipeline()
                                                .addLast(
                                                        new RpcRdmaCodec(
                                                                serverConfig, serverMetrics))
                                                .addLast(new Answers());
                                    }
                                });
        Channel listener =
                serverConfig
                        .applyTo(bootstrap)
                        .bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0))
                        .syncUninterruptibly()
                        .channel();
        address = listener.localAddress();
    }

    @AfterEach
    void stop() {
        group.shutdownGracefully(0, 60, TimeUnit.SECONDS).syncUninterruptibly();
    }

    @Test
    void everyMeterSaysWhatItIs() {
        new RpcRdmaMeterBinder(new RpcRdmaMetrics(), Tags.of("side", "client")).bindTo(registry);
        new RdmaMeterBinder(group, Tags.of("side", "client")).bindTo(registry);
        Map<String, Set<String>> keys = new HashMap<>();
        for (Meter meter : registry.getMeters()) {
            Meter.Id id = meter.getId();
            assertThat(id.getName()).matches("(rpc)?rdma(\\.[a-z]+)+");
            // What the JVM has once is of no binder.
            assertThat(id.getTag("side"))
                    .as(id.getName())
                    .isEqualTo(id.getName().equals("rdma.memory.limit") ? null : "client");
            assertThat(id.getDescription())
                    .as(id.getName())
                    .matches("(Counts|Shows|Measures) .*\\.");
            if (id.getType() != Meter.Type.TIMER) {
                assertThat(id.getBaseUnit()).as(id.getName()).isIn(null, "bytes", "seconds");
            }
            Set<String> own = new TreeSet<>();
            id.getTags().forEach(tag -> own.add(tag.getKey()));
            assertThat(keys.computeIfAbsent(id.getName(), name -> own))
                    .as("Prometheus takes one set of tag keys for a name: " + id.getName())
                    .isEqualTo(own);
        }
        for (MeterTable.Row<?> row : RpcRdmaMeterTable.TABLE.rows()) {
            assertThat(registry.find(row.family().name()).meters().isEmpty())
                    .as(row.family().name())
                    .isEqualTo(row.family().name().equals(RpcRdmaMeterTable.CALL_DURATION));
        }
    }

    @Test
    void twoClientsOnOneRegistryAreAddedUp() throws Exception {
        for (int calls = 1; calls <= 2; calls++) {
            RpcRdmaMetrics metrics = new RpcRdmaMetrics();
            new RpcRdmaMeterBinder(metrics).bindTo(registry);
            call(metrics, NFS, calls);
        }
        assertThat(count("rpcrdma.calls", "role", "requester")).isEqualTo(3);
        assertThat(duration("requester", "NFSv3.NULL").count()).isEqualTo(3);
        assertThat(count("rpcrdma.connections.opened")).isEqualTo(2);
        assertThat(count("rpcrdma.connections.closed", "reason", "here")).isEqualTo(2);
        assertThat(registry.get("rpcrdma.connections").gauge().value()).isZero();
        assertThat(registry.get("rpcrdma.connect.duration").tag("outcome", "connected").timer())
                .extracting(Timer::count)
                .isEqualTo(2L);
    }

    @Test
    void eachOfTwoRegistriesSeesAllTimesOfOneConfiguration() throws Exception {
        RpcRdmaMetrics metrics = new RpcRdmaMetrics();
        MeterRegistry other = new SimpleMeterRegistry();
        RpcRdmaMeterBinder binder = new RpcRdmaMeterBinder(metrics);
        binder.bindTo(registry);
        binder.bindTo(other);
        call(metrics, UNKNOWN_PROGRAM, 2);
        for (MeterRegistry each : new MeterRegistry[] {registry, other}) {
            Timer duration =
                    each.get("rpcrdma.call.duration")
                            .tags("role", "requester", "procedure", "other", "outcome", "replied")
                            .timer();
            assertThat(duration.count()).isEqualTo(2);
        }
    }

    @Test
    void whatIsBoundTwiceIsCountedOnce() throws Exception {
        RpcRdmaMetrics metrics = new RpcRdmaMetrics();
        new RpcRdmaMeterBinder(metrics).bindTo(registry);
        new RpcRdmaMeterBinder(metrics).bindTo(registry);
        call(metrics, NFS, 1);
        assertThat(count("rpcrdma.calls", "role", "requester")).isEqualTo(1);
        assertThat(duration("requester", "NFSv3.NULL").count()).isEqualTo(1);
    }

    @Test
    void tagsTellConfigurationsApart() throws Exception {
        RpcRdmaMetrics metrics = new RpcRdmaMetrics();
        new RpcRdmaMeterBinder(metrics, Tags.of("pool", "a")).bindTo(registry);
        new RpcRdmaMeterBinder(new RpcRdmaMetrics(), Tags.of("pool", "b")).bindTo(registry);
        call(metrics, NFS, 1);
        assertThat(count("rpcrdma.calls", "role", "requester", "pool", "a")).isEqualTo(1);
        assertThat(count("rpcrdma.calls", "role", "requester", "pool", "b")).isZero();
    }

    @Test
    void whatAClosedBinderHasCountedStays() throws Exception {
        RpcRdmaMetrics metrics = new RpcRdmaMetrics();
        RpcRdmaMeterBinder binder = new RpcRdmaMeterBinder(metrics);
        binder.bindTo(registry);
        call(metrics, NFS, 1);
        binder.close();
        call(metrics, NFS, 1);
        assertThat(count("rpcrdma.calls", "role", "requester")).isEqualTo(1);
        assertThat(duration("requester", "NFSv3.NULL").count()).isEqualTo(1);
    }

    @Test
    void theRespondersSideIsSeen() throws Exception {
        new RpcRdmaMeterBinder(serverMetrics).bindTo(registry);
        RdmaEventLoopGroup own = new RdmaEventLoopGroup(1);
        RpcRdmaClient client = RpcRdmaClient.builder(own, address).build();
        try {
            client.call(message(NFS)).get().release();
            client.call(message(UNKNOWN_PROGRAM)).get().release();
            assertThat(count("rpcrdma.calls", "role", "responder")).isEqualTo(2);
            assertThat(count("rpcrdma.replies", "role", "responder")).isEqualTo(2);
            assertThat(count("rpcrdma.calls", "role", "requester")).isZero();
            assertThat(count("rpcrdma.messages", "role", "responder", "form", "short"))
                    .isEqualTo(4);
            assertThat(count("rpcrdma.inline", "role", "responder")).isEqualTo(2 * (40 + 24));
            assertThat(duration("responder", "NFSv3.NULL").count()).isEqualTo(1);
            assertThat(duration("responder", "other").count()).isEqualTo(1);
            assertThat(registry.get("rpcrdma.connections").gauge().value()).isEqualTo(1);
            assertThat(gauge("rpcrdma.credits", "responder")).isEqualTo(64);
            assertThat(gauge("rpcrdma.calls.active", "responder")).isZero();
        } finally {
            client.closeAsync().sync();
            own.shutdownGracefully(0, 60, TimeUnit.SECONDS).sync();
        }
        await().untilAsserted(
                        () ->
                                assertThat(count("rpcrdma.connections.closed", "reason", "peer"))
                                        .isEqualTo(1));
        assertThat(count("rpcrdma.calls", "role", "responder")).isEqualTo(2);
    }

    @Test
    void theLoopsAndTheirDeviceAreSeen() throws Exception {
        RdmaMeterBinder binder = new RdmaMeterBinder(group);
        binder.bindTo(registry);
        binder.bindTo(registry);
        call(new RpcRdmaMetrics(), NFS, 1);
        assertThat(count("rdma.loop.rounds.busy")).isPositive();
        assertThat(count("rdma.loop.work")).isPositive();
        assertThat(registry.get("rdma.memory.registered").gauge().value()).isPositive();
        assertThat(registry.get("rdma.memory.limit").gauge().value())
                .isEqualTo((double) RdmaChannel.registeredBytesLimit());
        assertThat(registry.get("rdma.channels").gauge().value()).isPositive();
        if (group.value(RdmaCounter.FPDUS_IN) >= 0) {
            assertThat(count("rdma.device.fpdus", "direction", "in")).isPositive();
            assertThat(count("rdma.device.connections.opened")).isEqualTo(2);
        }
        assertThat(count("rdma.memory.registrations")).isPositive();
        assertThat(registry.get("rdma.receives.posted").gauge().value()).isNotNegative();
        assertThat(registry.get("rdma.device.completions.failed").functionCounters())
                .extracting(counter -> counter.getId().getTag("status"))
                .contains("remote_access", "no_answer", "no_receive")
                .hasSize(8);
        double rounds = count("rdma.loop.rounds");
        binder.close();
        assertThat(count("rdma.loop.rounds")).isGreaterThanOrEqualTo(rounds);
        assertThat(registry.get("rdma.memory.registered").gauge().value()).isZero();
    }

    @Test
    void timesComeInTheBucketsThatAreAskedFor() throws Exception {
        RpcRdmaMetrics metrics = new RpcRdmaMetrics();
        new RpcRdmaMeterBinder(metrics, Tags.empty(), Duration.ofHours(1)).bindTo(registry);
        call(metrics, NFS, 1);
        CountAtBucket[] buckets =
                duration("requester", "NFSv3.NULL").takeSnapshot().histogramCounts();
        assertThat(buckets).hasSize(1);
        assertThat(buckets[0].count()).isEqualTo(1);
    }

    @Test
    void bindersOfOneRegistryHaveTheSameBuckets() throws Exception {
        RpcRdmaMetrics metrics = new RpcRdmaMetrics();
        Duration level = Duration.ofHours(1);
        new RpcRdmaMeterBinder(serverMetrics, Tags.of("pool", "a"), level).bindTo(registry);
        RpcRdmaMeterBinder plain = new RpcRdmaMeterBinder(metrics, Tags.of("pool", "b"));
        assertThatIllegalArgumentException()
                .isThrownBy(() -> plain.bindTo(registry))
                .withMessage(
                        "the timers of this registry have the service levels [PT1H], and this"
                                + " binder has []: give all binders of one registry the same");
        assertThat(registry.find("rpcrdma.calls").tag("pool", "b").meters()).isEmpty();
        plain.bindTo(new SimpleMeterRegistry());
        new RpcRdmaMeterBinder(metrics, Tags.of("pool", "b"), level, level).bindTo(registry);
        call(metrics, NFS, 1);
        assertThat(count("rpcrdma.calls", "role", "requester", "pool", "b")).isEqualTo(1);
    }

    /** Two groups of loops share the memory of the JVM: the limit is theirs together, not twice as much. */
    @Test
    void theLimitOfTheJvmIsNotAddedUp() throws Exception {
        RdmaEventLoopGroup other = new RdmaEventLoopGroup(1);
        try {
            new RdmaMeterBinder(group, Tags.of("group", "a")).bindTo(registry);
            new RdmaMeterBinder(other, Tags.of("group", "b")).bindTo(registry);
            assertThat(registry.get("rdma.memory.limit").gauges()).hasSize(1);
            assertThat(registry.get("rdma.memory.limit").gauge().value())
                    .isEqualTo((double) RdmaChannel.registeredBytesLimit());
        } finally {
            other.shutdownGracefully(0, 60, TimeUnit.SECONDS).sync();
        }
    }

    /** There are as many meters afterwards as before: what a peer sends makes none. */
    @Test
    void aPeerCannotMakeMeters() throws Exception {
        new RpcRdmaMeterBinder(serverMetrics).bindTo(registry);
        call(new RpcRdmaMetrics(), NFS, 1);
        call(new RpcRdmaMetrics(), UNKNOWN_PROGRAM, 1);
        int before = registry.getMeters().size();
        for (int i = 1; i < 50; i++) {
            call(new RpcRdmaMetrics(), UNKNOWN_PROGRAM + i, 1);
        }
        assertThat(registry.getMeters()).hasSize(before);
    }

    private void call(RpcRdmaMetrics metrics, int program, int calls) throws Exception {
        RpcRdmaClient client = RpcRdmaClient.builder(group, address).metrics(metrics).build();
        for (int i = 0; i < calls; i++) {
            client.call(message(program)).get().release();
        }
        client.closeAsync().sync();
    }

    private static ByteBuf message(int program) {
        ByteBuf call = Unpooled.buffer();
        CallHeader.of(program, 3, 0, OpaqueAuth.NONE).writeTo(call);
        return call;
    }

    private double count(String name, String... tags) {
        return registry.get(name).tags(tags).functionCounter().count();
    }

    private double gauge(String name, String role) {
        return registry.get(name).tag("role", role).gauge().value();
    }

    private Timer duration(String role, String procedure) {
        return registry.get("rpcrdma.call.duration")
                .tags(Tags.of(Tag.of("role", role), Tag.of("procedure", procedure)))
                .timer();
    }

    /** Answers every call with success and nothing else. */
    private static final class Answers extends SimpleChannelInboundHandler<ByteBuf> {
        @Override
        protected void channelRead0(ChannelHandlerContext ctx, ByteBuf call) throws Exception {
            ByteBuf reply = ctx.alloc().buffer();
            ReplyHeader.of(CallHeader.read(call).xid(), ReplyHeader.Status.SUCCESS).writeTo(reply);
            ctx.writeAndFlush(reply);
        }
    }
}
