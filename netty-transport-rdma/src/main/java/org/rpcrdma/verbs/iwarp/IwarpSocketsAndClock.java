// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp;

import java.nio.channels.spi.SelectorProvider;

/** Provides sockets and time to the software RNIC: the machine's, or those of a simulation. */
interface IwarpSocketsAndClock {

    /** The sockets and the clock of this machine. */
    IwarpSocketsAndClock SYSTEM =
            new IwarpSocketsAndClock() {
                @Override
                public SelectorProvider sockets() {
                    return SelectorProvider.provider();
                }

                @Override
                public long nanoTime() {
                    return System.nanoTime();
                }
            };

    /** {@return what opens selectors and sockets} */
    SelectorProvider sockets();

    /** {@return nanoseconds from an arbitrary origin, as {@link System#nanoTime}} */
    long nanoTime();
}
