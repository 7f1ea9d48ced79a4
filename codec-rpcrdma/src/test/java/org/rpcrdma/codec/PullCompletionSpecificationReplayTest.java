// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import static org.assertj.core.api.Assertions.assertThat;
import static org.rpcrdma.codec.RpcPair.on;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.rpcrdma.NeedsDevice;
import org.rpcrdma.Proves;
import org.rpcrdma.channel.RdmaChannelOption;
import org.rpcrdma.channel.RemoteAccess;
import org.rpcrdma.channel.internal.ChannelInternals;
import org.rpcrdma.codec.wire.TransportHeader;
import org.rpcrdma.specification.Exploration;
import org.rpcrdma.specification.PullCompletionSpecification;
import org.rpcrdma.specification.PullCompletionSpecification.Action;
import org.rpcrdma.specification.PullCompletionSpecification.Answer;
import org.rpcrdma.specification.PullCompletionSpecification.Call;
import org.rpcrdma.specification.PullCompletionSpecification.Message;
import org.rpcrdma.specification.PullCompletionSpecification.Phase;
import org.rpcrdma.specification.PullCompletionSpecification.State;
import org.rpcrdma.specification.Specification;

/**
 * Each transition of {@link PullCompletionSpecification}, with either end worked by hand and the other one being the
 * codec. The XID of a call is its index, and the same for each call in its place.
 */
class PullCompletionSpecificationReplayTest {

    private static final int CREDITS = PullCompletionSpecification.CREDITS;
    private static final int LENGTH = 5000;
    private static final int BARRIER = 77;

    /** The handles of the replies that were offered last. */
    private final int[] handles = new int[CREDITS];

    private RpcPair pair;
    private RawPeer peer;

    @AfterEach
    void close() {
        peer.close();
        pair.close();
    }

    private static byte[] reply(int xid) {
        return ByteBufUtil.getBytes(ReadChunks.reply(xid, LENGTH));
    }

    // ------------------------------------------------------------------ requester

    @Test
    @Proves({"RR-07", "RR-08", "RR-11", "RR-16", "RR-20", "RR-30"})
    void aRequesterCompletesEachPull() throws Exception {
        PullCompletionSpecification all = new PullCompletionSpecification(false);
        Specification<State, Action> specification = all.prompt();
        pair = RpcPair.rawServer(ReadChunks.config(), ReadChunks.config());
        beginAsResponder();
        State state = specification.initial();
        for (Action action : new Exploration<>(specification).tour()) {
            State after = specification.after(state, action);
            takeAsResponder(action, state);
            compareRequester(after, all.allowed(after), action + " in " + state);
            state = after;
        }
    }

    /** A call whose reply grants what all calls need. */
    private void beginAsResponder() throws Exception {
        peer = RawPeer.server(pair);
        pair.call(Rpc.echo(BARRIER, 8));
        peer.take();
        send(RawPeer.message(granting(BARRIER, TransportHeader.RDMA_MSG), Rpc.reply(BARRIER)));
        assertThat(pair.client.takeXid()).isEqualTo(BARRIER);
    }

    private static TransportHeader granting(int xid, int proc) {
        return new TransportHeader().set(xid, CREDITS, proc);
    }

    private void send(ByteBuf message) throws InterruptedException {
        peer.channel.writeAndFlush(message).sync();
    }

    private void takeAsResponder(Action action, State state) throws Exception {
        int xid = action.call();
        switch (action.kind()) {
            case CALL -> pair.call(Rpc.echo(xid, 8)).sync();
            case CANCEL -> pair.call(new RpcRdmaCancel(xid)).sync();
            case ARRIVE -> {
                boolean isCompletion = state.sent().get(0).isCompletion();
                peer.take();
                assertThat(peer.header.xid()).isEqualTo(xid);
                assertThat(peer.header.proc())
                        .isEqualTo(
                                isCompletion
                                        ? TransportHeader.RDMA_DONE
                                        : TransportHeader.RDMA_MSG);
                if (isCompletion && peer.isExposed(handles[xid])) {
                    peer.invalidate(handles[xid]);
                }
            }
            case REPLY, OFFER -> {} // in flight until it is delivered
            case DELIVER -> deliver(state.calls().get(xid), xid);
            case RECONNECT -> {
                peer.close();
                pair.reconnect();
                beginAsResponder();
            }
            case PULLED, REPEAT -> throw new AssertionError("the codec's to do");
        }
    }

