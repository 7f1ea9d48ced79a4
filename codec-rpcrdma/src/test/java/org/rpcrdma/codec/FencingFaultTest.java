// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.ByteBuf;
import io.netty.util.ReferenceCounted;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.rpcrdma.Proves;
import org.rpcrdma.codec.FaultPair.Role;
import org.rpcrdma.codec.fault.FaultPlan;
import org.rpcrdma.codec.fault.FaultQueuePair;
import org.rpcrdma.codec.fault.Step;

/**
 * Invariant 1: a region is invalidated before its RPC completes, whatever ends the RPC; and what cannot be invalidated
 * costs the connection first (RFC 8166, 4.4.1 and 4.5.4).
 */
class FencingFaultTest {

    /** Nobody invalidates for the requester. */
    private static final RpcRdmaConfig PLAIN =
            Enumeration.builder().remoteInvalidation(false).requestedCredits(4).build();

    private FaultPair pair;

    @BeforeEach
    void open() {
        pair = new FaultPair();
    }

    @AfterEach
    void close() throws Exception {
        pair.close();
    }

    private static int xid(Form form) {
        return form.xids() | 7;
    }

    /** How many handles are valid at the moment when the call ends. */
    private static int exposuresAtEnd(FaultPair.Connection connection, Map<Integer, String> ends)
            throws Exception {
        assertThat(ends).hasSize(1);
        return RpcPair.on(connection.requester, connection::exposuresAtLastEnd);
    }

    @ParameterizedTest
    @EnumSource(value = Form.class, names = "SHORT", mode = EnumSource.Mode.EXCLUDE)
    @Proves({"V1-MR-01", "V1-MR-10", "SEC-05", "V1-MR-05"})
    void reply(Form form) throws Exception {
        try (FaultPair.Connection connection =
                pair.connect(
                        PLAIN, Enumeration.responder(form), call -> form.answer(Rpc.xid(call)))) {
            Journal journal = new Journal();
            connection.plan(Role.REQUESTER, journal);
            connection.expectCalls(1);
            connection.call(form.written(xid(form)));
            Map<Integer, String> ends = connection.outcomes();
            assertThat(ends).containsValue("replied");
            assertThat(exposuresAtEnd(connection, ends)).isZero();
            List<Step> steps = RpcPair.on(connection.requester, journal::steps);
            assertThat(steps.stream().filter(Step.EXPOSE::equals).count())
                    .isPositive()
                    .isEqualTo(steps.stream().filter(Step.INVALIDATE::equals).count());
        }
    }

    @Test
    @Proves({"V1-MR-10", "V1-ERR-11"})
    void error() throws Exception {
        try (FaultPair.Connection connection =
                pair.connect(PLAIN, Enumeration.responder(), call -> tooLong(Rpc.xid(call)))) {
            connection.expectCalls(1);
            connection.call(Form.WRITE_CHUNK.call(xid(Form.WRITE_CHUNK)));
            Map<Integer, String> ends = connection.outcomes();
            assertThat(ends.get(xid(Form.WRITE_CHUNK))).contains("ErrChunkReplyException");
            assertThat(exposuresAtEnd(connection, ends)).isZero();
        }
    }

    private static ByteBuf tooLong(int xid) {
        return Rpc.read3Reply(xid, Rpc.random(100_000));
    }

    @ParameterizedTest
    @EnumSource(value = Form.class, names = "SHORT", mode = EnumSource.Mode.EXCLUDE)
    @Proves({"V1-MR-02", "V1-MR-03", "SEC-06", "SEC-13"})
    void cancelAndTimeOut(Form form) throws Exception {
        try (FaultPair.Connection connection =
                pair.connect(PLAIN, Enumeration.responder(form), call -> null)) {
            connection.expectCalls(1);
            ReferenceCounted call = form.written(xid(form));
            connection.call(call);
            RpcPair.on(
                    connection.requester,
                    () -> {
                        FaultQueuePair queuePair = connection.queuePair(Role.REQUESTER);
                        assertThat(queuePair.exposures()).isPositive();
                        connection.requester.write(new RpcRdmaCancel(xid(form)));
                        assertThat(queuePair.exposures()).isZero();
                        return null;
                    });
            connection.requester.close().sync();
            assertLost(connection.outcomes());
        }
    }

    @ParameterizedTest
    @EnumSource(value = Form.class, names = "SHORT", mode = EnumSource.Mode.EXCLUDE)
    @Proves({"V1-MR-04", "SEC-24", "V1-MR-10"})
    void whatCannotBeInvalidatedCostsTheConnectionFirst(Form form) throws Exception {
        for (int at = 0; ; at++) {
            try (FaultPair.Connection connection =
                    pair.connect(
                            PLAIN,
                            Enumeration.responder(form),
                            call -> form.answer(Rpc.xid(call)))) {
                RefuseInvalidate refuse = new RefuseInvalidate(at);
                connection.plan(Role.REQUESTER, refuse);
                connection.expectCalls(1);
                connection.call(form.written(xid(form)));
                Map<Integer, String> ends = connection.outcomes();
                if (!refuse.hasRefused) {
                    assertThat(at).isPositive();
                    assertThat(ends).containsValue("replied");
                    return;
                }
                assertLost(ends);
                assertThat(
                                (boolean)
                                        RpcPair.on(
                                                connection.requester,
                                                connection::wasClosedAtLastEnd))
                        .as("closed before the call ends")
                        .isTrue();
                assertThat(exposuresAtEnd(connection, ends)).isZero();
            }
        }
    }

    @ParameterizedTest
    @EnumSource(value = Form.class, names = "SHORT", mode = EnumSource.Mode.EXCLUDE)
    @Proves({"V1-MR-04", "V1-MR-03"})
    void cancelThatCannotFenceCostsTheConnection(Form form) throws Exception {
        try (FaultPair.Connection connection =
                pair.connect(PLAIN, Enumeration.responder(form), call -> null)) {
            connection.expectCalls(1);
            connection.call(form.written(xid(form)));
            connection.plan(Role.REQUESTER, new RefuseInvalidate(0));
            RpcPair.on(
                    connection.requester,
                    () -> {
                        connection.requester.write(new RpcRdmaCancel(xid(form)));
                        assertThat(connection.requester.isOpen()).isFalse();
                        assertThat(connection.queuePair(Role.REQUESTER)).isNull();
                        return null;
                    });
            assertLost(connection.outcomes());
        }
    }

    /** Lost with the connection, whether its Send was complete or not. */
    private static void assertLost(Map<Integer, String> ends) {
        assertThat(ends.values())
                .singleElement()
                .asString()
                .matches("lost|failed: .*ClosedChannelException.*");
    }

    private static final class Journal implements FaultPlan {
        private final List<Step> steps = new ArrayList<>();

        @Override
        public void before(Step step) {
            steps.add(step);
        }

        List<Step> steps() {
            return List.copyOf(steps);
        }
    }

    private static final class RefuseInvalidate implements FaultPlan {
        private final int at;
        private int count;
        volatile boolean hasRefused;

        RefuseInvalidate(int at) {
            this.at = at;
        }

        @Override
        public void before(Step step) {
            if (step == Step.INVALIDATE && count++ == at) {
                hasRefused = true;
                throw new IllegalStateException("the device refuses to invalidate");
            }
        }
    }
}
