// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp;

import java.io.IOException;
import java.time.Duration;

/** Detects a lack of progress of incomplete input, over a number of checks. */
final class IncompleteInputStallDetector {

    /** Checks per time limit, which is exceeded by at most a quarter. */
    static final int LOOKS = 4;

    private final String what;
    private final Duration limit;
    private long position;
    private int looks;

    /** @param what the incomplete input, for messages */
    IncompleteInputStallDetector(String what, Duration limit) {
        this.what = what;
        this.limit = limit;
    }

    /** Nothing is begun, or the peer need not continue it now. */
    void end() {
        looks = 0;
    }

    /**
     * Looks at incomplete input.
     *
     * @param now the position: another number whenever a byte has arrived
     */
    void look(long now) {
        if (now != position) {
            position = now;
            looks = 0;
        }
        looks++;
    }

    /** Whether the input has timed out: no byte has arrived for more than {@link #LOOKS} looks. */
    boolean isStalled() {
        return looks > LOOKS;
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
