// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import static org.assertj.core.api.Assertions.assertThat;
import static org.rpcrdma.codec.RpcPair.on;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.channel.ChannelFuture;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.rpcrdma.Proves;
import org.rpcrdma.channel.RemoteAccess;
import org.rpcrdma.codec.wire.TransportHeader;
import org.rpcrdma.specification.ChunkSpecification;
import org.rpcrdma.specification.ChunkSpecification.Action;
import org.rpcrdma.specification.ChunkSpecification.Call;
import org.rpcrdma.specification.ChunkSpecification.Phase;
import org.rpcrdma.specification.Exploration;
import org.rpcrdma.specification.Specification;

/** Each transition of {@link ChunkSpecification}, with either end worked by hand and the other one being the codec. */
class ChunkSpecificationReplayTest {

    private static final int CALLS = 2;
    private static final int COUNT = 8192;
    private static final byte[] RESULT = Rpc.random(COUNT);
    private static final RpcRdmaConfig DEFAULTS = RpcRdmaConfig.defaults();

    private final Specification<List<Call>, Action> specification =
            new ChunkSpecification(CALLS).prompt();

    /** The last call of each index. */
    private final TransportHeader[] calls = new TransportHeader[CALLS];

    /** The memory of that call, of which the test keeps one reference. */
    private final ByteBuf[] memory = new ByteBuf[CALLS];

    private RpcPair pair;
    private RawPeer peer;
    private int xids = 1;

    private static byte[] untouched() {
        byte[] untouched = new byte[COUNT];
        Arrays.fill(untouched, RawPeer.UNTOUCHED);
        return untouched;
    }

    private ByteBuf lend() throws Exception {
        return on(
                pair.clientChannel,
                () -> pair.clientChannel.registeredBuffer(COUNT).writeBytes(untouched()));
    }

    private void forget() {
        for (int i = 0; i < CALLS; i++) {
            if (memory[i] != null) {
                assertThat(memory[i].refCnt()).isEqualTo(1);
                memory[i].release();
                memory[i] = null;
            }
            calls[i] = null;
        }
    }

    private boolean isExposed(int call) throws Exception {
        int handle = calls[call].writes().handle(0);
        return on(pair.clientChannel, () -> pair.clientChannel.isExposed(handle));
    }

    // ------------------------------------------------------------------ requester

    @Test
    @Proves({"V1-MR-01", "V1-MR-03", "V1-MR-10", "V1-CRED-16"})
    void aRequesterOwnsItsMemoryWhenTheResponderDoesNot() throws Exception {
        pair = RpcPair.rawServer(DEFAULTS, DEFAULTS);
        beginAsResponder();
        try {
            List<Call> state = specification.initial();
            for (Action action : new Exploration<>(specification).tour()) {
                List<Call> after = specification.after(state, action);
                takeAsResponder(action, state.get(action.call()).phase() == Phase.OUT);
                compareRequester(after, action + " in " + state);
                state = after;
            }
        } finally {
            peer.close();
            pair.close();
            forget();
        }
    }

    private void beginAsResponder() throws Exception {
        peer = RawPeer.server(pair);
        barrier(); // its reply grants what all calls need
    }

    /** A call without chunks: whatever was sent before its reply has been dealt with behind it. */
    private void barrier() throws Exception {
        int xid = xids++;
        pair.call(Rpc.call(xid, Rpc.UNKNOWN, 1, 0));
        peer.take();
        TransportHeader header = new TransportHeader().set(xid, 16, TransportHeader.RDMA_MSG);
        peer.send(header, Rpc.reply(xid));
        assertThat(pair.client.takeXid()).isEqualTo(xid);
    }

    private void takeAsResponder(Action action, boolean wasOut) throws Exception {
        int index = action.call();
        TransportHeader call = calls[index];
        switch (action.kind()) {
            case CALL -> {
                if (memory[index] != null) {
                    memory[index].release();
                }
                memory[index] = lend();
                ByteBuf sink = memory[index].retainedDuplicate().clear();
                pair.call(new RpcMessage(Rpc.read3(xids++, COUNT)).addSink(sink));
                peer.take();
                calls[index] = new TransportHeader();
                calls[index].set(peer.header.xid(), 16, TransportHeader.RDMA_MSG);
                calls[index].writes().copy(peer.header.writes());
            }
            case WRITE -> {
                peer.write(call.writes().handle(0), call.writes().offset(0), RESULT);
                barrier();
            }
            case REPLY -> replyAsResponder(index, wasOut);
            case CANCEL -> pair.call(new RpcRdmaCancel(call.xid(), false)).sync();
            case FENCE -> pair.call(new RpcRdmaCancel(call.xid())).sync();
            case TRESPASS -> {
                peer.write(call.writes().handle(0), call.writes().offset(0), new byte[1]);
                peer.send(Rpc.reply(0));
                assertThat(pair.server.awaitInactive()).isTrue();
                pair.server.inactive.add(pair.serverChannel);
                reconnectAsResponder();
            }
            case RECONNECT -> reconnectAsResponder();
            case INVALIDATE, DELIVER -> throw new AssertionError("the codec's to do");
        }
    }

    private void replyAsResponder(int index, boolean wasOut) throws Exception {
        TransportHeader call = calls[index];
        TransportHeader reply = new TransportHeader().set(call.xid(), 16, TransportHeader.RDMA_MSG);
        reply.writes().copy(call.writes());
        boolean isWritten = memory[index].getByte(0) == RESULT[0];
        ByteBuf payload = Rpc.reply(call.xid());
        if (isWritten) {
            payload.writeInt(0).writeInt(0).writeInt(COUNT).writeInt(1).writeInt(COUNT);
        } else {
            reply.writes().length(0, 0);
            payload.writeInt(70).writeInt(0);
        }
        peer.send(reply, payload);
        if (wasOut) {
            Object message = pair.client.take();
            assertThat(message).isInstanceOf(RpcMessage.class);
            RpcMessage answer = (RpcMessage) message;
            assertThat(Rpc.xid(answer)).isEqualTo(call.xid());
            assertThat(answer.sinkLength(0)).isEqualTo(isWritten ? COUNT : 0);
            answer.release();
        } else {
            barrier();
        }
    }

