// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import static org.assertj.core.api.Assertions.assertThat;
import static org.rpcrdma.codec.RpcPair.on;

import io.netty.buffer.ByteBuf;
import io.netty.util.concurrent.Future;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.rpcrdma.Proves;
import org.rpcrdma.channel.RdmaChannel;
import org.rpcrdma.channel.internal.ChannelInternals;
import org.rpcrdma.codec.client.RpcRdmaClient;
import org.rpcrdma.codec.wire.TransportHeader;
import org.rpcrdma.specification.CreditSpecification;
import org.rpcrdma.specification.CreditSpecification.Action;
import org.rpcrdma.specification.CreditSpecification.State;
import org.rpcrdma.specification.Exploration;
import org.rpcrdma.specification.Specification;

/**
 * Each transition of {@link CreditSpecification}, with either end worked by hand and the other one being the codec. The
 * test is the network too: calls and replies are in flight for as long as the machine says.
 */
class CreditSpecificationReplayTest {

    private static final RpcRdmaConfig DEFAULTS = RpcRdmaConfig.defaults();
    private static final int CALLS = 3;
    private static final int CREDITS = 2;

    /** A reply on its way. */
    private record Reply(ScriptedResponder.Call call, int grant) {}

    private final CreditSpecification all = new CreditSpecification(CALLS, CREDITS);

    /** The same client on one connection after the other: it sends again what was not answered. */
    @Test
    @Proves({
        "V1-CRED-02",
        "V1-CRED-07",
        "V1-CRED-08",
        "V1-CRED-12",
        "V1-CRED-13",
        "V1-CRED-17",
        "V1-CRED-19"
    })
    void aRequesterSendsWhatItsCreditsAllow() throws Exception {
        Specification<State, Action> specification = all.prompt();
        try (RequesterReplay replay = new RequesterReplay()) {
            State state = specification.initial();
            for (Action action : new Exploration<>(specification).tour()) {
                State after = specification.after(state, action);
                replay.take(action);
                replay.compare(after, action + " in " + state);
                state = after;
            }
        }
    }

    private static final class RequesterReplay implements ScriptedResponder.Script, AutoCloseable {

        private final ScriptedResponder responder = new ScriptedResponder(DEFAULTS, this);
        private final RpcRdmaClient client =
                RpcRdmaClient.builder(responder.group, responder.address())
                        .config(DEFAULTS)
                        .backOff(Duration.ofMillis(1), Duration.ofMillis(1))
                        .firstCallTimeout(Duration.ofDays(1))
                        .maxRetransmissions(Integer.MAX_VALUE)
                        .build();
        private final Deque<ScriptedResponder.Call> executing = new ArrayDeque<>();
        private final Deque<Reply> replies = new ArrayDeque<>();
        private final BlockingQueue<Future<ByteBuf>> answered = new LinkedBlockingQueue<>();

        RequesterReplay() throws Exception {}

        @Override
        public boolean isRaw(int connection) {
            return true;
        }

        @Override
        public void received(RdmaChannel channel, int connection, ByteBuf call) {}

        void take(Action action) throws Exception {
            switch (action.kind()) {
                case CALL -> {
                    Future<ByteBuf> call = client.call(Rpc.echo(0, 8));
                    call.addListener(ended -> answered.add(call));
                }
                case ARRIVE -> {
                    ScriptedResponder.Call call = responder.take();
                    assertThat(call.connection()).isEqualTo(responder.accepted.size() - 1);
                    executing.add(call);
                }
                // The newest call is answered first: any order will do.
                case REPLY -> replies.add(new Reply(executing.removeLast(), action.grant()));
                case DELIVER -> deliver(replies.remove());
                case RECONNECT -> loseConnection();
                case SEND -> throw new AssertionError("the codec's to do");
            }
        }

        private void deliver(Reply reply) throws Exception {
            int xid = reply.call().xid();
            TransportHeader header =
                    new TransportHeader().set(xid, reply.grant(), TransportHeader.RDMA_MSG);
            reply.call().reply(RawPeer.message(header, Rpc.reply(xid)));
            Future<ByteBuf> call = answered.poll(RpcPair.PATIENCE_SECONDS, TimeUnit.SECONDS);
            assertThat(call).isNotNull();
            assertThat(call.cause()).isNull();
            assertThat(Rpc.xid(call.getNow())).isEqualTo(xid);
            call.getNow().release();
        }

        private void loseConnection() throws Exception {
            executing.clear();
            replies.clear();
            if (!client.openConnections().isEmpty()) {
                RpcRdmaConnection lost = client.openConnections().get(0);
                int last = responder.accepted.size() - 1;
                responder.accepted.get(last).close().sync();
                responder.calls.removeIf(call -> call.connection() == last);
                await("the connection ends", () -> !client.openConnections().contains(lost));
            }
        }