    private void deliver(Call call, int xid) throws Exception {
        byte[] expected = reply(xid);
        if (call.answer() == Answer.INLINE) {
            expected = ByteBufUtil.getBytes(Rpc.reply(xid));
            send(RawPeer.message(granting(xid, TransportHeader.RDMA_MSG), Rpc.reply(xid)));
        } else {
            TransportHeader header = granting(xid, TransportHeader.RDMA_NOMSG);
            handles[xid] = peer.expose(peer.memory(expected), RemoteAccess.READ);
            header.reads().add(0, handles[xid], LENGTH, peer.offset(handles[xid]));
            send(RawPeer.message(header, RawPeer.nothing()));
        }
        if (call.phase() == Phase.OUT) {
            assertThat(pair.client.takeBytes()).isEqualTo(expected);
        }
    }

    private void compareRequester(State state, int allowed, String how) throws Exception {
        RpcRdmaConnection connection = pair.clientConnection();
        RequesterCredits credits = connection.requester().credits;
        await(how, () -> pair.server.messages.size() == state.sent().size());
        await(how, () -> connection.callsInFlight() == state.unanswered());
        on(
                pair.clientChannel.eventLoop(),
                () -> {
                    assertThat(credits.inFlight).as(how).isEqualTo(state.unanswered());
                    assertThat(credits.allowed()).as(how).isEqualTo(allowed);
                    assertThat(connection.value(RpcRdmaGauge.READ_BYTES_HELD)).as(how).isZero();
                });
        assertThat(pair.client.messages).as(how).isEmpty();
    }

    /** Awaitility takes a thread, for which there is no need in most steps. */
    private static void await(String how, BooleanSupplier condition) {
        if (!condition.getAsBoolean()) {
            Awaitility.await(how)
                    .atMost(RpcPair.PATIENCE_SECONDS, TimeUnit.SECONDS)
                    .until(condition::getAsBoolean);
        }
    }

    // ------------------------------------------------------------------ responder

    @Test
    @NeedsDevice("privateDataOnAccept") // the grant is constant where such replies are announced
    @Proves({"RR-12", "RR-15", "RR-20", "RR-22", "RR-23"})
    void aResponderKeepsAReplyUntilItIsCompleted() throws Exception {
        PullCompletionSpecification specification = new PullCompletionSpecification(true);
        RpcRdmaConfig responder = RpcPair.usual().grantedCredits(CREDITS).build();
        byte[] announcement = RpcPair.usual().build().privateData().encode();
        pair =
                RpcPair.rawClient(
                        RpcPair.usual().build(),
                        responder,
                        bootstrap ->
                                bootstrap.option(RdmaChannelOption.PRIVATE_DATA, announcement));
        beginAsRequester();
        State state = specification.initial();
        for (Action action : new Exploration<>(specification).tour()) {
            State after = specification.after(state, action);
            takeAsRequester(action, state);
            compareResponder(after, action + " in " + state);
            state = after;
        }
    }

    /** What was sent takes a receive, and arrives when the responder reads it. */
    private void beginAsRequester() throws Exception {
        peer = RawPeer.client(pair);
        pair.readByHand();
    }

