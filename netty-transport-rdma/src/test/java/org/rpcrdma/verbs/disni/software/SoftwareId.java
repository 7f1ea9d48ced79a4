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

    void event(EventType type) {
        events.add(type, null, this);
    }
}
