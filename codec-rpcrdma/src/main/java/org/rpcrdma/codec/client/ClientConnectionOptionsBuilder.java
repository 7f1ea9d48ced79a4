// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.client;

import java.time.Duration;
import org.rpcrdma.codec.internal.ArgumentChecks;

/** Base class of the builder of clients: timing of connection attempts. */
abstract class ClientConnectionOptionsBuilder<B extends ClientConnectionOptionsBuilder<B>>
        extends DefaultCallOptionsBuilder<B> {

    Duration minBackOff = Duration.ofMillis(100);
    Duration maxBackOff = Duration.ofSeconds(10);
    Duration connectTimeout = Duration.ofSeconds(5);
    Duration firstCallTimeout = Duration.ofSeconds(2);

    ClientConnectionOptionsBuilder() {}

    /**
     * Back-off of reconnection: the least time between two attempts. It starts at the minimum, doubles with each
     * attempt up to the maximum, and is reset by a reply. Default 0.1 and 10 seconds. The first attempt, and the
     * attempt after a connection that never answered, do not wait.
     *
     * @param minimum before the second attempt, from 1 ms
     * @param maximum from the minimum to 2^31 - 1 ms
     * @return this builder
     */
    public B backOff(Duration minimum, Duration maximum) {
        ArgumentChecks.millis("minimum back-off", minimum);
        ArgumentChecks.inRange(
                "maximum back-off in ms",
                ArgumentChecks.millis("maximum back-off", maximum),
                minimum.toMillis(),
                Integer.MAX_VALUE);
        minBackOff = minimum;
        maxBackOff = maximum;
        return self();
    }

    /**
     * Time-out of one connection attempt; default 5 seconds.
     *
     * @param timeout 1 ms to 2^31 - 1 ms; fractions of a millisecond are cut off
     * @return this builder
     */
    public B connectTimeout(Duration timeout) {
        connectTimeout = Duration.ofMillis(ArgumentChecks.millis("connectTimeout", timeout));
        return self();
    }

    /**
     * Time-out of the first call on a new connection; default 2 seconds, doubled for each consecutive silent
     * connection. After that the client tries another connection, because a Linux server sometimes loses a call that
     * arrives just after connection establishment. Does not apply to calls that must not be retransmitted.
     *
     * @param timeout 1 ms to 2^31 - 1 ms; fractions of a millisecond are cut off
     * @return this builder
     */
    public B firstCallTimeout(Duration timeout) {
        firstCallTimeout = Duration.ofMillis(ArgumentChecks.millis("firstCallTimeout", timeout));
        return self();
    }
}
