// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.disni.software;

import com.ibm.disni.verbs.IbvContext;
import com.ibm.disni.verbs.RdmaCmEvent.EventType;
import com.ibm.disni.verbs.RdmaCmId;
import java.io.IOException;
import java.net.InetSocketAddress;
import org.rpcrdma.verbs.ConnectionRequest;
import org.rpcrdma.verbs.Listener;

/** A connection identifier: of a listener, of an active end, or made by a request. */
final class SoftwareId extends RdmaCmId {

    final SoftwareEventChannel events;
    volatile InetSocketAddress bound;
    volatile InetSocketAddress remote;
    volatile Listener listener;
    volatile ConnectionRequest request;
    volatile SoftwareQueuePair queuePair;

    /**
     * Whether an answer to connect, or to accept, may still come: taking it, librdmacm changes the state of the queue
     * pair, on the passive side if it is a rejection.
     */
    volatile boolean awaitsAnswer;

    SoftwareId(SoftwareEventChannel events) throws IOException {
        super(events, null);
        this.events = events;
    }

    void device(IbvContext context) {
        setVerbs(context);
    }

    void queuePair(SoftwareQueuePair made) {
        queuePair = made;
        setQp(made);
    }

    /** What the kernel does with a request whose identifier goes. */
    void rejectUnanswered() {
        if (request != null && queuePair == null) {
            request.reject(new byte[0]);
        }
    }

    void event(EventType type) {
        events.add(type, null, this);
    }
}
