// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import static org.assertj.core.api.Assertions.assertThat;
import static org.rpcrdma.codec.RpcPair.on;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.util.concurrent.Future;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.rpcrdma.NeedsDevice;
import org.rpcrdma.Proves;
import org.rpcrdma.channel.RdmaChannel;
import org.rpcrdma.channel.RdmaChannelOption;
import org.rpcrdma.channel.RemoteAccess;
import org.rpcrdma.codec.client.RpcRdmaClient;
import org.rpcrdma.codec.wire.OncRpcHeaderDecoder;
import org.rpcrdma.codec.wire.RdmaErrorMessage;
import org.rpcrdma.codec.wire.TransportHeader;
import org.rpcrdma.specification.Exploration;
import org.rpcrdma.specification.Specification;
import org.rpcrdma.specification.VersionSpecification;
import org.rpcrdma.specification.VersionSpecification.Action;
import org.rpcrdma.specification.VersionSpecification.Message;
import org.rpcrdma.specification.VersionSpecification.Responder;
import org.rpcrdma.specification.VersionSpecification.State;

/**
 * Each transition of {@link VersionSpecification}, with either end worked by hand and the other one being the codec.
 * Calls and replies have 3000 bytes: inline where a Send may be that long, in a chunk where it may not.
 */
// Both ends take different private data for what they are.
@NeedsDevice("privateDataOnAccept")
class VersionSpecificationReplayTest {

    private static final int SHORT = 1024;
    private static final int LONG = 4096;
    private static final int BYTES = 3000;
    private static final int CREDITS = 8;

    /** Awaitility takes a thread, for which there is no need in most steps. */
    private static void await(String how, BooleanSupplier condition) {
        if (!condition.getAsBoolean()) {
            Awaitility.await(how)
                    .atMost(RpcPair.PATIENCE_SECONDS, TimeUnit.SECONDS)
                    .until(condition::getAsBoolean);
        }
    }

    private static TransportHeader header(int xid, int version, int proc, int direction) {
        return new TransportHeader().set(xid, version, CREDITS, proc, direction);
    }

    // ------------------------------------------------------------------ requester

    @Test
    @Proves({
        "V2-NEG-01",
        "V2-NEG-02",
        "V2-NEG-05",
        "V2-NEG-06",
        "V2-NEG-07",
        "V2-NEG-08",
        "V2-NEG-09",
        "V2-NEG-11",
        "V1-ERR-16",
        "PD-04",
        "PD-05"
    })
    void aRequesterFindsTheVersion() throws Exception {
        Specification<State, Action> specification =
                new VersionSpecification(List.of(Responder.values())).prompt();
        try (RequesterReplay replay = new RequesterReplay()) {
            State state = specification.initial();
            for (Action action : new Exploration<>(specification).tour()) {
                State after = specification.after(state, action);
                replay.take(action, state, after);
                replay.compare(after, action + " in " + state);
                state = after;
            }
        }
    }

    private static final class RequesterReplay implements ScriptedResponder.Script, AutoCloseable {

        private final RpcRdmaConfig config =
                RpcPair.usual()
                        .requestedCredits(CREDITS)
                        .versionTwo(
                                VersionTwoConfig.builder().probeTimeoutMillis(1_000_000).build())
                        .build();

        /** Any receive is as long as the longest that is tried. */
        private final ScriptedResponder responder = new ScriptedResponder(config, this);

        private final BlockingQueue<Future<ByteBuf>> ended = new LinkedBlockingQueue<>();
        private final Deque<ByteBuf> answers = new ArrayDeque<>();
        private final Deque<ScriptedResponder.Call> answered = new ArrayDeque<>();
        private RpcRdmaClient client;
        private volatile Responder met;

        RequesterReplay() throws Exception {}

        @Override
        public boolean isRaw(int connection) {
            return true;
        }

        @Override
        public void received(RdmaChannel channel, int connection, ByteBuf call) {}

        @Override
        public void initialized(RdmaChannel channel, int connection) {
            boolean announces = met.receivesLong || met.sendsLong;
            int send = met.sendsLong ? LONG : SHORT;
            int receive = met.receivesLong ? LONG : SHORT;
            channel.config()
                    .setOption(
                            RdmaChannelOption.PRIVATE_DATA,
                            announces
                                    ? new PrivateData(send, receive, false).encode()
                                    : new byte[0]);
        }

        void take(Action action, State state, State after) throws Exception {
            switch (action.kind()) {
                case MEET -> {
                    met = action.responder();
                    client =
                            RpcRdmaClient.builder(responder.group, responder.address())
                                    .config(config)
                                    .backOff(Duration.ofMillis(1), Duration.ofMillis(1))
                                    .firstCallTimeout(Duration.ofDays(1))
                                    .maxRetransmissions(Integer.MAX_VALUE)
                                    .build();
                }
                case CALL -> {
                    Future<ByteBuf> call = client.call(Rpc.echo(0, BYTES));
                    call.addListener(end -> ended.add(call));
                }
                case ANSWER -> {
                    ScriptedResponder.Call call = responder.take();
                    compare(call, state.sent().get(0));
                    answered.add(call);
                    answers.add(answer(call, after.answers().get(after.answers().size() - 1)));
                }
                case DELIVER -> {
                    RpcRdmaConnection connection = client.openConnections().get(0);
                    answered.remove().reply(answers.remove());
                    deliver(state, after);
                    if (met.lowest > 1) {
                        await("it ends", () -> !client.openConnections().contains(connection));
                    }
                }
                case RECONNECT -> loseConnection();
                case FORGET -> client.closeAsync().sync();
                case ASSUME, PROBE, SEND -> throw new AssertionError("the codec's to do");
            }
        }

