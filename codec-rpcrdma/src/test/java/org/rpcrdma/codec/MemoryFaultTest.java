// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.ByteBuf;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.rpcrdma.NeedsDevice;
import org.rpcrdma.codec.FaultPair.Role;
import org.rpcrdma.codec.fault.FaultPlan;
import org.rpcrdma.codec.fault.Step;

/** The heap has no memory for one long message: its call ends, with the cause, and the connection goes on. */
@NeedsDevice("privateDataOnAccept")
class MemoryFaultTest {

    /** More than a slab of the pool, so that memory is registered for it. */
    private static final int LONG = 2_000_000;

    private static final int SHORT = 8;

    private FaultPair pair;

    @BeforeEach
    void begin() {
        pair = new FaultPair();
    }

    @AfterEach
    void end() throws Exception {
        pair.close();
    }

    @ParameterizedTest
    @EnumSource
    void aLackOfHeapCostsTheMessageAlone(Role role) throws Exception {
        boolean isCall = role == Role.RESPONDER;
        try (FaultPair.Connection connection = connect()) {
            call(connection, 1, SHORT);
            AtomicInteger lacks = new AtomicInteger();
            connection.plan(
                    role,
                    step -> {
                        if (step == Step.REGISTER) {
                            lacks.incrementAndGet();
                            throw new OutOfMemoryError("Java heap space");
                        }
                    });
            int xid = isCall ? 3 : LONG;
            assertThat(call(connection, xid, isCall ? LONG : SHORT))
                    .contains(isCall ? "RemoteChunkException" : "PullException");
            assertThat(lacks).hasPositiveValue();
            connection.plan(role, FaultPlan.NONE);
            assertThat(call(connection, 4, SHORT)).isEqualTo("replied");
            assertThat(call(connection, isCall ? 6 : LONG + 1, isCall ? LONG : SHORT))
                    .isEqualTo("replied");
        }
    }

    /** An XID above all others asks for a long reply. */
    private FaultPair.Connection connect() throws Exception {
        FaultPair.Connection connection =
                pair.connect(
                        RpcPair.usual().build(),
                        RpcPair.usual().build(),
                        call -> {
                            int xid = Rpc.xid((ByteBuf) call);
                            return Rpc.reply(xid).writeZero(xid >= LONG ? LONG : SHORT);
                        });
        connection.anyReplyWillDo();
        return connection;
    }

    private static String call(FaultPair.Connection connection, int xid, int bytes)
            throws Exception {
        connection.expectCalls(1);
        connection.call(Rpc.echo(xid, bytes));
        return connection.outcomes().get(xid);
    }
}
