// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp;

import java.net.InetSocketAddress;
import org.rpcrdma.verbs.WorkStatus;
import org.rpcrdma.verbs.iwarp.mpa.FpduSender;
import org.rpcrdma.verbs.iwarp.rdmap.RdmapReceiver;
import org.rpcrdma.verbs.iwarp.rdmap.RdmapSender;

/** Queue pair of a stream: owns the queues, and receives failures of work and the end of the stream. */
interface StreamQueuePair {

    RdmapReceiver newReceiver();

    RdmapSender newSender(FpduSender out, int mulpdu);

    InetSocketAddress remoteAddress();

    /** Sets how the work request that was about to start completes when the stream ends. */
    void culprit(WorkStatus status);

    /**
     * Sets the status of the oldest work request when the stream ends, if it is of the failed kind: a failed Write has
     * already completed when sent, and the oldest work request then is not its cause.
     *
     * @param opcode of the failed operation, -1 if the peer does not report it
     */
    void oldestCulprit(WorkStatus status, int opcode);

    /** Sets how the oldest receive completes when the stream ends. */
    void receiveCulprit(WorkStatus status);

    /** The stream has ended: completes everything, then reports the end, once. */
    void ended(Throwable cause);
}
