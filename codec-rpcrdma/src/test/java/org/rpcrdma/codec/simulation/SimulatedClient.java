// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.simulation;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.util.concurrent.Future;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.rpcrdma.codec.ConnectionRemains;
import org.rpcrdma.codec.RpcRdmaConfig;
import org.rpcrdma.codec.RpcRdmaConnection;
import org.rpcrdma.codec.RpcRdmaCounter;
import org.rpcrdma.codec.RpcRdmaGauge;
import org.rpcrdma.codec.RpcRdmaMetrics;
import org.rpcrdma.codec.client.ResponderLocator;
import org.rpcrdma.codec.client.RpcRdmaClient;
import org.rpcrdma.codec.client.SimulatedClocks;
import org.rpcrdma.codec.client.SimulatedConnects;
import org.rpcrdma.codec.fault.FaultQueuePair;
import org.rpcrdma.codec.rpc.CallOptions;
import org.rpcrdma.codec.wire.TransportHeader;
import org.rpcrdma.verbs.iwarp.SimulatedConnection;

/** A client of one server, which can be restarted. */
final class SimulatedClient {

    final SimulatedHost host;
    final SimulatedServer server;
    final int number;
    private final InetSocketAddress address;
    final OptionCaller options;
    final CodecCaller codec;
    RpcRdmaClient rpc;

    /** Of all starts. */
    private final RpcRdmaMetrics metrics = new RpcRdmaMetrics();

    /** The default, and how often it doubles at least. */
    private static final long LEAST_PAUSE_MILLIS = 100;

    private static final int MOST_DOUBLINGS = 6;

    private final SimulatedWorld world;
    private final RpcRdmaConfig config;
    private final boolean fences;
    private final boolean isKept;
    private final List<Future<Void>> connects = new ArrayList<>();
    private final List<RpcRdmaClient> closed = new ArrayList<>();

    /** What the wire says of the credits of each connection; without reverse calls. */
    private final Map<FaultQueuePair, WireCredits> wire = new HashMap<>();

    private int starts;
    private boolean mayUnderrun;

    SimulatedClient(SimulatedWorld world, int number, SimulatedServer server, Random random) {
        this(world, number, server, server.address, random);
    }

    /** A client of somebody who is no server of this world. */
    SimulatedClient(SimulatedWorld world, int number, InetSocketAddress address, Random random) {
        this(world, number, null, address, random);
    }

    private SimulatedClient(
            SimulatedWorld world,
            int number,
            SimulatedServer server,
            InetSocketAddress address,
            Random random) {
        this.world = world;
        this.number = number;
        this.server = server;
        this.address = address;
        host = new SimulatedHost(world, toString(), random);
        config =
                world.settings
                        .builder()
                        .requestedCredits(1 + random.nextInt(random.nextBoolean() ? 4 : 64))
                        .remoteInvalidation(random.nextInt(4) != 0)
                        .build();
        // A fence may cost the connection, and all other calls with it.
        fences = random.nextBoolean() && world.plan.hasLosses() && !world.plan.isShortOfMemory();
        isKept = random.nextBoolean();
        if (server != null) {
            host.context().atCreation(this::watch);
        }
        options = new OptionCaller(world, host, address, config);
        codec = new CodecCaller(world, host, address, random);
        start();
    }

    private void watch(FaultQueuePair made) {
        if (!world.settings.hasReverse()) {
            WireCredits credits = WireCredits.watch(made, what -> world.wrong(this + " " + what));
            wire.put(made, credits);
        }
        FaultQueuePair.ReceiveWatcher first = wire.get(made);
        made.watchReceives(
                (xid, granted, procedure, hasReads) -> {
                    if (procedure == TransportHeader.RDMA_ERROR) {
                        // The connection may be one of an earlier start, which ends later.
                        for (int i = 1; i <= starts; i++) {
                            world.refused(incarnation(i), xid);
                        }
                    }
                    if (first != null) {
                        first.received(xid, granted, procedure, hasReads);
                    }
                });
    }

    /** It and how often it was started: another start is another client to a server. */
    String incarnation() {
        return incarnation(starts);
    }

    private String incarnation(int start) {
        return this + " of start " + start;
    }

    private void start() {
        starts++;
        // A rogue may answer one call of each connection for ever: the others end by their time-out
        // alone.
        long millis = server == null ? SimulatedWorld.CALL_MILLIS : world.callMillis;
        RpcRdmaClient.Builder builder =
                SimulatedClocks.on(
                                world.network::nanoTime,
                                RpcRdmaClient.builder(host.group, attempts(new Attempts())))
                        .config(config)
                        .metrics(metrics)
                        .callTimeout(Duration.ofMillis(millis))
                        .fenceCancelled(fences);
        host.kind.setDepths(builder::option);
        if (!world.plan.hasLosses() && server != null) {
            // What is only late is not lost.
            builder.firstCallTimeout(Duration.ofMillis(millis));
        }
        if (world.settings.hasReverse()) {
            builder.keepConnected(isKept)
                    .reverseProgram(ReverseProgram::new)
                    .onConnection(
                            made ->
                                    made.call(
                                                    SimulatedCall.arguments(
                                                            SimulatedProgram.call(
                                                                    SimulatedProgram.UNBOUND,
                                                                    SimulatedProgram.READY),
                                                            number,
                                                            0,
                                                            0,
                                                            new byte[0]),
                                                    CallOptions.DEFAULT)
                                            .addListener(
                                                    done -> {
                                                        if (done.isSuccess()) {
                                                            ((ByteBuf) done.getNow()).release();
                                                        }
                                                    }));
        }
        rpc = builder.build();
    }

