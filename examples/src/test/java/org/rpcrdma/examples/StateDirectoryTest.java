// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import org.junit.jupiter.api.Test;

class StateDirectoryTest {

    @Test
    void stateIsNeverBelowTheWorkingDirectory() throws IOException {
        assertThat(StateDirectory.file("f", null, "/home/u"))
                .hasToString("/home/u/.local/state/rpcrdma/f");
        assertThat(StateDirectory.file("f", "/var/x", "?")).hasToString("/var/x/rpcrdma/f");
        // What Java says of a user who is not in passwd.
        assertThatThrownBy(() -> StateDirectory.file("f", "", "?"))
                .hasMessageContaining("set XDG_STATE_HOME");
        assertThatThrownBy(() -> StateDirectory.file("f", "state", "/home/u"))
                .hasMessageContaining("set XDG_STATE_HOME");
    }
}
