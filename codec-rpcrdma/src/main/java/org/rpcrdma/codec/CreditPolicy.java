// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import java.util.function.IntSupplier;

/**
 * Decides the number of credits that a responder grants (RFC 8166, 3.3.1). Asked on the event loop for every message
 * that carries a grant; it must not block and should not allocate. One policy may serve many connections on several
 * event loops: it keeps no state of its own, or state that is safe there.
 *
 * <p>What it returns is brought within the configured bounds. Receives behind a higher grant are posted before it is
 * sent; those behind a lower one stay until they are used.
 */
@FunctionalInterface
public interface CreditPolicy {

    /**
     * {@return the credits to grant now}
     *
     * @param load of the connection; good during this call alone
     */
    int credits(ResponderLoad load);

    /**
     * Always the maximum, as long as memory lasts. The default.
     *
     * @return the policy that grants the maximum always, as long as memory lasts; the default
     */
    static CreditPolicy constant() {
        return ResponderLoad::maximumCredits;
    }

    /**
     * Follows what the handlers can take, in the way of TCP: a quarter less with each answer while there is too much to
     * do, an eighth more while there is little. The minimum while a channel does not read or memory is short.
     *
     * @param queued the calls that wait for the handlers, for example {@code executor.getQueue()::size}; asked on the
     *     event loops, so it has to be safe there
     * @param limit the calls that may wait before grants shrink, from 1; at half of it they grow again
     * @return a policy for one configuration; it keeps what it knows of each connection apart
     */
    static CreditPolicy adaptive(IntSupplier queued, int limit) {
        return new AdaptiveCredits(load -> queued.getAsInt(), limit);
    }

    /**
     * As {@link #adaptive(IntSupplier, int)}, by the calls of each connection that are not answered.
     *
     * @param limit the calls of one connection that may be unanswered before its grant shrinks, from 1
     * @return a policy for one configuration
     */
    static CreditPolicy adaptive(int limit) {
        return new AdaptiveCredits(ResponderLoad::unansweredCalls, limit);
    }
}