    private ResponderLocator attempts(Attempts attempts) {
        ResponderLocator fixed = ResponderLocator.of(List.of(address));
        return new ResponderLocator() {
            @Override
            public Future<? extends List<? extends SocketAddress>> locate() {
                attempts.begins();
                return fixed.locate();
            }

            @Override
            public String toString() {
                return fixed.toString();
            }
        };
    }

    /**
     * The attempts to connect of one start. Behind one that has failed there is a pause, which doubles with each;
     * nothing but a connection makes it shorter, or somebody who asks for one. Those of another start count as failures
     * too.
     */
    private final class Attempts {
        private long last;
        private long connectsFailed;
        private int failedInARow;

        void begins() {
            long now = world.network.nanoTime();
            long failed = metrics.value(RpcRdmaCounter.CONNECTS_FAILED);
            failedInARow = failed == connectsFailed ? 0 : failedInARow + 1;
            connectsFailed = failed;
            if (failedInARow > 0 && connects.isEmpty() && starts == 1) {
                long least = LEAST_PAUSE_MILLIS << Math.min(failedInARow - 1, MOST_DOUBLINGS);
                long pause = TimeUnit.NANOSECONDS.toMillis(now - last);
                if (pause < least) {
                    world.wrong(
                            SimulatedClient.this
                                    + " tries again "
                                    + pause
                                    + " ms after attempt "
                                    + failedInARow
                                    + " that has failed");
                }
            }
            last = now;
        }
    }

    /** Asks for a connection without a call. */
    void connect() {
        world.network.note(this + " is to connect");
        connects.add(SimulatedConnects.connect(rpc));
    }

    /** Whether each connection that it has asked for is there, or is refused. */
    boolean isConnectOver() {
        return connects.stream().allMatch(Future::isDone);
    }

    void restart() {
        world.network.note(this + " starts anew");
        closed.add(rpc);
        rpc.closeAsync();
        start();
    }

    /** Never more calls out than were granted, while grants only grow. */
    void check() {
        for (Future<Void> connect : connects) {
            if (!connect.isSuccess() && world.plan.isCalm()) {
                throw new AssertionError(this + " is not connected", connect.cause());
            }
        }
        if (rpc.outstandingCalls() != 0) {
            throw new AssertionError(this + " is left with " + rpc.outstandingCalls() + " calls");
        }
        for (RpcRdmaConnection connection : rpc.openConnections()) {
            if (connection.creditsGranted() < 1) {
                throw new AssertionError(this + " is left without credits: " + connection);
            }
        }
    }

    /** What its connections have of calls that are over; empty for nothing. */
    String remains() {
        StringBuilder left = new StringBuilder(codec.remains());
        rpc.openConnections().forEach(each -> left.append(ConnectionRemains.of(each)));
        if (world.settings.hasPlainCredits()) {
            rpc.openConnections().forEach(each -> left.append(otherGrant(each)));
        }
        return left.isEmpty() ? "" : this + ": " + left;
    }

    /** A requester that has nothing out takes its credits for those of the last answer. */
    private String otherGrant(RpcRdmaConnection connection) {
        SocketAddress local = ConnectionRemains.localAddress(connection);
        return wire.entrySet().stream()
                .filter(each -> local.equals(each.getKey().localAddress()))
                .map(each -> each.getValue().granted())
                .filter(granted -> granted != connection.creditsGranted())
                .map(granted -> connection.creditsGranted() + " credits, not " + granted + "; ")
                .findFirst()
                .orElse("");
    }

    /** A stream that lies may send more messages than it was granted. */
    void expectUnderruns() {
        mayUnderrun = true;
    }

    /** Loses its connections without a fault of the server; returns whether it had one. */
    boolean loseConnections() {
        Set<Integer> ports = new HashSet<>();
        for (RpcRdmaConnection each : rpc.openConnections()) {
            ports.add(((InetSocketAddress) ConnectionRemains.localAddress(each)).getPort());
        }
        world.network.connections().stream()
                .filter(each -> ports.contains(each.port()))
                .toList()
                .forEach(SimulatedConnection::reset);
        return !ports.isEmpty();
    }

    /** When all connections have ended. */
    void checkEnd() {
        if (!mayUnderrun && host.context().underruns() > 0) {
            throw new AssertionError(this + " had no receive for a reply");
        }
        for (RpcRdmaGauge gauge : RpcRdmaGauge.values()) {
            if (metrics.value(gauge) != 0) {
                throw new AssertionError(
                        this + " is left with " + metrics.value(gauge) + " of " + gauge);
            }
        }
    }

    void close() {
        options.close();
        codec.close();
        closed.add(rpc);
        rpc.closeAsync();
    }

    /** Whether whoever closes it has been told that it is closed. */
    boolean isClosed() {
        return closed.stream().allMatch(SimulatedConnects::isClosed);
    }

    @Override
    public String toString() {
        return "client " + number;
    }

    /** Answers reverse calls with their own bytes. */
    private static final class ReverseProgram extends SimpleChannelInboundHandler<ByteBuf> {
        @Override
        protected void channelRead0(ChannelHandlerContext ctx, ByteBuf call) {
            int body = call.readerIndex() + SimulatedProgram.CALL_BYTES;
            byte[] bytes = ByteBufUtil.getBytes(call, body, call.readableBytes() - 40);
            int xid = call.getInt(call.readerIndex());
            ctx.channel().writeAndFlush(SimulatedProgram.reply(xid).writeBytes(bytes));
        }
    }
}
