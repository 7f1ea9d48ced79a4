// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

/** A call with its place in the list of its {@link OldestUnansweredCallGauge}. Event loop only. */
abstract class CallListedByAge {

    /** Whether it is in the list. */
    boolean isListed;

    /** Time of the write or of the arrival, as {@link System#nanoTime}. */
    long since;

    CallListedByAge older;
    CallListedByAge newer;
}