    private void takeAsRequester(Action action, State state) throws Exception {
        int xid = action.call();
        switch (action.kind()) {
            case CALL ->
                    send(
                            RawPeer.message(
                                    RawPeer.header(xid, TransportHeader.RDMA_MSG),
                                    Rpc.echo(xid, 8)));
            case CANCEL -> {}
            case ARRIVE -> arrive(state.sent().get(0), state.calls().get(xid).isWaiting());
            case REPLY -> pair.reply(Rpc.reply(xid)).sync();
            case OFFER -> {
                pair.reply(Unpooled.wrappedBuffer(reply(xid))).sync();
                handles[xid] = offered(xid);
            }
            case DELIVER -> {
                takeAnswer(xid, state.calls().get(xid).answer());
                if (state.calls().get(xid).answer() == Answer.READ_CHUNK
                        && state.calls().get(xid).phase() == Phase.GIVEN_UP) {
                    send(ReadChunks.done(xid));
                }
            }
            case PULLED -> {
                long offset = on(pair.serverChannel, () -> offset(handles[xid]));
                assertThat(peer.read(handles[xid], offset, LENGTH)).isEqualTo(reply(xid));
                send(ReadChunks.done(xid));
            }
            case REPEAT -> send(ReadChunks.done(xid));
            case RECONNECT -> {
                peer.close();
                pair.reconnect();
                beginAsRequester();
            }
        }
    }

    private long offset(int handle) {
        return pair.serverChannel.exposedOffset(handle);
    }

    private void arrive(Message message, boolean isWaiting) throws Exception {
        RpcRdmaCounter counter =
                isWaiting
                        ? RpcRdmaCounter.PULL_COMPLETIONS_RECEIVED
                        : RpcRdmaCounter.DROPPED_COMPLETIONS;
        long before = pair.serverConnection().value(counter);
        pair.serverChannel.read();
        if (message.isCompletion()) {
            pair.awaitValue(counter, before + 1);
        } else {
            assertThat(pair.server.takeXid()).isEqualTo(message.call());
        }
    }

    /** The handle in an answer that the test has not taken yet. */
    private int offered(int xid) {
        await("the answer to " + xid, () -> answer(xid) != null);
        ByteBuf answer = answer(xid);
        assertThat(answer.getInt(12)).isEqualTo(TransportHeader.RDMA_NOMSG);
        assertThat(answer.getInt(28)).isEqualTo(LENGTH);
        return answer.getInt(24);
    }

    private ByteBuf answer(int xid) {
        for (Object message : pair.client.messages) {
            if (Rpc.xid((ByteBuf) message) == xid) {
                return (ByteBuf) message;
            }
        }
        return null;
    }

    private void takeAnswer(int xid, Answer expected) {
        await("the answer to " + xid, () -> answer(xid) != null);
        ByteBuf answer = answer(xid);
        assertThat(answer.getInt(12))
                .isEqualTo(
                        expected == Answer.INLINE
                                ? TransportHeader.RDMA_MSG
                                : TransportHeader.RDMA_NOMSG);
        pair.client.messages.remove(answer);
        answer.release();
    }

    private void compareResponder(State state, String how) throws Exception {
        ResponderState responder = pair.serverConnection().responder();
        on(
                pair.serverChannel.eventLoop(),
                () -> {
                    int waiting = 0;
                    for (int i = 0; i < CREDITS; i++) {
                        boolean isWaiting = state.calls().get(i).isWaiting();
                        waiting += isWaiting ? 1 : 0;
                        assertThat(handles[i] != 0 && pair.serverChannel.isExposed(handles[i]))
                                .as("%s: reply %s", how, i)
                                .isEqualTo(isWaiting);
                    }
                    assertThat(responder.waiting().count()).as(how).isEqualTo(waiting);
                    assertThat(ChannelInternals.of(pair.serverChannel).keptReceives())
                            .as(how)
                            .isGreaterThanOrEqualTo(state.sent().size());
                });
        assertThat(responder.credits.unanswered()).as(how).isEqualTo(state.executing());
        assertThat(pair.serverChannel.isActive()).as(how).isTrue();
        assertThat(pair.server.messages).as(how).isEmpty();
    }
}
