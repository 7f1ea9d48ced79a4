// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp;

import java.io.IOException;
import java.time.Duration;

/** Progress of input that a peer has begun: tells when none was made for a number of looks. */
final class Stall {

    /** Looks within a limit, after the one that finds where it stands: a limit is exceeded by a quarter at most. */
    static final int LOOKS = 4;

    private final String what;
    private final Duration limit;
    private long position;
    private int looks;

    /** @param what is begun, for a person to read */
    Stall(String what, Duration limit) {
        this.what = what;
        this.limit = limit;
    }

    /** Nothing is begun, or the peer need not continue it now. */
    void end() {
        looks = 0;
    }

    /**
     * Looks at input that is begun; returns whether its time is over.
     *
     * @param now the position: another number whenever a byte has arrived
     */
    boolean look(long now) {
        if (looks == 0 || now != position) {
            position = now;
            looks = 1;
            return false;
        }
        return ++looks > LOOKS;
    }

    /** Reason for the end of the connection. */
    IOException failure() {
        return new IOException(
                "The peer has begun "
                        + what
                        + " and sent nothing more of it for "
                        + limit.toMillis()
                        + " ms");
    }
}
