// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.fault;

import org.rpcrdma.verbs.WorkStatus;

/** What goes wrong, and when. Called on the thread of the device's event loop. */
public interface FaultPlan {

    /** Nothing goes wrong. */
    FaultPlan NONE = step -> {};

    /** Before a call is passed to the device; what it throws the caller gets in the place of an answer. */
    void before(Step step);

    /** After an event was delivered. */
    default void after(Step step) {}

    /** How a work request that has succeeded is reported. */
    default WorkStatus status(Step step) {
        return WorkStatus.SUCCESS;
    }
}
