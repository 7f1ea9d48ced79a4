// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.rpcrdma.Proves;
import org.rpcrdma.channel.RegistrationPolicy;
import org.rpcrdma.codec.FaultPair.Role;
import org.rpcrdma.codec.fault.FaultQueuePair;

/**
 * What a peer can reach through the handles of a call, on devices that expose parts of a registration and on others.
 */
class RegistrationPolicyTest {

    private FaultPair pair;

    @BeforeEach
    void open() {
        pair = new FaultPair();
    }

    @AfterEach
    void close() throws Exception {
        pair.close();
    }

    static List<Arguments> chunked() {
        return Stream.of(Form.values())
                .filter(form -> form != Form.SHORT)
                .map(Arguments::of)
                .toList();
    }

    private FaultPair.Connection connect(Form form) throws Exception {
        return pair.connect(
                Enumeration.requester(),
                Enumeration.responder(form),
                call -> form.answer(Rpc.xid(call)));
    }

    private static void run(FaultPair.Connection connection, Form form) throws Exception {
        connection.expectCalls(3);
        connection.call(
                form.written(form.xids()),
                form.written(form.xids() + 1),
                form.written(form.xids() + 2));
        assertThat(connection.outcomes().values()).hasSize(3).containsOnly("replied");
    }

    /** Exactly the chunk, on a device that can only expose a whole registration. */
    @ParameterizedTest
    @MethodSource("chunked")
    @Proves({"SEC-03", "SEC-07", "V1-MR-08", "V1-MR-05"})
    void exactOnADeviceWithoutParts(Form form) throws Exception {
        pair.requesterDevice.withoutExactExposure();
        try (FaultPair.Connection connection = connect(form)) {
            FaultQueuePair queuePair =
                    RpcPair.on(connection.requester, () -> connection.queuePair(Role.REQUESTER));
            run(connection, form);
            assertThat(
                            (boolean)
                                    RpcPair.on(
                                            connection.requester,
                                            queuePair::exposedWholeRegistrations))
                    .isTrue();
        }
    }

    /** Fresh handles for every call, each for one range; as few as rights allow. */
    @ParameterizedTest
    @MethodSource("chunked")
    @Proves({"SEC-02", "SEC-04", "V1-MR-05"})
    void everyCallHasHandlesOfItsOwn(Form form) throws Exception {
        try (FaultPair.Connection connection = connect(form)) {
            FaultQueuePair queuePair =
                    RpcPair.on(connection.requester, () -> connection.queuePair(Role.REQUESTER));
            run(connection, form);
            assertThat((int) RpcPair.on(connection.requester, queuePair::keysEver))
                    .isEqualTo(3 * form.handles());
        }
    }

    /**
     * Nothing is registered for a call: its arguments are copied into the pool. Sinks of the user are where they are.
     */
    @ParameterizedTest
    @EnumSource(
            value = Form.class,
            names = {"SHORT", "APART_RESULT", "APART_ALL"},
            mode = EnumSource.Mode.EXCLUDE)
    @Proves("V1-MR-08")
    void pooledRegistersNothingForACall(Form form) throws Exception {
        pair.registration(RegistrationPolicy.POOLED);
        pair.requesterDevice.withoutExactExposure();
        try (FaultPair.Connection connection = connect(form)) {
            connection.expectCalls(1);
            connection.call(form.written(form.xids()));
            connection.outcomes();
            long before =
                    RpcPair.on(
                            connection.requester,
                            () -> connection.context(Role.REQUESTER).registrations());
            runOneMore(connection, form);
            assertThat(
                            (long)
                                    RpcPair.on(
                                            connection.requester,
                                            () ->
                                                    connection
                                                            .context(Role.REQUESTER)
                                                            .registrations()))
                    .isEqualTo(before);
        }
    }

    private static void runOneMore(FaultPair.Connection connection, Form form) throws Exception {
        connection.expectCalls(1);
        connection.call(form.written(form.xids() + 1));
        assertThat(connection.outcomes().values()).hasSize(2).containsOnly("replied");
    }
}
