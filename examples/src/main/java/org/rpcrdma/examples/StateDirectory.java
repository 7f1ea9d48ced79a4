// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.examples;

import java.io.IOException;
import java.nio.file.Path;

/** Where programs keep what has to outlive them (XDG base directory specification). */
final class StateDirectory {

    private StateDirectory() {}

    static Path file(String name) throws IOException {
        return file(name, System.getenv("XDG_STATE_HOME"), System.getProperty("user.home"));
    }

    /** @param home {@code ?} of a user without an entry in passwd */
    static Path file(String name, String state, String home) throws IOException {
        Path base =
                state == null || state.isBlank()
                        ? Path.of(home, ".local", "state")
                        : Path.of(state);
        if (!base.isAbsolute()) {
            throw new IOException(
                    "there is no directory for "
                            + name
                            + ": set XDG_STATE_HOME to an absolute path");
        }
        return base.resolve("rpcrdma").resolve(name);
    }
}
