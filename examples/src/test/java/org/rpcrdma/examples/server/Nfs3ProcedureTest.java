// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.server;

import static org.assertj.core.api.Assertions.assertThat;

import org.apache.hadoop.nfs.nfs3.Nfs3Constant.NFSPROC3;
import org.junit.jupiter.api.Test;

class Nfs3ProcedureTest {

    @Test
    void numbersAreThoseOfTheProtocol() {
        for (Nfs3Procedure procedure : Nfs3Procedure.values()) {
            assertThat(NFSPROC3.fromValue(procedure.number())).hasToString(procedure.name());
        }
        assertThat(Nfs3Procedure.values()).hasSize(NFSPROC3.values().length - 1);
    }
}
