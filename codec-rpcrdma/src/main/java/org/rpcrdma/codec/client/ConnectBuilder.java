// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.client;

import org.rpcrdma.codec.internal.ArgumentChecks;

/** Base class of the builder of clients: when connections are attempted, and for how long. */
abstract class ConnectBuilder<B extends ConnectBuilder<B>> extends AbstractRequesterBuilder<B> {

    long minBackOffMillis = 100;
    long maxBackOffMillis = 10_000;
    int connectTimeoutMillis = 5000;
    long firstCallTimeoutMillis = 2000;

    ConnectBuilder() {}

    /**
     * The least time between two attempts to connect in milliseconds, from 1: the first value, doubled after each
     * attempt up to the second one, until a reply is received. Default 0.1 and 10 seconds. The first attempt, and
     * one after a silent start, do not wait.
     *
     * @param minimum before the second attempt, in milliseconds from 1
     * @param maximum in milliseconds, from the minimum on
     * @return this builder
     */
    public B backOffMillis(long minimum, long maximum) {
        minBackOffMillis =
                ArgumentChecks.inRange("minimum back-off", minimum, 1, Integer.MAX_VALUE);
        maxBackOffMillis =
                ArgumentChecks.inRange("maximum back-off", maximum, minimum, Integer.MAX_VALUE);
        return self();
    }

    /**
     * The longest time for one attempt to connect in milliseconds, from 1; default 5 seconds.
     *
     * @param millis from 1
     * @return this builder
     */
    public B connectTimeoutMillis(int millis) {
        connectTimeoutMillis =
                ArgumentChecks.inRange("connectTimeoutMillis", millis, 1, Integer.MAX_VALUE);
        return self();
    }

    /**
     * How long a fresh connection may leave its first call unanswered, in milliseconds, from 1; default 2 seconds,
     * doubled each time. Then another connection is tried: a Linux server sometimes loses a call that arrives right
     * after the connection was made. Calls that may not be retransmitted are not timed this way.
     *
     * @param millis from 1
     * @return this builder
     */
    public B firstCallTimeoutMillis(long millis) {
        firstCallTimeoutMillis =
                ArgumentChecks.inRange("firstCallTimeoutMillis", millis, 1, Integer.MAX_VALUE);
        return self();
    }
}
