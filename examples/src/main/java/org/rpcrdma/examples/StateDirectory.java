// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples;

import java.nio.file.Path;

/** Where programs keep what has to outlive them (XDG base directory specification). */
final class StateDirectory {

    private StateDirectory() {}

    static Path file(String name) {
        String state = System.getenv("XDG_STATE_HOME");
        Path base =
                state == null || state.isBlank()
                        ? Path.of(System.getProperty("user.home"), ".local", "state")
                        : Path.of(state);
        return base.resolve("rpcrdma").resolve(name);
    }
}