        void compare(State state, String how) throws Exception {
            if (state.unanswered() > 0) {
                await(how, () -> inFlight() == state.unanswered());
            }
            await(how, () -> responder.calls.size() >= state.sent());
            settle();
            assertThat(responder.calls).as(how).hasSize(state.sent());
            assertThat(client.outstandingCalls())
                    .as(how)
                    .isEqualTo(state.waiting() + state.unanswered());
            assertThat(answered).as(how).isEmpty();
            for (RpcRdmaConnection connection : client.openConnections()) {
                assertThat(connection.callsInFlight()).as(how).isEqualTo(state.unanswered());
                assertThat(connection.creditsGranted()).as(how).isEqualTo(state.grant());
                assertThat(receives(connection.link().channel))
                        .as(how)
                        .isGreaterThanOrEqualTo(state.replyReceives());
            }
        }

        private int inFlight() {
            List<RpcRdmaConnection> open = client.openConnections();
            return open.isEmpty() ? 0 : open.get(0).callsInFlight();
        }

        private void settle() throws Exception {
            on(responder.group, () -> {});
        }

        @Override
        public void close() throws Exception {
            client.closeAsync().sync();
            responder.close();
        }
    }

    private static int receives(RdmaChannel channel) throws Exception {
        return on(channel, ChannelInternals.of(channel)::keptReceives);
    }

    /** Awaitility takes a thread, for which there is no need in most steps. */
    private static void await(String how, BooleanSupplier condition) {
        if (!condition.getAsBoolean()) {
            Awaitility.await(how)
                    .atMost(RpcPair.PATIENCE_SECONDS, TimeUnit.SECONDS)
                    .until(condition::getAsBoolean);
        }
    }

    /** The same listener on one connection after the other; what is in flight towards it has taken a receive. */
    @Test
    @Proves({"V1-CRED-03", "V1-CRED-07", "V1-CRED-09", "V1-CRED-17"})
    void aResponderTakesWhatItHasGranted() throws Exception {
        try (ResponderReplay replay = new ResponderReplay()) {
            State state = all.initial();
            for (Action action : new Exploration<>(all).tour()) {
                State after = all.after(state, action);
                replay.take(action);
                replay.compare(after, action + " in " + state);
                state = after;
            }
        }
    }

    private static final class ResponderReplay implements AutoCloseable {

        private final AtomicInteger wanted = new AtomicInteger(1);
        private final RpcPair pair;
        private final Deque<Integer> sent = new ArrayDeque<>();
        private final Deque<Integer> executing = new ArrayDeque<>();
        private final Deque<TransportHeader> replies = new ArrayDeque<>();
        private int xids;

        ResponderReplay() throws Exception {
            RpcRdmaConfig responder =
                    RpcRdmaConfig.builder()
                            .grantedCredits(CREDITS)
                            .creditPolicy(load -> wanted.get())
                            .build();
            pair = RpcPair.rawClient(DEFAULTS, responder);
            pair.readByHand();
        }

        void take(Action action) throws Exception {
            switch (action.kind()) {
                case CALL -> {}
                case SEND -> {
                    int xid = xids++;
                    ByteBuf call =
                            RawPeer.message(
                                    RawPeer.header(xid, TransportHeader.RDMA_MSG),
                                    Rpc.call(xid, Rpc.UNKNOWN, 1, 1));
                    pair.call(call).sync();
                    sent.add(xid);
                }
                case ARRIVE -> {
                    pair.serverChannel.read();
                    assertThat(pair.server.takeXid()).isEqualTo(sent.remove());
                    executing.add(xids - sent.size() - 1);
                }
                case REPLY -> {
                    int xid = executing.removeLast();
                    wanted.set(action.grant());
                    pair.reply(Rpc.reply(xid)).sync();
                    replies.add(
                            new TransportHeader()
                                    .set(xid, action.grant(), TransportHeader.RDMA_MSG));
                }
                case DELIVER -> {
                    TransportHeader expected = replies.remove();
                    try (RawPeer client = RawPeer.client(pair)) {
                        client.take();
                        assertThat(client.header.xid()).isEqualTo(expected.xid());
                        assertThat(client.header.credit()).isEqualTo(expected.credit());
                    }
                }
                case RECONNECT -> {
                    pair.reconnect();
                    pair.readByHand();
                    sent.clear();
                    executing.clear();
                    replies.clear();
                }
            }
        }

        void compare(State state, String how) throws Exception {
            assertThat(receives(pair.serverChannel))
                    .as(how)
                    .isGreaterThanOrEqualTo(state.receives());
            assertThat(pair.server.messages).as(how).isEmpty();
            assertThat(pair.serverConnection().responder().credits.unanswered())
                    .as(how)
                    .isEqualTo(state.executing());
            assertThat(pair.clientChannel.isActive()).as(how).isTrue();
            assertThat(pair.serverChannel.isActive()).as(how).isTrue();
        }

        @Override
        public void close() {
            pair.close();
        }
    }
}
