// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.disni;

import com.ibm.disni.verbs.RdmaCmEvent.EventType;
import com.ibm.disni.verbs.RdmaCmId;

/** Handles the events of one connection identifier, on the thread of {@link CmEventChannelThread}. */
interface CmThreadEventHandler {

    /** Whether requests may come for it. */
    boolean isListener();

    /**
     * @param id the identifier of the connection; for a request the new one
     */
    void happened(EventType event, RdmaCmId id);
}
