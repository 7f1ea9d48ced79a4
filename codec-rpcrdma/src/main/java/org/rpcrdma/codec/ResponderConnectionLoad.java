// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

/**
 * Load of a responder, as a {@link CreditPolicy} sees it. Belongs to one connection; valid during that method call
 * only.
 */
public interface ResponderConnectionLoad {

    /** {@return the newest grant} */
    int granted();

    /** {@return the least that may be granted, from 1} */
    int minimumCredits();

    /**
     * {@return the most that may be granted: what is configured, or what the receives of the channel allow if that is
     * less}
     */
    int maximumCredits();

    /** {@return calls of this connection that were received and not answered} */
    int unansweredCalls();

    /** {@return whether the channel reads: {@code AUTO_READ} is on} */
    boolean isReading();

    /** {@return bytes that this connection has pulled by RDMA Read for calls that are not answered} */
    long pulledBytes();

    /** {@return the most bytes that may be pulled} */
    long maximumPulledBytes();

    /** {@return registered memory of all event loops together, in bytes} */
    long registeredBytesInUse();

    /** {@return the most registered memory that all event loops may have together, in bytes} */
    long maximumRegisteredBytes();
}
