// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.rpcrdma.Proves;
import org.rpcrdma.channel.RegistrationPolicy;
import org.rpcrdma.codec.FaultPair.Role;
import org.rpcrdma.codec.fault.FaultContext.Delivery;

/**
 * Invariant 6: no buffer, registration, exposure or file descriptor is left of a connection that is closed, wherever
 * its exchanges are cut. Here completions come late and in batches, so that the cuts fall between other things.
 */
class CloseFaultTest {

    private FaultPair pair;

    @BeforeEach
    void open() {
        pair = new FaultPair();
    }

    @AfterEach
    void close() throws Exception {
        pair.close();
    }

    static List<Arguments> everything() {
        return Enumeration.everything();
    }

    @ParameterizedTest
    @MethodSource("everything")
    @Proves({"V1-MR-10", "SEC-06", "V1-ERR-17"})
    void nothingIsLeft(Form form, Role role, Fault fault) throws Exception {
        assertThat(Enumeration.run(pair, form, role, fault, Delivery.BATCHED)).isNotEmpty();
    }

    static List<Arguments> registrations() {
        List<Arguments> all = new ArrayList<>();
        for (RegistrationPolicy policy : RegistrationPolicy.values()) {
            for (Form form : List.of(Form.READ_CHUNK, Form.ALL_CHUNKS, Form.APART_ALL)) {
                for (Fault fault : Fault.values()) {
                    all.add(Arguments.of(policy, form, fault));
                }
            }
        }
        return all;
    }

    /** Where no part of a registration can be exposed: every chunk is registered, or its pool is. */
    @ParameterizedTest
    @MethodSource("registrations")
    @Proves({"V1-MR-10", "SEC-06"})
    void nothingIsLeftOnADeviceWithoutParts(RegistrationPolicy policy, Form form, Fault fault)
            throws Exception {
        pair.registration(policy);
        pair.requesterDevice.withoutExactExposure();
        assertThat(Enumeration.run(pair, form, Role.REQUESTER, fault, Delivery.AT_ONCE))
                .isNotEmpty();
    }

    @ParameterizedTest
    @EnumSource(Form.class)
    @Proves("V1-ERR-22")
    void lateCompletionsHarmNothing(Form form) throws Exception {
        for (Delivery delivery : Delivery.values()) {
            try (FaultPair.Connection connection =
                    pair.connect(
                            Enumeration.requester(),
                            Enumeration.responder(form),
                            call -> form.answer(Rpc.xid(call)))) {
                connection.delivery(Role.REQUESTER, delivery);
                connection.delivery(Role.RESPONDER, delivery);
                connection.expectCalls(20);
                for (int i = 0; i < 20; i++) {
                    connection.call(form.written(form.xids() | i));
                }
                assertThat(connection.outcomes().values())
                        .as("%s, %s", form, delivery)
                        .hasSize(20)
                        .containsOnly("replied");
            }
        }
    }

    @Test
    @EnabledOnOs(OS.LINUX)
    @Proves("SEC-06")
    void fileDescriptorsAreGivenBack() throws Exception {
        for (Form form : Form.values()) {
            roundTrip(form);
        }
        long before = fileDescriptors();
        for (Form form : Form.values()) {
            roundTrip(form);
        }
        // A closed socket goes with the next select of its selector. Each round has twelve.
        Awaitility.await()
                .atMost(RpcPair.PATIENCE_SECONDS, TimeUnit.SECONDS)
                .until(() -> fileDescriptors() <= before);
    }

    private void roundTrip(Form form) throws Exception {
        try (FaultPair.Connection connection =
                pair.connect(
                        Enumeration.requester(),
                        Enumeration.responder(form),
                        call -> form.answer(Rpc.xid(call)))) {
            connection.expectCalls(1);
            connection.call(form.written(form.xids()));
            assertThat(connection.outcomes()).isEqualTo(Map.of(form.xids(), "replied"));
        }
    }

    /** Sockets alone: the JVM opens files of its own when it likes. */
    private static long fileDescriptors() throws Exception {
        try (Stream<Path> open = Files.list(Path.of("/proc/self/fd"))) {
            return open.filter(CloseFaultTest::isSocket).count();
        }
    }

    private static boolean isSocket(Path descriptor) {
        try {
            return Files.readSymbolicLink(descriptor).toString().startsWith("socket:");
        } catch (java.io.IOException e) {
            return false; // that of the directory listing, closed meanwhile
        }
    }
}