        private static void compare(ScriptedResponder.Call call, Message expected) {
            ByteBuf bytes = Unpooled.wrappedBuffer(call.bytes());
            assertThat(bytes.getInt(4)).isEqualTo(expected.version());
            assertThat(bytes.readableBytes() > SHORT).isEqualTo(expected.isLong());
            if (expected.isProbe()) {
                assertThat(bytes.readableBytes()).isEqualTo(72);
            } else {
                assertThat(bytes.getInt(12))
                        .isEqualTo(
                                expected.isLong()
                                        ? TransportHeader.RDMA_MSG
                                        : TransportHeader.RDMA_NOMSG);
            }
        }

        private ByteBuf answer(ScriptedResponder.Call call, Message answer) {
            if (answer.isError()) {
                return Unpooled.buffer()
                        .writeInt(call.xid())
                        .writeInt(answer.version())
                        .writeInt(CREDITS)
                        .writeInt(TransportHeader.RDMA_ERROR)
                        .writeInt(RdmaErrorMessage.ERR_VERS)
                        .writeInt(met.lowest)
                        .writeInt(met.highest);
            }
            TransportHeader asked = new TransportHeader();
            ByteBuf bytes = Unpooled.wrappedBuffer(call.bytes());
            asked.decodeFixed(bytes, 0);
            int lists = TransportHeader.listsOffset(asked.version());
            asked.decodeLists(bytes, lists, bytes.readableBytes(), bytes.readableBytes());
            TransportHeader header =
                    header(
                            call.xid(),
                            answer.version(),
                            TransportHeader.RDMA_MSG,
                            OncRpcHeaderDecoder.REPLY);
            header.reply().copy(asked.reply());
            for (int i = 0; i < header.reply().segments(); i++) {
                header.reply().length(i, 0);
            }
            ByteBuf reply = Rpc.reply(call.xid());
            return RawPeer.message(header, answer.isLong() ? reply.writeZero(BYTES) : reply);
        }

        private void deliver(State state, State after) throws Exception {
            Message answer = state.answers().get(0);
            int calls = state.waiting() + state.unanswered() - (answer.isProbe() ? 1 : 0);
            for (int i = after.waiting() + after.unanswered(); i < calls; i++) {
                Future<ByteBuf> call = ended.poll(RpcPair.PATIENCE_SECONDS, TimeUnit.SECONDS);
                assertThat(call).isNotNull();
                if (answer.isError()) {
                    assertThat(call.cause()).isInstanceOf(ErrVersReplyException.class);
                } else {
                    assertThat(call.cause()).isNull();
                    assertThat(call.getNow().readableBytes())
                            .isEqualTo(24 + (answer.isLong() ? BYTES : 0));
                    call.getNow().release();
                }
            }
        }

        private void loseConnection() throws Exception {
            answers.forEach(ByteBuf::release);
            answers.clear();
            answered.clear();
            if (!client.openConnections().isEmpty()) {
                RpcRdmaConnection lost = client.openConnections().get(0);
                int last = responder.accepted.size() - 1;
                responder.accepted.get(last).close().sync();
                responder.calls.removeIf(call -> call.connection() == last);
                await("the connection ends", () -> !client.openConnections().contains(lost));
            }
        }

        void compare(State state, String how) throws Exception {
            if (state.responder() == null) {
                return;
            }
            await(how, () -> responder.calls.size() >= state.sent().size());
            on(responder.group, () -> {});
            boolean isProbing = state.version() == 0 && state.unanswered() > 0;
            assertThat(responder.calls).as(how).hasSize(state.sent().size());
            assertThat(client.outstandingCalls())
                    .as(how)
                    .isEqualTo(state.waiting() + state.unanswered() - (isProbing ? 1 : 0));
            assertThat(ended).as(how).isEmpty();
            for (RpcRdmaConnection connection : client.openConnections()) {
                assertThat(connection.version()).as(how).isEqualTo(state.version());
                assertThat(connection.callsInFlight()).as(how).isEqualTo(state.unanswered());
                assertThat(connection.creditsGranted())
                        .as(how)
                        .isEqualTo(state.hasCredits() ? CREDITS : 1);
                assertThat(connection.link().isVersionRemembered())
                        .as(how)
                        .isEqualTo(state.isRemembered());
            }
        }

        @Override
        public void close() throws Exception {
            client.closeAsync().sync();
            responder.close();
            answers.forEach(ByteBuf::release);
        }
    }

    // ------------------------------------------------------------------ responder

