// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp;

/** Something that must have happened by a deadline. */
interface DeadlineTask {

    /** The deadline, in the terms of {@link DeadlineTaskQueue#nanoTime}. */
    long deadline();

    /** The deadline has passed; the timer was removed. */
    void expired();
}
