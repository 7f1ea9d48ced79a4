// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import static org.assertj.core.api.Assertions.assertThat;
import static org.rpcrdma.codec.RpcPair.on;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.rpcrdma.Proves;
import org.rpcrdma.codec.wire.TransportHeader;
import org.rpcrdma.specification.ChunkSpecification;
import org.rpcrdma.specification.ChunkSpecification.Action;
import org.rpcrdma.specification.ChunkSpecification.Call;
import org.rpcrdma.specification.Exploration;
import org.rpcrdma.specification.Specification;

/** Each transition of {@link ChunkSpecification}, with either end worked by hand and the other one being the codec. */
class ChunkSpecificationReplayTest {

    private static final int CALLS = 2;
    private static final int COUNT = 8192;
    private static final RpcRdmaConfig DEFAULTS = RpcRdmaConfig.defaults();

    private final Specification<List<Call>, Action> specification =
            new ChunkSpecification(CALLS).prompt();

    /** The last call of each index. */
    private final TransportHeader[] calls = new TransportHeader[CALLS];

    private RpcPair pair;
    private RawPeer peer;
    private int xids = 1;

    private void connectToServer() throws Exception {
        pair = RpcPair.rawServer(DEFAULTS, DEFAULTS);
        peer = RawPeer.server(pair);
        barrier(); // its reply grants what all calls need
    }

    private void close() {
        peer.close();
        pair.close();
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

    @Test
    @Proves({"V1-MR-01", "V1-MR-03", "V1-MR-10"})
    void aRequesterOwnsItsMemoryWhenTheResponderDoesNot() throws Exception {
        connectToServer();
        try {
            List<Call> state = specification.initial();
            for (Action action : new Exploration<>(specification).tour()) {
                List<Call> after = specification.after(state, action);
                boolean wasOut = state.get(action.call()).phase() == ChunkSpecification.Phase.OUT;
                take(action, wasOut);
                for (int i = 0; i < CALLS; i++) {
                    if (calls[i] != null) {
                        assertThat(isExposed(calls[i].writes().handle(0)))
                                .as("call %s after %s in %s", i, action, state)
                                .isEqualTo(after.get(i).isExposed());
                    }
                }
                state = after;
            }
        } finally {
            close();
        }
    }

    private boolean isExposed(int handle) throws Exception {
        return on(pair.clientChannel, () -> pair.clientChannel.isExposed(handle));
    }

    private void take(Action action, boolean wasOut) throws Exception {
        TransportHeader call = calls[action.call()];
        switch (action.kind()) {
            case CALL -> {
                pair.call(Rpc.read3(xids++, COUNT));
                peer.take();
                calls[action.call()] = new TransportHeader();
                calls[action.call()].set(peer.header.xid(), 16, TransportHeader.RDMA_MSG);
                calls[action.call()].writes().copy(peer.header.writes());
            }
            case WRITE -> {
                peer.write(call.writes().handle(0), call.writes().offset(0), Rpc.random(COUNT));
                barrier();
            }
            case REPLY -> {
                TransportHeader reply =
                        new TransportHeader().set(call.xid(), 16, TransportHeader.RDMA_MSG);
                reply.writes().copy(call.writes());
                reply.writes().length(0, 0);
                peer.send(reply, Rpc.reply(call.xid()).writeInt(70).writeInt(0));
                if (wasOut) {
                    assertThat(pair.client.takeXid()).isEqualTo(call.xid());
                } else {
                    barrier();
                }
            }
            case CANCEL -> pair.call(new RpcRdmaCancel(call.xid(), false)).sync();
            case FENCE -> pair.call(new RpcRdmaCancel(call.xid())).sync();
            case TRESPASS -> {
                peer.write(call.writes().handle(0), call.writes().offset(0), new byte[1]);
                peer.send(Rpc.reply(0));
                assertThat(pair.client.awaitInactive()).isTrue();
                reconnect();
            }
            default -> reconnect();
        }
    }

    private void reconnect() throws Exception {
        close();
        calls[0] = null;
        calls[1] = null;
        connectToServer();
    }
}
