// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp;

/** Stream as {@link OpenStreamRunQueue} sees it: it gets turns besides those that its byte transport gives. */
interface OpenStreamRunQueueEntry {

    /** Writing has failed; reads what is left and ends the stream. */
    void resolveBroken();

    /** Tries to place a message that waits for memory; returns whether the stream has to wait on. */
    boolean tryPlaceHeld();

    /** Looks at an FPDU that has arrived in part; returns whether there is one still. */
    boolean checkFrameStall();

    /** Looks at a message of which some segments have arrived; returns whether there is one still. */
    boolean checkMessageStall();

    /** Returns all borrowed views of registered memory. */
    void detach();
}
