// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples.server;

import static org.assertj.core.api.Assertions.assertThat;

import org.apache.hadoop.nfs.nfs3.Nfs3Constant.NFSPROC3;
import org.junit.jupiter.api.Test;

class Nfs3ProcedureTest {

    @Test
    void numbersAreThoseOfTheProtocol() {
        for (NFSPROC3 procedure : NFSPROC3.values()) {
            assertThat(Nfs3Procedure.of(procedure.getValue())).hasToString(procedure.name());
        }
        assertThat(Nfs3Procedure.values()).hasSameSizeAs(NFSPROC3.values());
        assertThat(Nfs3Procedure.of(-1)).isNull();
        assertThat(Nfs3Procedure.of(22)).isNull();
    }
}
