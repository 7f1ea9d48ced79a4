// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp;

import java.nio.channels.spi.SelectorProvider;
import java.security.SecureRandom;
import java.util.Random;
import java.util.concurrent.ThreadLocalRandom;

/** Provides sockets, time and random numbers to the software RNIC: the machine's, or those of a simulation. */
interface IwarpHost {

    /** This machine. */
    IwarpHost SYSTEM =
            new IwarpHost() {
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

    /** {@return a new generator of numbers that no peer can predict} */
    default Random newSecureRandom() {
        return new SecureRandom();
    }

    /** {@return a random number, which a peer may predict} */
    default int anyNumber() {
        return ThreadLocalRandom.current().nextInt();
    }
}
