// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.rpcrdma.NeedsDevice;
import org.rpcrdma.Proves;
import org.rpcrdma.codec.FaultPair.Role;
import org.rpcrdma.codec.fault.NthStep;
import org.rpcrdma.codec.fault.Step;

/** The heap is exhausted inside a call of the device: that connection ends, and nothing of it is left. */
@NeedsDevice("privateDataOnAccept")
class HeapFaultTest {

    private static final int CALLS = 40;

    @ParameterizedTest
    @CsvSource({
        "REQUESTER, POST_RECEIVE, SHORT",
        "RESPONDER, POST_RECEIVE, SHORT",
        "REQUESTER, INVALIDATE, LONG_REPLY",
        "REQUESTER, SEND, SHORT",
        "RESPONDER, SEND, SHORT",
        "RESPONDER, WRITE, LONG_REPLY",
        "RESPONDER, READ, LONG_CALL"
    })
    @Proves("V1-MR-04")
    void aConnectionThatRunsOutOfHeapEndsAndLeavesNothing(Role role, Step failing, Form form)
            throws Exception {
        FaultPair pair = new FaultPair();
        try (FaultPair.Connection connection =
                pair.connect(
                        RpcPair.usual().announceReadChunkReplies(false).build(),
                        RpcPair.usual().announceReadChunkReplies(false).build(),
                        call -> form.reply(Rpc.xid(call)))) {
            connection.call(form.call(form.xids()));
            connection.expectCalls(1);
            NthStep plan =
                    new NthStep(
                            0,
                            step -> step == failing,
                            step -> {
                                throw new OutOfMemoryError("of the test");
                            });
            connection.plan(role, plan);
            for (int i = 1; i < CALLS && connection.channel(role).isOpen(); i++) {
                connection.call(form.call(form.xids() | i));
            }
            assertThat(
                            connection
                                    .channel(role)
                                    .closeFuture()
                                    .await(
                                            RpcPair.PATIENCE_SECONDS,
                                            java.util.concurrent.TimeUnit.SECONDS))
                    .isTrue();
            assertThat(plan.reached()).isEqualTo(failing);
        }
        for (Role each : Role.values()) {
            assertThat(pair.memoryInUse(each)).as("%s", each).isZero();
        }
        pair.close();
    }
}