    @Test
    @Proves({
        "V1-ERR-05",
        "V1-ERR-06",
        "V1-ERR-08",
        "V2-NEG-03",
        "V2-NEG-04",
        "V2-NEG-05",
        "V2-NEG-09",
        "V2-NEG-10",
        "PD-04"
    })
    void aResponderAnswersInTheVersionOfTheCall() throws Exception {
        VersionSpecification specification =
                new VersionSpecification(
                        List.of(
                                Responder.ONE,
                                Responder.ONE_LONG,
                                Responder.ONE_SENDS_LONG,
                                Responder.BOTH));
        try (ResponderReplay replay = new ResponderReplay()) {
            State state = specification.initial();
            for (Action action : new Exploration<>(specification).tour()) {
                State after = specification.after(state, action);
                replay.take(action, state, after);
                replay.compare(after, action + " in " + state);
                state = after;
            }
        }
    }

    private static final class ResponderReplay implements AutoCloseable {

        private RpcPair pair;
        private RawPeer peer;
        private int xids = 1;

        private static RpcRdmaConfig config(Responder responder) {
            if (responder.highest == 2) {
                return RpcPair.usual().versionTwo(VersionTwoConfig.defaults()).build();
            }
            return RpcPair.usual()
                    .sendSize(responder.sendsLong ? LONG : SHORT)
                    .receiveSize(responder.receivesLong ? LONG : SHORT)
                    .build();
        }

        private static byte[] announcement(Responder responder) {
            RpcRdmaConfig config = RpcPair.usual().build();
            // One that speaks version 2 announces more than the default: this end does not.
            return responder.highest == 2 ? new byte[0] : RpcPair.foreign(config);
        }

        void take(Action action, State state, State after) throws Exception {
            switch (action.kind()) {
                case MEET -> {
                    byte[] announcement = announcement(action.responder());
                    pair =
                            RpcPair.rawClient(
                                    RpcPair.usual().build(),
                                    config(action.responder()),
                                    bootstrap ->
                                            bootstrap.option(
                                                    RdmaChannelOption.PRIVATE_DATA, announcement));
                    peer = RawPeer.client(pair);
                }
                case CALL, ASSUME -> {}
                case PROBE, SEND -> send(after.sent().get(after.sent().size() - 1));
                case ANSWER -> {
                    if (!after.answers().get(after.answers().size() - 1).isError()) {
                        int xid = pair.server.takeXid();
                        pair.reply(Rpc.reply(xid).writeZero(BYTES)).sync();
                    }
                }
                case DELIVER -> compare(state.answers().get(0), state.responder());
                case RECONNECT -> {
                    peer.close();
                    pair.reconnect();
                    peer = RawPeer.client(pair);
                }
                case FORGET -> close();
            }
        }

        /** Each call has a Reply chunk, for a reply that does not go inline. */
        private void send(Message call) throws Exception {
            int xid = xids++;
            TransportHeader header =
                    header(xid, call.version(), TransportHeader.RDMA_MSG, OncRpcHeaderDecoder.CALL);
            int handle = peer.expose(peer.memory(LONG), RemoteAccess.WRITE);
            header.reply().setPresent();
            header.reply().add(handle, LONG, peer.offset(handle));
            ByteBuf bytes = Rpc.call(xid, Rpc.UNKNOWN, 1, call.isProbe() ? 0 : 1);
            peer.channel
                    .writeAndFlush(
                            RawPeer.message(header, call.isLong() ? bytes.writeZero(BYTES) : bytes))
                    .sync();
        }

        private void compare(Message expected, Responder responder) throws Exception {
            ByteBuf answer = pair.client.takeBuffer();
            try {
                assertThat(answer.getInt(4)).isEqualTo(expected.version());
                assertThat(answer.readableBytes() > SHORT).isEqualTo(expected.isLong());
                if (expected.isError()) {
                    assertThat(answer.getInt(12)).isEqualTo(TransportHeader.RDMA_ERROR);
                    assertThat(answer.getInt(16)).isEqualTo(RdmaErrorMessage.ERR_VERS);
                    assertThat(answer.getInt(20)).isEqualTo(responder.lowest);
                    assertThat(answer.getInt(24)).isEqualTo(responder.highest);
                } else {
                    assertThat(answer.getInt(12))
                            .isEqualTo(
                                    expected.isLong()
                                            ? TransportHeader.RDMA_MSG
                                            : TransportHeader.RDMA_NOMSG);
                }
            } finally {
                answer.release();
            }
        }

        void compare(State state, String how) {
            if (state.responder() == null) {
                return;
            }
            long calls =
                    state.sent().stream()
                            .filter(call -> call.version() <= state.responder().highest)
                            .count();
            await(how, () -> pair.server.messages.size() >= calls);
            assertThat(pair.server.messages).as(how).hasSize((int) calls);
            assertThat(pair.clientChannel.isActive()).as(how).isTrue();
            assertThat(pair.serverChannel.isActive()).as(how).isTrue();
        }

        @Override
        public void close() {
            peer.close();
            pair.close();
        }
    }
}
