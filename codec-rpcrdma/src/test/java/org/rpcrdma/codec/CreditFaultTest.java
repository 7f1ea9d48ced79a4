// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.ByteBuf;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.rpcrdma.Device;
import org.rpcrdma.Proves;
import org.rpcrdma.codec.FaultPair.Role;
import org.rpcrdma.codec.fault.FaultContext.Delivery;
import org.rpcrdma.codec.fault.FaultPlan;
import org.rpcrdma.codec.fault.Step;

/**
 * Invariant 2: the grant never exceeds the posted receives and is never 0, which {@link FaultPair} checks at every Send
 * of a responder; exactly one call is out on a fresh connection.
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

    /** Whatever a policy wants, no call ever finds the responder without a receive. */
    @ParameterizedTest
    @EnumSource(Delivery.class)
    @Proves({"V1-CRED-07", "V1-CRED-08", "V1-CRED-09", "V1-CRED-03"})
    void anyPolicyIsBacked(Delivery delivery) throws Exception {
        Random random = new Random(7);
        RpcRdmaConfig responder =
                RpcRdmaConfig.builder()
                        .grantedCredits(48)
                        .creditPolicy(load -> random.nextInt(100) - 20)
                        .build();
        runBursts(responder, delivery);
    }

    @ParameterizedTest
    @EnumSource(Delivery.class)
    @Proves("V1-CRED-09")
    void adaptivePolicyIsBacked(Delivery delivery) throws Exception {
        RpcRdmaConfig responder =
                RpcRdmaConfig.builder()
                        .grantedCredits(48)
                        .minimumCredits(2)
                        .creditPolicy(CreditPolicy.adaptive(4))
                        .build();
        runBursts(responder, delivery);
    }

    private void runBursts(RpcRdmaConfig responder, Delivery delivery) throws Exception {
        try (FaultPair.Connection connection =
                pair.connect(
                        RpcRdmaConfig.builder().requestedCredits(64).build(),
                        responder,
                        call -> Form.SHORT.reply(Rpc.xid(call)))) {
            connection.delivery(Role.RESPONDER, delivery);
            connection.expectCalls(5 * CALLS);
            for (int burst = 0; burst < 5; burst++) {
                ByteBuf[] calls = new ByteBuf[CALLS];
                for (int i = 0; i < CALLS; i++) {
                    calls[i] = Form.SHORT.call(burst * CALLS + i);
                }
                connection.call(calls);
            }
            assertThat(connection.outcomes().values()).hasSize(5 * CALLS).containsOnly("replied");
        }
    }

    /** Requirements 3.5: receives are posted before the Send that raises, and not replaced after one that lowers. */
    @Test
    @Proves({"V1-CRED-09", "V1-CRED-07"})
    void receivesFollowTheGrant() throws Exception {
        AtomicInteger wanted = new AtomicInteger(16);
        RpcRdmaConfig responder =
                RpcRdmaConfig.builder()
                        .grantedCredits(32)
                        .creditPolicy(load -> wanted.get())
                        .build();
        // For the call beyond the grant, where replies in Read chunks can be announced.
        int beyond = Device.can("privateDataOnAccept") ? 1 : 0;
        pair.receiveDepth(32 + beyond + 3); // a batch is an eighth of it
        try (FaultPair.Connection connection =
                pair.connect(
                        RpcRdmaConfig.builder().requestedCredits(64).build(),
                        responder,
                        call -> Form.SHORT.reply(Rpc.xid(call)))) {
            List<Integer> grants = new ArrayList<>();
            List<Integer> posted = new ArrayList<>();
            connection.watch(
                    Role.RESPONDER,
                    (length, xid, credits, procedure, covered) -> {
                        grants.add(credits);
                        posted.add(connection.queuePair(Role.RESPONDER).postedReceives());
                    });
            int xid = 0;
            for (int grant : new int[] {16, 8, 32}) {
                wanted.set(grant);
                for (int i = 0; i < 40; i++) {
                    connection.expectCalls(1);
                    connection.call(Form.SHORT.call(xid++));
                    connection.outcomes();
                }
            }
            RpcPair.settle(connection.responder);
            assertThat(grants.subList(0, 40)).containsOnly(16);
            assertThat(posted.get(39)).isBetween(16 + beyond, 19 + beyond);
            assertThat(grants.subList(40, 80)).containsOnly(8);
            assertThat(posted.get(40)).isBetween(15 + beyond, 18 + beyond); // not withdrawn
            assertThat(posted.get(79)).isBetween(8 + beyond, 11 + beyond);
            assertThat(grants.subList(80, 120)).containsOnly(32);
            assertThat(posted.get(80)).isBetween(32 + beyond, 35 + beyond); // before that Send
        }
    }

    @Test
    @Proves({"V1-CRED-03", "V1-CRED-09"})
    void memoryThatIsRefusedKeepsTheGrantWhereItIs() throws Exception {
        AtomicInteger wanted = new AtomicInteger(1);
        RpcRdmaConfig responder =
                RpcRdmaConfig.builder()
                        .grantedCredits(32)
                        .creditPolicy(load -> wanted.get())
                        .build();
        try (FaultPair.Connection connection =
                pair.connect(
                        RpcRdmaConfig.builder().requestedCredits(64).build(),
                        responder,
                        call -> Form.SHORT.reply(Rpc.xid(call)))) {
            for (int xid = 0; xid < 50; xid++) {
                connection.expectCalls(1);
                connection.call(Form.SHORT.call(xid));
                connection.outcomes();
            }
            wanted.set(32);
            connection.plan(
                    Role.RESPONDER,
                    step -> {
                        if (step == Step.POST_RECEIVE) {
                            throw new IllegalStateException("the device refuses");
                        }
                    });
            connection.expectCalls(1);
            connection.call(Form.SHORT.call(99));
            // The reply cannot be built, so the requester is told by the end of the connection.
            assertThat(connection.outcomes()).containsEntry(99, "lost");
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