    private void reconnectAsResponder() throws Exception {
        peer.close();
        pair.reconnect();
        forget();
        beginAsResponder();
    }

    private void compareRequester(List<Call> state, String how) throws Exception {
        int inFlight = 0;
        for (int i = 0; i < CALLS; i++) {
            Call call = state.get(i);
            if (call.phase() != Phase.IDLE) {
                inFlight++;
            }
            if (calls[i] == null) {
                continue;
            }
            assertThat(isExposed(i)).as("%s: call %s", how, i).isEqualTo(call.isExposed());
            assertThat(memory[i].refCnt() == 1)
                    .as("%s: memory of call %s", how, i)
                    .isEqualTo(call.isApplications());
            if (call.isApplications()) {
                assertThat(ByteBufUtil.getBytes(memory[i], 0, COUNT))
                        .as("%s: result of call %s", how, i)
                        .isEqualTo(call.isThere() ? RESULT : untouched());
            }
        }
        // One that was given up keeps its credit.
        assertThat(pair.clientConnection().callsInFlight()).as(how).isEqualTo(inFlight);
        assertThat(pair.client.messages).as(how).isEmpty();
    }

    // ------------------------------------------------------------------ responder

    /** A responder accesses memory between call and reply alone, and is told when it has come too late. */
    @Test
    @Proves({"V1-MR-01", "V1-ERR-17"})
    void aResponderWritesBeforeItReplies() throws Exception {
        // Or a reply would invalidate memory that the requester has taken back.
        RpcRdmaConfig own = RpcRdmaConfig.builder().remoteInvalidation(false).build();
        pair = RpcPair.rawClient(own, DEFAULTS);
        peer = RawPeer.client(pair);
        try {
            List<Call> state = specification.initial();
            for (Action action : new Exploration<>(specification).tour()) {
                List<Call> after = specification.after(state, action);
                takeAsRequester(action, state.get(action.call()));
                compareResponder(after, action + " in " + state);
                state = after;
            }
        } finally {
            peer.close();
            pair.close();
            forget();
        }
    }

    private void takeAsRequester(Action action, Call before) throws Exception {
        int index = action.call();
        TransportHeader call = calls[index];
        switch (action.kind()) {
            case CALL -> callAsRequester(index);
            // The codec writes when it has the reply.
            case WRITE, CANCEL -> assertThat(before.isExposed()).isTrue();
            case FENCE -> peer.invalidate(call.writes().handle(0));
            case REPLY -> replyToRequester(index, before);
            case TRESPASS -> {
                ChannelFuture reply = pair.reply(Rpc.read3Reply(call.xid(), RESULT));
                assertThat(pair.client.awaitInactive()).isTrue();
                pair.client.inactive.add(pair.clientChannel);
                reply.await();
                reconnectAsRequester();
            }
            case RECONNECT -> reconnectAsRequester();
            case INVALIDATE, DELIVER -> throw new AssertionError("the requester's to do");
        }
    }

    private void callAsRequester(int index) throws Exception {
        if (memory[index] != null) {
            memory[index].release();
        }
        memory[index] = lend();
        int handle = peer.expose(memory[index], RemoteAccess.WRITE);
        calls[index] = new TransportHeader().set(xids++, 16, TransportHeader.RDMA_MSG);
        calls[index].writes().add(handle, COUNT, peer.offset(handle));
        calls[index].writes().endChunk();
        peer.send(calls[index], Rpc.read3(calls[index].xid(), COUNT));
        assertThat(pair.server.takeXid()).isEqualTo(calls[index].xid());
    }

    private void replyToRequester(int index, Call before) throws Exception {
        int xid = calls[index].xid();
        boolean isWritten = before.isWritten() && before.isExposed();
        ByteBuf reply =
                isWritten ? Rpc.read3Reply(xid, RESULT) : Rpc.reply(xid).writeInt(70).writeInt(0);
        pair.reply(reply);
        peer.take();
        assertThat(peer.header.xid()).isEqualTo(xid);
        assertThat(peer.header.writes().length(0)).isEqualTo(isWritten ? COUNT : 0);
        if (before.isExposed()) {
            // From here on an access would cost the connection.
            if (peer.isExposed(calls[index].writes().handle(0))) {
                peer.invalidate(calls[index].writes().handle(0));
            }
            assertThat(ByteBufUtil.getBytes(memory[index], 0, COUNT))
                    .isEqualTo(isWritten ? RESULT : untouched());
        }
    }

    private void reconnectAsRequester() throws Exception {
        peer.close();
        pair.reconnect();
        peer = RawPeer.client(pair);
        forget();
    }

    private void compareResponder(List<Call> state, String how) throws Exception {
        int unanswered = 0;
        for (int i = 0; i < CALLS; i++) {
            if (state.get(i).phase() != Phase.IDLE) {
                unanswered++;
                assertThat(ByteBufUtil.getBytes(memory[i], 0, COUNT))
                        .as("%s: memory of call %s", how, i)
                        .isEqualTo(untouched());
            }
        }
        assertThat(pair.serverConnection().responder().credits.unanswered())
                .as(how)
                .isEqualTo(unanswered);
        assertThat(pair.serverChannel.isActive()).as(how).isTrue();
        assertThat(pair.server.messages).as(how).isEmpty();
    }
}
