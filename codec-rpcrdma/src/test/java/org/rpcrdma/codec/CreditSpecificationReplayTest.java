// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayDeque;
import java.util.Queue;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.rpcrdma.Proves;
import org.rpcrdma.codec.wire.TransportHeader;
import org.rpcrdma.specification.CreditSpecification;
import org.rpcrdma.specification.CreditSpecification.Action;
import org.rpcrdma.specification.CreditSpecification.State;
import org.rpcrdma.specification.Exploration;
import org.rpcrdma.specification.Specification;

/** Each transition of {@link CreditSpecification}, with either end worked by hand and the other one being the codec. */
class CreditSpecificationReplayTest {

    private static final RpcRdmaConfig DEFAULTS = RpcRdmaConfig.defaults();

    private final Specification<State, Action> specification = new CreditSpecification().prompt();

    /** Calls at the responder, by XID, oldest first. */
    private final Queue<Integer> executing = new ArrayDeque<>();

    private int xids;

    @Test
    @Proves({"V1-CRED-02", "V1-CRED-07", "V1-CRED-08", "V1-CRED-12", "V1-CRED-13", "V1-CRED-19"})
    void aRequesterSendsWhatItsCreditsAllow() throws Exception {
        RpcPair pair = RpcPair.rawServer(DEFAULTS, DEFAULTS);
        try {
            State state = specification.initial();
            for (Action action : new Exploration<>(specification).tour()) {
                State after = specification.after(state, action);
                switch (action.kind()) {
                    case CALL -> pair.call(Rpc.call(xids++, Rpc.UNKNOWN, 1, 1));
                    case REPLY -> {
                        int xid = executing.remove();
                        TransportHeader header =
                                new TransportHeader()
                                        .set(xid, action.grant(), TransportHeader.RDMA_MSG);
                        pair.reply(RawPeer.message(header, Rpc.reply(xid)));
                        assertThat(pair.client.takeXid()).isEqualTo(xid);
                    }
                    default -> {
                        executing.clear();
                        pair.close();
                        pair = RpcPair.rawServer(DEFAULTS, DEFAULTS);
                    }
                }
                while (executing.size() < after.executing()) {
                    executing.add(takeXid(pair));
                }
                RpcPair.settle(pair.clientChannel);
                assertThat(pair.clientConnection().callsInFlight())
                        .as("%s in %s", action, state)
                        .isEqualTo(after.unanswered());
                assertThat(pair.clientConnection().creditsGranted())
                        .as("%s in %s", action, state)
                        .isEqualTo(after.grant());
                assertThat(pair.server.messages).as("%s in %s", action, state).isEmpty();
                state = after;
            }
        } finally {
            pair.close();
        }
    }

    private static int takeXid(RpcPair pair) throws InterruptedException {
        try (RawPeer server = RawPeer.server(pair)) {
            server.take();
            return server.header.xid();
        }
    }

    /** The requester uses each credit at once; the responder has a receive for each, and grants what it wants to. */
    @Test
    @Proves({"V1-CRED-03", "V1-CRED-07", "V1-CRED-09"})
    void aResponderTakesWhatItHasGranted() throws Exception {
        AtomicInteger wanted = new AtomicInteger(1);
        RpcRdmaConfig responder =
                RpcRdmaConfig.builder()
                        .grantedCredits(CreditSpecification.MOST_CREDITS)
                        .creditPolicy(load -> wanted.get())
                        .build();
        RpcPair pair = RpcPair.rawClient(DEFAULTS, responder);
        try {
            State state = specification.initial();
            int toSend = 0;
            for (Action action : new Exploration<>(specification).tour()) {
                State after = specification.after(state, action);
                switch (action.kind()) {
                    case CALL -> toSend++;
                    case REPLY -> {
                        int xid = executing.remove();
                        wanted.set(action.grant());
                        pair.reply(Rpc.reply(xid));
                        try (RawPeer client = RawPeer.client(pair)) {
                            client.take();
                            assertThat(client.header.xid()).isEqualTo(xid);
                            assertThat(client.header.credit())
                                    .as("%s in %s", action, state)
                                    .isEqualTo(action.grant());
                        }
                    }
                    default -> {
                        executing.clear();
                        toSend = 0;
                        pair.close();
                        pair = RpcPair.rawClient(DEFAULTS, responder);
                    }
                }
                for (; toSend > after.waiting(); toSend--) {
                    int xid = xids++;
                    try (RawPeer client = RawPeer.client(pair)) {
                        client.send(
                                RawPeer.header(xid, TransportHeader.RDMA_MSG),
                                Rpc.call(xid, Rpc.UNKNOWN, 1, 1));
                    }
                    assertThat(pair.server.takeXid()).as("%s in %s", action, state).isEqualTo(xid);
                    executing.add(xid);
                }
                assertThat(executing).hasSize(after.executing());
                assertThat(pair.clientChannel.isActive()).isTrue();
                state = after;
            }
        } finally {
            pair.close();
        }
    }
}
