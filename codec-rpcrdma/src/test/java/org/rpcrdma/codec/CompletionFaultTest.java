// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.rpcrdma.Proves;
import org.rpcrdma.codec.FaultPair.Role;
import org.rpcrdma.codec.fault.FaultContext.Delivery;
import org.rpcrdma.codec.fault.Step;

/** Invariant 5: every pending call completes exactly once, wherever its exchange is cut. */
class CompletionFaultTest {

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
    @Proves({"V1-ERR-17", "V1-ERR-20", "V1-ERR-21", "V1-CRED-19"})
    void everyCallEndsOnce(Form form, Role role, Fault fault) throws Exception {
        List<Step> hit = Enumeration.run(pair, form, role, fault, Delivery.AT_ONCE);
        assertThat(hit).isNotEmpty();
    }
}
