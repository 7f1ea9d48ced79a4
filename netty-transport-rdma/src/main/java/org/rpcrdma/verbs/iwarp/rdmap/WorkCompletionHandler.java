// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp.rdmap;

import org.rpcrdma.verbs.WorkStatus;

/** Takes the completions of one stream, in the order in which they are to be delivered. */
public interface WorkCompletionHandler {

    /** A work request is complete; the parameters are those of {@link org.rpcrdma.verbs.QueuePairHandler}. */
    void complete(long id, WorkStatus status, int length, int invalidatedKey);
}
