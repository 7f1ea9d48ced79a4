// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.netty.buffer.Unpooled;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingFile;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.rpcrdma.channel.RdmaEventLoopGroup;
import org.rpcrdma.codec.client.RpcRdmaClient;
import org.rpcrdma.codec.internal.RpcRdmaFlightEvents;

class FlightEventsTest {

    private static final RpcRdmaConfig CONFIG = RpcPair.usual().build();

    @TempDir private Path directory;

    private Recording recording;

    @BeforeEach
    void startRecording() {
        recording = new Recording();
    }

    @AfterEach
    void stopRecording() {
        recording.close();
    }

    @Test
    void callsOfBothRolesAreRecordedWhenThatIsTurnedOn() throws Exception {
        recording.enable("rpcrdma.Call");
        recording.start();
        try (RpcPair pair = RpcPair.of(CONFIG, CONFIG)) {
            pair.call(Rpc.echo(1, 8));
            pair.server.takeBytes();
            pair.reply(Rpc.reply(1));
            pair.client.takeBytes();
        }
        List<RecordedEvent> calls = events("rpcrdma.Call");
        assertThat(calls)
                .extracting(event -> event.getString("role"))
                .containsExactlyInAnyOrder("requester", "responder");
        assertThat(calls).allMatch(event -> event.getString("outcome").equals("replied"));
        assertThat(calls).allMatch(event -> event.getDuration("elapsed").toNanos() > 0);
    }

    @Test
    void callsAreNotTimedUnlessThatIsTurnedOn() throws Exception {
        recording.start();
        try (RpcPair pair = RpcPair.of(CONFIG, CONFIG)) {
            assertThat(RpcRdmaFlightEvents.areCallsOn()).isFalse();
            assertThat(RpcRdmaConnection.of(pair.clientChannel).link().metrics.startTime())
                    .isZero();
        }
        assertThat(events("rpcrdma.Call")).isEmpty();
    }

    @Test
    void whatIsDroppedIsRecorded() throws Exception {
        recording.start();
        try (RpcPair pair = RpcPair.rawClient(CONFIG, CONFIG)) {
            pair.clientChannel.writeAndFlush(Unpooled.copyInt(1)).sync();
            RpcRdmaConnection server = RpcRdmaConnection.of(pair.serverChannel);
            await().until(() -> server.value(RpcRdmaCounter.DROPPED_SHORT) == 1);
        }
        RecordedEvent drop = events("rpcrdma.Drop").get(0);
        assertThat(drop.getString("reason")).isEqualTo("dropped_short");
        assertThat(drop.getString("text")).isEqualTo("message of 4 bytes");
        assertThat(drop.getString("connection")).contains("0x");
    }

    @Test
    void theWaitForACreditIsRecordedWhenThatIsTurnedOn() throws Exception {
        recording.enable("rpcrdma.CreditWait");
        recording.start();
        RpcRdmaConfig oneCredit = RpcPair.usual().grantedCredits(1).build();
        try (RpcPair pair = RpcPair.of(CONFIG, oneCredit)) {
            pair.call(Rpc.echo(1, 8));
            pair.call(Rpc.echo(2, 8));
            pair.server.takeBytes();
            pair.reply(Rpc.reply(1));
            pair.client.takeBytes();
            pair.server.takeBytes();
        }
        assertThat(events("rpcrdma.CreditWait"))
                .hasSize(1)
                .allMatch(event -> event.getDuration("elapsed").toNanos() > 0);
    }

    @Test
    void aConnectionThatIsClosedForWhatItsPeerDoesIsRecorded() throws Exception {
        recording.start();
        try (RpcPair pair = RpcPair.of(CONFIG, CONFIG)) {
            ConnectionSharedState link = RpcRdmaConnection.of(pair.serverChannel).link();
            pair.serverChannel.eventLoop().submit(() -> link.closeNow("it lies", null)).sync();
        }
        RecordedEvent close = events("rpcrdma.Close").get(0);
        assertThat(close.getString("why")).isEqualTo("it lies");
        assertThat(close.getString("connection")).contains("0x");
    }

    @Test
    void aMessageThatFindsNoMemoryIsRecorded() throws Exception {
        recording.start();
        try (RpcPair pair = RpcPair.of(CONFIG, CONFIG)) {
            RpcRdmaFlightEvents.noMemory(pair.serverChannel, 1000, "all is taken");
        }
        RecordedEvent none = events("rpcrdma.NoMemory").get(0);
        assertThat(none.getLong("size")).isEqualTo(1000);
        assertThat(none.getString("why")).isEqualTo("all is taken");
        assertThat(none.getString("connection")).contains("0x");
    }

    @Test
    void attemptsToConnectAreRecorded() throws Exception {
        recording.start();
        int nobody;
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            nobody = socket.getLocalPort();
        }
        InetSocketAddress responder =
                new InetSocketAddress(InetAddress.getLoopbackAddress(), nobody);
        RdmaEventLoopGroup group = new RdmaEventLoopGroup(1);
        RpcRdmaClient client = RpcRdmaClient.builder(group, responder).build();
        assertThatThrownBy(() -> client.connect().sync()).isInstanceOf(Exception.class);
        client.closeAsync().sync();
        group.shutdownGracefully(0, RpcPair.PATIENCE_SECONDS, TimeUnit.SECONDS).sync();
        RecordedEvent connect = events("rpcrdma.Connect").get(0);
        assertThat(connect.getBoolean("connected")).isFalse();
        assertThat(connect.getString("responder")).contains(String.valueOf(nobody));
    }

    private List<RecordedEvent> events(String name) throws Exception {
        recording.stop();
        Path file = directory.resolve("recording.jfr");
        recording.dump(file);
        return RecordingFile.readAllEvents(file).stream()
                .filter(event -> event.getEventType().getName().equals(name))
                .toList();
    }
}
