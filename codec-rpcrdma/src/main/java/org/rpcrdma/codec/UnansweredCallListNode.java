// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

/** A call with its place among the unanswered calls of its {@link UnansweredCallList}. Event loop only. */
abstract class UnansweredCallListNode {

    /** Whether it is in a list. */
    boolean isListed;

    /** Time of the write or of the arrival, as {@link System#nanoTime}. */
    long since;

    UnansweredCallListNode older;
    UnansweredCallListNode newer;
}
