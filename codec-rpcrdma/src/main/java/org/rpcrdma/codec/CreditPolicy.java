// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import java.util.function.IntSupplier;

/**
 * Decides the number of credits that a responder grants (RFC 8166, 3.3.1). Asked on the event loop for every message
 * that carries a grant; it must not block and should not allocate. One policy may serve many connections on several
 * event loops: it must be stateless or thread-safe.
 *
 * <p>The result is clamped to the configured bounds. Receives for a higher grant are posted before it is sent; when the
 * grant falls, posted receives stay until they are consumed.
 */
@FunctionalInterface
public interface CreditPolicy {

    /**
     * {@return the credits to grant now}
     *
     * @param load of the connection; valid during this method call only
     */
    int credits(ResponderConnectionLoad load);

    /**
     * Grants the maximum while there is memory. The default.
     *
     * @return the policy that grants the maximum while there is memory
     */
    static CreditPolicy constant() {
        return ResponderConnectionLoad::maximumCredits;
    }

    /**
     * Adapts the grant to the load of the handlers, as TCP adapts its window: each answer lowers the grant by a quarter
     * while the queue is above the limit, and raises it by an eighth while the queue is at most half the limit. Grants
     * the minimum while the channel does not read or memory is short.
     *
     * @param queued the calls that wait for the handlers, for example {@code executor.getQueue()::size}; called on the
     *     event loops of all connections
     * @param limit the calls that may wait before grants shrink, from 1; at half the limit grants grow again
     * @return a policy for one configuration, with separate state for each connection
     */
    static CreditPolicy adaptive(IntSupplier queued, int limit) {
        return new AdaptiveCreditPolicy(load -> queued.getAsInt(), limit);
    }

    /**
     * As {@link #adaptive(IntSupplier, int)}, with the unanswered calls of each connection as the queue.
     *
     * @param limit the calls of one connection that may be unanswered before its grant shrinks, from 1
     * @return a policy for one configuration
     */
    static CreditPolicy adaptive(int limit) {
        return new AdaptiveCreditPolicy(ResponderConnectionLoad::unansweredCalls, limit);
    }
}
