// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp;

import java.net.InetSocketAddress;
import org.rpcrdma.verbs.WorkStatus;
import org.rpcrdma.verbs.iwarp.mpa.FpduSender;
import org.rpcrdma.verbs.iwarp.rdmap.RdmapReceiver;
import org.rpcrdma.verbs.iwarp.rdmap.RdmapSender;

/** Queue pair of a stream: has the queues, and is told of failed work and of the end. */
interface StreamOwner {

    RdmapReceiver newReceiver();

    RdmapSender newSender(FpduSender out, int mulpdu);

    InetSocketAddress remoteAddress();

    /** Sets how the work request that was about to start completes when the stream ends. */
    void culprit(WorkStatus status);

    /**
     * Sets how the oldest work request completes when the stream ends, unless what has failed is of another kind: a
     * Write is complete once it is sent, and what is the oldest then is innocent.
     *
     * @param opcode what has failed, -1 when the peer does not tell
     */
    void oldestCulprit(WorkStatus status, int opcode);

    /** Sets how the oldest receive completes when the stream ends. */
    void receiveCulprit(WorkStatus status);

    /** The stream has ended: completes everything, then reports the end, once. */
    void ended(Throwable cause);
}
