// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.ByteBuf;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.rpcrdma.codec.FaultPair.Role;
import org.rpcrdma.codec.fault.FaultContext.Delivery;
import org.rpcrdma.codec.fault.FaultPlan;
import org.rpcrdma.codec.fault.Step;

/**
 * Invariant 2: the grant never exceeds the posted receives and is never 0, which {@link FaultPair} checks at every Send of a
 * responder; exactly one call is out on a fresh connection.
 */
class CreditFaultTest {

    private static final int CALLS = 60;

    private FaultPair pair;

    @BeforeEach
    void open() {
        pair = new FaultPair();
    }

    @AfterEach
    void close() throws Exception {
        pair.close();
    }

    @ParameterizedTest
    @EnumSource(Delivery.class)
    @Proves({"V1-CRED-12", "V1-CRED-13", "V1-CRED-10"})
    void exactlyOneCallIsOutOnAFreshConnection(Delivery delivery) throws Exception {
        try (FaultPair.Connection connection =
                pair.connect(
                        RpcRdmaConfig.builder().requestedCredits(16).build(),
                        RpcRdmaConfig.builder().grantedCredits(16).build(),
                        call -> Form.SHORT.reply(Rpc.xid(call)))) {
            connection.delivery(Role.REQUESTER, delivery);
            Journal journal = new Journal();
            connection.plan(Role.REQUESTER, journal);
            connection.expectCalls(CALLS);
            ByteBuf[] calls = new ByteBuf[CALLS];
            for (int i = 0; i < CALLS; i++) {
                calls[i] = Form.SHORT.call(i);
            }
            connection.call(calls);
            assertThat(connection.outcomes().values()).hasSize(CALLS).containsOnly("replied");
            List<Step> steps = RpcPair.on(connection.requester, () -> List.copyOf(journal.steps));
            assertThat(steps.subList(0, steps.indexOf(Step.RECEIVED)))
                    .containsOnlyOnce(Step.SEND)
                    .doesNotContain(Step.POST_RECEIVE);
        }
    }

    @ParameterizedTest
    @CsvSource({
        "1, 1, AT_ONCE",
        "2, 2, SINGLY",
        "16, 16, AT_ONCE",
        "16, 16, BATCHED",
        "16, 64, SINGLY",
        "64, 16, BATCHED",
        "64, 80, BATCHED",
        "64, 1, AT_ONCE"
    })
    @Proves({"V1-CRED-03", "V1-CRED-09", "V1-CRED-06"})
    void receivesThatTheUserHasSetLimitTheGrant(int granted, int receives, Delivery delivery)
            throws Exception {
        RpcRdmaConfig responder = RpcRdmaConfig.builder().grantedCredits(granted).build();
        pair.receiveDepth(receives);
        try (FaultPair.Connection connection =
                pair.connect(
                        RpcRdmaConfig.builder().requestedCredits(64).build(),
                        responder,
                        call -> Form.SHORT.reply(Rpc.xid(call)))) {
            connection.delivery(Role.RESPONDER, delivery);
            connection.expectCalls(CALLS);
            ByteBuf[] calls = new ByteBuf[CALLS];
            for (int i = 0; i < CALLS; i++) {
                calls[i] = Form.SHORT.call(i);
            }
            connection.call(calls);
            assertThat(connection.outcomes().values()).hasSize(CALLS).containsOnly("replied");
        }
    }

    private static final class Journal implements FaultPlan {
        private final List<Step> steps = new ArrayList<>();

        @Override
        public void before(Step step) {
            steps.add(step);
        }

        @Override
        public void after(Step step) {
            steps.add(step);
        }
    }
}
