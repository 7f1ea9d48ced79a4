// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp;

import java.nio.channels.spi.SelectorProvider;
import java.util.function.LongSupplier;

/** The sockets of the system, and the clock of a test. */
record ClockedHost(LongSupplier clock) implements IwarpHost {

    @Override
    public SelectorProvider sockets() {
        return SYSTEM.sockets();
    }

    @Override
    public long nanoTime() {
        return clock.getAsLong();
    }
}
